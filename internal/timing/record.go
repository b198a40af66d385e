package timing

import (
	"slices"
	"sync"
)

// Record is what threads computed, and when. Backends fill it; its methods are safe for concurrent use, also while a backend computes.
type Record struct {
	wanted func() bool
	more   func(shares int) bool
	phases phases
	mu     sync.Mutex // guards lanes
	lanes  []*Lane
}

// chunkShares is how many shares a Record takes memory for at once: 32 bytes each, 16 KiB with what else belongs to them.
const chunkShares = 510

// NewRecord makes a Record. wanted reports at the beginning of each phase whether its shares are to be kept. more reports whether a thread
// may take memory for a number of shares more; for its first ones it is not called. Shares without memory are lost. Both functions are
// called on threads that compute, several at a time, and must be quick.
func NewRecord(wanted func() bool, more func(shares int) bool) *Record {
	return &Record{wanted: wanted, more: more}
}

// Wanted reports whether the shares of a phase that begins are to be kept. A nil Record wants nothing.
func (r *Record) Wanted() bool { return r != nil && r.wanted() }

// Number returns the number of a phase, as Lane.Add takes it. If there are more phases than numbers, the phase's shares are not kept and it
// is Untold.
func (r *Record) Number(phase Phase) int32 { return r.phases.number(phase) }

// Lane adds a Lane for the shares of a thread. For a nil Record it is nil.
func (r *Record) Lane(thread int) *Lane {
	if r == nil {
		return nil
	}
	l := &Lane{record: r, thread: thread, began: readClocks()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lanes = append(r.lanes, l)
	return l
}

// Threads returns a number that is greater than that of each thread.
func (r *Record) Threads() (n int) {
	for _, l := range r.all() {
		n = max(n, l.thread+1)
	}
	return n
}

// Count returns how many shares were kept.
func (r *Record) Count() (n int) {
	for _, l := range r.all() {
		n += l.count()
	}
	return n
}

// Shares returns the shares of a thread, in the order in which they began.
func (r *Record) Shares(thread int) (shares []Share) {
	for _, l := range r.all() {
		if l.thread == thread {
			shares = l.appendTo(shares)
		}
	}
	slices.SortStableFunc(shares, func(a, b Share) int { return a.Began.Compare(b.Began) })
	return shares
}

// all returns the lanes.
func (r *Record) all() []*Lane {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lanes)
}
