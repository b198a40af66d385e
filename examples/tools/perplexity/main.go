// Perplexity measures how well a model foresees a text, and what a smaller cache costs: the divergence of its predictions
// from those of the same model with an unlimited cache in full precision.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// run cuts the text into windows, and for each token of a window takes the probability that the model gave it. With -kl a second session
// has an unlimited cache, and the predictions of both are compared. For example, with -ctx 5 -skip 2 a window has these tokens:
//
//	begin-of-text   read
//	a               read; the prediction of b is judged
//	b               read; the prediction of c is judged
//	c               read; the prediction of d is judged
//	d               the last: nothing follows it
//
// If b, c and d had the probabilities 1/2, 1/4 and 1/8, the perplexity is e to the power of (ln 2 + ln 4 + ln 8)/3, which is 4.

const about = `
perplexity measures how well a model foresees a text, with the cache that the flags describe, and compares the predictions
with those of an unlimited F32 cache: their Kullback-Leibler divergence, and how often both have the same favourite.

  go run ./examples/tools/perplexity -kv-type q4_0
  go run ./examples/tools/perplexity -model model.gguf -file text.txt -ctx 2048 -eviction-policy snapkv -eviction-window 512
  go run ./examples/tools/perplexity -model model.gguf -file text.txt -kl=false
  go run ./examples/tools/perplexity -eviction-policy sliding -eviction-window 64 -ctx 232 -skip 32 -write 200

The text is cut into windows, each of which begins with an empty cache and begin-of-text; <|begin_of_text|> in the text, where
the model's vocabulary has it, begins a new window, and other special tokens are recognised as well. Tokens are computed one
by one, so that an eviction policy acts after every one of them. With -kl=false and no eviction they are computed in chunks,
which gives the same perplexity much faster.

The default text is dialogues that the embedded model, Pebble, was not trained on but which are of the kind that it knows; it
knows no others. Give other models a text of your own.`

func main() { cli.Main("perplexity", run) }

//go:embed dialogues.txt
var dialogues string

// options are the command line's.
type options struct {
	model   cli.Model
	memory  cli.Memory
	file    string
	ctx     int
	windows int
	skip    int // tokens at a window's beginning that are not judged
	write   int // tokens to write after them; 0: nothing
	compare bool
	json    bool
	flags   *cli.Flags
}

func parse(args []string, stdout io.Writer) (*options, error) {
	f := cli.NewFlags("perplexity", about)
	o := &options{flags: f}
	f.Group("Measurement", func() {
		f.StringVar(&o.file, "file", "", "`path` of a text; none: dialogues for the embedded model")
		f.IntVar(&o.ctx, "ctx", 512, "`tokens` of a window at most")
		f.IntVar(&o.windows, "windows", 0, "`number` of windows at most, taken evenly from the text; 0: all")
		f.IntVar(&o.skip, "skip", 0, "`tokens` at the beginning of each window that are read and not judged, as a prompt is; shorter windows are left out")
		f.IntVar(&o.write, "write", 0, "after the -skip tokens, let both caches write so many `tokens` greedily as well, and compare what they write; 0: do not")
		f.BoolVar(&o.compare, "kl", true, "compare with an unlimited F32 cache")
		f.BoolVar(&o.json, "json", false, "print one JSON object")
	})
	o.model.Flags(f)
	o.memory.Flags(f, tensor.F16)
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.ctx < 2 || o.windows < 0 {
		return nil, cli.Usagef("-ctx must be at least 2, -windows 0 or more")
	}
	if o.skip < 0 || o.skip > o.ctx-2 {
		return nil, cli.Usagef("-skip %d: it is 0 or more, and leaves tokens of -ctx %d to foresee", o.skip, o.ctx)
	}
	if o.write < 0 || o.write > 0 && (o.skip < 1 || !o.compare) {
		return nil, cli.Usagef("-write %d: it needs a prompt, -skip, of at least 1 token, and something to compare with, -kl", o.write)
	}
	return o, nil
}

// text returns the text and its name.
func (o *options) text() (text, name string, err error) {
	if o.file == "" {
		return dialogues, "dialogues.txt", nil
	}
	f, err := os.Open(o.file)
	if err != nil {
		return "", "", fmt.Errorf("read the text: %w", err)
	}
	defer f.Close()
	const most = 64 << 20 // bytes
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return "", "", fmt.Errorf("read the text: %w", err)
	}
	if len(b) > most {
		return "", "", fmt.Errorf("read the text: %s has more than %d bytes: take a part of it", o.file, most)
	}
	return string(b), o.file, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	defer func() { err = o.flags.Explained(err) }()
	text, name, err := o.text()
	if err != nil {
		return err
	}
	model, closeModel, err := o.model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	config := model.Config()
	if o.ctx > config.ContextLength {
		return cli.Usagef("-ctx %d: the model's context is %d", o.ctx, config.ContextLength)
	}
	if o.write > config.ContextLength-o.skip {
		return cli.Usagef("-skip %d -write %d: the model's context is %d", o.skip, o.write, config.ContextLength)
	}
	windows := cut(model.Tokenizer().EncodeSpecial(text, false), config.BOS, o.ctx)
	windows = slices.DeleteFunc(windows, func(w []llama.Token) bool { return len(w) < o.skip+2 })
	if windows = evenly(windows, o.windows); len(windows) == 0 {
		return fmt.Errorf("%s has no two tokens, behind -skip %d, to foresee one from the other", name, o.skip)
	}
	m := &measurement{options: o, model: model, progress: progress(stderr)}
	r, err := m.run(ctx, windows)
	if err != nil {
		return err
	}
	r.Model, r.File, r.Context, r.Skip = o.model.Name(), name, o.ctx, o.skip
	if o.json {
		return json.NewEncoder(stdout).Encode(r)
	}
	return r.print(stdout)
}

// progress returns a function that shows on a terminal how much is done.
func progress(stderr io.Writer) func(done, total int) {
	if !cli.IsTerminal(stderr) {
		return func(int, int) {}
	}
	return func(done, total int) {
		fmt.Fprintf(stderr, "\r\x1b[K")
		if done < total {
			fmt.Fprintf(stderr, "window %d of %d", done+1, total)
		}
	}
}

// result is the printed result, in the form of -json. KL and the fields after it are nil if nothing was compared.
type result struct {
	Model          string   `json:"model"`
	File           string   `json:"file"`
	Context        int      `json:"ctx"`
	Windows        int      `json:"windows"`
	Tokens         int      `json:"tokens"` // foreseen
	KV             string   `json:"kv"`
	Policy         string   `json:"eviction_policy"`
	Budget         int      `json:"budget,omitempty"` // slots
	Perplexity     float64  `json:"perplexity"`
	StdErr         float64  `json:"perplexity_stderr"`
	PeakCacheBytes int64    `json:"peak_cache_bytes"`
	Seconds        float64  `json:"seconds"`
	Reference      *float64 `json:"reference_perplexity,omitempty"` // of the unlimited F32 cache
	KL             *float64 `json:"kl_mean,omitempty"`              // nats
	KLStdErr       *float64 `json:"kl_stderr,omitempty"`
	KL99           *float64 `json:"kl_p99,omitempty"`
	Agreement      *float64 `json:"top1_agreement,omitempty"`
	Skip           int      `json:"skip,omitempty"`    // tokens of each window that were not judged
	Written        *written `json:"written,omitempty"` // nil unless -write
}

// print prints a table.
func (r *result) print(w io.Writer) error {
	t := cli.Table{Left: 2}
	t.Row("tokens foreseen", strconv.Itoa(r.Tokens))
	t.Row("windows", strconv.Itoa(r.Windows))
	t.Row("cache", r.describe())
	t.Row("perplexity", fmt.Sprintf("%.4f ± %.4f", r.Perplexity, r.StdErr))
	if r.KL != nil {
		t.Row("with an unlimited F32 cache", fmt.Sprintf("%.4f", *r.Reference))
		t.Row("KL divergence", fmt.Sprintf("%.3g ± %.2g nats, 99 %% below %.3g", *r.KL, *r.KLStdErr, *r.KL99))
		t.Row("same favourite", fmt.Sprintf("%.2f %%", 100**r.Agreement))
	}
	if w := r.Written; w != nil {
		t.Row("what it writes", fmt.Sprintf("%.0f %% of the texts of %d tokens are what the unlimited cache writes; the first difference comes after %.1f tokens",
			100*w.Same, w.Tokens, w.Equal))
		t.Row("its perplexity", fmt.Sprintf("%.4f, as the unlimited cache foresees it; of what that writes itself %.4f", w.Perplexity, w.Reference))
	}
	t.Row("peak of the cache", fmt.Sprintf("%.2f MiB", float64(r.PeakCacheBytes)/(1<<20)))
	t.Row("time", fmt.Sprintf("%.1f s", r.Seconds))
	_, err := t.WriteTo(w)
	return err
}

// describe names the cache.
func (r *result) describe() string {
	if r.Budget == 0 {
		return r.KV + ", nothing is evicted"
	}
	return fmt.Sprintf("%s, %s to %d slots", r.KV, r.Policy, r.Budget)
}
