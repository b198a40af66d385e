package tensor_test

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/tensor"
)

// TestSliceOfEveryTypeAndRank cuts tensors of every type with one to four dimensions at rows in and between blocks: a view has exactly
// the bytes of its elements, and rows that end within a block are refused.
func TestSliceOfEveryTypeAndRank(t *testing.T) {
	for _, d := range tensor.DTypes() {
		for _, dims := range [][]int{{0}, {d.BlockLen()}, {3 * d.BlockLen()}, {3, d.BlockLen()}, {2, 0}, {0, d.BlockLen()}, {2, 3, 2 * d.BlockLen()}, {3, 1, 2, d.BlockLen()}} {
			shape := tensor.ShapeOf(dims...)
			size, err := d.Bytes(shape.NumElements())
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(i * 7)
			}
			x, err := tensor.Wrap(nil, tensor.WrapBytes(d, data, nil, true), shape)
			if err != nil {
				t.Fatal(err)
			}
			row := 1
			for _, n := range dims[1:] {
				row *= n
			}
			block := d.BlockLen()
			for _, lo := range []int{0, 1, 2, block - 1, block, block + 1, 2 * block, dims[0] - 1, dims[0]} {
				for _, hi := range []int{0, 1, 2, 3, block - 1, block, block + 1, 2 * block, 3*block - 1, dims[0]} {
					if lo < 0 || hi < lo || hi > dims[0] {
						continue
					}
					whole := lo*row%d.BlockLen() == 0 && hi*row%d.BlockLen() == 0
					view, err := x.Slice(lo, hi)
					if (err == nil) != whole {
						t.Fatalf("rows [%d, %d) of %v: %v; whole blocks: %v", lo, hi, x, err, whole)
					}
					if err != nil {
						continue
					}
					from, _ := d.Bytes(lo * row)
					to, _ := d.Bytes(hi * row)
					if !slices.Equal(view.Data(), data[from:to]) || view.Size() != to-from || view.Shape().Dim(0) != hi-lo {
						t.Fatalf("rows [%d, %d) of %v are %v at %d with %d bytes, want bytes [%d, %d)", lo, hi, x, view, view.Offset(), view.Size(), from, to)
					}
				}
			}
		}
	}
}

// TestSliceOfItself cuts a view in place, as a loop over parts of parts does.
func TestSliceOfItself(t *testing.T) {
	x, err := tensor.FromFloats([]float32{1, 2, 3, 4, 5, 6, 7, 8}, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := x.SliceInto(x, 1, x.Shape().Dim(0)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := tensor.As[float32](x); err != nil || !slices.Equal(got, []float32{5, 6, 7, 8}) {
		t.Errorf("%v, %v", got, err)
	}
}
