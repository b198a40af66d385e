// Package timing records which thread computed which phase, and when, at a cost of some tenths of a microsecond a phase and thread.
//
// A token of a small model is some hundred phases of a few microseconds, and each thread records its share of each. So a share is a few
// numbers without pointers, in memory of the thread's own; the name of a phase is a number, which is looked up once for all threads; and
// the times are those of a counter in the processor. The numbers are turned into names and times when they are asked for.
package timing

import (
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// Phase is a part of an operation that threads share: when its last piece is done, the next one begins.
type Phase struct {
	Operation  string       // such as NormMatMul; "" if it is not known
	Part       string       // the part of the operation; "" if the phase is the whole of it, or the main part
	Rows, Cols int          // N and K of weights, heads and their length, or 0 and the length of a row
	DType      tensor.DType // of the weights, of the cached keys and values, or of the rows; 0: unknown
}

// Share is the part of a phase that one thread computed. A thread that finds no piece left waits for the others: that is the time between
// its shares.
type Share struct {
	Phase
	Thread     int       // 0 is a goroutine that called the operation, possibly one of several at a time; the others are the backend's
	Pieces, Of int       // pieces that the thread computed, of as many as the phase was cut into
	Began      time.Time // before the first piece
	Took       time.Duration
}

// Ticks is a moment as Now returns it.
type Ticks int64

// moment is a moment in ticks and as a time.
type moment struct {
	ticks Ticks
	time  time.Time
}

// readClocks reads both clocks. A thread may lose its processor between the two, so that it tries some times and takes the two that were read
// nearest to each other.
func readClocks() (best moment) {
	var least Ticks
	for i := range 3 {
		before := Now()
		now := precise.Now()
		if took := Now() - before; i == 0 || took < least {
			best, least = moment{before + took/2, now}, took
		}
	}
	return best
}

// clock converts ticks to times. It knows some moments, in their order, at least two. In between the time goes on evenly: so the times
// follow a clock that the system adjusts, and never go back.
type clock []moment

// time returns the time at a moment. at is the index in the clock at which the search begins; it becomes the index at which it ended, so
// that moments that follow each other are found quickly.
func (c clock) time(t Ticks, at *int) time.Time {
	for *at > 0 && t < c[*at].ticks {
		*at--
	}
	for *at < len(c)-2 && t >= c[*at+1].ticks {
		*at++
	}
	from, to := &c[*at], &c[*at+1]
	if to.ticks <= from.ticks {
		return from.time
	}
	rate := float64(to.time.Sub(from.time)) / float64(to.ticks-from.ticks)
	return from.time.Add(time.Duration(float64(t-from.ticks) * rate))
}
