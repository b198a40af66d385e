package wire

import (
	"fmt"
	"net/http"
	"time"
)

// Lines is a stream of lines, each a value as JSON. One goroutine at a time uses it.
type Lines struct{ events *Events }

// NewLines begins a stream.
func NewLines(w http.ResponseWriter) *Lines { return &Lines{newEvents(w, "application/x-ndjson")} }

// Send writes a line: v as JSON. It may lie in memory until Flush.
func (l *Lines) Send(v any) error {
	l.events.text.Reset()
	if err := l.events.json.Encode(v); err != nil {
		return fmt.Errorf("write a line: %w", err)
	}
	return l.events.write()
}

// Flush is Events.Flush.
func (l *Lines) Flush() error { return l.events.Flush() }

// Quiet is Events.Quiet.
func (l *Lines) Quiet() time.Duration { return l.events.Quiet() }
