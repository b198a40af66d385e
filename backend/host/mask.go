package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/tensor"
)

// Mask writes -Inf to the elements that are not allowed.
func (b *Base) Mask(x *tensor.Tensor, allowed []uint64) error {
	words, err := backend.CheckMask(x, allowed)
	if err != nil {
		return err
	}
	var m mapped
	if err := m.add("Mask", x); err != nil {
		return err
	}
	defer m.unmap()
	n, all := x.Shape().Dim(-1), floats(x)
	for row := range x.Shape().Rows() {
		selection.Mask(all[row*n:][:n], allowed[row*words:][:words])
	}
	return nil
}
