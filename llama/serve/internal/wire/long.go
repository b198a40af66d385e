package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// Long writes an answer of JSON part by part, since it may be too long to lie in memory as a whole. An error ends it: what comes after does
// nothing, and End returns the error. One goroutine at a time uses it.
type Long struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	text bytes.Buffer // what has not been written yet
	json *json.Encoder
	sent bool // something has been written
	err  error
}

// longPart is how many bytes are written at once.
const longPart = 32 << 10

// NewLong begins an answer with status 200.
func NewLong(w http.ResponseWriter) *Long {
	w.Header().Set("Content-Type", "application/json")
	l := &Long{w: w, rc: http.NewResponseController(w)}
	l.json = encoder(&l.text)
	return l
}

// Raw adds a text that is JSON already.
func (l *Long) Raw(text string) {
	l.text.WriteString(text)
	l.write(longPart)
}

// Int adds a number.
func (l *Long) Int(n int64) {
	l.text.Write(strconv.AppendInt(l.text.AvailableBuffer(), n, 10))
	l.write(longPart)
}

// Value adds v as JSON.
func (l *Long) Value(v any) {
	if err := l.json.Encode(v); err != nil && l.err == nil {
		l.err = fmt.Errorf("write an answer: %w", err)
	}
	l.text.Truncate(max(0, l.text.Len()-1)) // the line feed
	l.write(longPart)
}

// write writes what there is, if that has at least that many bytes.
func (l *Long) write(least int) {
	if l.err != nil || l.text.Len() < least {
		return
	}
	extend(l.rc)
	l.sent = true
	if _, err := l.w.Write(l.text.Bytes()); err != nil {
		l.err = gone(err)
	}
	l.text.Reset()
}

// End writes the rest.
func (l *Long) End() error {
	l.text.WriteByte('\n')
	if !l.sent && l.err == nil {
		l.w.Header().Set("Content-Length", strconv.Itoa(l.text.Len()))
	}
	l.write(0)
	return l.err
}
