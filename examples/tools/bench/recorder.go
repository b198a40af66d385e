package main

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// recorder adds up how long operations took. A nil recorder records nothing.
type recorder struct {
	mu      sync.Mutex // guards the fields below
	active  bool       // begin was called, and end was not
	began   time.Time
	elapsed time.Duration // the times from begin to end, added up
	entries map[operation]*entry
}

// operation is a kind of operation: its name, and the shape and the type of the weights or heads that it works on.
type operation struct {
	name       string
	rows, cols int          // N and K of weights, the number of heads and their length, or 0 and the length of a row
	dtype      tensor.DType // of the weights, of the cached keys and values, or of the rows
}

// shape writes the shape, with a sign for times.
func (o operation) shape(times string) string {
	if o.rows == 0 {
		return strconv.Itoa(o.cols)
	}
	return strconv.Itoa(o.rows) + times + strconv.Itoa(o.cols)
}

// entry sums up all calls of one operation.
type entry struct {
	operation
	calls int
	took  time.Duration // all calls together
	work  machine.Work  // of all calls together
}

// begin starts recording; end stops it.
func (r *recorder) begin() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active, r.began = true, time.Now()
}

func (r *recorder) end() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active = false
	r.elapsed += time.Since(r.began)
}

// add counts a call.
func (r *recorder) add(o operation, took time.Duration, work machine.Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.active {
		return
	}
	e := r.entries[o]
	if e == nil {
		if r.entries == nil {
			r.entries = map[operation]*entry{}
		}
		e = &entry{operation: o}
		r.entries[o] = e
	}
	e.calls++
	e.took += took
	e.work = e.work.Plus(work)
}

// take returns the entries, those that took longest first, and the time from begin to end, and begins anew with none.
func (r *recorder) take() (entries []*entry, elapsed time.Duration) {
	if r == nil {
		return nil, 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	entries = slices.SortedFunc(maps.Values(r.entries), func(a, b *entry) int {
		return cmp.Or(cmp.Compare(b.took, a.took), cmp.Compare(a.name, b.name), cmp.Compare(a.rows, b.rows))
	})
	elapsed = r.elapsed
	r.entries, r.elapsed = nil, 0
	return entries, elapsed
}
