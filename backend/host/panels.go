package host

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// panelBuffer is host memory that holds weights in panels instead of rows. Only products and Gather of Base understand it.
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

// needWholePanels returns an error for a part of packed weights that is not whole panels.
func needWholePanels(w *tensor.Tensor, rows, cols int) error {
	if panelsOf(w) == nil {
		return nil
	}
	if rows%asm.PanelRows != 0 || cols != w.Shape().Dim(1) || w.Offset()%(asm.PanelRows*w.RowBytes()) != 0 {
		return fmt.Errorf("host: MatMulSlice of %d rows and %d columns of %v: packed weights can be cut only between panels of %d whole rows", rows, cols, w, asm.PanelRows)
	}
	return nil
}

// Pack copies weights [N, K] into panels, in a device's memory, several panels at a time. Weights that the kernels have no
// panels for, or whose rows do not fill them, are returned as they are. The context is looked at every few megabytes.
func (b Fused) Pack(ctx context.Context, device tensor.Device, w *tensor.Tensor) (*tensor.Tensor, error) {
	format := w.DType().Format()
	if w.Shape().NDim() != 2 || w.Shape().Dim(0)%asm.PanelRows != 0 || w.Size() == 0 || panelsOf(w) != nil {
		return w, nil
	}
	panels := b.kernels.PanelsFor(format)
	if panels == nil {
		return w, nil
	}
	buffer, err := device.Memory().Alloc(w.Size(), w.DType())
	if err != nil {
		return nil, err
	}
	mmap.AdviseHuge(buffer.Bytes()) // a decoded token reads all of them: every address translation counts
	t := packTask{panels, buffer.Bytes(), w.Data(), w.RowBytes(), w.Shape().Dim(1)}
	size := asm.PanelRows * t.rowBytes
	step := max(packAtOnce/size, 1)
	for left := w.Shape().Dim(0) / asm.PanelRows; left > 0; left -= step {
		n := min(step, left)
		err := ctx.Err()
		if err == nil {
			err = b.runner.Run(&t, n)
		}
		if err != nil {
			buffer.Free()
			return nil, fmt.Errorf("host: pack %v: %w", w, err)
		}
		t.dst, t.src = t.dst[n*size:], t.src[n*size:]
	}
	return tensor.Wrap(device, &panelBuffer{buffer, panels}, w.Shape())
}

// packAtOnce is how many bytes are packed between two looks at the context: some milliseconds, on a slow machine tens.
const packAtOnce = 8 << 20

// packTask packs a panel a piece.
type packTask struct {
	panels      *asm.Panels
	dst, src    []byte
	rowBytes, k int
}

// Phase says what the task is.
func (t *packTask) Phase() timing.Phase { return timing.Phase{Operation: "Prepare", Cols: t.k} }

// Do packs one panel.
func (t *packTask) Do(_, panel int) {
	size := asm.PanelRows * t.rowBytes
	t.panels.Pack(t.dst[panel*size:(panel+1)*size], t.src[panel*size:(panel+1)*size], t.rowBytes, t.k)
}
