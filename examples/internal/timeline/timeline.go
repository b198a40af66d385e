// Package timeline collects what models do, and when, and writes it as a trace: passes and their operations, what each thread computed of
// them, what each session waited for, computed, chose and gave up, and moves between devices.
//
// A model's Process has functions for llama.LoadOptions.Trace and a record for backend.Options.Record. These only put events into memory.
// Everything else is done by Write, when the work is over.
package timeline

import (
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/chrometrace"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// DefaultLimit is how many events a Timeline keeps by default: some tens of megabytes, and some thousand tokens of a small model.
const DefaultLimit = 500_000

// Timeline is what has been collected. It collects between Begin and End, until it is full. Its methods may be called from any number of
// goroutines, Begin and End from one at a time.
type Timeline struct {
	room      atomic.Int64 // events that may still be kept
	active    atomic.Bool  // between Begin and End, and not full
	filled    atomic.Int64 // when it became full, as nanoseconds since base; 0: it is not
	base      time.Time    // the first Begin: earlier events are not kept
	mu        sync.Mutex   // guards what follows
	measured  []span
	processes []*Process
}

// span is a part of the time between the first Begin and the last End.
type span struct {
	name         string
	began, ended time.Time
}

// New returns an empty Timeline for about limit events; 0 means DefaultLimit.
func New(limit int) *Timeline {
	if limit == 0 {
		limit = DefaultLimit
	}
	t := &Timeline{}
	t.room.Store(int64(limit))
	return t
}

// Begin begins to collect; all that is reported until End belongs to a part of the trace with this name.
func (t *Timeline) Begin(name string) {
	now := precise.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.measured == nil {
		t.base = now
	}
	t.measured = append(t.measured, span{name: name, began: now})
	t.active.Store(t.filled.Load() == 0)
}

// End stops collecting. What began before it and ends later is not kept.
func (t *Timeline) End() {
	t.active.Store(false)
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.measured); n > 0 && t.measured[n-1].ended.IsZero() {
		t.measured[n-1].ended = precise.Now()
	}
}

// Active reports whether the Timeline collects.
func (t *Timeline) Active() bool { return t.active.Load() }

// Full returns after which time the Timeline was full and collected nothing any more.
func (t *Timeline) Full() (after time.Duration, full bool) {
	n := t.filled.Load()
	return time.Duration(n), n != 0
}

// Process adds a model.
func (t *Timeline) Process(name string) *Process {
	p := &Process{timeline: t, name: name, record: backend.NewRecord(t.Active, t.more)}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.processes = append(t.processes, p)
	return p
}

// Write writes the collected events, in Chrome's Trace Event Format, and returns how many they were. The notes are encoded as a JSON object
// that belongs to the trace as a whole. Nothing must be collected meanwhile.
func (t *Timeline) Write(w io.Writer, notes any) (events int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	bench := chrometrace.Track{Name: "measured"}
	for _, m := range t.measured {
		if m.ended.IsZero() {
			m.ended = precise.Now()
		}
		bench.Spans = append(bench.Spans, chrometrace.Span{Name: m.name, Began: t.since(m.began), Took: m.ended.Sub(m.began)})
	}
	trace := chrometrace.Trace{Processes: []chrometrace.Process{{Name: "program", Tracks: []chrometrace.Track{bench}}}, Notes: notes}
	for _, p := range t.processes {
		events += p.count()
		trace.Processes = append(trace.Processes, p.show()...)
	}
	return events, chrometrace.Write(w, &trace)
}

// since returns the time from the first Begin.
func (t *Timeline) since(moment time.Time) time.Duration { return moment.Sub(t.base) }

// more takes room for a chunk of events; some of them may be beyond the limit. Without room the Timeline is full.
func (t *Timeline) more(events int) bool {
	if t.room.Add(-int64(events)) > -int64(events) {
		return true
	}
	t.filled.CompareAndSwap(0, int64(max(precise.Since(t.base), 1)))
	t.active.Store(false)
	return false
}

// store holds the events of one kind. They lie in chunks, so that adding one neither copies those before it nor waits
// for the memory of all that may come.
type store[T any] struct {
	mu     sync.Mutex
	chunks [][]T // all but the last are full
}

// chunkEvents is the number of events in a chunk.
const chunkEvents = 512

// add keeps an event, if the timeline collects.
func (s *store[T]) add(t *Timeline, v *T) {
	if !t.active.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last]) == chunkEvents {
		if last >= 0 && !t.more(chunkEvents) { // the first chunk is everyone's, so that with a small limit each still has some events
			return
		}
		s.chunks = append(s.chunks, make([]T, 0, chunkEvents))
		last++
	}
	s.chunks[last] = append(s.chunks[last], *v)
}

// all returns the events in the order in which they were added.
func (s *store[T]) all() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.chunks...)
}

// count returns the number of events.
func (s *store[T]) count() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.chunks {
		n += len(c)
	}
	return n
}
