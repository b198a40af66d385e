package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// ReadTimeout is how long a client may take to send a request's body.
const ReadTimeout = time.Minute

// Body returns the body of a request, of at most limit bytes. hold is called before memory for n more bytes is taken, and its error ends
// the reading. Memory is taken for bytes that a client sends, at most twice as many, not for those that it announces. Reading ends with the
// request's context; the error is then the context's cause.
func Body(w http.ResponseWriter, r *http.Request, limit int64, hold func(n int64) error) ([]byte, error) {
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Code: "unsupported_encoding",
			Message: fmt.Sprintf("the request has the Content-Encoding %.40q; it must be sent as it is", coding)}
	}
	// A reader that has no deadlines goes without.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(ReadTimeout))
	most := limit
	if r.ContentLength >= 0 {
		most = min(r.ContentLength, limit)
	}
	var body []byte
	var err error
	ended := whileReading(r.Context(), rc, func() { body, err = readAll(http.MaxBytesReader(w, r.Body, limit), most, hold) })
	if err == nil {
		if !ended {
			_ = rc.SetReadDeadline(time.Time{}) // from here on net/http reads, to notice when the client leaves
		}
		return body, nil
	}
	if full, ok := errors.AsType[*holdError](err); ok {
		return nil, full.error
	}
	// The deadline stays: net/http reads some of the rest of the body before it sends the error.
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large",
			Message: fmt.Sprintf("the request is larger than %d bytes", large.Limit)}
	}
	cause, late := context.Cause(r.Context()), errors.Is(err, os.ErrDeadlineExceeded)
	if cause != nil && !(late && cause == context.Canceled) { // which is what net/http makes of a read that fails, for whatever reason
		return nil, fmt.Errorf("read the request's body: %w", cause)
	}
	if late {
		return nil, &Error{Status: http.StatusRequestTimeout, Code: "request_timeout", Err: err,
			Message: fmt.Sprintf("the request's body took longer than %v", ReadTimeout)}
	}
	return nil, &Error{Status: http.StatusBadRequest, Code: "invalid_body", Message: "the request's body ended early", Err: err}
}

// whileReading calls read, and makes what read reads from the client fail once ctx has ended. ended reports whether ctx did. When whileReading
// has returned, or panicked, nothing touches the request any more. That is not to be relaxed: a handler may return then, and over HTTP/2 a
// deadline that is set later is a nil pointer, on a goroutine of its own: a panic that nothing recovers.
func whileReading(ctx context.Context, rc *http.ResponseController, read func()) (ended bool) {
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		_ = rc.SetReadDeadline(time.Unix(1, 0))
	})
	defer func() {
		if ended = !stop(); ended {
			<-over
		}
	}()
	read()
	return
}

// firstRead is how much memory a body takes first, in bytes.
const firstRead = 4 << 10

// holdError is an error of the function that readAll asks.
type holdError struct{ error }

// readAll reads to the end of a text that has about most bytes. It asks hold before it takes more memory.
func readAll(from io.Reader, most int64, hold func(n int64) error) (text []byte, err error) {
	for {
		if len(text) == cap(text) {
			size := max(2*cap(text), firstRead)
			if expected := int(most) + 1; cap(text) < expected { // one more, to see the end
				size = min(size, expected)
			}
			if err := hold(int64(size - cap(text))); err != nil {
				return nil, &holdError{err}
			}
			text = append(make([]byte, 0, size), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case err == io.EOF:
			return text, nil
		case err != nil:
			return nil, err
		}
	}
}
