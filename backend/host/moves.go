package host

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// moves copies bytes.
type moves struct {
	*machine
	copies pool[copying, *copying]
}

// copying is a large CopySlice as a task: a session's logits, say. A piece is some of the bytes.
type copying struct {
	dst, src []byte
	pieces   int
}

// bytesPerCopy is how many bytes are worth handing to another thread.
const bytesPerCopy = 64 << 10

// reset forgets the operands.
func (c *copying) reset() { *c = copying{} }

// Phase says what the task is.
func (c *copying) Phase() timing.Phase { return timing.Phase{Operation: "CopySlice"} }

// Do copies the bytes of one piece.
func (c *copying) Do(_, piece int) {
	lo, hi := piece*len(c.src)/c.pieces, (piece+1)*len(c.src)/c.pieces
	copy(c.dst[lo:hi], c.src[lo:hi])
}

// CopySlice copies elements.
func (b *moves) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) (err error) {
	defer mmap.Catch(&err)()
	from, to, size, err := backend.CheckCopySlice(src, dst, srcOff, dstOff, n)
	if err != nil {
		return err
	}
	var m mapped
	if err := m.add("CopySlice", src, dst); err != nil {
		return err
	}
	defer m.unmap()
	into, bytes := dst.Data()[to:to+size], src.Data()[from:from+size]
	pieces := min(size/bytesPerCopy, b.runner.Size())
	if pieces < 2 || src.Buffer() == dst.Buffer() { // which may overlap
		copy(into, bytes)
		return nil
	}
	c := b.copies.get()
	defer b.copies.put(c)
	c.dst, c.src, c.pieces = into, bytes, pieces
	return b.runner.Run(c, pieces)
}

// ReadBuffer copies a tensor's bytes to the host.
func (*moves) ReadBuffer(t *tensor.Tensor, dst []byte) (err error) {
	defer mmap.Catch(&err)()
	if err := backend.CheckReadBuffer(t, dst); err != nil {
		return err
	}
	if err := t.Buffer().Sync(); err != nil {
		return fmt.Errorf("host: ReadBuffer of %v: %w", t, err)
	}
	var m mapped
	if err := m.add("ReadBuffer", t); err != nil {
		return err
	}
	defer m.unmap()
	copy(dst, t.Data())
	return nil
}
