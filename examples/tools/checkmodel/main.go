// Checkmodel says what a model is, and compares its logits with a golden file that a reference implementation computed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
checkmodel tells what a model is, and whether it would load, without loading it: also what its files are if they are no model. If it
would not load, all reasons are told, and the exit status is 1. With -golden it compares the model's logits with those of a reference.

  go run ./examples/tools/checkmodel model.gguf
  go run ./examples/tools/checkmodel model/ -golden model/golden.safetensors

A golden file has input_ids and logits, one row a token, and perhaps greedy_ids, a prompt with its greedy continuation; or
ids.0, logits.0, ids.1, … with the logits after the last token. A difference is relative to the largest logit of its row.`

func main() { cli.Main("checkmodel", run) }

// options are the command line's.
type options struct {
	model     cli.Model
	session   llama.SessionOptions
	golden    string
	families  bool
	prompt    int
	tolerance float64
	flags     *cli.Flags
}

func parse(args []string, stdout io.Writer) (*options, error) {
	f := cli.NewFlags("checkmodel", about)
	o := &options{flags: f}
	f.BoolVar(&o.families, "families", false, "print the page that lists which models load, which is llama/MODELS.md")
	f.Group("Comparison", func() {
		f.StringVar(&o.golden, "golden", "", "`path` of a safetensors file with what the reference computed")
		f.Float64Var(&o.tolerance, "tolerance", 1e-3, "relative `difference` above which the check fails; quantised weights need more")
		f.IntVar(&o.prompt, "prompt-tokens", 8, "`number` of greedy_ids that are the prompt")
	})
	o.model.Flags(f)
	cli.SessionFlags(f, &o.session, tensor.F32)
	files, err := f.ParseMixed(args, stdout)
	switch {
	case err != nil:
		return nil, err
	case len(files) > 1, len(files) == 1 && f.Given("model"):
		return nil, cli.Usagef("one model at a time, and there is also %q", files[len(files)-1])
	case len(files) == 1:
		o.model.Path = files[0]
	}
	if !(o.tolerance >= 0) || o.prompt < 1 {
		return nil, cli.Usagef("-tolerance must be 0 or more, -prompt-tokens 1 or more")
	}
	return o, nil
}

// inspect prints what the model is. A path that is no model is described on stdout and gives an error.
func (o *options) inspect(ctx context.Context, stdout, stderr io.Writer) (*llama.Report, error) {
	if o.model.Embedded() {
		files, name := o.model.EmbeddedFS()
		return llama.InspectFS(ctx, files, name)
	}
	path, err := o.model.Fetch(ctx, stderr)
	if err != nil {
		return nil, err
	}
	if words := describeOther(path); words != "" {
		fmt.Fprintf(stdout, "%s\n  %s\n", o.model.Name(), cli.Printable(words))
		return nil, fmt.Errorf("%s is no model", path)
	}
	return llama.Inspect(path)
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if o.families {
		return writeFamilies(stdout)
	}
	defer func() { err = o.flags.Explained(err) }()
	var g *golden
	if o.golden != "" {
		if g, err = readGolden(o.golden); err != nil {
			return err
		}
	}
	report, err := o.inspect(ctx, stdout, stderr)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s\n", o.model.Name())
	describe(stdout, report)
	switch n := len(report.Problems); n {
	case 0:
	case 1:
		return errors.New("the model does not load, for this reason")
	default:
		return fmt.Errorf("the model does not load, for %d reasons", n)
	}
	if g == nil {
		return nil
	}
	model, closeModel, err := o.model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	c := &comparison{model: model, options: &o.session}
	if err := c.run(ctx, g, o.prompt); err != nil {
		return err
	}
	return c.judge(stdout, o.tolerance)
}
