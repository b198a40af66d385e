package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// JSONWriter writes an answer of JSON part by part, since it may be too long to lie in memory as a whole. After an error its methods do
// nothing, and End returns the error. One goroutine at a time uses it.
type JSONWriter struct {
	w    http.ResponseWriter
	rc   *http.ResponseController
	text bytes.Buffer // not written yet
	json *json.Encoder
	sent bool // something has been written
	err  error
}

// writeSize is how many bytes are written at once.
const writeSize = 32 << 10

// NewJSONWriter begins an answer with status 200.
func NewJSONWriter(w http.ResponseWriter) *JSONWriter {
	w.Header().Set("Content-Type", "application/json")
	l := &JSONWriter{w: w, rc: http.NewResponseController(w)}
	l.json = encoder(&l.text)
	return l
}

// Raw adds a text that is JSON already.
func (l *JSONWriter) Raw(text string) {
	l.text.WriteString(text)
	l.write(writeSize)
}

// Int adds a number.
func (l *JSONWriter) Int(n int64) {
	l.text.Write(strconv.AppendInt(l.text.AvailableBuffer(), n, 10))
	l.write(writeSize)
}

// Value adds v as JSON.
func (l *JSONWriter) Value(v any) {
	if err := l.json.Encode(v); err != nil && l.err == nil {
		l.err = fmt.Errorf("write an answer: %w", err)
	}
	l.text.Truncate(max(0, l.text.Len()-1)) // the line feed
	l.write(writeSize)
}

// List adds a list of n elements. element(i) adds the i-th.
func (l *JSONWriter) List(n int, element func(i int)) {
	l.Raw("[")
	for i := range n {
		if i > 0 {
			l.Raw(",")
		}
		element(i)
	}
	l.Raw("]")
}

// write writes the text in memory, if that has at least least bytes.
func (l *JSONWriter) write(least int) {
	if l.err != nil || l.text.Len() < least {
		return
	}
	extendDeadline(l.rc)
	l.sent = true
	if _, err := l.w.Write(l.text.Bytes()); err != nil {
		l.err = clientGone(err)
	}
	l.text.Reset()
}

// End writes the rest.
func (l *JSONWriter) End() error {
	l.text.WriteByte('\n')
	if !l.sent && l.err == nil {
		l.w.Header().Set("Content-Length", strconv.Itoa(l.text.Len()))
	}
	l.write(0)
	return l.err
}
