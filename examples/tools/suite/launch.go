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
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// launcher measures runs, each in a process of its own on a target. Files may have other names there than in Configs.
type launcher struct {
	target   target.Target
	programs map[string]string // the paths of programs on the target, by their labels
	files    map[string]string // the paths of models and files of questions on the target; those that are part of the programs are missing
	stamp    stamp
	timeout  time.Duration     // the most that a run may take; 0: as long as it wants
	progress func(text string) // is called with how far a run is; may be nil
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

// ask starts a process, asks it for a run, and returns its answer. An error that concerns this run alone is a *runError.
func (l *launcher) ask(ctx context.Context, c runs.Config, repetition int) (*runs.Run, error) {
	q := l.question(c, repetition)
	stdin, done, err := q.pipe()
	if err != nil {
		return nil, err
	}
	defer done()
	before := l.sense(ctx)
	running := ctx
	if l.timeout > 0 {
		timed, cancel := context.WithTimeout(ctx, l.timeout)
		defer cancel()
		running = timed
	}
	var answer childOutput
	said := childLog{progress: l.progress}
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
	r.Conditions = conditionsAround(r, before, l.sense(ctx))
	return r, nil
}

// question returns what a process is asked for.
func (l *launcher) question(c runs.Config, repetition int) *request {
	q := &request{Config: c, Repetition: repetition, Progress: l.progress != nil}
	for _, name := range []*string{&q.Config.Model, &q.Config.Questions} {
		if there, ok := l.files[*name]; ok {
			*name = there
		}
	}
	if l.programs[c.Program] == l.programs[""] { // another program may be of another commit
		q.Commit, q.Committed = l.stamp.Commit, l.stamp.Committed
	}
	_, q.Watched = l.target.(target.Local) // targets behind a connection watch over their programs themselves
	return q
}

// pipe returns what the process reads on stdin. done must be called when the process has ended.
func (q *request) pipe() (stdin io.Reader, done func(), err error) {
	text, err := json.Marshal(q)
	if err != nil {
		return nil, nil, err
	}
	text = append(text, '\n')
	if !q.Watched {
		return bytes.NewReader(text), func() {}, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	done = func() { // the system closes the pipe, too, when this process is killed
		r.Close()
		w.Close()
	}
	if _, err := w.Write(text); err != nil {
		done()
		return nil, nil, err
	}
	return r, done, nil
}

// sense returns the condition that the target itself reports; the zero value if it reports nothing or fails: if the device is gone, Run
// says so.
func (l *launcher) sense(ctx context.Context) runs.Condition {
	s, ok := l.target.(target.Sensor)
	if !ok {
		return runs.Condition{}
	}
	c, err := s.Conditions(ctx)
	if err != nil {
		return runs.Condition{}
	}
	return c
}

// conditionsAround returns a run's conditions with those of the target before and after it at their two ends.
func conditionsAround(r *runs.Run, before, after runs.Condition) []runs.Condition {
	list := r.Conditions
	if before != (runs.Condition{}) {
		before.At = 0
		list = slices.Insert(list, 0, before)
	}
	if after != (runs.Condition{}) {
		after.At = r.Seconds
		list = append(list, after)
	}
	return list
}

// interruptedStatus is the status of a program that the user interrupted, and grace how long after it the news may come here too.
const (
	interruptedStatus = 130
	grace             = 2 * time.Second
)

// awaitEnd waits for the interruption that a child has reported already.
func awaitEnd(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(grace):
		return &runError{"the run was interrupted"}
	}
}
