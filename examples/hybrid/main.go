// Hybrid begins an answer on the processor at once, gets another device ready meanwhile, and moves there in the middle of the
// answer when that pays.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/internal/timeline"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
hybrid answers one prompt: first on the processor, without waiting for anything, and from the token on at which it pays on
another device, which is opened, compiled for and measured in the background. Without such a device it stays where it is.

  go run -tags opencl ./examples/hybrid -prompt "Tell me a story about a fox and a lantern."
  go run -tags opencl ./examples/hybrid -model model.gguf -n 500 -switch-threshold 100

The answer is the one that the processor alone would give: to the last bit of every logit where the device allows it, as
checkbackend -list tells ("the reference's bits"), and within rounding elsewhere.`

func main() { cli.Main("hybrid", run) }

// options are the command line's.
type options struct {
	model  cli.Model // on the processor
	memory cli.Memory
	params llama.Params
	prompt cli.Prompt
	to     string // the other device's backend
	trace  string // path of a trace; "": no trace
	change llama.SwitchOptions
	file   *timeline.File // of trace; nil: no trace

	flags   *cli.Flags
	release func() error // closes the other device and its model; nil if they were not loaded
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("hybrid", about)
	o.prompt.Flags(f, "Tell me a story about a fox and a lantern.")
	f.Group("Switch", func() {
		f.StringVar(&o.to, "to", "opencl", "`name` of the backend to move to")
		f.IntVar(&o.change.Threshold, "switch-threshold", 0, "`position` from which on to move; 0: when it pays by the rates measured")
		f.IntVar(&o.change.Expect, "expect-tokens", 0, "further `tokens` that the answer is assumed to have; 0: those that -n leaves, or 128")
		f.IntVar(&o.change.Warmup, "warmup-tokens", 8, "`tokens` that the other device computes beforehand, to be measured")
		f.StringVar(&o.trace, "trace", "", "write what each device did when, and the move between them, to `path`, for ui.perfetto.dev or chrome://tracing")
	})
	cli.SamplingFlags(f, &o.params, 256)
	o.model.Flags(f)
	o.memory.Flags(f, tensor.F16)
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.change.Expect == 0 {
		o.change.Expect = o.params.MaxTokens
	}
	o.flags = f
	cli.Seed(f, &o.params)
	return o, nil
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if err := o.prompt.Read(stdin); err != nil {
		return err
	}
	if o.trace != "" {
		if o.file, err = timeline.Create(o.trace, 0); err != nil {
			return err
		}
	}
	return errors.Join(o.flags.Explained(o.run(ctx, stdout, stderr)), o.file.Close(nil, stderr))
}

// traced returns a model that reports to the trace, if there is one.
func (o *options) traced(m cli.Model) cli.Model {
	if o.file != nil {
		process := o.file.Process(m.Name() + " on " + m.Backend)
		m.Trace, m.Record = process.Trace(), process.Record()
	}
	return m
}

// run loads the model and answers.
func (o *options) run(ctx context.Context, stdout, stderr io.Writer) error {
	if _, err := o.model.Fetch(ctx, stderr); err != nil { // for both devices
		return err
	}
	here := o.traced(o.model)
	model, closeModel, err := here.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	cli.Recommend(o.flags, model, &o.params, stderr)
	session, closeSession, err := o.memory.Session(model)
	if err != nil {
		return err
	}
	o.change.Load = o.load
	change, err := llama.NewSwitch(ctx, session, o.change)
	if err != nil {
		closeSession()
		return err
	}
	defer func() { // the session may be on the other device, and is closed first
		closeSession()
		change.Close()
		if o.release != nil {
			o.release()
		}
	}()
	o.file.Begin("answer")
	defer o.file.End()
	return o.answer(ctx, model, session, change, stdout, stderr)
}

// load loads the model on the other device, in the background.
func (o *options) load(ctx context.Context) (*llama.Model, error) {
	there := o.model
	there.Backend = o.to
	there = o.traced(there)
	model, release, err := there.Load(ctx, io.Discard)
	if err == nil {
		o.release = release
	}
	return model, err
}

// result is what -json prints.
type result struct {
	Text            string  `json:"text"`
	Stop            string  `json:"stop"`
	GeneratedTokens int     `json:"generated_tokens"`
	DecodeRate      float64 `json:"decode_tokens_per_second"`
	Moved           bool    `json:"moved"`
	Position        int     `json:"position"`
	Bytes           int64   `json:"bytes"`
	Seconds         float64 `json:"seconds"`
	LoadSeconds     float64 `json:"load_seconds"`
	Report          string  `json:"report"`
}

// answer prints the answer, and then whether and when the session moved.
func (o *options) answer(ctx context.Context, m *llama.Model, s *llama.Session, change *llama.Switch, stdout, stderr io.Writer) error {
	pieces := o.prompt.Ask(ctx, m, s, o.params)
	var r result
	for piece, err := range change.Watch(ctx, pieces) {
		if r.Text += piece.Text; !o.prompt.JSON {
			if _, err := io.WriteString(stdout, piece.Text); err != nil {
				return fmt.Errorf("write the answer: %w", err)
			}
		}
		if err != nil {
			fmt.Fprintln(stdout)
			return err
		}
		if piece.Stop != 0 {
			r.Stop, r.GeneratedTokens, r.DecodeRate = piece.Stop.FinishReason(), piece.Stats.GeneratedTokens, piece.Stats.DecodeRate()
		}
	}
	report := change.Report()
	if !o.prompt.JSON {
		fmt.Fprintln(stdout)
		fmt.Fprintf(stderr, "%s, %.1f tokens/s; %v\n%v\n", cli.Count(r.GeneratedTokens, "token"), r.DecodeRate, r.Stop, report)
		return errors.Join(s.DeviceErrors()...)
	}
	r.Moved, r.Position, r.Bytes = report.Moved, report.Migration.Position, report.Migration.Bytes
	r.Seconds, r.LoadSeconds, r.Report = report.Migration.Duration.Seconds(), report.Load.Seconds(), report.String()
	return cli.PrintJSON(stdout, r)
}
