package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// childOutput is what a child wrote on stdout, at most maxOutput bytes of it.
type childOutput struct{ text []byte }

const maxOutput = runs.MaxFile

func (o *childOutput) Write(p []byte) (int, error) {
	if len(o.text)+len(p) > maxOutput {
		return 0, fmt.Errorf("a run is no longer than %d bytes", maxOutput)
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

// run returns the run that was written.
func (o *childOutput) run() (*runs.Run, error) {
	first := json.NewDecoder(bytes.NewReader(o.text))
	var text json.RawMessage
	if err := first.Decode(&text); err != nil {
		return nil, fmt.Errorf("the program did not answer with a run: %w", err)
	}
	if _, err := first.Token(); err != io.EOF {
		return nil, errors.New("the program answered with more than a run")
	}
	r, err := runs.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("the program did not answer with a run: %w", err)
	}
	return r, nil
}

// childLog are what a child writes on stderr: how far it is, and at last why it failed. Of that the beginning and the end are kept.
type childLog struct {
	progress func(text string)
	mu       sync.Mutex
	open     []byte // a line that has no end yet
	first    []string
	last     []string // of those behind the first
}

// How many lines of a child's stderr are kept: its first ones, in which a panic gives its reason, and its last ones.
const (
	firstLines = 3
	lastLines  = 6
	maxLine    = 4 << 10 // bytes
)

func (l *childLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range p {
		if c == '\n' {
			l.end()
		} else if len(l.open) < maxLine {
			l.open = append(l.open, c)
		}
	}
	return len(p), nil
}

// end takes the open line as a whole.
func (l *childLog) end() {
	line := strings.TrimRight(string(l.open), "\r ")
	l.open = l.open[:0]
	if text, ok := strings.CutPrefix(line, progressMark); ok {
		if l.progress != nil {
			l.progress(text)
		}
		return
	}
	switch {
	case line == "":
	case len(l.first) < firstLines:
		l.first = append(l.first, line)
	default:
		l.last = append(l.last[max(len(l.last)-lastLines+1, 0):], line)
	}
}

// reason says why a child failed: in its own words if it wrote any, with its status if that adds something.
func (l *childLog) reason(exit *target.ExitError) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) > 0 {
		l.end()
	}
	words := strings.TrimPrefix(strings.Join(slices.Concat(l.first, l.last), "\n"), "suite: ")
	switch {
	case words == "":
		return exit.Error()
	case exit.Status == 1 || exit.Status == 2 && !strings.Contains(words, "goroutine "):
		return words
	}
	return exit.Error() + ": " + words
}
