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

// readTimeout is how long a client may take to send a request's body.
const readTimeout = time.Minute

// readBody returns the body of a request, of at most limit bytes. It ends with the request's context, whose cause is the error then.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	// A reader that has no deadlines goes without.
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(readTimeout))
	ended := context.AfterFunc(r.Context(), func() { _ = rc.SetReadDeadline(time.Unix(1, 0)) })
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if ended() {
		_ = rc.SetReadDeadline(time.Time{}) // from here on net/http reads, to notice when the client leaves
	}
	if err == nil {
		return body, nil
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &Error{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large",
			Message: fmt.Sprintf("the request is larger than %d bytes", large.Limit)}
	}
	if cause := context.Cause(r.Context()); cause != nil {
		return nil, fmt.Errorf("read the request's body: %w", cause)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, &Error{Status: http.StatusRequestTimeout, Code: "request_timeout", Err: err,
			Message: fmt.Sprintf("the request's body took longer than %v", readTimeout)}
	}
	return nil, &Error{Status: http.StatusBadRequest, Code: "invalid_body", Message: "the request's body ended early", Err: err}
}
