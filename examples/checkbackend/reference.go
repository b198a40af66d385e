package main

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// reference is backend.Base, on one thread and with the portable kernels, as a device of its own: what all others are
// compared with.
type reference struct {
	*backend.Base
	memory tensor.Galloc
}

func newReference() *reference { return &reference{Base: backend.NewBase(nil, nil)} }

// Name returns "reference".
func (*reference) Name() string { return "reference" }

// Describe tells what it is.
func (*reference) Describe() string { return "the portable reference" }

// Memory is the host's.
func (r *reference) Memory() tensor.Memory { return &r.memory }

// CopyFrom copies to the host.
func (r *reference) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) {
	c, err := tensor.New(r, t.DType(), t.Shape())
	if err != nil {
		return nil, err
	}
	if err := r.ReadBuffer(t, c.Data()); err != nil {
		c.Free()
		return nil, err
	}
	return c, nil
}

// Close has nothing to end.
func (*reference) Close() error { return nil }
