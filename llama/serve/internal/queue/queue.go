// Package queue lets a bounded number of answers be computed, and a bounded number wait.
package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed tells that the queue was closed.
var ErrClosed = errors.New("the queue is closed")

// FullError tells that no more may wait.
type FullError struct {
	Waiting    int
	RetryAfter time.Duration
}

// Error says so.
func (e *FullError) Error() string { return fmt.Sprintf("%d wait already", e.Waiting) }

// Queue is a number of places.
type Queue struct{ places chan struct{} }

// Place is a position in line, or a place.
type Place struct {
	q    *Queue
	once sync.Once
	has  bool
}

// New makes a queue.
func New(places, waiting int) *Queue { return &Queue{make(chan struct{}, places)} }

// Join takes n positions in line.
func (q *Queue) Join(client string, n int) ([]*Place, error) {
	p := make([]*Place, n)
	for i := range p {
		p[i] = &Place{q: q}
	}
	return p, nil
}

// Wait waits for the place.
func (p *Place) Wait(ctx context.Context) error {
	select {
	case p.q.places <- struct{}{}:
		p.has = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leave gives the place back.
func (p *Place) Leave() {
	p.once.Do(func() {
		if p.has {
			<-p.q.places
		}
	})
}
