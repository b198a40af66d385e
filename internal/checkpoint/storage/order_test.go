package storage

import (
	"slices"
	"testing"
)

func TestRowsOfRotatedHeads(t *testing.T) {
	for _, c := range []struct {
		headDim int
		halved  []int // where Hugging Face has GGUF's rows
	}{
		{8, []int{0, 4, 1, 5, 2, 6, 3, 7}},
		{4, []int{0, 2, 1, 3, 4, 6, 5, 7}},
		{2, []int{0, 1, 2, 3, 4, 5, 6, 7}},
	} {
		for row, want := range c.halved {
			if got := (Paired{c.headDim}).Wanted(row); got != want {
				t.Errorf("heads of %d: GGUF's row %d is Hugging Face's row %d, want %d", c.headDim, row, got, want)
			}
		}
	}
	for headDim := 2; headDim <= 256; headDim += 2 {
		for row := range 3 * headDim {
			if got := (Paired{headDim}).Stored((Paired{headDim}).Wanted(row)); got != row {
				t.Fatalf("heads of %d: row %d comes back as %d", headDim, row, got)
			}
		}
	}
}

// TestPartialRows puts the rows of heads in order, half of each rotated, and finds every row once.
func TestPartialRows(t *testing.T) {
	for _, c := range []struct {
		neighbours bool
		want       []int
	}{
		{false, []int{0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15}},
		{true, []int{0, 2, 4, 5, 1, 3, 6, 7, 8, 10, 12, 13, 9, 11, 14, 15}},
	} {
		var order []int
		for row := range 16 {
			order = append(order, Partial{8, 4, c.neighbours}.Stored(row))
		}
		if !slices.Equal(order, c.want) {
			t.Errorf("neighbours %v: rows %v, want %v", c.neighbours, order, c.want)
		}
	}
	for _, p := range []Partial{{16, 12, false}, {16, 4, true}, {16, 12, true}, {128, 96, false}, {128, 32, true}, {2, 2, false}, {2, 2, true}} {
		seen := map[int]bool{}
		for row := range 3 * p.HeadDim {
			seen[p.Stored(row)] = true
			if got := p.Wanted(p.Stored(row)); got != row {
				t.Fatalf("%+v: row %d comes back as %d", p, row, got)
			}
		}
		if len(seen) != 3*p.HeadDim || !seen[3*p.HeadDim-1] {
			t.Errorf("%+v: %d of %d rows", p, len(seen), 3*p.HeadDim)
		}
	}
}
