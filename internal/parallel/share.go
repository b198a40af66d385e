package parallel

import "github.com/antigravity-go/antigravity/internal/timing"

// Phased is a Task that names itself. The goroutine that calls Run asks it, before the first piece.
type Phased interface {
	Task
	Phase() timing.Phase
}

// share is what a worker computes of a task: it has begun.
type share struct {
	phase int32 // timing.Untold: nobody wants to know of it
	began timing.Ticks
}

// end keeps the share in a lane: the worker has computed pieces of the task's of pieces.
func (s share) end(lane *timing.Lane, pieces, of int) {
	if s.phase != timing.Untold {
		lane.Add(s.phase, pieces, of, s.began, timing.Now())
	}
}

// begin begins a share of a task that its caller computes alone.
func (p *pool) begin(task Task) share {
	s := share{phase: p.number(task)}
	if s.phase != timing.Untold {
		s.began = timing.Now()
	}
	return s
}

// number returns the number of a task that begins, in the record.
func (p *pool) number(task Task) int32 {
	if !p.record.Wanted() {
		return timing.Untold
	}
	if t, ok := task.(Phased); ok {
		return p.record.Number(t.Phase())
	}
	return p.record.Number(timing.Phase{})
}

// computeRecorded is compute, keeping the worker's shares. A share is kept after its last piece counts as done, so that nobody waits for
// that; what the share is of must be read before.
func (p *pool) computeRecorded(worker int, lane *timing.Lane) {
	var s share
	var pieces, of int // of s
	var epoch uint64   // of the task that s is of
	for {
		t := p.ticket.Add(1) - 1
		piece, n := int(t&ticketMask), int(t>>ticketBits&ticketMask)
		// The next piece may be another task's already, if that began since the last one.
		if pieces > 0 && (piece >= n || t>>(2*ticketBits) != epoch) {
			s.end(lane, pieces, of)
			pieces = 0
		}
		if piece >= n {
			return
		}
		if pieces == 0 {
			s, of, epoch = share{phase: p.phase}, n, t>>(2*ticketBits)
			if s.phase != timing.Untold {
				s.began = timing.Now()
			}
		}
		pieces++
		p.piece(worker, piece, n)
	}
}
