package serve

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// closingTime is how long a client has to read the rest of its answer when the server does not wait for the answer any more.
const closingTime = 2 * time.Second

// response notes an answer's status, and makes writing end in time when the server is in a hurry. It sets deadlines only while the handler
// runs, whoever asks: net/http takes the writer below away from a handler that is done, and over HTTP/2 it is a nil pointer then.
type response struct {
	http.ResponseWriter
	status int // as it was sent; 0: not yet. The handler's goroutine alone changes it, with mu held

	// Invariant while mu is free: latest is zero unless hurried.
	mu      sync.Mutex
	hurried bool
	latest  time.Time // no later deadline is set: closingTime after the first piece that is written in a hurry
	over    bool      // the handler is done: nothing below is touched any more
}

// setReadDeadline gives a client a time to send a request's body, whether a handler reads it or not. Without it, a client that is refused
// before its body is read could hold the connection for ever by not sending the body, since net/http reads some of it first.
func setReadDeadline(w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wire.ReadTimeout)) // a writer without deadlines goes without
	}
}

func (r *response) WriteHeader(status int) {
	if status >= http.StatusOK { // those below are not the answer's
		r.begin(status)
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(p []byte) (int, error) {
	r.begin(http.StatusOK)
	return r.ResponseWriter.Write(p)
}

// begin notes the status of an answer, unless it has one.
func (r *response) begin(status int) {
	if r.status == 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.status = status
	}
}

// errOver says that a deadline came too late.
var errOver = errors.New("serve: the request is over")

// SetReadDeadline is http.ResponseController's: it sets when reading fails from a client that sends nothing.
func (r *response) SetReadDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	return http.NewResponseController(r.ResponseWriter).SetReadDeadline(t)
}

// SetWriteDeadline is http.ResponseController's: it sets when writing fails to a client that does not read.
func (r *response) SetWriteDeadline(t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	if r.hurried {
		if r.latest.IsZero() {
			r.latest = time.Now().Add(closingTime)
		}
		if t.IsZero() || t.After(r.latest) {
			t = r.latest
		}
	}
	return http.NewResponseController(r.ResponseWriter).SetWriteDeadline(t)
}

// shortenDeadline gives the client closingTime to read the bytes being written now, and closingTime for all that comes after them. It may
// be called while another goroutine writes, and does nothing after finish.
func (r *response) shortenDeadline() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.hurried = true
	if r.status == 0 {
		return
	}
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(closingTime)) // a writer without deadlines goes without
}

// finish gives the client time to read the bytes that net/http sends once the handler, which no longer writes, is done. Before that
// net/http may read the rest of the request's body; see setReadDeadline. A handler does not return without it.
func (r *response) finish() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.over = true
	if !r.hurried {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(wire.ReadTimeout + wire.WriteTimeout))
	}
}

// Unwrap returns the writer below, for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
