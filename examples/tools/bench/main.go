// Bench measures how fast a model reads prompts and writes answers, alone and in company.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/timeline"
	"github.com/antigravity-go/antigravity/examples/tools/internal/sysinfo"
	"github.com/antigravity-go/antigravity/examples/tools/internal/workload"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
)

func main() { cli.Main("bench", run) }

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	b := &bench{options: o, stdout: stdout}
	if o.tracePath != "" {
		if b.trace, err = traceInto(o.tracePath, o.traceEvents, &o.model); err != nil {
			return err
		}
	}
	err = o.flags.Explained(b.run(ctx, stderr))
	return errors.Join(err, b.trace.Close(b.setting.now(), stderr)) // the trace until an error is worth a look all the same
}

// run loads the model and measures it.
func (b *bench) run(ctx context.Context, stderr io.Writer) error {
	o, began := b.options, precise.Now()
	model, closeModel, err := o.model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	b.model, b.endless = model, workload.Endless(model)
	b.setting = setting{
		Depth: o.depth, Threads: o.model.Threads, Repetitions: o.repetitions, Model: o.model.Name(), Type: model.WeightType().String(),
		Forks: o.forks, KV: o.kv.String(), CPU: asm.Tier(), LoadSeconds: precise.Since(began).Seconds(),
	}
	if b.setting.Threads == 0 {
		b.setting.Threads = runtime.GOMAXPROCS(0)
	}
	if o.schema != "" {
		if b.form, err = newForm(model, o.schema, o.document); err != nil {
			return err
		}
	}
	if o.latency {
		return b.latencies(ctx)
	}
	return b.rates(ctx)
}

// bench measures a model as the options say.
type bench struct {
	*options
	model   *llama.Model
	endless llama.LogitMask // forbids what ends an answer
	form    *form           // of -schema; nil: no schema
	setting setting
	trace   *timeline.File // nil unless tracing

	pictures uint64 // that were drawn
	stdout   io.Writer
}

// setting is what the results of a run have in common, in the form of -json.
type setting struct {
	Depth        int     `json:"depth"`
	Forks        bool    `json:"forks,omitempty"` // several sessions are forks of one
	Threads      int     `json:"threads"`
	Repetitions  int     `json:"repetitions"`
	Model        string  `json:"model"`
	Type         string  `json:"type"`
	KV           string  `json:"kv"`
	CPU          string  `json:"cpu"`
	LoadSeconds  float64 `json:"load_seconds"`
	PeakRSSBytes int64   `json:"peak_rss_bytes"`
	// Memory is that of the model and of a test's sessions at its end.
	Memory llama.Memory `json:"memory"`
}

// now returns the setting with the memory's peak until now.
func (s setting) now() setting {
	s.PeakRSSBytes = sysinfo.PeakResident()
	return s
}

// footer writes under a table what its rows have in common.
func (b *bench) footer() error {
	s := b.setting.now()
	_, err := fmt.Fprintf(b.stdout, "\n%s, %s weights; kernels %s; loaded in %.2f s; peak memory %.2f GB, at the end of the last test %v\n",
		s.Model, s.Type, s.CPU, s.LoadSeconds, float64(s.PeakRSSBytes)/1e9, s.Memory)
	return err
}
