package host_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/tensor"
)

// mapping stands for a mapped file that tensors are views of.
type mapping struct {
	bytes     []byte
	forgotten []int // how often Forget was called for each byte
}

func (m *mapping) Forget(part []byte) {
	first := cap(m.bytes) - cap(part)
	for i := range part {
		m.forgotten[first+i]++
	}
}

// TestPackedPagesAreForgotten packs a matrix of some megabytes from the middle of a mapped file: each page of the matrix is given up once, others are not, and
// of a matrix with rows in another order, which are read from all over it, no page is.
func TestPackedPagesAreForgotten(t *testing.T) {
	c := cpu.New(2)
	defer c.Close()
	const rows, k, before, after = 2500, 8192, 3, 5
	d := tensor.Q4_0
	row := d.Format().Bytes(k)
	for name, order := range map[string]func(row int) int{"in order": nil, "turned round": func(row int) int { return rows - 1 - row }} {
		m := &mapping{bytes: make([]byte, (before+rows+after)*row)}
		m.forgotten = make([]int, len(m.bytes))
		all, err := tensor.Wrap(nil, tensor.WrapBytes(d, m.bytes, m, true), tensor.ShapeOf(before+rows+after, k))
		if err != nil {
			t.Fatal(err)
		}
		w, err := all.Slice(before, before+rows)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := c.PrepareAs(t.Context(), w, d, order)
		if err != nil {
			t.Fatal(err)
		}
		if packed == w {
			t.Skip("this processor does not pack the type")
		}
		for i, n := range m.forgotten {
			want := 0
			if order == nil && i >= before*row && i < (before+rows)*row {
				want = 1
			}
			if n != want {
				t.Fatalf("%s: byte %d of row %d was given up %d times, and not %d", name, i%row, i/row-before, n, want)
			}
		}
		if err := packed.Free(); err != nil {
			t.Fatal(err)
		}
	}
}
