package kvcache

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/antigravity-go/antigravity/tensor"
)

// State is what one recurrent layer remembers of one conversation: some tensors of fixed shapes, of type F32, all zeros before the first
// token. However long the conversation is, a State takes the same memory. What it cannot do is forget single tokens, as a Cache can. It
// therefore keeps snapshots: what the tensors were after earlier tokens. A State goes back to a snapshot, and the tokens from there on are
// computed again.
//
// A State is not safe for concurrent use, but States that share values are independent of each other.
//
// # An example
//
// A value is the tensors after some tokens; copies and snapshots share values until one of them writes. A prompt of 300 tokens is computed
// in two steps, and a snapshot is asked for after 290 tokens:
//
//	s.Begin(256, Step{Keep: true})                    // the value before, zeros, is kept, and the step writes to another one
//	                                                  // States.Recur: rows 0 … 255
//	s.End()                                           // the value before is given back
//	s.Begin(44, Step{Keep: true, Marks: []int{290}})  // States.Recur: 34 rows, a copy for the snapshot, 10 rows
//	s.End()                                           // Seen 300, Snapshots 290
//
// The step of an answer's token changes the value in place: that costs nothing besides, but if the step fails, the State goes back to a
// snapshot. A step with guesses behind its first row leaves the value as it is: States computes the rows with a copy that is thrown away, and a
// journal records the operations' inputs.
//
//	s.Begin(4, Step{Guesses: true})  // the value stays that of 300 tokens, and the journal gets 4 rows
//	s.End()                          // Seen 304
//	s.Truncate(302)                  // one guess was right: the journal's first two rows count
//	s.Begin(1, Step{})               // these are passed through the value now, by the same operation: the value is that of 302 tokens
type State struct {
	// Invariants between calls: at ≤ seen; value holds the tensors after at tokens, nil if at is 0; the first seen−at rows of the journal are
	// those of the tokens from at to seen; snapshots are in the order of their positions, which are from 1 to at.

	*held
	seen      int
	forgotten runtime.Cleanup // gives back the values of a State that nobody refers to
}

// held is a State's values. They are apart from the State so that those of a State that was forgotten can be given back.
type held struct {
	pool      *statePool
	layout    *layout
	value     *value
	at        int
	snapshots []snapshot
	journal   journal
	step      stepUnderWay
	freed     bool
}

// snapshot is the value after the first at tokens.
type snapshot struct {
	at    int
	value *value
}

// Step describes a step to State.Begin.
type Step struct {
	Keep    bool  // the value before the step is kept until End, so that TakeBack returns to it
	Guesses bool  // Truncate may forget some of the rows after the step: it returns to any of them
	Marks   []int // ascending positions after which snapshots are kept; those outside the step are ignored, and all of a step with guesses
}

// stepUnderWay is what a State notes between Begin and End.
type stepUnderWay struct {
	rows   int        // 0: no step is under way
	draft  bool       // the rows go to the journal
	before *value     // what the state goes back to if the step fails; nil: an earlier snapshot
	kept   bool       // before counts, nil too
	wrote  bool       // the value has been written in part
	marks  []snapshot // that are copied or shared in the step
}

// NewState makes the empty state of a layer that remembers tensors of these shapes, of type F32. It takes memory with the first token.
func (s *Store) NewState(shapes ...tensor.Shape) (*State, error) {
	l, err := s.states.layoutOf(shapes)
	if err != nil {
		return nil, fmt.Errorf("kvcache: a state: %w", err)
	}
	return newState(&held{pool: &s.states, layout: l}, 0), nil
}

// newState makes a State of values that are its own from now on.
func newState(h *held, seen int) *State {
	s := &State{held: h, seen: seen}
	s.forgotten = runtime.AddCleanup(s, func(h *held) { h.free() }, h)
	return s
}

// Clone returns a copy, of the same store. Both share the value and the snapshots until one of them writes. If the journal has rows, the
// copy is of the tokens before these: see Settle. Nothing is computed, so that it cannot fail.
func (s *State) Clone() *State {
	n := &held{pool: s.pool, layout: s.layout, value: s.pool.share(s.value), at: s.at, snapshots: slices.Clone(s.snapshots)}
	for i := range n.snapshots {
		s.pool.share(n.snapshots[i].value)
	}
	return newState(n, s.at)
}

// Free gives the value and the snapshots back.
func (s *State) Free() error {
	s.forgotten.Stop()
	return s.held.free()
}

// free gives everything back, once.
func (h *held) free() error {
	if h.freed {
		return nil
	}
	h.freed = true
	errs := []error{h.abandon(), h.pool.give(h.value), h.journal.free(h.pool)}
	for _, k := range h.snapshots {
		errs = append(errs, h.pool.give(k.value))
	}
	h.value, h.at, h.snapshots = nil, 0, nil
	return errors.Join(errs...)
}

// Seen returns of how many tokens the state is.
func (s *State) Seen() int { return s.seen }

// MemoryUsage returns the bytes of the value and the snapshots. Those that are shared with other States count in each; Store.Bytes counts
// them once.
func (s *State) MemoryUsage() int64 {
	n := len(s.snapshots)
	if s.value != nil && !slices.ContainsFunc(s.snapshots, func(k snapshot) bool { return k.value == s.value }) {
		n++
	}
	return int64(n)*s.layout.bytes() + s.journal.bytes
}

// Begin prepares a step of rows further tokens, which States computes; End or TakeBack must follow it. It makes the memory for the step.
func (s *State) Begin(rows int, o Step) error {
	if err := errors.Join(s.abandon(), s.Settle()); err != nil {
		return err
	}
	st := &s.step
	st.rows, st.draft = rows, o.Guesses
	if st.draft {
		return nil
	}
	if o.Keep {
		st.before, st.kept = s.pool.share(s.value), true
	}
	if err := s.own(); err != nil {
		return errors.Join(fmt.Errorf("kvcache: a state for %d tokens after %d: %w", rows, s.seen, err), s.abandon())
	}
	for _, at := range o.Marks {
		latest := s.seen
		if n := len(st.marks); n > 0 {
			latest = st.marks[n-1].at
		}
		if at <= latest || at > s.seen+rows {
			continue
		}
		mark := snapshot{at: at}
		if at < s.seen+rows {
			var err error
			if mark.value, err = s.pool.take(s.layout); err != nil {
				return errors.Join(fmt.Errorf("kvcache: a snapshot after %d tokens: %w", at, err), s.abandon())
			}
		}
		st.marks = append(st.marks, mark)
	}
	return nil
}

// own makes the value the State's own, so that it can be written: it is replaced by a copy if others have it too.
func (h *held) own() error {
	if h.value != nil && !h.pool.shared(h.value) {
		return nil
	}
	v, err := h.copyValue()
	if err != nil {
		return err
	}
	old := h.value
	h.value = v
	return h.pool.give(old)
}

// copyValue returns a copy of the value, or zeros if there is no value.
func (h *held) copyValue() (*value, error) {
	if h.value == nil {
		return h.pool.zero(h.layout)
	}
	v, err := h.pool.take(h.layout)
	if err != nil {
		return nil, err
	}
	if err := v.copyFrom(h.pool.device, h.value); err != nil {
		return nil, errors.Join(err, h.pool.give(v))
	}
	return v, nil
}

// End ends a step that was computed: its tokens are part of what the state has seen.
func (s *State) End() {
	st := &s.step
	if st.rows == 0 {
		return
	}
	s.seen += st.rows
	if st.draft {
		s.journal.rows = st.rows
	} else {
		s.at = s.seen
	}
	for _, mark := range st.marks {
		if mark.value == nil {
			mark.value = s.pool.share(s.value)
		}
		s.insert(mark)
	}
	st.marks = st.marks[:0]
	_ = s.abandon() // the value before is left: an error would be that of a device that gives memory back
}

// abandon gives back what a step has that is under way.
func (h *held) abandon() error {
	st := &h.step
	err := h.pool.give(st.before)
	for _, mark := range st.marks {
		err = errors.Join(err, h.pool.give(mark.value))
	}
	h.step = stepUnderWay{marks: st.marks[:0]}
	return err
}

// TakeBack undoes the step that is under way, or, without one, goes back to seen tokens, as Truncate does. Neither needs the device.
func (s *State) TakeBack(seen int) error {
	st := &s.step
	if st.rows == 0 {
		return s.Truncate(seen)
	}
	switch {
	case st.draft:
		s.journal.rows = 0
	case st.kept:
		s.value, st.before = st.before, s.value // abandon gives the other one back
	case st.wrote:
		return errors.Join(s.abandon(), s.lose())
	}
	return s.abandon()
}

// lose goes back to the latest snapshot, or to no tokens, since the value is not what it should be.
func (s *State) lose() error {
	if len(s.snapshots) > 0 {
		return s.goBack(s.snapshots[len(s.snapshots)-1])
	}
	return s.goBack(snapshot{})
}

// Truncate goes back to as many of the first seen tokens as the state can: Reach says how many. It does not need the device.
func (s *State) Truncate(seen int) error {
	n := s.Reach(seen)
	s.forget(n)
	if n >= s.at {
		s.seen = n
		return nil
	}
	for _, k := range s.snapshots {
		if k.at == n {
			return s.goBack(k)
		}
	}
	return s.goBack(snapshot{})
}

// Reach returns the number of tokens that Truncate(seen) goes back to, seen ≤ Seen. That is seen if it is the state's own position, if a
// journal has the tokens before it, or if there is a snapshot at it; otherwise the position of the latest snapshot before it, or 0.
func (s *State) Reach(seen int) int {
	if seen >= s.at {
		return min(seen, s.seen)
	}
	n := 0
	for _, k := range s.snapshots {
		if k.at <= seen {
			n = k.at
		}
	}
	return n
}

// goBack makes a snapshot the value.
func (s *State) goBack(to snapshot) error {
	s.pool.share(to.value)
	err := s.pool.give(s.value)
	s.value, s.at, s.seen, s.journal.rows = to.value, to.at, to.at, 0
	return err
}

// forget gives up the snapshots of more than the first seen tokens.
func (s *State) forget(seen int) {
	for len(s.snapshots) > 0 && s.snapshots[len(s.snapshots)-1].at > seen {
		last := len(s.snapshots) - 1
		_ = s.pool.give(s.snapshots[last].value) // as in End
		s.snapshots = s.snapshots[:last]
	}
}

// Settle passes the journal's rows through the value, as Begin does before the next step. If that fails, the State has gone back to a
// snapshot.
func (s *State) Settle() error {
	n := s.seen - s.at
	if n == 0 {
		s.journal.rows = 0
		return nil
	}
	if err := s.own(); err != nil {
		return err
	}
	if err := s.journal.replay(s.pool.device, s.value, n); err != nil {
		return errors.Join(fmt.Errorf("kvcache: a state of %d tokens: %d accepted ones: %w", s.at, n, err), s.lose())
	}
	s.at, s.journal.rows = s.seen, 0
	return nil
}

// Rest gives the memory back that only steps with guesses need.
func (s *State) Rest() error {
	if err := s.Settle(); err != nil {
		return err
	}
	return s.journal.free(s.pool)
}

// Snapshots appends the positions of the snapshots to dst, in their order.
func (s *State) Snapshots(dst []int) []int {
	for _, k := range s.snapshots {
		dst = append(dst, k.at)
	}
	return dst
}

// Keep makes a snapshot of the present value, if there is no snapshot of it yet. It copies nothing: the next step does.
func (s *State) Keep() error {
	if err := s.Settle(); err != nil || s.at == 0 || s.has(s.at) {
		return err
	}
	s.insert(snapshot{s.at, s.pool.share(s.value)})
	return nil
}

// Drop gives the snapshot at a position up.
func (s *State) Drop(at int) error {
	i, found := s.find(at)
	if !found {
		return nil
	}
	v := s.snapshots[i].value
	s.snapshots = slices.Delete(s.snapshots, i, i+1)
	return s.pool.give(v)
}

// insert adds a snapshot.
func (h *held) insert(k snapshot) {
	i, _ := h.find(k.at)
	h.snapshots = slices.Insert(h.snapshots, i, k)
}

// has reports whether there is a snapshot at a position.
func (h *held) has(at int) bool {
	_, found := h.find(at)
	return found
}

// find returns the index of the snapshot at a position, or the index to insert it at.
func (h *held) find(at int) (int, bool) {
	return slices.BinarySearchFunc(h.snapshots, at, func(k snapshot, at int) int { return k.at - at })
}
