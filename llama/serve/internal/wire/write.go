package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// WriteTimeout is how long a client may take to read one write. One that takes longer is taken to be gone.
const WriteTimeout = time.Minute

// encoder writes JSON with <, > and & as they are, and a line feed behind each value.
func encoder(to *bytes.Buffer) *json.Encoder {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	return e
}

// Encode returns v as JSON, with <, > and & as they are.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	if err := encoder(&b).Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Write answers with JSON.
func Write(w http.ResponseWriter, status int, v any) error {
	body, err := Encode(v)
	if err != nil {
		return fmt.Errorf("write an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	extendDeadline(http.NewResponseController(w))
	w.WriteHeader(status)
	if _, err = w.Write(append(body, '\n')); err != nil {
		return clientGone(err)
	}
	return nil
}

// RequestID is the header of an answer that has the request's id.
const RequestID = "X-Request-Id"

// WriteError answers with an error, which shape puts into an interface's form; see ErrorOf for other errors.
func WriteError(w http.ResponseWriter, err error, shape func(*Error) any) error {
	e := ErrorOf(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((e.RetryAfter+time.Second-1)/time.Second)))
	}
	told := *e
	told.Request = w.Header().Get(RequestID)
	return Write(w, e.Status, shape(&told))
}

// Events is a stream of server-sent events (the HTML standard, section 9.2). One goroutine at a time uses it.
type Events struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	text bytes.Buffer // of the event that is being written
	json *json.Encoder
	last time.Time // when something was written, or the stream began
}

// NewEvents begins a stream. Its header is sent with the first Flush.
func NewEvents(w http.ResponseWriter) *Events {
	return newEvents(w, "text/event-stream; charset=utf-8")
}

// newEvents begins a stream of a type.
func newEvents(w http.ResponseWriter, contentType string) *Events {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no") // a proxy is to pass events on as they come
	e := &Events{w: w, rc: http.NewResponseController(w), last: time.Now()}
	e.json = encoder(&e.text)
	extendDeadline(e.rc)
	w.WriteHeader(http.StatusOK)
	return e
}

// Send writes an event: v as JSON, under a name unless that is "". It may lie in memory until Flush.
func (e *Events) Send(name string, v any) error {
	e.begin(name)
	if err := e.json.Encode(v); err != nil {
		return fmt.Errorf("write an event: %w", err)
	}
	return e.end()
}

// SendText writes an event that is a text without line feeds.
func (e *Events) SendText(text string) error {
	e.begin("")
	e.text.WriteString(text)
	e.text.WriteByte('\n')
	return e.end()
}

// Comment writes an event that clients pass over, to say that the server is still there.
func (e *Events) Comment() error {
	e.text.Reset()
	e.text.WriteString(":\n")
	return e.end()
}

// Quiet returns for how long nothing has been written.
func (e *Events) Quiet() time.Duration { return time.Since(e.last) }

func (e *Events) begin(name string) {
	e.text.Reset()
	if name != "" {
		e.text.WriteString("event: ")
		e.text.WriteString(name)
		e.text.WriteByte('\n')
	}
	e.text.WriteString("data: ")
}

// end writes the event with the empty line that ends it.
func (e *Events) end() error {
	e.text.WriteByte('\n')
	return e.write()
}

// write writes the event so far.
func (e *Events) write() error {
	e.last = time.Now()
	extendDeadline(e.rc)
	if _, err := e.w.Write(e.text.Bytes()); err != nil {
		return clientGone(err)
	}
	return nil
}

// Flush sends the bytes in memory. Call it before a pause: the time to read ends then with the bytes sent, since HTTP/2 breaks a stream off
// when a deadline passes, whether something is written to it or not.
func (e *Events) Flush() error {
	extendDeadline(e.rc)
	if err := e.rc.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return clientGone(err)
	}
	_ = e.rc.SetWriteDeadline(time.Time{})
	return nil
}

// extendDeadline gives the client anew the time to read.
func extendDeadline(rc *http.ResponseController) {
	_ = rc.SetWriteDeadline(time.Now().Add(WriteTimeout)) // a writer that has no deadlines goes without
}

// StatusGone is the status in logs if the client left before the answer was complete. (It is nginx's.)
const StatusGone = 499

// clientGone returns the error of a client that no longer reads.
func clientGone(err error) *Error {
	return &Error{Status: StatusGone, Code: "client_gone", Message: "the client is gone", Err: err}
}
