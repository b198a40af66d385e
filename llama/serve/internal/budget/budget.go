// Package budget bounds the memory that many requests hold together. It allocates nothing: who wants to hold bytes asks first.
package budget

import (
	"fmt"
	"sync"
)

// Budget is a number of bytes that requests share.
//
// Fairness: a client may hold as many bytes as are still free afterwards. Alone it gets half of the budget, two clients that want more than
// there is get a third each, and so on. So somebody who holds nothing always finds something.
//
// The methods are safe for any number of goroutines. A budget remembers only clients that hold something.
type Budget struct {
	most int64

	// Invariants while mu is free: held is the sum of clients, which are all positive; held ≤ most; held ≤ peak ≤ most.
	mu      sync.Mutex
	held    int64
	peak    int64
	refused int64
	clients map[string]int64
}

// Stats describe how much of a budget is in use.
type Stats struct {
	Held    int64 // bytes that requests hold now
	Most    int64 // bytes that they may hold
	Peak    int64 // the largest Held so far
	Refused int64 // calls of Grow that failed
}

// FullError says that a request cannot hold more bytes now.
type FullError struct {
	Want, Held, Most int64 // bytes: how many more it wanted, all that are held, and how many there may be
}

// Error gives the bytes that were wanted, held and allowed.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d more bytes for a request: requests hold %d of the %d that they may hold together", e.Want, e.Held, e.Most)
}

// New makes a budget with shares that hold at most most bytes together.
func New(most int64) *Budget { return &Budget{most: most, clients: map[string]int64{}} }

// Share is the memory of one request. Its methods are called by one goroutine at a time. The nil Share is unbounded.
type Share struct {
	budget *Budget
	client string
	held   int64
}

// Open returns the share of a new request of a client, which holds nothing yet. Close it.
func (b *Budget) Open(client string) *Share { return &Share{budget: b, client: client} }

// Grow adds n bytes to what the share holds; a negative n gives some back. The error is a *FullError; then nothing has changed.
func (s *Share) Grow(n int64) error {
	if s == nil {
		return nil
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	own, held := b.clients[s.client]+n, b.held+n
	if n > 0 && own > b.most-held {
		b.refused++
		return &FullError{n, b.held, b.most}
	}
	if s.held, b.held = s.held+n, held; own > 0 {
		b.clients[s.client] = own
	} else {
		delete(b.clients, s.client)
	}
	b.peak = max(b.peak, held)
	return nil
}

// Close gives back all that the share holds. It is idempotent.
func (s *Share) Close() {
	if s != nil {
		_ = s.Grow(-s.held) // which cannot fail
	}
}

// Stats returns the present figures.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{b.held, b.most, b.peak, b.refused}
}
