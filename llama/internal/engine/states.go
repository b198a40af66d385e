package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/llama/internal/engine/internal/marks"
	"github.com/antigravity-go/antigravity/tensor"
)

// recurrent is a mixer with a memory of fixed size, a kvcache.State, instead of a cache.
type recurrent interface {
	// remembers returns the shapes of the state's tensors.
	remembers() []tensor.Shape
}

// ErrBehind is the error of a job if the recurrent layers of its memory have to see earlier tokens again first: see Memory.Computed.
var ErrBehind = errors.New("recurrent layers have not seen all tokens before")

// States are what the recurrent layers of a model remember of one conversation. A model without such layers has no states, and nothing to
// do.
//
// Invariants between its methods, unless one has failed: all states have seen the same tokens, and have snapshots at the same positions.
//
// For example, layers 1 and 2 of three layers are recurrent, and a prompt of 100 tokens is computed in one step:
//
//	build            at is [-1 0 1], and list has two states
//	Mark([64], 100)  a snapshot is wanted after 64 tokens
//	begin(100)       step is [64]: both states make that snapshot on their way
//	end              thin drops snapshots if there are more than marks.Most
//	cut(80)          both states go back to the snapshot at 64
type States struct {
	list  []*kvcache.State // in the layers' order
	at    []int            // the layers' places in list; -1 for layers without a state
	marks marks.Marks
	step  []int // positions of the snapshots of the step under way
}

// build makes empty states for the layers that are recurrent.
func (s *States) build(w *Weights, o *MemoryOptions) error {
	s.at = make([]int, len(w.layers))
	size := 0 // of the states, in bytes
	for i := range w.layers {
		s.at[i] = -1
		r, ok := w.layers[i].mixer.(recurrent)
		if !ok || o.leavesOut(i) {
			continue
		}
		shapes := r.remembers()
		state, err := w.of[i].store.NewState(shapes...)
		if err != nil {
			return layerError(i, err)
		}
		s.at[i] = len(s.list)
		s.list = append(s.list, state)
		for _, shape := range shapes {
			size += 4 * shape.NumElements()
		}
	}
	s.marks = marks.Marks{Most: max(o.Snapshots, 0), Every: o.SnapshotEvery}
	if o.Snapshots == 0 && size > 0 {
		s.marks.Most = max(leastSnapshots, min(snapshotBytes/size, mostSnapshots))
	}
	return nil
}

// How many snapshots are kept if nobody says: as many as take snapshotBytes, within these bounds.
const (
	leastSnapshots = 4
	mostSnapshots  = 32
	snapshotBytes  = 256 << 20
)

// any reports whether there are recurrent layers.
func (s *States) any() bool { return len(s.list) > 0 }

// seen returns how many tokens the states have seen. There are states.
func (s *States) seen() int { return s.list[0].Seen() }

// each calls f for each state, for all of them also when some fail.
func (s *States) each(f func(state *kvcache.State) error) error {
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
func (s *States) clone(from *States) {
	s.at, s.marks = from.at, from.marks.Clone()
	for _, state := range from.list {
		s.list = append(s.list, state.Clone())
	}
}

// free gives the memory back.
func (s *States) free() error {
	var errs []error
	for _, state := range s.list {
		errs = append(errs, state.Free())
	}
	return errors.Join(errs...)
}

// begin prepares a step of rows further tokens. keep says that the states before the step are kept until it ends, and guesses that some of
// the rows may be forgotten afterwards.
func (s *States) begin(rows int, keep, guesses bool) error {
	n := s.seen()
	s.step = s.marks.Within(s.step[:0], n, rows)
	o := kvcache.Step{Keep: keep, Guesses: guesses, Marks: s.step}
	for _, state := range s.list {
		if err := state.Begin(rows, o); err != nil {
			return errors.Join(err, s.takeBack(n))
		}
	}
	return nil
}

// end ends a step that was computed.
func (s *States) end() {
	for _, state := range s.list {
		state.End()
	}
	if len(s.step) > 0 {
		_ = s.thin() // an error would be that of a device that gives memory back
	}
}

// thin gives the snapshots up that are too many.
func (s *States) thin() error {
	if !s.any() {
		return nil
	}
	err := s.drop(s.marks.Excess(s.Snapshots(), s.seen()))
	s.marks.Passed(s.Snapshots(), s.seen())
	return err
}

// drop gives snapshots up.
func (s *States) drop(positions []int) error {
	return s.each(func(state *kvcache.State) error {
		var errs []error
		for _, at := range positions {
			errs = append(errs, state.Drop(at))
		}
		return errors.Join(errs...)
	})
}

// takeBack undoes the latest step, before which the conversation had n tokens, as far as the states can.
func (s *States) takeBack(n int) error {
	return errors.Join(s.each(func(state *kvcache.State) error { return state.TakeBack(n) }), s.align())
}

// align takes all states back to the position of the one that has seen least, after a step that reached some layers only.
func (s *States) align() error {
	if !s.any() {
		return nil
	}
	least, most := s.seen(), s.seen()
	for _, state := range s.list {
		least, most = min(least, state.Seen()), max(most, state.Seen())
	}
	if least == most {
		return nil
	}
	return s.cut(least)
}

// cut goes back to n tokens or, if the states cannot, to an earlier snapshot.
func (s *States) cut(n int) error {
	err := s.each(func(state *kvcache.State) error { return state.Truncate(n) })
	s.marks.Cut(n)
	return err
}

// Pin makes a snapshot of the present states, which stays until the next Pin. Those before it are given up: the conversation does not go
// back behind it, but to no tokens.
func (s *States) Pin() error {
	if !s.any() {
		return nil
	}
	err := s.snapshot(&s.marks.Pinned)
	list := s.Snapshots()
	return errors.Join(err, s.drop(list[:max(slices.Index(list, s.marks.Pinned), 0)]))
}

// Hold makes a snapshot of the present states, which stays until the next Hold.
func (s *States) Hold() error {
	if !s.any() {
		return nil
	}
	err := s.snapshot(&s.marks.Held)
	return errors.Join(err, s.thin())
}

// snapshot makes one of the present states, and writes its position to at.
func (s *States) snapshot(at *int) error {
	if err := s.each((*kvcache.State).Keep); err != nil {
		return err
	}
	*at = s.seen()
	return nil
}

// Mark asks for snapshots at positions of a prompt that ends at end, as far as there is room for them.
func (s *States) Mark(positions []int, end int) {
	if s.any() {
		s.marks.Want(positions, end)
	}
}

// Branch notes that conversations branch at a position: its snapshot is among the last that are given up. If it is still to come, there
// will be one.
func (s *States) Branch(at int) {
	if s.any() && at > 0 {
		s.marks.Branch(at, s.seen())
	}
}

// Snapshots returns the positions of the snapshots, in their order.
func (s *States) Snapshots() []int {
	if !s.any() {
		return nil
	}
	return s.list[0].Snapshots(nil)
}

// DropPlain gives up all snapshots but those where conversations branch, and reports whether there were any.
func (s *States) DropPlain() (some bool, err error) {
	gone := slices.DeleteFunc(s.Snapshots(), s.marks.Stays)
	return len(gone) > 0, s.drop(gone)
}

// Settle passes the latest step's guesses that were accepted through the states, so that a Clone has them. None is to be forgotten any more.
func (s *States) Settle() error { return s.each((*kvcache.State).Settle) }

// Rest is Settle for a conversation that does nothing for a while: it gives back the memory that only guesses need.
func (s *States) Rest() error { return s.each((*kvcache.State).Rest) }

// write writes the states, with the snapshots at some positions; read reads them.
func (s *States) write(w io.Writer, snapshots bool) error {
	return s.each(func(state *kvcache.State) error {
		return state.Save(w, func(at int) bool { return snapshots || at == s.marks.Pinned })
	})
}

// read fills empty states with what write wrote of a conversation of tokens tokens. The first evicted of these may lack slots in caches.
func (s *States) read(r io.Reader, tokens, evicted int) error {
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
		if !slices.Equal(state.Snapshots(nil), s.Snapshots()) {
			return layerError(layer, errors.New("its snapshots are not those of the other layers"))
		}
	}
	if s.any() {
		s.marks.Pinned = evicted
	}
	return s.thin()
}

// copyTo copies the states and their snapshots to empty ones, which may be on another device.
func (s *States) copyTo(ctx context.Context, to *States) error {
	to.marks = s.marks.Clone()
	all := func(int) bool { return true }
	return s.each(func(state *kvcache.State) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		fresh := to.list[slices.Index(s.list, state)]
		return copyState(func(w io.Writer) error { return state.Save(w, all) }, fresh.Restore)
	})
}
