// Quantize writes a model as a GGUF file whose matrices have the type asked for: from a Hugging Face folder, or from another
// GGUF file. This module loads the result, and so does llama.cpp.
package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
quantize writes a model as a GGUF file whose matrices have the type asked for.

  go run ./examples/tools/quantize -in Llama-3.2-1B-Instruct -out model.gguf -type q4_0
  go run ./examples/tools/quantize -in model-f16.gguf -out model.gguf -type q4_1 -head-type f16

A Hugging Face folder must have a tokenizer.json of Llama 3's kind, or none. Norms and biases stay f32. Rounding what has
been rounded before loses more: start from the published weights where they are at hand.`

func main() { cli.Main("quantize", run) }

// options are the command line's.
type options struct {
	in, out, name string
	kind, head    tensor.DType
	threads       int
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("quantize", about)
	f.Group("Files", func() {
		f.StringVar(&o.in, "in", "", "`path` of "+cli.Models)
		f.StringVar(&o.out, "out", "", "`path` of the .gguf file to write")
		f.StringVar(&o.name, "name", "", "`name` to give the model; the folder's or the file's own unless given")
	})
	f.Group("How", func() {
		f.DType(&o.kind, "type", "of the matrices, q4_0 unless given", writable()...)
		f.DType(&o.head, "head-type", "of the output head, and of the embedding that serves as one; unless given "+
			headFor(tensor.Q4_0).String()+" beside matrices of fewer than eight bits, else as -type", writable()...)
		f.IntVar(&o.threads, "threads", 0, "`number` of threads; 0: one for each processor")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	switch {
	case o.in == "":
		return nil, cli.Usagef("-in is missing: a Hugging Face folder or a .gguf file")
	case o.out == "":
		return nil, cli.Usagef("-out is missing: the .gguf file to write")
	case !isGGUF(o.out):
		return nil, cli.Usagef("-out %s must end in .gguf", o.out)
	}
	if o.kind == 0 {
		o.kind = tensor.Q4_0
	}
	if o.head == 0 {
		o.head = headFor(o.kind)
	}
	return o, nil
}

// isGGUF tells whether a path names a GGUF file.
func isGGUF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gguf") }

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	began := time.Now()
	path, err := cli.Fetch(ctx, o.in, stderr)
	if err != nil {
		return err
	}
	s, err := open(path)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.name != "" {
		s.set(checkpoint.NameKey, text(o.name))
	}
	host := cpu.New(o.threads)
	defer host.Close()
	c := &conversion{source: s, kind: o.kind, head: o.head, host: host, progress: cli.Progress(stderr, "quantizing")}
	if err := c.plan(); err != nil {
		return err
	}
	if n := c.rounded(); n > 0 {
		fmt.Fprintf(stderr, "quantize: %d matrices of %s were rounded before, and lose more now\n", n, o.in)
	}
	n, err := c.write(ctx, o.out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d tensors, %v with a head of %v, %d bytes in %.1f s\n",
		o.out, len(s.tensors), o.kind, o.head, n, time.Since(began).Seconds())
	return err
}
