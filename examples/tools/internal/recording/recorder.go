package recording

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// Recorder is an Observer that adds up how long operations took between Begin and End. At other times it asks for nothing, so that a model
// on a backend with a Recorder computes as fast as on the backend itself. The zero value is ready for use, and a nil *Recorder records
// nothing. Its methods may be called from any number of goroutines.
type Recorder struct {
	active atomic.Bool // Begin was called, and End was not

	mu      sync.Mutex // guards the fields below
	began   time.Time
	elapsed time.Duration // the times from Begin to End, added up
	entries map[Operation]*Entry
}

// Entry sums up all calls of one operation.
type Entry struct {
	Operation
	Calls int
	Took  time.Duration // all calls together
	Work  machine.Work  // of all calls together
}

// Begin starts recording; End stops it. An operation is recorded when it begins between them.
func (r *Recorder) Begin() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = precise.Now()
	r.active.Store(true)
}

// End stops recording. Without a Begin before it, it does nothing.
func (r *Recorder) End() {
	if r == nil || !r.active.Swap(false) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.elapsed += precise.Since(r.began)
}

// Take returns the recorded operations, those that took longest first, and the time from Begin to End. Afterwards the Recorder is empty.
func (r *Recorder) Take() (entries []*Entry, elapsed time.Duration) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	entries = slices.SortedFunc(maps.Values(r.entries), func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(b.Took, a.Took), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Rows, b.Rows))
	})
	elapsed = r.elapsed
	r.entries, r.elapsed = nil, 0
	return entries, elapsed
}

// Watch asks to wait for each operation while the Recorder records: otherwise a device's work would be counted for the operation that
// happens to wait for it.
func (r *Recorder) Watch() Mode {
	if r == nil || !r.active.Load() {
		return Compute
	}
	return Wait
}

// Observe counts a call.
func (r *Recorder) Observe(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.entries[c.Operation]
	if e == nil {
		if r.entries == nil {
			r.entries = map[Operation]*Entry{}
		}
		e = &Entry{Operation: c.Operation}
		r.entries[c.Operation] = e
	}
	e.Calls++
	e.Took += c.Took
	e.Work = e.Work.Plus(c.Work)
}
