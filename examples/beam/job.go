package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/beam/infer"
	"github.com/antigravity-go/antigravity/examples/beam/internal/input"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/metrics"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

// job is a pipeline to run: inputs is not empty, and no two of them make results of the same name.
type job struct {
	task     infer.Task
	lines    int
	model    infer.Model
	defaults json.RawMessage
	inputs   []string
	out      string
}

// job checks the flags and finds the files.
func (o *flags) job(ctx context.Context) (*job, error) {
	j := &job{task: infer.Task(o.task), lines: o.lines, model: o.model, out: o.out}
	tasks := infer.Tasks()
	switch {
	case o.in == "" || o.out == "":
		return nil, cli.Usagef("-in and -out must be given")
	case !slices.Contains(tasks, j.task):
		return nil, cli.Usagef("-task %s: it must be one of %v", j.task, tasks)
	case o.lines < 1:
		return nil, cli.Usagef("-lines %d: it must be 1 or more", o.lines)
	}
	var err error
	if j.defaults, err = defaultsOf(o.defaults, j.task); err != nil {
		return nil, err
	}
	for _, pattern := range strings.Split(o.in, ",") {
		fs, err := filesystem.New(ctx, pattern)
		if err != nil {
			return nil, err
		}
		files, err := fs.List(ctx, pattern)
		fs.Close()
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no file %s", pattern)
		}
		j.inputs = append(j.inputs, files...)
	}
	slices.Sort(j.inputs)
	j.inputs = slices.Compact(j.inputs)
	return j, input.Distinct(j.inputs)
}

// defaultsOf reads -defaults. What only answers have is left out for the other tasks, unless it was given.
func defaultsOf(text string, task infer.Task) (json.RawMessage, error) {
	if file, ok := strings.CutPrefix(text, "@"); ok {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	if task != infer.Answers && text == answerDefaults {
		return nil, nil
	}
	if text == "" {
		return nil, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		return nil, cli.Usagef("-defaults: it must be a JSON object: %v", err)
	}
	var b bytes.Buffer
	err := json.Compact(&b, []byte(text))
	return b.Bytes(), err
}

// answerDefaults bound answers to what nobody minds: a model that does not end its turn would fill the context each time.
const answerDefaults = `{"max_tokens":256}`

// run runs the pipeline to its end and says what came of it.
func (j *job) run(ctx context.Context, stderr io.Writer) error {
	fs, err := filesystem.New(ctx, j.out)
	if err != nil {
		return err
	}
	defer fs.Close()
	p, err := planOf(ctx, j)
	if err != nil {
		return err
	}
	if err := p.settle(ctx, fs, j.out); err != nil {
		return err
	}
	if err := infer.RemoveUnfinished(ctx, fs, j.out); err != nil {
		return err
	}
	if self, err := os.Executable(); err == nil && *jobopts.WorkerBinary == "" && runtime.GOOS == "linux" {
		*jobopts.WorkerBinary = self // the program is the workers', too: otherwise Beam compiles it, with the sources at hand or not
	}
	began := time.Now()
	tell := progress(ctx, fs, j.out, stderr)
	result, err := beamx.RunWithMetrics(ctx, j.pipeline())
	tell()
	if err != nil {
		fmt.Fprintf(stderr, "the same command goes on with what is not in %s yet\n", j.out)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	if result == nil { // the job goes on elsewhere
		_, err := fmt.Fprintf(stderr, "the job was handed over; its results come to %s\n", j.out)
		return err
	}
	return j.summarize(stderr, result.Metrics(), time.Since(began))
}

// pipeline returns the pipeline: files of prompts are cut into lines without results, these are spread over the workers, and each of them writes
// a file of results.
func (j *job) pipeline() *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	files := beam.Reshuffle(s, beam.CreateList(s, j.inputs))
	lines := input.Split(s, input.Options{Task: j.task, Out: j.out, Lines: j.lines, Defaults: string(j.defaults)}, files)
	infer.WriteFiles(s, j.model, beam.Reshuffle(s, lines))
	return p
}

// progressEvery is the time between two looks at how many files of results there are.
const progressEvery = 2 * time.Second

// progress writes now and then how many files of results there are. The function that it returns ends that.
func progress(ctx context.Context, fs filesystem.Interface, out string, stderr io.Writer) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for last := -1; ; {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			files, err := infer.Written(ctx, fs, out)
			if err == nil && len(files) != last {
				last = len(files)
				fmt.Fprintf(stderr, "%v: %d files of results\n", time.Since(began).Round(time.Second), last)
			}
		}
	}()
	return func() {
		stop()
		<-ended
	}
}

// counted returns a number with its noun: "1 failure", "2 failures".
func counted(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// summarize writes the metrics to stderr.
func (j *job) summarize(stderr io.Writer, results metrics.Results, took time.Duration) error {
	count := map[string]int64{}
	for _, c := range results.AllMetrics().Counters() {
		count[c.Name()] += c.Result()
	}
	failures := ""
	if count["failures"] > 0 {
		failures = fmt.Sprintf(" (see *%s)", infer.FailuresOf(""))
	}
	_, err := fmt.Fprintf(stderr, "%s and %s%s, in %s; %s of results there already\n"+
		"%s (%d reused) and %s in %v: %.0f answer tokens a second; models loaded: %d\n",
		counted(count["results"], "result"), counted(count["failures"], "failure"), failures, j.out, counted(count["files_there"], "file"),
		counted(count["prompt_tokens"], "prompt token"), count["reused_prompt_tokens"], counted(count["answer_tokens"], "answer token"), took.Round(time.Millisecond),
		float64(count["answer_tokens"])/took.Seconds(), count["models_loaded"])
	return err
}
