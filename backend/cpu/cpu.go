// Package cpu is the backend for the host's processor: the operations of package host with the kernels that package asm
// chose for it, on a pool of threads that stays as long as the backend. llama.Load uses it
// unless LoadOptions say otherwise; a program makes one itself to share its threads among models.
//
// Importing the package registers it as "cpu".
package cpu

import (
	"context"
	"fmt"
	"runtime"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/tensor"
	"github.com/klauspost/cpuid/v2"
)

func init() {
	backend.Register("cpu", func(o backend.Options) (backend.Backend, error) { return newBackend(asm.Best(), o), nil })
}

// Backend computes on the processor. It is safe for concurrent use; operations that run at the same time share the threads.
type Backend struct {
	host.Fused
	kernels *asm.Kernels
	pool    *parallel.Pool
	memory  tensor.Galloc
}

// New starts a backend with a number of threads; below 1 it is GOMAXPROCS. Close ends the threads.
func New(threads int) *Backend {
	return newBackend(asm.Best(), backend.Options{Threads: threads})
}

// newBackend starts a backend with the kernels of a tier.
func newBackend(kernels *asm.Kernels, o backend.Options) *Backend {
	pool := parallel.NewRecorded(o.Threads, o.Record)
	return &Backend{Fused: host.NewFused(kernels, pool), kernels: kernels, pool: pool}
}

// Name returns "cpu".
func (b *Backend) Name() string { return "cpu" }

// BitExact returns true: every tier of kernels gives the portable reference's bits.
func (b *Backend) BitExact() bool { return true }

// Describe names the processor, the kernels and the threads.
func (b *Backend) Describe() string {
	name := cpuid.CPU.BrandName
	if name == "" {
		name = runtime.GOARCH
	}
	return fmt.Sprintf("%s, %s kernels, %d threads", name, b.kernels.Tier(), b.pool.Size())
}

// Threads returns the number of threads.
func (b *Backend) Threads() int { return b.pool.Size() }

// Memory allocates outside the Go heap and counts.
func (b *Backend) Memory() tensor.Memory { return &b.memory }

// CopyFrom returns a copy of t in the host's memory.
func (b *Backend) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) { return host.CopyFrom(b, t) }

// Prepare returns weights ready for products: packed into panels if the kernels have a layout of their own for the type,
// and else a host tensor as it is, without a copy. The context is looked at while it packs.
func (b *Backend) Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error) {
	return b.PrepareAs(ctx, w, w.DType(), nil)
}

// PrepareAs is Prepare for weights that change their type and the order of their rows on the way, panel by panel: see
// backend.Converter.
func (b *Backend) PrepareAs(ctx context.Context, w *tensor.Tensor, d tensor.DType, order func(row int) int) (*tensor.Tensor, error) {
	if w.Device() == nil || w.Device() == tensor.Device(b) {
		return b.Pack(ctx, b, w, d, order)
	}
	rows, err := b.CopyFrom(w)
	if err != nil {
		return nil, err
	}
	packed, err := b.Pack(ctx, b, rows, d, order)
	if err != nil || packed != rows {
		rows.Free()
	}
	return packed, err
}

// Close ends the threads; what still computes goes on on its caller's goroutine.
func (b *Backend) Close() error {
	b.pool.Close()
	return nil
}
