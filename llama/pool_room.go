package llama

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
)

// room is a number of places, which are given to those who ask in the order in which they ask. Nobody overtakes: who comes while
// others wait, waits too.
//
// Invariants while mu is free: free ≥ 0; nobody waits while free > 0; a waiter is in waiting until it has a place, its context has ended,
// or the room is closed; a closed room has no waiters.
type room struct {
	mu       sync.Mutex
	free     int
	waiting  list.List // of *waiter, in the order of arrival
	closed   bool
	waits    int64         // how many had to wait, and no longer do
	duration time.Duration // how long they waited
}

// waiter is somebody who waits for a place.
type waiter struct {
	ready  chan struct{} // closed when the wait is over
	placed bool          // with a place
}

// enter takes a place, which leave gives back. It waits until there is one, the context ends, or the room is closed.
func (r *room) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	if r.free > 0 {
		r.free--
		return nil
	}
	w := &waiter{ready: make(chan struct{})}
	place := r.waiting.PushBack(w)
	began := precise.Now()
	r.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
	}
	r.mu.Lock()
	r.waits++
	r.duration += precise.Since(began)
	switch err := ctx.Err(); {
	case w.placed && err != nil:
		r.pass()
		return err
	case w.placed:
		return nil
	case r.closed:
		return ErrClosed
	default:
		r.waiting.Remove(place)
		return err
	}
}

// leave gives a place back.
func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass()
}

// pass gives a place to the first who waits, with mu held.
func (r *room) pass() {
	first := r.waiting.Front()
	if first == nil {
		r.free++
		return
	}
	w := r.waiting.Remove(first).(*waiter)
	w.placed = true
	close(w.ready)
}

// close sends those who wait away.
func (r *room) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for e := r.waiting.Front(); e != nil; e = r.waiting.Front() {
		close(r.waiting.Remove(e).(*waiter).ready)
	}
}

// tell writes the room's figures into s. places is the number of all places, free or in use.
func (r *room) tell(s *PoolStats, places int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s.InUse, s.Waiting, s.WaitCount, s.WaitDuration = places-r.free, r.waiting.Len(), r.waits, r.duration
}
