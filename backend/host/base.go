package host

import "github.com/antigravity-go/antigravity/asm"

// Base has every operation of the contract over memory that the host can map. A device embeds a *Base and overrides what it does better; it
// must bring Name, Memory, CopyFrom, Describe and Close itself. Base may be used by several goroutines. Operations borrow scratch memory
// from one small pool for each kind of task.
//
// Its methods are those of its embedded types. Each type has the operations of one kind and their tasks. Results do not depend on the
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

// ScratchBytes returns the memory that operations have taken to work in, in bytes, and keep for the next ones.
func (b *Base) ScratchBytes() int64 { return b.held.Load() }

// Synchronize has nothing to wait for: the operations are done when they return.
func (b *Base) Synchronize() error { return nil }
