package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// ReadTimeout is how long a client may take to send a request's body.
const ReadTimeout = time.Minute

// readBody returns the body of a request, of at most limit bytes. It ends with the request's context, whose cause is the error then.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	// A reader that has no deadlines goes without.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(ReadTimeout))
	ended := context.AfterFunc(r.Context(), func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) })
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	stopped := ended()
	if err == nil {
		if stopped {
			_ = rc.SetReadDeadline(time.Time{}) // from here on net/http reads, to notice when the client leaves
		}
		return body, nil
	}
	// The deadline stays: net/http reads some of what is left of the body before it sends the error.
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
