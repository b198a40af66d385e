package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// launcher measures runs, each in a process of its own on a target, where files may have other names than in Configs.
type launcher struct {
	target   target.Target
	programs map[string]string // where the program of a label lies on the target
	files    map[string]string // where a model or a file of questions lies on the target; what is part of the programs is missing
	stamp    stamp
	timeout  time.Duration     // the most that a run may take; 0: as long as it wants
	progress func(text string) // is told how far a run is; may be nil
}

// measure returns what came of a run, which may be an error of its own. The error that it returns is of another kind: it would be met
// by every run, such as a device that is gone, or ctx has ended.
func (l *launcher) measure(ctx context.Context, c runs.Config, repetition int) (*runs.Run, error) {
	failed := &runs.Run{Config: c, Repetition: repetition, Began: time.Now()}
	r, err := l.ask(ctx, c, repetition)
	if err == nil {
		return r, nil
	}
	var failure *runError
	if !errors.As(err, &failure) {
		return nil, err
	}
	failed.Seconds, failed.Error = time.Since(failed.Began).Seconds(), failure.Error()
	return failed, nil
}

// runError is why a run came to nothing.
type runError struct{ reason string }

func (e *runError) Error() string { return e.reason }

// ask starts a process, asks it for a run, and returns its answer. An error is a *runError where it concerns this run alone.
func (l *launcher) ask(ctx context.Context, c runs.Config, repetition int) (*runs.Run, error) {
	q := request{Config: c, Repetition: repetition, Progress: l.progress != nil}
	for _, name := range []*string{&q.Config.Model, &q.Config.Questions} {
		if there, ok := l.files[*name]; ok {
			*name = there
		}
	}
	if l.programs[c.Program] == l.programs[""] { // another program may be of another commit
		q.Commit, q.Committed = l.stamp.Commit, l.stamp.Committed
	}
	_, local := l.target.(target.Local)
	q.Watched = local // targets behind a connection watch over their programs themselves
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	stdin := io.Reader(bytes.NewReader(text))
	if q.Watched {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		defer w.Close() // closed by the system, too, when this process is killed
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
		stdin = r
	}
	running := ctx
	if l.timeout > 0 {
		timed, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		running = timed
	}
	var answer output
	said := lines{progress: l.progress}
	err = l.target.Run(running, l.programs[c.Program], []string{"child"}, stdin, &answer, &said)
	var exit *target.ExitError
	switch {
	case ctx.Err() != nil && err != nil:
		return nil, ctx.Err()
	case running.Err() != nil && err != nil:
		return nil, &runError{fmt.Sprintf("took longer than %v (-timeout)", l.timeout)}
	case errors.As(err, &exit):
		if exit.Status == interruptedStatus {
			return nil, awaitEnd(ctx)
		}
		return nil, &runError{said.reason(exit)}
	case err != nil:
		return nil, err
	}
	r, err := answer.run()
	if err != nil {
		return nil, &runError{err.Error()}
	}
	if r.Repetition != repetition {
		return nil, &runError{fmt.Sprintf("the program answered with repetition %d where %d was asked for", r.Repetition, repetition)}
	}
	if r.Config != q.Config {
		return nil, &runError{"the program answered with a run of another configuration than it was asked for"}
	}
	r.Config = c
	return r, nil
}

// interruptedStatus is the status of a program that the user interrupted, and grace how long after it the news may come here too.
const (
	interruptedStatus = 130
	grace             = 2 * time.Second
)

// awaitEnd waits for the interruption that a child was told of already.
func awaitEnd(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(grace):
		return &runError{"the run was interrupted"}
	}
}

// output is what a child wrote on stdout, at most maxOutput bytes of it.
type output struct{ text []byte }

const maxOutput = runs.MaxFile

func (o *output) Write(p []byte) (int, error) {
	if len(o.text)+len(p) > maxOutput {
		return 0, fmt.Errorf("a run is no longer than %d bytes", maxOutput)
	}
	o.text = append(o.text, p...)
	return len(p), nil
}

// run returns the run that was written.
func (o *output) run() (*runs.Run, error) {
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

// lines are what a child writes on stderr: how far it is, and at last why it failed. Of that the beginning and the end are kept.
type lines struct {
	progress func(text string)
	mu       sync.Mutex
	open     []byte // a line that has no end yet
	first    []string
	last     []string // of those behind the first
}

// The bounds of what is kept of a child's stderr: its first lines, where a panic tells its reason, and its last.
const (
	firstLines = 3
	lastLines  = 6
	maxLine    = 4 << 10 // bytes
)

func (l *lines) Write(p []byte) (int, error) {
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
func (l *lines) end() {
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

// reason says why a child failed: in its own words where it has some, with its status where that says more.
func (l *lines) reason(exit *target.ExitError) string {
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
