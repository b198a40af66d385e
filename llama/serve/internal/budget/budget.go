// Package budget bounds the memory that many requests hold together: their bodies, and their answers until these are sent. It allocates nothing: who wants to hold bytes asks first.
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

	// Invariants while mu is free: held is the sum of clients, which are all positive; held ≤ most; held ≤ peak ≤ most; answers ≤ held.
	mu      sync.Mutex
	held    int64
	answers int64
	peak    int64
	refused int64
	clients map[string]int64
}

// Stats describe how much of a budget is in use.
type Stats struct {
	Held    int64 // bytes that requests hold now
	Answers int64 // those of them that are answers to be sent
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

// Share is the memory of one request. Its methods are safe for any number of goroutines. The nil Share is unbounded.
type Share struct {
	budget *Budget
	client string

	// With budget.mu held. Invariant while it is free: 0 ≤ answers ≤ held.
	held, answers int64
}

// Open returns the share of a new request of a client, which holds nothing yet. Close it.
func (b *Budget) Open(client string) *Share { return &Share{budget: b, client: client} }

// Grow adds n bytes to what the share holds; a negative n gives some back. The error is a *FullError; then nothing has changed.
func (s *Share) Grow(n int64) error { return s.grow(n, 0) }

// GrowAnswer is Grow for bytes of answers to be sent.
func (s *Share) GrowAnswer(n int64) error { return s.grow(n, n) }

// DropAnswers gives back what GrowAnswer added.
func (s *Share) DropAnswers() {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	_ = s.add(-s.answers, -s.answers) // which cannot fail
}

// grow adds n bytes, of them answers to be sent.
func (s *Share) grow(n, answers int64) error {
	if s == nil {
		return nil
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.add(n, answers)
}

// add is grow with the budget's mu held.
func (s *Share) add(n, answers int64) error {
	b := s.budget
	own, held := b.clients[s.client]+n, b.held+n
	if n > 0 && own > b.most-held {
		b.refused++
		return &FullError{n, b.held, b.most}
	}
	s.held, s.answers, b.held, b.answers = s.held+n, s.answers+answers, held, b.answers+answers
	if own > 0 {
		b.clients[s.client] = own
	} else {
		delete(b.clients, s.client)
	}
	b.peak = max(b.peak, held)
	return nil
}

// Close gives back all that the share holds. It is idempotent.
func (s *Share) Close() {
	if s == nil {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	_ = s.add(-s.held, -s.answers) // which cannot fail
}

// Stats returns the present figures.
func (b *Budget) Stats() Stats {
	b.mu.Lock()
	defer b.mu.Unlock()
	return Stats{b.held, b.answers, b.most, b.peak, b.refused}
}
