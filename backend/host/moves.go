package host

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// moves copies bytes.
type moves struct{}

// copySlice copies elements.
func (moves) copySlice(o *backend.CopySlice) (err error) {
	defer mmap.Catch(&err)()
	from, to, size := o.Bytes()
	var m mapped
	if err := m.add("CopySlice", o.Src, o.Dst); err != nil {
		return err
	}
	defer m.unmap()
	copy(o.Dst.Data()[to:to+size], o.Src.Data()[from:from+size])
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
