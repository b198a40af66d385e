package host_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// selecting asks for the largest elements, into new lists.
func selecting(b backend.Backend, x *tensor.Tensor, indices, values int) error {
	return b.Run(&backend.Largest{X: x, Indices: make([]int32, indices), Values: make([]float32, values)})
}

// TestLargest holds what every kind of backend finds against the definition.
func TestLargest(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	for _, row := range []struct {
		name string
		x    []float32
	}{
		{"random", copied(t, s.floats(1000))},
		{"few values", slices.Repeat([]float32{1, 2, 3, 2, 1}, 100)},
		{"NaN", []float32{3, nan, inf, nan, 5}},
		{"zeros", []float32{-1, zero, 0, zero, 0, 1}},
		{"infinities", []float32{-inf, inf, 3, -inf, inf}},
		{"one", []float32{-7}},
	} {
		x, err := tensor.FromFloats(row.x, 1, len(row.x))
		if err != nil {
			t.Fatal(err)
		}
		order := make([]int32, len(row.x))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(i, j int32) int { // cmp has NaN first
			a, b := row.x[i], row.x[j]
			if a != a || b != b {
				return cmp.Compare(a, b)
			}
			return cmp.Compare(b, a)
		})
		for _, k := range []int{0, 1, 2, 40, len(row.x)} {
			if k > len(row.x) {
				continue
			}
			for _, b := range []backend.Backend{host.NewReference(), c} {
				indices, found := make([]int32, k), make([]float32, k)
				what := fmt.Sprintf("%s: the %d largest by %T", row.name, k, b)
				if err := b.Run(&backend.Largest{X: x, Indices: indices, Values: found}); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if !slices.Equal(indices, order[:k]) {
					t.Errorf("%s stand at %v, want %v", what, indices, order[:k])
				}
				for i, at := range indices {
					if found[i] != row.x[at] && found[i] == found[i] {
						t.Errorf("%s: value %d is %g, want %g", what, i, found[i], row.x[at])
					}
				}
			}
		}
	}
}

// TestLargestDoesNotAllocate covers backends with and without it.
func TestLargestDoesNotAllocate(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	x, indices, found := s.floats(1, 5000), make([]int32, 40), make([]float32, 40)
	for _, b := range []backend.Backend{host.NewReference(), c} {
		var call backend.Call[backend.Largest, *backend.Largest]
		if n := testing.AllocsPerRun(20, func() {
			if err := call.Run(b, backend.Largest{X: x, Indices: indices, Values: found}); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%T: %v allocations", b, n)
		}
	}
}

// TestLargestOfRows selects from several rows at once, as from each.
func TestLargestOfRows(t *testing.T) {
	s := newSource(t)
	c := cpu.New(2)
	defer c.Close()
	const rows, n, k = 5, 300, 7
	x := s.floats(rows, n)
	for _, b := range []backend.Backend{host.NewReference(), c} {
		indices, found := make([]int32, rows*k), make([]float32, rows*k)
		if err := b.Run(&backend.Largest{X: x, Indices: indices, Values: found}); err != nil {
			t.Fatal(err)
		}
		for r := range rows {
			row, err := x.Slice(r, r+1)
			if err != nil {
				t.Fatal(err)
			}
			wantIndices, want := make([]int32, k), make([]float32, k)
			if err := c.Run(&backend.Largest{X: row, Indices: wantIndices, Values: want}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(indices[r*k:][:k], wantIndices) || !slices.Equal(found[r*k:][:k], want) {
				t.Errorf("%T: row %d: %v, want %v", b, r, indices[r*k:][:k], wantIndices)
			}
		}
	}
}
