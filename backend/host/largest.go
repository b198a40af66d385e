package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// Largest finds the largest elements of a row.
func (b *Base) Largest(x *tensor.Tensor, indices []int32, values []float32) (err error) {
	defer mmap.Catch(&err)()
	if err := backend.CheckLargest(x, indices, values); err != nil {
		return err
	}
	var m mapped
	if err := m.add("Largest", x); err != nil {
		return err
	}
	defer m.unmap()
	selection.Largest(floats(x), indices, values)
	return nil
}
