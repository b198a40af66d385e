package backend

import (
	"context"

	"github.com/antigravity-go/antigravity/tensor"
)

// The optional interfaces of a backend, and what callers get of one that lacks them.

// Prepare returns weights w [N, K], on the host or on the backend's device, as the backend wants them: in a layout of its own
// if it is a Preparer, else as they are on its device. It gives up with the context's error when that ends.
func Prepare(ctx context.Context, b Backend, w *tensor.Tensor) (*tensor.Tensor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p, ok := b.(Preparer); ok {
		return p.Prepare(ctx, w)
	}
	return w.ToDevice(b)
}

// BitExact reports whether the backend promises the bits of the portable reference, host.Reference.
func BitExact(b Backend) bool {
	e, ok := b.(Exact)
	return ok && e.BitExact()
}

// KeepsLatents reports whether a backend computes with Latent slots. For others slots have keys and values, also if these are alike.
func KeepsLatents(b Backend) bool {
	l, ok := b.(interface{ KeepsLatents() bool })
	return ok && l.KeepsLatents()
}

// Scratch returns the memory that a backend's operations work in and keep, in bytes: 0 if it does not say.
func Scratch(b Backend) int64 {
	if s, ok := b.(interface{ ScratchBytes() int64 }); ok {
		return s.ScratchBytes()
	}
	return 0
}

// Room returns how many bytes of a backend's memory are free, at least 1; 0: it does not say that its memory ends.
func Room(b Backend) int64 {
	l, ok := b.(Limited)
	if !ok || l.MemoryBytes() == 0 {
		return 0
	}
	return max(l.MemoryBytes()-b.Memory().Used(), 1)
}

// PassRows returns how many rows of prompts, and how many rows of answers, a pass of a backend computes best: 0 if it does not say.
func PassRows(b Backend) (prompts, answers int) {
	if s, ok := b.(Sized); ok {
		return s.PassRows()
	}
	return 0, 0
}
