package models

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
)

// shelf keeps things within a budget of memory: it loads them when somebody asks, and gives back those that nobody uses. What it keeps
// is models; the shelf does not know that.
//
// Who asks for a thing that is loaded has it at once, with one exception below. Other things are loaded in the order in which they were
// first asked for. Where the budget has no room for the next of them, things that nobody uses are given back, the least recently used
// first. Where that is not enough, so many of those in use are marked as leaving that there will be room: who asks for one of them from
// then on waits until it has been given back and loaded again, so that no stream of requests keeps it where it is. Whatever else is to
// be loaded waits behind the one that comes next, so that nothing takes its room.
//
// The methods are safe for any number of goroutines. Things are loaded and closed on goroutines of their own, without the lock.
type shelf struct {
	budget int64 // bytes; 0: no bound
	log    *slog.Logger
	slots  []*slot // never changes

	// Invariants while mu is free: nobody asks for a thing that is loaded and not leaving; no thing is leaving unless one is to be loaded;
	// after close nobody asks.
	mu      sync.Mutex
	closed  bool
	clock   uint64        // counts what asker.came and slot.used tell
	changed chan struct{} // closed after the next change; nil where nobody wants to know
	errs    []error       // of things that were closed after close
}

// thing is what a shelf keeps.
type thing interface {
	bytes() int64 // the memory that it takes now
	close() error
}

// slot is a thing's place on the shelf.
type slot struct {
	name string
	load func(ctx context.Context) (thing, error) // nil: thing has been there from the beginning, and is given back by clear only
	most int                                      // how many may wait for it; 0: no bound

	// What follows is protected by shelf.mu.

	state   state
	thing   thing // while it is loaded
	leases  int   // how many use it
	used    uint64
	leaving bool          // it is loaded and in use, and nobody may begin to use it
	askers  list.List     // of *asker, in the order in which they came
	size    int64         // the memory that loading it takes: first what the caller said, then what it was
	took    time.Duration // how long loading it took the last time
	holds   int64         // what counts against the budget now
	cancel  func()        // ends the load; nil while there is none, and after it was called
}

// state is where a thing is.
type state uint8

const (
	absent  state = iota // not in memory; to be loaded where somebody asks
	loading              // a goroutine loads it
	loaded               // there
	closing              // a goroutine closes it
)

// asker is somebody who waits for a thing.
type asker struct {
	came  uint64
	over  chan struct{} // closed when the wait is over
	thing thing         // with it
	err   error         // or with this
}

// newShelf makes a shelf of slots. It is an error where those that are never given back take more than the budget.
func newShelf(budget int64, slots []*slot, log *slog.Logger) (*shelf, error) {
	s := &shelf{budget: budget, slots: slots, log: log}
	for _, t := range slots {
		if t.load == nil {
			t.state, t.holds = loaded, t.thing.bytes()
		}
	}
	if fixed := s.fixed(); budget > 0 && fixed > budget {
		return nil, fmt.Errorf("the models that are never given back take %d bytes, more than the budget of %d", fixed, budget)
	}
	return s, nil
}

// fixed returns what is taken by things that are never given back. What they take later than newShelf does not count, since
// nothing could be done about it.
func (s *shelf) fixed() (bytes int64) {
	for _, t := range s.slots {
		if t.load == nil {
			bytes += t.holds
		}
	}
	return bytes
}

// acquire returns a slot's thing, which release gives back; until then it is not closed. It waits until the thing is loaded. Where the
// context ends first the error is its cause; where loading fails, that error; a *queue.FullError where too many wait for it already; a
// *TooLargeError where the budget has no room for it; ErrClosed where the shelf is closed.
func (s *shelf) acquire(ctx context.Context, t *slot) (thing, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, ErrClosed
	}
	if n := t.askers.Len(); t.most > 0 && n >= t.most {
		after := min(t.took.Truncate(time.Second)+time.Second, time.Minute)
		s.mu.Unlock()
		return nil, &queue.FullError{Waiting: n, RetryAfter: after}
	}
	s.clock++
	a := &asker{came: s.clock, over: make(chan struct{})}
	position := t.askers.PushBack(a)
	s.settle()
	s.mu.Unlock()
	select {
	case <-a.over:
	case <-ctx.Done():
	}
	if ctx.Err() == nil {
		return a.thing, a.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.thing != nil:
		t.leases--
	case a.err == nil:
		t.askers.Remove(position)
	}
	s.settle()
	return nil, context.Cause(ctx)
}

// release gives back what acquire gave. It is called once for each.
func (s *shelf) release(t *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.leases--
	s.clock++
	t.used = s.clock
	s.settle()
}

// look returns a slot's thing, or nil where it is not loaded, and how many use it.
func (s *shelf) look(t *slot) (thing, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return t.thing, t.leases
}

// settle does whatever there is to do after a change, with mu held.
func (s *shelf) settle() {
	if s.budget > 0 {
		for _, t := range s.slots {
			if t.state == loaded && t.load != nil {
				t.holds = t.thing.bytes()
			}
		}
	}
	s.serve()
	for s.loadFirst() {
	}
	s.serve() // what is not leaving any more
	for _, t := range s.slots {
		if t.state == loading && t.askers.Len() == 0 && t.cancel != nil {
			t.cancel()
			t.cancel = nil
		}
	}
	s.trim()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// serve gives loaded things to those who ask for them.
func (s *shelf) serve() {
	for _, t := range s.slots {
		if t.state != loaded || t.leaving {
			continue
		}
		for t.askers.Len() > 0 {
			a := t.askers.Remove(t.askers.Front()).(*asker)
			a.thing = t.thing
			t.leases++
			s.clock++
			t.used = s.clock
			close(a.over)
		}
	}
}

// fail tells an error to all who ask for a thing.
func (t *slot) fail(err error) {
	for t.askers.Len() > 0 {
		a := t.askers.Remove(t.askers.Front()).(*asker)
		a.err = err
		close(a.over)
	}
}

// first returns the slot that is to be loaded next, or nil.
func (s *shelf) first() (first *slot) {
	var came uint64
	for _, t := range s.slots {
		if t.state != absent || t.askers.Len() == 0 {
			continue
		}
		if c := t.askers.Front().Value.(*asker).came; first == nil || c < came {
			first, came = t, c
		}
	}
	return first
}

// loadFirst begins to load the first of those that are to be loaded, or sees to it that there will be room. It returns whether there may
// be room for the next one.
func (s *shelf) loadFirst() bool {
	t := s.first()
	over := int64(0) // bytes by which the budget would be exceeded, if everything had happened that is under way
	if t != nil && s.budget > 0 {
		if fixed := s.fixed(); t.size > s.budget-fixed {
			t.fail(&TooLargeError{t.name, t.size, s.budget, fixed})
			return true
		}
		over = s.giveIdle(s.over() + t.size)
	}
	inUse := s.victims(true)
	for _, v := range s.slots {
		v.leaving = false
	}
	for _, v := range inUse {
		v.leaving = over > 0
		over -= v.holds
	}
	if t == nil || s.budget > 0 && s.taken()+t.size > s.budget {
		return false
	}
	s.begin(t)
	return true
}

// taken returns what counts against the budget.
func (s *shelf) taken() (bytes int64) {
	for _, t := range s.slots {
		bytes += t.holds
	}
	return bytes
}

// over returns by how many bytes the budget is exceeded, not counting what is being closed; it is negative while there is room.
func (s *shelf) over() int64 {
	over := s.taken() - s.budget
	for _, t := range s.slots {
		if t.state == closing {
			over -= t.holds
		}
	}
	return over
}

// victims returns the loaded things that may be given back, those in use or those that nobody uses: the one that is to go first stands
// first. That is the least recently used one; but those that are leaving stay first, since otherwise each could be spared for
// another one again and again.
func (s *shelf) victims(inUse bool) (victims []*slot) {
	for _, t := range s.slots {
		if t.state == loaded && t.load != nil && (t.leases > 0) == inUse {
			victims = append(victims, t)
		}
	}
	slices.SortFunc(victims, func(a, b *slot) int {
		switch {
		case a.leaving == b.leaving:
			return cmp.Compare(a.used, b.used)
		case a.leaving:
			return -1
		}
		return 1
	})
	return victims
}

// giveIdle gives things back that nobody uses until over bytes are freed, or there are no more of them. It returns how many are missing.
func (s *shelf) giveIdle(over int64) int64 {
	for _, v := range s.victims(false) {
		if over <= 0 {
			break
		}
		over -= v.holds
		s.give(v)
	}
	return over
}

// trim gives things back that nobody uses while the budget is exceeded, because things have grown; the last one may stay.
func (s *shelf) trim() {
	if s.budget == 0 || s.closed {
		return
	}
	present := 0
	for _, t := range s.slots {
		if t.load != nil && (t.state == loaded || t.state == loading) {
			present++
		}
	}
	for _, v := range s.victims(false) {
		if present == 1 || s.over() <= 0 {
			return
		}
		s.give(v)
		present--
	}
}

// begin loads a thing.
func (s *shelf) begin(t *slot) {
	ctx, cancel := context.WithCancel(context.Background())
	t.state, t.holds, t.cancel = loading, t.size, cancel
	s.log.Info("loading a model", "model", t.name, "bytes", t.size)
	go func() {
		defer cancel()
		began := time.Now()
		thing, err := t.try(ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.loaded(t, thing, err, time.Since(began))
		s.settle()
	}()
}

// try loads a thing. A panic is an error: it must not end the process, as it would on a goroutine that nobody else looks after.
func (t *slot) try(ctx context.Context) (thing thing, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return t.load(ctx)
}

// loaded notes that a load ended, with mu held.
func (s *shelf) loaded(t *slot, thing thing, err error, took time.Duration) {
	wanted := t.cancel != nil
	t.cancel = nil
	switch {
	case err != nil && wanted:
		s.log.Warn("a model was not loaded", "model", t.name, "took", took, "error", err)
		t.state, t.holds = absent, 0
		t.fail(fmt.Errorf("load the model %q: %w", t.name, err))
		return
	case err != nil: // who asks now came after the load had been given up: there will be another one
		s.log.Info("loading a model was given up", "model", t.name, "took", took, "error", err)
		t.state, t.holds = absent, 0
		return
	}
	said := t.size
	t.size, t.took = thing.bytes(), took
	t.holds = t.size
	s.log.Info("loaded a model", "model", t.name, "took", took, "bytes", t.size)
	keep := !s.closed
	if s.budget > 0 && t.size > said { // nobody knew that it would take so much
		if fixed := s.fixed(); t.size > s.budget-fixed {
			t.fail(&TooLargeError{t.name, t.size, s.budget, fixed})
			keep = false
		} else if s.giveIdle(s.over()) > 0 {
			keep = false // who asks waits until there is room for what is known now
		}
	}
	s.clock++
	t.state, t.thing, t.used = loaded, thing, s.clock
	if !keep {
		s.give(t)
	}
}

// give closes a thing that nobody uses, or that has to go.
func (s *shelf) give(t *slot) {
	closed, idle := t.thing, t.leases == 0
	t.state, t.thing, t.leaving = closing, nil, false
	if t.load != nil { // otherwise the model stays the caller's
		s.log.Info("giving a model back", "model", t.name, "bytes", t.holds, "idle", idle)
	}
	go func() {
		err := closed.close()
		s.mu.Lock()
		defer s.mu.Unlock()
		t.state, t.holds = absent, 0
		if err != nil {
			s.log.Error("a model was not closed properly", "model", t.name, "error", err)
			if s.closed {
				s.errs = append(s.errs, fmt.Errorf("close the model %q: %w", t.name, err))
			}
		}
		s.settle()
	}()
}

// drain closes the shelf: who asks gets ErrClosed, from now on and at once. It waits until nothing is in use, or being loaded or closed,
// any more; where the context ends first, it returns its cause.
func (s *shelf) drain(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, t := range s.slots {
		t.fail(ErrClosed)
	}
	s.settle() // ends the loads that nobody waits for now
	return s.await(ctx, func(t *slot) bool { return t.leases == 0 && t.state != loading && t.state != closing })
}

// clear closes everything, used or not, and waits until that is done. It is called after drain.
func (s *shelf) clear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.slots {
		if t.state == loaded {
			s.give(t)
		}
	}
	_ = s.await(context.Background(), func(t *slot) bool { return t.state != closing }) // that context does not end
	return errors.Join(s.errs...)
}

// await waits until all slots are as they should be, or the context ends; then it returns its cause. It is called with mu held,
// which is free meanwhile.
func (s *shelf) await(ctx context.Context, done func(*slot) bool) error {
	for slices.ContainsFunc(s.slots, func(t *slot) bool { return !done(t) }) {
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}
