package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// recurrent is a mixer that remembers of a conversation what has a fixed size, in a kvcache.State, and has no cache.
type recurrent interface {
	// remembers returns the shapes of the state's tensors.
	remembers() []tensor.Shape
}

// ErrBehind is the error of a job whose memory's recurrent layers have to see earlier tokens again first: see Memory.Computed.
var ErrBehind = errors.New("recurrent layers have not seen all tokens before")

// states are what the recurrent layers of a model remember of one conversation. A model without such layers has none, and nothing to do.
//
// Invariants between its methods, unless one has failed: all states have seen the same tokens, and have snapshots at the same positions.
type states struct {
	list  []*kvcache.State // in the layers' order
	at    []int            // the layers' places in list; -1 for layers with caches
	marks marks
	step  []int // positions of the snapshots of the step under way
}

// build makes empty states for the layers that are recurrent.
func (s *states) build(w *Weights, o *MemoryOptions) error {
	s.marks = marks{most: o.Snapshots, every: o.SnapshotEvery}
	s.at = make([]int, len(w.layers))
	for i := range w.layers {
		s.at[i] = -1
		r, ok := w.layers[i].mixer.(recurrent)
		if !ok {
			continue
		}
		state, err := w.store.NewState(r.remembers()...)
		if err != nil {
			return layerError(i, err)
		}
		s.at[i] = len(s.list)
		s.list = append(s.list, state)
	}
	return nil
}

// any reports whether there are recurrent layers.
func (s *states) any() bool { return len(s.list) > 0 }

// has reports whether a layer is recurrent.
func (s *states) has(layer int) bool { return s.at[layer] >= 0 }

// of returns a recurrent layer's state.
func (s *states) of(layer int) *kvcache.State { return s.list[s.at[layer]] }

// seen returns how many tokens the states have seen. There are states.
func (s *states) seen() int { return s.list[0].Seen() }

// each calls f for each state, for all of them also when some fail.
func (s *states) each(f func(state *kvcache.State) error) error {
	var errs []error
	for layer, i := range s.at {
		if i < 0 {
			continue
		}
		if err := f(s.list[i]); err != nil {
			errs = append(errs, layerError(layer, err))
		}
	}
	return errors.Join(errs...)
}

// clone fills empty states with copies that share memory until one of the two writes.
func (s *states) clone(from *states) {
	s.at, s.marks = from.at, from.marks.clone()
	for _, state := range from.list {
		s.list = append(s.list, state.Clone())
	}
}

// free gives the memory back.
func (s *states) free() error {
	var errs []error
	for _, state := range s.list {
		errs = append(errs, state.Free())
	}
	return errors.Join(errs...)
}

// begin prepares a step of rows further tokens. keep says that the states before the step are kept until it ends, and guesses that some of
// the rows may be forgotten afterwards.
func (s *states) begin(rows int, keep, guesses bool) error {
	s.step = s.marks.within(s.step[:0], s.seen(), rows)
	o := kvcache.Step{Keep: keep, Guesses: guesses, Marks: s.step}
	for _, state := range s.list {
		if err := state.Begin(rows, o); err != nil {
			return errors.Join(err, s.align())
		}
	}
	return nil
}

// end ends a step that was computed.
func (s *states) end() {
	for _, state := range s.list {
		state.End()
	}
	if len(s.step) > 0 {
		s.marks.passed(s.seen())
		_ = s.thin() // an error would be that of a device that gives memory back
	}
}

// thin gives the snapshots up that are too many.
func (s *states) thin() error {
	if !s.any() {
		return nil
	}
	return s.drop(s.marks.excess(s.snapshots(), s.seen()))
}

// drop gives snapshots up.
func (s *states) drop(positions []int) error {
	return s.each(func(state *kvcache.State) error {
		var errs []error
		for _, at := range positions {
			errs = append(errs, state.Drop(at))
		}
		return errors.Join(errs...)
	})
}

// snapshots returns the positions of the snapshots.
func (s *states) snapshots() []int {
	if !s.any() {
		return nil
	}
	return s.list[0].Snapshots(nil)
}

// takeBack undoes the latest step, before which the conversation had n tokens, as far as the states can.
func (s *states) takeBack(n int) error {
	return errors.Join(s.each(func(state *kvcache.State) error { return state.TakeBack(n) }), s.align())
}

// align takes all states to where the one is that has seen least, since a step has come to some layers only.
func (s *states) align() error {
	if !s.any() {
		return nil
	}
	least := s.seen()
	for _, state := range s.list {
		least = min(least, state.Seen())
	}
	return s.cut(least)
}

// cut goes back to n tokens or, if the states cannot, to an earlier snapshot.
func (s *states) cut(n int) error {
	s.marks.passed(n)
	return s.each(func(state *kvcache.State) error { return state.Truncate(n) })
}

// pin makes a snapshot of the present states, which stays until the next call. Those before it are given up.
func (s *states) pin() error {
	if !s.any() {
		return nil
	}
	if err := s.each((*kvcache.State).Keep); err != nil {
		return err
	}
	s.marks.pinned = s.seen()
	list := s.snapshots()
	return s.drop(list[:slices.Index(list, s.marks.pinned)])
}

// write writes the states, with the snapshots at some positions; read reads them.
func (s *states) write(w io.Writer, snapshots bool) error {
	return s.each(func(state *kvcache.State) error {
		return state.Save(w, func(at int) bool { return snapshots || at == s.marks.pinned })
	})
}

// read fills empty states with what write wrote of a conversation of tokens tokens, of which the first evicted may lack slots in caches.
func (s *states) read(r io.Reader, tokens, evicted int) error {
	for layer, i := range s.at {
		if i < 0 {
			continue
		}
		state := s.list[i]
		if err := state.Restore(r); err != nil {
			return layerError(layer, err)
		}
		if state.Seen() != tokens {
			return layerError(layer, fmt.Errorf("a state of %d tokens of %d", state.Seen(), tokens))
		}
		if !slices.Equal(state.Snapshots(nil), s.snapshots()) {
			return layerError(layer, errors.New("its snapshots are not those of the other layers"))
		}
	}
	if s.any() {
		s.marks.pinned = evicted
	}
	return s.thin()
}

// copyTo copies the states and their snapshots to empty ones, which may be on another device.
func (s *states) copyTo(ctx context.Context, to *states) error {
	to.marks = s.marks.clone()
	all := func(int) bool { return true }
	return s.each(func(state *kvcache.State) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		fresh := to.list[slices.Index(s.list, state)]
		return copyState(func(w io.Writer) error { return state.Save(w, all) }, fresh.Restore)
	})
}
