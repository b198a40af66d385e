package infer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Task names what a JSON line asks for.
type Task string

// The tasks.
const (
	Answers Task = "answer"   // of a Request an Answer
	Vectors Task = "embed"    // of a Text a Vector
	Ranks   Task = "score"    // of Continuations Scores
	Classes Task = "classify" // of a LongText Labels
	Finds   Task = "entities" // of a Passage Entities
)

// lineOf computes a line of a task.
// Tasks returns all tasks.
func Tasks() []Task { return []Task{Answers, Vectors, Ranks, Classes, Finds} }

var lineOf = map[Task]func(ctx context.Context, l *loaded, lines Lines, i int) lineResult{
	Answers: computeLine[Request, Answer],
	Vectors: computeLine[Text, Vector],
	Ranks:   computeLine[Continuations, Scores],
	Classes: computeLine[LongText, Labels],
	Finds:   computeLine[Passage, Entities],
}

// Lines are JSON lines: their results make one file.
type Lines struct {
	Task     Task            `json:"task"`
	Output   string          `json:"output"` // the file: a path, or an address of a file system that the program registered with Beam
	Source   string          `json:"source"` // the lines' source: line 7 has the ID Source:7, if it has no ID of its own
	First    int             `json:"first"`  // number of the first line
	Lines    []string        `json:"lines"`
	Defaults json.RawMessage `json:"defaults,omitempty"` // an object with the fields of lines that do not say otherwise
}

// File is a file that has been written: Results lines in the order of the lines that they belong to, and, if there are any, the Failures in
// a second one next to it.
type File struct {
	Output   string `json:"output"`
	Results  int    `json:"results"`
	Failures int    `json:"failures"`
}

// FailuresOf is the name of the second file, which holds an output's failures.
func FailuresOf(output string) string { return output + failuresSuffix }

const failuresSuffix = ".failures"

func (Lines) element()              {}
func (File) element()               {}
func (l Lines) name() string        { return l.Output }
func (Lines) concurrency(Model) int { return linesAtOnce }

// linesAtOnce is how many files a bundle works on: a second one, so that the model is busy while the last answers of the first come.
const linesAtOnce = 2

// compute computes the lines side by side and writes the files, the one with results last: if that one exists, nothing is missing.
func (l Lines) compute(ctx context.Context, model *loaded) (File, measured, error) {
	one, ok := lineOf[l.Task]
	if !ok {
		return File{}, measured{}, &bundleError{fmt.Errorf("there is no task %q: it must be one of %v", l.Task, Tasks())}
	}
	lines := make([]lineResult, len(l.Lines))
	g, ctx := errgroup.WithContext(ctx)
	for i := range l.Lines {
		g.Go(func() error {
			lines[i] = one(ctx, model, l, i)
			return lines[i].err
		})
	}
	if err := g.Wait(); err != nil {
		return File{}, measured{}, err
	}
	var results, failures bytes.Buffer
	file, m := File{Output: l.Output}, measured{}
	for _, line := range lines {
		m.answers = append(m.answers, line.answers...)
		if line.failed {
			file.Failures++
			failures.Write(line.json)
		} else {
			file.Results++
			results.Write(line.json)
		}
	}
	m.results, m.failures = file.Results, file.Failures
	if err := writeOutput(ctx, nil, l.Output, results.Bytes(), failures.Bytes()); err != nil {
		return File{}, m, &bundleError{err}
	}
	return file, m, nil
}

// lineResult is what became of a line.
type lineResult struct {
	json   []byte // an R, or a Failure; a line feed is its end
	failed bool
	err    error // it is not the line's
	measured
}

// computeLine makes a result R of a line that is an element E.
func computeLine[E workItem[R], R any](ctx context.Context, l *loaded, lines Lines, i int) (r lineResult) {
	var e E
	id := fmt.Sprintf("%s:%d", lines.Source, lines.First+i)
	own, err := json.Marshal(map[string]string{"id": id})
	for _, part := range []string{string(own), string(lines.Defaults), lines.Lines[i]} {
		if err == nil && part != "" {
			err = decodeStrictly(part, &e)
		}
	}
	var result R
	if err == nil {
		id = e.name()
		result, r.measured, err = e.compute(ctx, l)
	}
	switch {
	case err == nil:
		r.json, r.err = encodeLine(result)
	case ctx.Err() != nil:
		r.err = context.Cause(ctx)
	default:
		r.failed = true
		r.json, r.err = encodeLine(failureOf(id, raw(lines.Lines[i]), err))
	}
	return r
}

// raw returns a line as JSON: as it is or, if it is not JSON, as a string.
func raw(line string) json.RawMessage {
	if json.Valid([]byte(line)) {
		return json.RawMessage(line)
	}
	quoted, _ := json.Marshal(line)
	return quoted
}

// encodeLine writes a JSON line, with <, > and & as they are.
func encodeLine(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
