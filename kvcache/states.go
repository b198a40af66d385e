package kvcache

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// States is what one recurrent layer does in a step for several conversations at once, as a Batch is for a layer that attends: the
// conversations' rows lie one after the other in the step's tensors. It keeps its memory from step to step and is not safe for concurrent
// use.
//
//	b.Reset()
//	b.Add(first, 5)                                        // rows 0 … 4
//	b.Add(second, 1)                                       // row 5
//	b.Convolve(0, x, weights, bias, out)                   // by the first of each state's tensors
//	b.Recur(1, q, k, v, decay, beta, out, true)            // by the second one
//
// Each part is used by one operation of a step, once.
type States struct {
	backend backend.Backend
	of      []stretch

	// Of the operation under way.
	tensors     [6]*tensor.Tensor // its operands that have rows; nil behind the last one
	run         []backend.Stretch // of one call to the backend
	first, next int               // the call's rows
	views       [6]tensor.Tensor  // these rows of the operands
	some        [6]*tensor.Tensor // the views

	// The operations, which allocate nothing.
	convolved backend.Call[backend.Convolve, *backend.Convolve]
	recurred  backend.Call[backend.Recur, *backend.Recur]
	copied    copying
}

// stretch is a conversation's rows in a step.
type stretch struct {
	state  *State
	rows   int
	value  *value // that the rows pass through: the state's, or a copy for guesses
	copied bool   // value is a copy, which nobody else has
}

// NewStates makes an empty batch of states on a device.
func NewStates(b backend.Backend) *States { return &States{backend: b} }

// Reset empties the batch, and gives the memory back in which guesses were computed.
func (b *States) Reset() {
	for i := range b.of {
		if s := &b.of[i]; s.copied {
			_ = s.state.pool.give(s.value) // an error would be that of a device that gives memory back
		}
	}
	clear(b.of)
	clear(b.run)
	b.of, b.run = b.of[:0], b.run[:0]
}

// Add adds a state for which State.Begin has prepared a step of some rows, and these rows: the next ones of the step. No state is added
// twice.
func (b *States) Add(s *State, rows int) error {
	if rows != s.step.rows {
		return fmt.Errorf("kvcache: add a state with %d rows: its step was begun with %d", rows, s.step.rows)
	}
	v := s.value
	if s.step.draft {
		var err error
		if v, err = s.copyValue(); err != nil {
			return fmt.Errorf("kvcache: a state for %d guesses: %w", rows, err)
		}
	}
	s.step.wrote = true
	b.of = append(b.of, stretch{s, rows, v, s.step.draft})
	return nil
}

// Convolve is backend.Convolve for the rows, by the states' tensors with the number part, [width−1, channels].
func (b *States) Convolve(part int, x, w, bias, out *tensor.Tensor) error {
	if err := b.record(part, false, x); err != nil {
		return fmt.Errorf("kvcache: convolve: %w", err)
	}
	return b.pieces(part, [6]*tensor.Tensor{x, out}, func(t *[6]*tensor.Tensor, of []backend.Stretch) error {
		return b.convolved.Run(b.backend, backend.Convolve{X: t[0], W: w, B: bias, Out: t[1], Of: of})
	})
}

// Recur is backend.Recur for the rows, by the states' tensors with the number part, of backend.StateShape.
func (b *States) Recur(part int, q, k, v, g, beta, out *tensor.Tensor, delta bool) error {
	if err := b.record(part, delta, k, v, g, beta); err != nil {
		return fmt.Errorf("kvcache: recur: %w", err)
	}
	return b.pieces(part, [6]*tensor.Tensor{q, k, v, g, beta, out}, func(t *[6]*tensor.Tensor, of []backend.Stretch) error {
		return b.recurred.Run(b.backend, backend.Recur{Q: t[0], K: t[1], V: t[2], G: t[3], Beta: t[4], Out: t[5], Delta: delta, Of: of})
	})
}

// record writes the inputs of the conversations with guesses to their journals, before an operation overwrites them.
func (b *States) record(part int, delta bool, inputs ...*tensor.Tensor) error {
	row := 0
	for i := range b.of {
		s := &b.of[i]
		if s.state.step.draft {
			if err := s.state.journal.record(s.state.pool, part, delta, row, s.rows, inputs); err != nil {
				return err
			}
		}
		row += s.rows
	}
	return nil
}

// pieces calls compute for all rows, in their order. Behind a row after which a snapshot is kept it breaks off, and copies the state's
// tensor. Usually there is no such row, and one call computes all. tensors are what compute needs the rows of.
//
// If the first of two conversations has 5 rows, and a snapshot behind row 2, and the second one has a row, the calls are for the rows
// 0 … 2 and 3 … 5.
func (b *States) pieces(part int, tensors [6]*tensor.Tensor, compute func(t *[6]*tensor.Tensor, of []backend.Stretch) error) error {
	b.tensors, b.run, b.first, b.next = tensors, b.run[:0], 0, 0
	for i := range b.of {
		s := &b.of[i]
		done, begin := 0, s.state.seen
		for _, mark := range s.state.step.marks {
			if mark.value == nil {
				continue // the end of the step
			}
			n := mark.at - begin - done
			b.add(s, part, n)
			done += n
			if err := b.compute(compute); err != nil {
				return err
			}
			from, to := s.value.parts[part], mark.value.parts[part]
			if err := b.copied.Run(b.backend, *backend.Copy(from, to)); err != nil {
				return err
			}
		}
		b.add(s, part, s.rows-done)
	}
	return b.compute(compute)
}

// add makes the next rows part of the call to come.
func (b *States) add(s *stretch, part, rows int) {
	b.run = append(b.run, backend.Stretch{State: s.value.parts[part], Rows: rows})
	b.next += rows
}

// compute makes the call.
func (b *States) compute(compute func(t *[6]*tensor.Tensor, of []backend.Stretch) error) error {
	list := &b.tensors
	if b.first > 0 || b.next < b.tensors[0].Shape().Dim(0) {
		list = &b.some
		for i, t := range b.tensors {
			if list[i] = nil; t == nil {
				continue
			}
			list[i] = &b.views[i]
			if err := t.SliceInto(list[i], b.first, b.next); err != nil {
				return err
			}
		}
	}
	err := compute(list, b.run)
	b.run, b.first = b.run[:0], b.next
	return err
}
