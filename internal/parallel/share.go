package parallel

import (
	"time"

	"github.com/antigravity-go/antigravity/tensor"
)

// Phase says what a task is.
type Phase struct {
	Operation  string       // that the task is a part of; "" where the task does not tell
	Part       string       // which part; "" where the task is the whole operation, or the main part of it
	Rows, Cols int          // N and K of weights, heads and their length, or 0 and the length of a row
	DType      tensor.DType // of the weights, of the cached keys and values, or of the rows; 0: unknown
}

// Phased is a Task that says what it is. It does so while a piece of it is under way.
type Phased interface {
	Task
	Phase() Phase
}

// Share is what one worker computed of one task, for those who want to see where the time goes: see NewObserved.
type Share struct {
	Phase
	Worker     int       // as Task.Do has it. Several callers may be computing as worker 0, each on a goroutine of its own
	Pieces, Of int       // pieces that the worker computed, of as many as the task has
	Began      time.Time // before the first of them
	Took       time.Duration
}

// watch is whom a pool tells. Where nobody observes the pool, tell is nil.
type watch struct {
	tell func(Share)
	base time.Time // to which the times are relative: reading the time since then is cheaper than reading the time
}

// start describes a share that begins. It must be called before the worker's first piece is counted as done: after that the task may be
// another one.
func (w *watch) start(task Task, worker, of int) Share {
	s := Share{Worker: worker, Of: of}
	if d, ok := task.(Phased); ok {
		s.Phase = d.Phase()
	}
	s.Began = w.base.Add(time.Since(w.base))
	return s
}

// end tells of a share that ends.
func (w *watch) end(s *Share) {
	s.Took = time.Since(s.Began)
	w.tell(*s)
}

// computeObserved is compute, telling of the worker's share.
func (p *pool) computeObserved(worker int) {
	var s Share
	var epoch uint64 // of the task that s is of
	for {
		t := p.ticket.Add(1) - 1
		piece, n := int(t&ticketMask), int(t>>ticketBits&ticketMask)
		// The next piece may be another task's already, if that began since the last one.
		if s.Pieces > 0 && (piece >= n || t>>(2*ticketBits) != epoch) {
			p.watch.end(&s)
			s.Pieces = 0
		}
		if piece >= n {
			return
		}
		if s.Pieces == 0 {
			s, epoch = p.watch.start(p.task, worker, n), t>>(2*ticketBits)
		}
		s.Pieces++
		p.piece(worker, piece, n)
	}
}
