package serve

import "sync"

// running are the requests that are being served. Its methods are safe for concurrent use.
//
// Invariants while mu is free: nothing is added to requests once closing is true; empty is not nil from then on, and closed as soon as requests
// is empty.
type running struct {
	mu       sync.Mutex
	requests map[*request]struct{}
	closing  bool
	empty    chan struct{}
}

// request is one of them.
type request struct {
	end func() // ends it early; may be called from any goroutine
}

// enter notes that a request is being served, until leave is called. ok is false if no more requests are let in.
func (r *running) enter(end func()) (leave func(), ok bool) {
	one := &request{end}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, false
	}
	if r.requests == nil {
		r.requests = map[*request]struct{}{}
	}
	r.requests[one] = struct{}{}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.requests, one)
		if r.closing && len(r.requests) == 0 {
			close(r.empty)
		}
	}, true
}

// close lets no more requests in. The channel that it returns is closed as soon as the last one has left.
func (r *running) close() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closing {
		r.closing, r.empty = true, make(chan struct{})
		if len(r.requests) == 0 {
			close(r.empty)
		}
	}
	return r.empty
}

// end ends all requests early. It does not wait for them.
func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.requests {
		one.end()
	}
}

// count returns how many there are, and whether no more are let in.
func (r *running) count() (n int, closing bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests), r.closing
}
