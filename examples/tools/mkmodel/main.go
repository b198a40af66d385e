// Mkmodel makes a model of random weights in the shape of a published one: it computes as fast as the real model and says
// nothing, which is what a benchmark needs. The same flags give the same bytes on every machine.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
mkmodel makes a model of random weights in the shape of a published one, for benchmarks.

  go run ./examples/tools/mkmodel -shape llama-3.2-1b -type q4_0 -out model.gguf
  go run ./examples/tools/mkmodel -shape llama-3.2-1b -type bf16 -format hf -out model/`

func main() { cli.Main("mkmodel", run) }

// options are the command line's.
type options struct {
	shape, kind, format, out string
	head                     tensor.DType
	vocab, context, shards   int
	seed                     uint64
	onlyTower                bool
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("mkmodel", about)
	f.Group("What", func() {
		f.StringVar(&o.shape, "shape", "llama-3.2-1b", "`name` of the shape: "+shapeNames())
		f.StringVar(&o.kind, "type", "q4_0", "`type` of the weights: "+recipeNames())
		f.DType(&o.head, "head", "of the output head, as -type's usual mixture has it unless given", tensor.WeightTypes()...)
		f.IntVar(&o.vocab, "vocab", 0, "`tokens` in the vocabulary; the shape's unless given")
		f.IntVar(&o.context, "context", 0, "context to declare, in `tokens`; the shape's unless given")
		f.BoolVar(&o.onlyTower, "tower", false, "write the shape's tower that sees, in place of the model of text; of "+strings.Join(slices.Sorted(maps.Keys(towers)), ", "))
		f.Uint64Var(&o.seed, "seed", 1, "`number` that the random weights start from")
	})
	f.Group("Where", func() {
		f.StringVar(&o.format, "format", "gguf", "`format` to write: gguf, one file, or hf, a Hugging Face folder")
		f.StringVar(&o.out, "out", "", "`path` to write; SHAPE-TYPE.gguf or SHAPE-TYPE unless given")
		f.IntVar(&o.shards, "shards", 1, "`number` of files that hold the weights of -format hf, at most 1000")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.format != "gguf" && o.format != "hf" {
		return nil, cli.Usagef("unknown -format %q: known are gguf and hf", o.format)
	}
	if o.shards < 1 || o.shards > 1000 {
		return nil, cli.Usagef("-shards %d must be between 1 and 1000", o.shards)
	}
	return o, nil
}

// model builds what the options describe.
func (o *options) model() (*randomModel, error) {
	config, err := shapeOf(o.shape, o.vocab, o.context)
	if err != nil {
		return nil, err
	}
	r, ok := recipes[strings.ToLower(o.kind)]
	if !ok {
		return nil, cli.Usagef("unknown -type %q: known are %s", o.kind, recipeNames())
	}
	if o.head != 0 {
		r.head = o.head
	}
	name := fmt.Sprintf("%s %s, random weights", o.shape, o.kind)
	v := newVocabulary(config.VocabSize)
	config.BOS, config.EOS = v.id(beginOfText), []int32{v.id(endOfText), v.id(endOfMsg), v.id(endOfTurn)}
	return &randomModel{name: name, config: config, recipe: r, seed: o.seed, vocabulary: v}, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	var m *randomModel
	if !o.onlyTower {
		if m, err = o.model(); err != nil {
			return err
		}
	}
	began := time.Now()
	progress := cli.Progress(stderr, "writing")
	out := o.out
	if out == "" {
		if out = strings.ToLower(o.shape + "-" + o.kind); o.onlyTower {
			out = "mmproj-" + out
		}
	}
	if o.format == "gguf" && o.out == "" {
		out += ".gguf"
	}
	if err := o.write(ctx, m, nil, out, progress); err != nil {
		return err
	}
	n, err := bytesUnder(out)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d bytes in %.1f s\n", out, n, time.Since(began).Seconds())
	return nil
}

// write writes the model in its format. Its files get their names once all are complete. A nil system is the operating system.
func (o *options) write(ctx context.Context, m *randomModel, system atomicfile.System, out string, progress func(done, total int64)) error {
	files := atomicfile.Set{System: system}
	defer files.Discard()
	var err error
	if o.onlyTower {
		t, err := o.tower()
		if err != nil {
			return err
		}
		if err := t.write(ctx, &files, out, progress); err != nil {
			return err
		}
	} else if o.format == "gguf" {
		err = m.writeGGUF(ctx, &files, out, progress)
	} else {
		err = m.writeHuggingFace(ctx, &files, out, o.shards, progress)
	}
	if err != nil {
		return err
	}
	return files.Commit()
}

// bytesUnder returns the size of a file, or of the files in a folder.
func bytesUnder(path string) (n int64, err error) {
	err = filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return err
	})
	return n, err
}
