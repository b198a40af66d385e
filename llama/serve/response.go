package serve

import (
	"net/http"
	"sync"
	"time"
)

// lastWords is how long a client has to read the rest of its answer when the server does not wait for the answer any more.
const lastWords = 2 * time.Second

// response notes an answer's status, and sees to it that writing ends in time when the server is in a hurry.
type response struct {
	http.ResponseWriter
	status int // as it was sent; 0: none yet

	// Invariant while mu is free: latest is zero unless hurried.
	mu      sync.Mutex
	hurried bool
	latest  time.Time // no later deadline is set: lastWords after the first piece that is written in a hurry
}

func (r *response) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK { // those below are not the answer's
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// SetWriteDeadline is http.ResponseController's: it sets when writing fails to a client that does not read.
func (r *response) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hurried {
		if r.latest.IsZero() {
			r.latest = time.Now().Add(lastWords)
		}
		if t.IsZero() || t.After(r.latest) {
			t = r.latest
		}
	}
	return http.NewResponseController(r.ResponseWriter).SetWriteDeadline(t)
}

// hurry gives the client lastWords to read what is being written now, and lastWords for all that comes after it. It may be called while another
// goroutine writes.
func (r *response) hurry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hurried = true
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(lastWords)) // a writer without deadlines goes without
}

// Unwrap returns the writer below, for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
