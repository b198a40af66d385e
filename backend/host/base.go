package host

import (
	"fmt"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
)

// Base has every operation of the contract over memory that the host can map. A device embeds a *Base and has a Run of its own, which computes
// what the device does better, and gives the rest to Compute; it must bring Name, Memory, CopyFrom, Describe and Close itself. Base may be used by several goroutines. Operations borrow scratch memory
// from one small pool for each kind of task.
//
// Its embedded types have the operations of one kind each, and their tasks. Results do not depend on the
// kernels nor on the runner: see package asm.
type Base struct {
	*machine
	moves
	rowOps
	products
	rotations
	attentions
	textAttentions
	weighings
	paging
	compactions
	selections
	experts
	convolutions
	recurrences
}

// NewBase makes a Base of a tier's kernels and a runner; nil stands for the portable kernels, and for computing on the
// caller's goroutine. In its pages keys and values lie one after another, whatever the kernels: a device that embeds it may lay them out
// so too, and leave to it what it does not do itself.
func NewBase(kernels *asm.Kernels, runner Runner) *Base {
	if kernels == nil {
		kernels = asm.Portable()
	}
	if runner == nil {
		runner = serial{}
	}
	m := &machine{kernels: kernels, pages: asm.Portable().Pages(), runner: runner}
	return &Base{
		machine: m, rowOps: rowOps{machine: m}, products: products{machine: m}, rotations: rotations{machine: m}, attentions: attentions{machine: m}, textAttentions: textAttentions{machine: m},
		weighings: weighings{machine: m}, paging: paging{m}, compactions: compactions{machine: m}, selections: selections{machine: m},
		experts:      experts{machine: m, rows: rowOps{machine: m}},
		convolutions: convolutions{machine: m}, recurrences: recurrences{machine: m},
	}
}

// Fusions returns nil: a fused operation is computed as the plain ones.
func (b *Base) Fusions() []backend.Fusion { return nil }

// Run computes operations.
func (b *Base) Run(ops ...backend.Op) error { return backend.Each(ops, b.Compute) }

// Compute computes an operation that has been checked, in a backend.Each.
func (b *Base) Compute(op backend.Op) error {
	if done, err := b.rowOps.compute(op); done {
		return err
	}
	switch o := op.(type) {
	case *backend.Scale:
		return b.scale(o)
	case *backend.MatMul:
		return b.matMul(o)
	case *backend.MatMulTransposed:
		return b.matMulTransposed(o)
	case *backend.MatMulRounded:
		return b.matMulRounded(o)
	case *backend.CopySlice:
		return b.copySlice(o)
	case *backend.Largest:
		return b.largest(o)
	case *backend.Mask:
		return b.mask(o)
	case *backend.RoPEStore:
		return b.ropeStore(o)
	case *backend.Attend:
		return b.attend(o)
	case *backend.AttendTexts:
		return b.attendTexts(o)
	case *backend.AccumulateAttention:
		return b.accumulateAttention(o)
	case *backend.Compact:
		return b.compact(o)
	case *backend.CopyPage:
		return b.copyPage(o.From, o.To)
	case *backend.ReadSlots:
		return b.moveSlots("ReadSlots", o, false)
	case *backend.WriteSlots:
		return b.moveSlots("WriteSlots", (*backend.ReadSlots)(o), true)
	case *backend.Convolve:
		return b.convolve(o)
	case *backend.Recur:
		return b.recur(o)
	case *backend.Route:
		return b.route(o)
	case *backend.MatMulExperts:
		return b.matMulExperts(o)
	case *backend.AddExpertBias:
		return b.addExpertBias(o)
	case backend.Fused:
		return backend.Each(o.Plain(), b.Compute)
	}
	return fmt.Errorf("host: %s: %w", backend.NameOf(op), backend.ErrUnsupported)
}

// ScratchBytes returns the memory that operations have taken to work in, in bytes, and keep for the next ones.
func (b *Base) ScratchBytes() int64 { return b.held.Load() }

// Synchronize has nothing to wait for: the operations are done when they return.
func (b *Base) Synchronize() error { return nil }
