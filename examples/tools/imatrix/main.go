// Imatrix computes importance matrices: how large the activations are that each column of a model's matrices is multiplied with, on
// the average over a text. Quantisers, quantize and llama.cpp's, spend a format's precision by them.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/importance"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// The model reads the text chunk by chunk, each in a new session. A watcher stands between the model and its backend, and adds up the
// squares of the activations that each column of a matrix is multiplied with. For example, a text of 10 tokens is cut into chunks of 4
// (-ctx 4), and two rows of activations reach a matrix of two columns:
//
//	begin-of-text t0 t1 t2
//	begin-of-text t3 t4 t5
//	begin-of-text t6 t7 t8    and t9 is left out: its chunk is not full
//
//	activations (1, 4) and (3, 2)    squares added up (10, 20)    means (5, 10)

const about = `
imatrix computes the importance matrix of a model over a text: the mean square of each column's activations, for each matrix of the
layers. The text should be of the kind that the model is for, its chat template included; some ten thousand tokens are enough.

  go run ./examples/tools/imatrix -model model-f16.gguf -file text.txt -out imatrix.gguf
  go run ./examples/tools/quantize -in model-f16.gguf -out model.gguf -type q4_k_m -imatrix imatrix.gguf
  go run ./examples/tools/imatrix -in some.dat -in more.gguf -out together.gguf

Files are llama.cpp's: GGUF, or the older form where the name ends in .dat. With -in, matrices that were computed before are added; without
-file nothing but that is done. Take the unrounded model where there is one.

Of a mixture of experts the matrices of each expert have sums of their own, over the tokens that chose it: take a longer text, so that each
expert is chosen.`

func main() { cli.Main("imatrix", run) }

// options are the command line's.
type options struct {
	model     cli.Model
	file, out string
	in        []string
	ctx       int
	chunks    int
	head      bool
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("imatrix", about)
	f.Group("Matrix", func() {
		f.StringVar(&o.file, "file", "", "`path` of a text; special tokens in it are recognised")
		f.StringVar(&o.out, "out", "", "`path` of the file to write: GGUF, or the older form if it ends in .dat")
		f.Strings(&o.in, "in", "`path` of a matrix to add; may be repeated")
		f.IntVar(&o.ctx, "ctx", importance.DefaultChunk, "`tokens` of a chunk, each of which begins with an empty cache and begin-of-text")
		f.IntVar(&o.chunks, "chunks", 0, "`number` of chunks at most; 0: all")
		f.BoolVar(&o.head, "head", false, "the output head, and the embedding that serves as one, too")
	})
	o.model.Flags(f)
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	switch {
	case o.file == "" && len(o.in) == 0:
		return nil, cli.Usagef("-file is missing: a text; or -in, matrices to add up")
	case o.out == "":
		return nil, cli.Usagef("-out is missing: the file to write")
	case o.ctx < 2 || o.chunks < 0:
		return nil, cli.Usagef("-ctx must be at least 2, -chunks 0 or more")
	}
	return o, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	sums := importance.New(o.ctx)
	for i, path := range o.in {
		m, err := importance.Read(path)
		if err != nil {
			return err
		}
		if i == 0 && o.file == "" {
			sums.Chunk = m.Chunk
		}
		if err := sums.Add(m); err != nil {
			return fmt.Errorf("add %s: %w", path, err)
		}
	}
	if o.file != "" {
		if err := o.compute(ctx, sums, stderr); err != nil {
			return err
		}
	}
	if err := sums.Write(o.out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%s: %d tensors, %d chunks of %d tokens\n", o.out, len(sums.Tensors), sums.Chunks(), sums.Chunk)
	return err
}

// compute adds the sums over the text.
func (o *options) compute(ctx context.Context, sums *importance.Matrix, stderr io.Writer) error {
	text, err := o.text()
	if err != nil {
		return err
	}
	var w *watcher
	o.model.Wrap = func(b backend.Backend) backend.Backend {
		w = newWatcher(b, sums)
		return w
	}
	model, closeModel, err := o.model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	err = o.read(ctx, model, w, text, stderr)
	return errors.Join(err, closeModel())
}

// maxText bounds the text, in bytes.
const maxText = 64 << 20

func (o *options) text() (string, error) {
	f, err := os.Open(o.file)
	if err != nil {
		return "", fmt.Errorf("read the text: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(b) > maxText {
		err = fmt.Errorf("%s has more than %d bytes: take a part of it", o.file, maxText)
	}
	if err != nil {
		return "", fmt.Errorf("read the text: %w", err)
	}
	return string(b), nil
}

// read lets the model read the text, chunk by chunk, while the watcher sums.
func (o *options) read(ctx context.Context, model *llama.Model, w *watcher, text string, stderr io.Writer) error {
	config := model.Config()
	if o.ctx > config.ContextLength {
		return cli.Usagef("-ctx %d: the model's context is %d", o.ctx, config.ContextLength)
	}
	chunks := cut(model.Tokenizer().EncodeSpecial(text, false), config.BOS, o.ctx)
	if o.chunks > 0 && len(chunks) > o.chunks {
		chunks = chunks[:o.chunks]
	}
	if len(chunks) == 0 {
		return fmt.Errorf("%s has no tokens", o.file)
	}
	w.watch(model, o.head)
	for i, chunk := range chunks {
		if cli.IsTerminal(stderr) {
			fmt.Fprintf(stderr, "\rchunk %d of %d", i+1, len(chunks))
		}
		if err := readChunk(ctx, model, chunk); err != nil {
			return err
		}
	}
	if cli.IsTerminal(stderr) {
		fmt.Fprintln(stderr)
	}
	if w.err != nil {
		return w.err
	}
	if missed := w.unseen(); len(missed) > 0 {
		return fmt.Errorf("nothing was multiplied with %s: operations of this model are not watched", missed[0])
	}
	warn(stderr, w.sums)
	w.sums.Datasets = append(w.sums.Datasets, filepath.Base(o.file))
	return nil
}

// warn says how many experts the text taught nothing of.
func warn(w io.Writer, sums *importance.Matrix) {
	unchosen, all := 0, 0
	for _, s := range sums.Tensors {
		if len(s.Counts) == 1 {
			continue
		}
		all += len(s.Counts)
		for _, n := range s.Counts {
			if n == 0 {
				unchosen++
			}
		}
	}
	if unchosen > 0 {
		fmt.Fprintf(w, "imatrix: %d of the %d matrices of experts were never chosen: a longer text would choose more of them\n", unchosen, all)
	}
}

// readChunk lets a new session read some tokens.
func readChunk(ctx context.Context, model *llama.Model, chunk []llama.Token) error {
	s, err := model.NewSession(&llama.SessionOptions{KV: tensor.F32})
	if err != nil {
		return err
	}
	err = s.Prefill(ctx, chunk)
	return errors.Join(err, s.Close())
}

// cut cuts a text into chunks of size tokens. Each begins with bos unless that is negative. A last chunk that is not full is left out,
// unless it is the only one.
func cut(text []llama.Token, bos llama.Token, size int) (chunks [][]llama.Token) {
	for len(text) > 0 {
		var chunk []llama.Token
		if bos >= 0 && text[0] != bos {
			chunk = append(chunk, bos)
		}
		n := min(size-len(chunk), len(text))
		chunk, text = append(chunk, text[:n]...), text[n:]
		if len(chunk) == size || len(chunks) == 0 {
			chunks = append(chunks, chunk)
		}
	}
	return chunks
}
