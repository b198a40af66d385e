package wire

import (
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	if err := Write(w, http.StatusCreated, map[string]string{"text": "<a> & \u2028 \"ö\"\n"}); err != nil {
		t.Fatal(err)
	}
	const want = `{"text":"<a> & \u2028 \"ö\"\n"}` + "\n"
	if got := w.Body.String(); w.Code != http.StatusCreated || got != want || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("status %d, %s of the type %s", w.Code, got, w.Header().Get("Content-Type"))
	}
	if err := Write(httptest.NewRecorder(), http.StatusOK, math.Inf(1)); err == nil {
		t.Error("an infinite number is written")
	}
}

// TestWriteError checks which errors clients get, and in which form.
func TestWriteError(t *testing.T) {
	for _, c := range []struct {
		name   string
		err    error
		status int
		body   string
		retry  string
	}{
		{"a mistake", Invalid("n", "n is %d", 0), 400, `"invalid_value n: n is 0"` + "\n", ""},
		{"too much to do", &Error{Status: http.StatusTooManyRequests, Code: "full", Message: "full", RetryAfter: 1500 * time.Millisecond},
			429, `"full : full"` + "\n", "2"},
		{"a failure, which is not told", errors.New("secret"), 500,
			`"internal_error : the server failed; its log says why, under this request's id"` + "\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			if err := WriteError(w, c.err, func(e *Error) any { return e.Code + " " + e.Param + ": " + e.Message }); err != nil {
				t.Fatal(err)
			}
			if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Retry-After") != c.retry {
				t.Errorf("status %d, %q, Retry-After %q", w.Code, w.Body, w.Header().Get("Retry-After"))
			}
		})
	}
}

func TestEvents(t *testing.T) {
	w := httptest.NewRecorder()
	e := NewEvents(w)
	for _, err := range []error{e.Send("", "a\nb"), e.Send("done", map[string]int{"n": 1}), e.SendText("[DONE]"), e.Flush()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	const want = "data: \"a\\nb\"\n\nevent: done\ndata: {\"n\":1}\n\ndata: [DONE]\n\n"
	if got := w.Body.String(); got != want || !w.Flushed || w.Header().Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("got %q, want %q", got, want)
	}
}

// deaf is a client that is gone.
type deaf struct{ http.ResponseWriter }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// TestClientGone checks that writing to a client that is gone is an error that says so.
func TestClientGone(t *testing.T) {
	w := deaf{httptest.NewRecorder()}
	for _, err := range []error{Write(w, http.StatusOK, 1), NewEvents(w).Send("", 1)} {
		if e, ok := errors.AsType[*Error](err); !ok || e.Status != StatusGone {
			t.Errorf("the error is %v", err)
		}
	}
}

// deadlined is a ResponseWriter that notes its deadline.
type deadlined struct {
	*httptest.ResponseRecorder
	deadline time.Time
	writes   int // without a deadline
}

func (d *deadlined) SetWriteDeadline(t time.Time) error {
	d.deadline = t
	return nil
}

func (d *deadlined) Write(p []byte) (int, error) {
	if d.deadline.IsZero() {
		d.writes++
	}
	return d.ResponseRecorder.Write(p)
}

func TestStreamsHaveDeadlinesOnlyWhileTheyAreWritten(t *testing.T) {
	w := &deadlined{ResponseRecorder: httptest.NewRecorder()}
	e := NewEvents(w)
	for range 2 {
		if err := e.Send("", 1); err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		if !w.deadline.IsZero() { // HTTP/2 would break the stream off when it passes, though the next token only takes its time
			t.Errorf("the deadline between two events is %v", w.deadline)
		}
	}
	if w.writes > 0 {
		t.Error("something was written without a deadline")
	}
}
