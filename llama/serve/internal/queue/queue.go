// Package queue decides who may compute when: a number of places, a bounded line of those who wait for one, and fairness among the
// clients that they belong to. It knows nothing of models, prompts or HTTP.
package queue

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// For example, a Queue has one place and a line of four positions. The client A sends four requests, and B sends one:
//
//	A joins    A1 has the place
//	A joins    A2 waits
//	A joins    A3 waits
//	A joins    a *FullError: with A4, A would have three positions, and only one would remain free
//	B joins    B1 waits
//	A1 leaves  B1 has the place: both hold no place now, and A had its turn later
//	B1 leaves  A2 has the place, and B is forgotten

// Queue hands out a fixed number of places. Whoever finds all places taken waits in a line of bounded length.
//
// Fairness: a place that becomes free goes to the client that holds the fewest places at that moment; among those, to the client with the
// earliest last turn. A turn is the moment at which a client got a place, gave one back, or came to a queue in which it had nothing. Within
// a client, whoever came first is served first. So while a client waits and holds no place, another client gets at most one place before
// it, and only if its own last turn was earlier. However many requests somebody sends, others therefore wait for no more than one of them
// for each place.
//
// Room in the line: a client may take positions as long as it has at most one more than remain free. Alone it gets half of the line, two
// clients that send more than can be served get a third each, and so on. Somebody who has nothing in the line gets a position as long
// as there is one.
//
// The methods are safe for any number of goroutines. A queue has no goroutine of its own, remembers only clients that hold or wait for
// something, and takes O(log clients) for each step.
type Queue struct {
	places int
	most   int // positions that the line has

	// Invariants while mu is free: 0 ≤ taken ≤ places and 0 ≤ waiting ≤ most; nobody waits while taken < places; taken and waiting are the
	// sums of held and line.len of all clients; a client is in clients while one of its two figures is positive, and in next while its
	// line is not empty; after Close nobody waits.
	mu      sync.Mutex
	closed  bool
	taken   int
	waiting int
	clients map[string]*client
	next    clientHeap    // clients that wait; the next one to serve stands first
	turn    uint64        // how many turns there were
	held    time.Duration // for how long places were held lately: a moving average, 0 before the first one was given back
	idle    chan struct{} // closed as soon as nothing is taken or waited for; nil if nobody wants to know
	stats   Stats         // but for InUse and Waiting
}

// client is one of those that the queue is fair among.
type client struct {
	name string
	held int         // places
	last uint64      // its last turn
	line waitingList // its positions that wait
	rank int         // its index in Queue.next while it waits
}

// Place is a place, or a position in the line for one. Whoever has it gives it back with Leave.
type Place struct {
	queue  *Queue
	client *client

	// state, since and the links are protected by Queue.mu.
	state      state
	since      time.Time     // when it came into the line, then when it was given the place
	over       chan struct{} // closed when the wait is over, whatever its end; nil without a wait
	prev, next *Place        // neighbours in client.line
}

// state is the stage of a Place.
type state uint8

const (
	waits  state = iota // in the line
	placed              // has a place
	left                // was given back
	closed              // the queue was closed before there was a place
)

// Places returns how many places there are.
func (q *Queue) Places() int { return q.places }

// Stats describe what a queue is doing and has done.
type Stats struct {
	InUse   int           // places that are taken
	Waiting int           // positions that wait for a place
	Waited  int64         // positions that had to wait, and no longer do
	Wait    time.Duration // how long these waited, all together
	Refused int64         // calls of Join that failed with a *FullError
}

// ErrClosed is the error of a queue that was closed.
var ErrClosed = errors.New("the queue is closed")

// ErrLeft is the error of Wait for a place that was given back, before or meanwhile.
var ErrLeft = errors.New("the place was given back")

// FullError is the error of a line that has no room for another request of this client now.
type FullError struct {
	Waiting    int           // positions that wait, those of other clients included
	RetryAfter time.Duration // when there may be room, in whole seconds from 1 to 60: about how long it takes to serve all who wait
}

// Error says how many wait, and when to try again.
func (e *FullError) Error() string {
	return fmt.Sprintf("%d answers wait already: try again in %v", e.Waiting, e.RetryAfter)
}

// TooManyError is the error of a request for more positions than one client can ever have.
type TooManyError struct {
	N    int // how many were asked for
	Most int // how many one client can have while nobody else is there
}

// Error says how many were asked for, and how many there may be.
func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d answers at once: a client can have at most %d", e.N, e.Most)
}

// New makes a queue with this number of places, in which at most waiting wait. There is at least one place; waiting may be 0: who finds no free
// place is then refused.
func New(places, waiting int) *Queue {
	return &Queue{places: max(places, 1), most: max(waiting, 0), clients: make(map[string]*client)}
}

// Join takes n positions in line for a client at once. It takes all of them or returns an error. Positions for which places are free have
// them when Join returns, and take no room in the line. The error is a *FullError if the line has no room for the others, a *TooManyError
// if n positions would be too many even in an empty queue, and ErrClosed after Close.
//
// Each of the positions gets its place by itself: who waits for all of them before using the first may wait for ever.
func (q *Queue) Join(name string, n int) ([]*Place, error) {
	if n < 1 {
		return nil, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	if most := q.places + (q.most+1)/2; n > most {
		return nil, &TooManyError{n, most}
	}
	now := min(n, q.places-q.taken)
	later := n - now
	own := later
	c := q.clients[name]
	if c != nil {
		own += c.line.len
	}
	if free := q.most - q.waiting - later; later > 0 && (free < 0 || own > free+1) {
		q.stats.Refused++
		return nil, &FullError{q.waiting, q.retryAfter(later)}
	}
	if c == nil {
		q.turn++
		c = &client{name: name, last: q.turn}
		q.clients[name] = c
	}
	joined := time.Now()
	all := make([]Place, n)
	places := make([]*Place, n)
	for i := range all {
		p := &all[i]
		places[i] = p
		p.queue, p.client, p.since = q, c, joined
		if i < now {
			q.grant(p)
			continue
		}
		p.over = make(chan struct{})
		c.line.push(p)
		q.waiting++
	}
	if later > 0 && c.line.len == later {
		heap.Push(&q.next, c)
	} else {
		q.next.moved(c)
	}
	return places, nil
}

// Wait returns nil when the place is the caller's. If the context ends first, the position is given back, as with Leave, and the error is
// the context's cause. If the queue is closed first, the error is ErrClosed; if somebody else calls Leave, ErrLeft.
func (p *Place) Wait(ctx context.Context) error {
	if p.over != nil {
		select {
		case <-p.over:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		p.Leave()
		return context.Cause(ctx)
	}
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	switch p.state {
	case closed:
		return ErrClosed
	case left:
		return ErrLeft
	}
	return nil
}

// Leave gives the place, or the position in the line, back. It may be called at any time, from any goroutine and more than once.
func (p *Place) Leave() {
	q, c := p.queue, p.client
	q.mu.Lock()
	defer q.mu.Unlock()
	switch p.state {
	case waits:
		q.endWait(p, left)
		if c.line.len == 0 {
			heap.Remove(&q.next, c.rank)
		}
	case placed:
		p.state = left
		q.addHoldTime(time.Since(p.since))
		q.taken--
		q.turn++
		c.held, c.last = c.held-1, q.turn
		q.next.moved(c)
		q.grantNext()
	default:
		return
	}
	q.forget(c)
	if q.idle != nil && q.taken+q.waiting == 0 {
		close(q.idle)
		q.idle = nil
	}
}

// grantNext gives the free place to the next client.
func (q *Queue) grantNext() {
	if len(q.next) == 0 {
		return
	}
	c := q.next[0]
	p := c.line.first
	q.endWait(p, placed)
	q.grant(p)
	if c.line.len == 0 {
		heap.Remove(&q.next, c.rank)
	} else {
		q.next.moved(c)
	}
}

// grant gives a free place to p. The caller then corrects the rank of p's client.
func (q *Queue) grant(p *Place) {
	q.taken++
	q.turn++
	p.client.held++
	p.client.last = q.turn
	p.state = placed
}

// endWait takes p out of the line, into which it came at p.since, because of s. The caller corrects the rank of its client.
func (q *Queue) endWait(p *Place, s state) {
	now := time.Now()
	q.stats.Waited++
	q.stats.Wait += now.Sub(p.since)
	p.client.line.remove(p)
	q.waiting--
	p.state, p.since = s, now
	close(p.over)
}

// forget drops a client that has nothing here any more.
func (q *Queue) forget(c *client) {
	if c.held == 0 && c.line.len == 0 {
		delete(q.clients, c.name)
	}
}

// Close sends away who waits, with ErrClosed. Who has a place keeps it. Join gives ErrClosed from then on. Close is idempotent.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, c := range q.next {
		for c.line.first != nil {
			q.endWait(c.line.first, closed)
		}
		q.forget(c)
	}
	q.next = nil
	// Nobody waited unless all places are taken: whoever waits for the queue to be idle still does so.
}

// Idle returns nil as soon as no place is taken or waited for. If the context ends first, Idle returns the context's cause. Close keeps
// others from joining meanwhile.
func (q *Queue) Idle(ctx context.Context) error {
	q.mu.Lock()
	if q.taken+q.waiting == 0 {
		q.mu.Unlock()
		return nil
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Stats returns the present figures.
func (q *Queue) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := q.stats
	s.InUse, s.Waiting = q.taken, q.waiting
	return s
}

// The bounds of retryAfter, in seconds.
const (
	soonest = 1
	latest  = 60
)

// learnShift sets how fast the average of times forgets: each new one counts for a part in 1<<learnShift.
const learnShift = 3

// addHoldTime adds d, for which a place was held, to the average.
func (q *Queue) addHoldTime(d time.Duration) {
	if q.held == 0 {
		q.held = d
		return
	}
	q.held += (d - q.held) >> learnShift
}

// retryAfter returns about how long it takes until all who wait and n more had a place, in whole seconds.
func (q *Queue) retryAfter(n int) time.Duration {
	// In floating point, since the product of a time and a number of positions may be any size.
	seconds := math.Ceil(q.held.Seconds() * float64(q.waiting+n) / float64(q.places))
	return time.Duration(min(max(seconds, soonest), latest)) * time.Second
}
