// Quantize writes a model as a GGUF file with matrices of the chosen type: from a Hugging Face folder, or from another GGUF file. This
// module loads the result, and so does llama.cpp.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
quantize writes a model as a GGUF file whose matrices have the types of a mix.

  go run ./examples/tools/quantize -in Llama-3.2-1B-Instruct -out model.gguf -type q4_k_m
  go run ./examples/tools/quantize -in model-f16.gguf -out model.gguf -type q4_k_m -imatrix imatrix.gguf
  go run ./examples/tools/quantize -in model-00001-of-00009.gguf -out model.gguf -type q5_k_m -split-max-size 2G

A mix gives its own type to most matrices, and one of more bits to those that matter more, as llama.cpp's mixes do. With an importance
matrix (see examples/tools/imatrix) each column is rounded as well as its activations make worth it. Norms and biases stay f32.
Rounding what has been rounded before loses more: start from the published weights where they are at hand.`

func main() { cli.Main("quantize", run) }

// options are the command line's.
type options struct {
	in, out, name, imatrix string
	mix                    *mix
	head, embedding        tensor.DType
	pure, tower            bool
	splitSize              size
	threads                int
	system                 atomicfile.System // writes the files; nil: the operating system
}

// errUnknownMix names the mixes.
var errUnknownMix = errors.New("must be one of " + mixNames())

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{mix: findMix("q4_0")}
	f := cli.NewFlags("quantize", about)
	f.Group("Files", func() {
		f.StringVar(&o.in, "in", "", "`path` of "+cli.Models+"; of a split file the first part")
		f.StringVar(&o.out, "out", "", "`path` of the .gguf file to write")
		f.StringVar(&o.name, "name", "", "`name` to give the model; the folder's or the file's own unless given")
		f.Var(&o.splitSize, "split-max-size", "`bytes`, such as 2G or 500M, that the tensors of one file may have: what is more becomes "+
			"several files, NAME-00001-of-0000N.gguf and so on")
	})
	f.Group("How", func() {
		f.BoolVar(&o.tower, "tower", false, "write the folder's tower that sees, to be loaded with the model of text as mmproj-….gguf next to it, in place of the model of text")
		f.Var(mixValue{&o.mix}, "type", "`mix` of the matrices' types: "+mixNames()+"; q3_k, q4_k and q5_k mean the _m ones")
		f.StringVar(&o.imatrix, "imatrix", "", "`path` of an importance matrix of the model, by examples/tools/imatrix or llama.cpp")
		f.DType(&o.head, "head-type", "of the output head, and of the embedding that serves as one; unless given q6_k beside matrices of "+
			"fewer than eight bits, else as -type", tensor.WeightTypes()...)
		f.DType(&o.embedding, "embedding-type", "of an embedding that is only looked up, as -type unless given", tensor.WeightTypes()...)
		f.BoolVar(&o.pure, "pure", false, "give all matrices the mix's own type, also those that would get more bits")
		f.Threads(&o.threads, "")
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
	return o, nil
}

// isGGUF reports whether a path names a GGUF file.
func isGGUF(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gguf") }

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	return o.convert(ctx, stdout, stderr)
}

// convert reads the model and writes the file, or the files.
func (o *options) convert(ctx context.Context, stdout, stderr io.Writer) error {
	began := time.Now()
	path, err := cli.Fetch(ctx, o.in, stderr)
	if err != nil {
		return err
	}
	s, err := open(path, o.tower)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.name != "" {
		s.set(checkpoint.NameKey, text(o.name))
	}
	host := cpu.New(o.threads)
	defer host.Close()
	c := &conversion{source: s, options: o, host: host, progress: cli.Progress(stderr, "quantizing")}
	if o.imatrix != "" {
		if c.importance, err = importance.Read(o.imatrix); err != nil {
			return err
		}
	}
	if err := c.plan(); err != nil {
		return err
	}
	c.warn(stderr)
	n, err := c.write(ctx, o.out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d tensors, %s, %d bytes in %.1f s\n",
		strings.Join(c.written, ", "), len(s.tensors), c.types(), n, time.Since(began).Seconds())
	return err
}

// size is a number of bytes as a flag.
type size int64

func (s *size) String() string { return strconv.FormatInt(int64(*s), 10) }

// sizeUnits are the letters that may follow a number of bytes.
var sizeUnits = map[string]float64{"": 1, "K": 1e3, "M": 1e6, "G": 1e9}

func (s *size) Set(text string) error {
	number := strings.TrimRight(strings.ToUpper(text), "KMG")
	unit, known := sizeUnits[strings.ToUpper(text)[len(number):]]
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !known || !(n > 0 && n*unit <= 1<<62) {
		return errors.New("must be a number of bytes, with K, M or G for thousands, millions and billions of them")
	}
	*s = size(n * unit)
	return nil
}
