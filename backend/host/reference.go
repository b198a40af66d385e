package host

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Reference is Base as a backend of its own, with portable kernels and on its caller's goroutine: what all others are compared
// with, bit for bit if they promise that.
type Reference struct {
	*Base
	memory tensor.Galloc
}

// NewReference makes a Reference.
func NewReference() *Reference { return &Reference{Base: NewBase(nil, nil)} }

// Name returns "reference".
func (*Reference) Name() string { return "reference" }

// Describe says what it is.
func (*Reference) Describe() string { return "the portable reference" }

// BitExact returns true.
func (*Reference) BitExact() bool { return true }

// Memory is the host's.
func (r *Reference) Memory() tensor.Memory { return &r.memory }

// CopyFrom copies to the host.
func (r *Reference) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) { return CopyFrom(r, t) }

// Close has nothing to end.
func (*Reference) Close() error { return nil }

// CopyFrom implements CopyFrom for a backend with memory that the host can map: it returns a copy of t in that memory.
func CopyFrom(b backend.Backend, t *tensor.Tensor) (*tensor.Tensor, error) {
	result, err := tensor.New(b, t.DType(), t.Shape())
	if err != nil {
		return nil, err
	}
	if err := copyTo(b, t, result); err != nil {
		result.Free()
		return nil, err
	}
	return result, nil
}

// copyTo fills result, which is on b and of t's size.
func copyTo(b backend.Backend, t, result *tensor.Tensor) (err error) {
	if err := result.Buffer().Map(); err != nil {
		return err
	}
	defer func() {
		if unmapping := result.Buffer().Unmap(); err == nil {
			err = unmapping
		}
	}()
	return b.ReadBuffer(t, result.Data())
}
