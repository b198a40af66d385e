package host

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// moves copies bytes.
type moves struct{}

// CopySlice copies elements.
func (moves) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) (err error) {
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
	copy(dst.Data()[to:to+size], src.Data()[from:from+size])
	return nil
}

// ReadBuffer copies a tensor's bytes to the host.
func (moves) ReadBuffer(t *tensor.Tensor, dst []byte) (err error) {
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
