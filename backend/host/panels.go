package host

import (
	"fmt"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// panelBuffer is host memory that holds weights in panels instead of rows. The last rows of a matrix that do not fill a panel follow as rows:
// of 49,155 rows there are 3,072 panels and three rows. Only products and Gather of Base understand it.
type panelBuffer struct {
	tensor.Buffer
	panels *asm.Panels
}

// ReadOnly returns true: nothing writes to panels.
func (*panelBuffer) ReadOnly() bool { return true }

// Bytes returns nil: the bytes mean nothing to those who expect rows.
func (*panelBuffer) Bytes() []byte { return nil }

// Mapped returns false.
func (*panelBuffer) Mapped() bool { return false }

// Map returns an error.
func (*panelBuffer) Map() error { return errPacked }

// Unmap does nothing.
func (*panelBuffer) Unmap() error { return nil }

var errPacked = fmt.Errorf("the weights are packed for products: %w", backend.ErrUnsupported)

// dataOf returns the bytes of a tensor that is mapped, or packed; nil: they are not to be had.
func dataOf(t *tensor.Tensor) []byte {
	b, ok := t.Buffer().(*panelBuffer)
	if !ok {
		return t.Data()
	}
	bytes := b.Buffer.Bytes()
	if bytes == nil {
		return nil
	}
	return bytes[t.Offset():][:t.Size()]
}

// panelsOf returns how a tensor is packed, nil for rows.
func panelsOf(t *tensor.Tensor) *asm.Panels {
	if b, ok := t.Buffer().(*panelBuffer); ok {
		return b.panels
	}
	return nil
}

// needWholeExperts returns an error for packed weights of experts that are not whole panels.
func needWholeExperts(w *tensor.Tensor) error {
	if panelsOf(w) != nil && (w.Shape().Dim(1)%asm.PanelRows != 0 || w.Offset()%(asm.PanelRows*w.RowBytes()) != 0) {
		return fmt.Errorf("host: MatMulExperts of %v: packed weights of an expert are whole panels of %d rows", w, asm.PanelRows)
	}
	return nil
}

// needWholePanels returns an error for a slice of packed weights that begins within a panel, or ends within one.
func needWholePanels(w *tensor.Tensor) error {
	if panelsOf(w) == nil {
		return nil
	}
	ends := w.Shape().Dim(0)%asm.PanelRows == 0 || w.Offset()+w.Size() == w.Buffer().Size()
	if !ends || w.Offset()%(asm.PanelRows*w.RowBytes()) != 0 {
		return fmt.Errorf("host: %v: packed weights can be cut only between panels of %d whole rows", w, asm.PanelRows)
	}
	return nil
}
