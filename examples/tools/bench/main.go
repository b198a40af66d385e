// Bench measures how fast a model reads prompts and writes answers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
bench measures a model: ppN is the rate of reading a prompt of N tokens, tgN that of generating N tokens one by one.

  go run ./examples/tools/bench -model model.gguf -p 128,512 -n 32 -r 3
  go run ./examples/tools/bench -model model.gguf -p 0 -n 32 -depth 4096 -json
  go run ./examples/tools/bench -model model.gguf -profile

The tokens are arbitrary, so any model will do, one of random weights too (see mkmodel). Rates on a shared machine wander;
compare two programs by running them in turn, several times.`

func main() { cli.Main("bench", run) }

// options are the command line's.
type options struct {
	model       cli.Model
	prompts     string
	generate    int
	repetitions int
	depth       int
	kv          tensor.DType
	chunk       int
	json        bool
	profile     bool
	span        int       // MiB
	recorder    *recorder // nil unless profiling
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("bench", about)
	f.Group("Measurement", func() {
		f.StringVar(&o.prompts, "p", "128,512", "prompt `lengths`, with commas between; 0: none")
		f.IntVar(&o.generate, "n", 32, "`tokens` to generate; 0: none")
		f.IntVar(&o.repetitions, "r", 3, "`times` to repeat each test")
		f.IntVar(&o.depth, "depth", 0, "`tokens` that the cache holds before each test, untimed")
		f.BoolVar(&o.profile, "profile", false, "tell how long each operation took, and how near that is to the machine's limits")
		f.IntVar(&o.span, "span", machine.DefaultSpan>>20, "`MiB` read in turn to measure the memory's limit for -profile")
		f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	})
	o.model.Flags(f)
	f.Group("Memory", func() {
		f.DType(&o.kv, "kv-type", "of the cached keys and values", tensor.F32, tensor.F16, tensor.Q8_0, tensor.Q4_0)
		f.IntVar(&o.chunk, "chunk", 0, "most `tokens` of a prompt computed at once; 0: the default")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.generate < 0 || o.repetitions < 1 || o.depth < 0 {
		return nil, cli.Usagef("-n and -depth are 0 or more, -r is at least 1")
	}
	if err := machine.CheckSpan(o.span); err != nil {
		return nil, cli.Usagef("-span: %v", err)
	}
	if o.kv == 0 {
		o.kv = tensor.F16
	}
	if o.profile {
		o.recorder = new(recorder)
		o.model.Wrap = func(b backend.Backend) backend.Backend { return record(b, o.recorder) }
	}
	return o, nil
}

// test is one row of the table.
type test struct {
	name   string
	tokens int
	single bool // one token at a time
}

// tests returns the tests that the command line asks for.
func (o *options) tests() (list []test, err error) {
	for _, field := range strings.Split(o.prompts, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 0 {
			return nil, cli.Usagef("-p %q is not a list of lengths such as 128,512", o.prompts)
		}
		if n > 0 {
			list = append(list, test{"pp" + strconv.Itoa(n), n, false})
		}
	}
	if o.generate > 0 {
		list = append(list, test{"tg" + strconv.Itoa(o.generate), o.generate, true})
	}
	if len(list) == 0 {
		return nil, cli.Usagef("-p 0 and -n 0 leave nothing to measure")
	}
	return list, nil
}

// result is one measured test, in the form of -json.
type result struct {
	Test            string  `json:"test"`
	Depth           int     `json:"depth"`
	Threads         int     `json:"threads"`
	TokensPerSecond float64 `json:"tokens_per_second"`
	StdDev          float64 `json:"stddev"`
	Repetitions     int     `json:"repetitions"`
	Model           string  `json:"model"`
	Type            string  `json:"type"`
	KV              string  `json:"kv"`
	CPU             string  `json:"cpu"`
	LoadSeconds     float64 `json:"load_seconds"`
	PeakRSSBytes    int64   `json:"peak_rss_bytes"`
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	tests, err := o.tests()
	if err != nil {
		return err
	}
	began := time.Now()
	model, closeModel, err := o.model.Load(ctx, stderr)
	if err != nil {
		return err
	}
	defer closeModel()
	loaded := time.Since(began)
	threads := o.model.Threads
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	if !o.json {
		fmt.Fprintln(table, "test\tdepth\tthreads\tkv\ttokens/s\t±")
	}
	var profiles []*profile
	for _, t := range tests {
		rates, err := o.measure(ctx, model, t)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if o.profile {
			entries, elapsed := o.recorder.take()
			profiles = append(profiles, &profile{t.name, o.repetitions, entries, elapsed})
		}
		mean, deviation := statistics(rates)
		if !o.json {
			fmt.Fprintf(table, "%s\t%d\t%d\t%v\t%.2f\t%.2f\n", t.name, o.depth, threads, o.kv, mean, deviation)
			continue
		}
		if err := json.NewEncoder(stdout).Encode(result{
			Test: t.name, Depth: o.depth, Threads: threads, TokensPerSecond: mean, StdDev: deviation, Repetitions: o.repetitions,
			Model: o.model.Name(), Type: model.WeightType().String(), KV: o.kv.String(), CPU: asm.Tier(),
			LoadSeconds: loaded.Seconds(), PeakRSSBytes: peakRSS(),
		}); err != nil {
			return err
		}
	}
	if !o.json {
		if err := table.Flush(); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, "\n%s, %v weights; kernels %s; loaded in %.2f s; peak memory %.2f GB\n",
			o.model.Name(), model.WeightType(), asm.Tier(), loaded.Seconds(), float64(peakRSS())/1e9); err != nil {
			return err
		}
	}
	if !o.profile {
		return nil
	}
	return o.writeProfiles(stdout, profiles) // last: measuring the limits takes memory, which is not the model's
}

// measure runs a test several times, each in a session of its own, and returns the tokens per second.
func (o *options) measure(ctx context.Context, model *llama.Model, t test) (rates []float64, err error) {
	for range o.repetitions {
		rate, err := o.once(ctx, model, t)
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// once runs a test in a session of its own, and returns the tokens per second.
func (o *options) once(ctx context.Context, model *llama.Model, t test) (float64, error) {
	session, err := model.NewSession(&llama.SessionOptions{Capacity: o.depth + t.tokens + 1, KV: o.kv, Chunk: o.chunk})
	if err != nil {
		return 0, err
	}
	defer session.Close()
	vocabulary := model.Config().VocabSize
	tokens := make([]llama.Token, o.depth+t.tokens+1)
	for i := range tokens {
		tokens[i] = llama.Token(i * tokenStep % vocabulary)
	}
	// One token more than the depth, untimed: the first step of a session touches its memory for the first time.
	if err := session.Prefill(ctx, tokens[:o.depth+1]); err != nil {
		return 0, err
	}
	rest := tokens[o.depth+1:]
	if !t.single {
		if err := session.Truncate(o.depth); err != nil {
			return 0, err
		}
		rest = tokens[o.depth : o.depth+t.tokens]
	}
	o.recorder.begin()
	defer o.recorder.end()
	began := time.Now()
	if t.single {
		for i := range rest {
			if err := session.Prefill(ctx, rest[i:i+1]); err != nil {
				return 0, err
			}
		}
	} else if err := session.Prefill(ctx, rest); err != nil {
		return 0, err
	}
	return float64(t.tokens) / time.Since(began).Seconds(), nil
}

// tokenStep is the difference of neighbouring tokens' ids in a test: a prime, so that nearly every token occurs before one
// repeats.
const tokenStep = 7919

// statistics returns the mean and the standard deviation of a sample.
func statistics(x []float64) (mean, deviation float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	if len(x) < 2 {
		return mean, 0
	}
	for _, v := range x {
		deviation += (v - mean) * (v - mean) / float64(len(x)-1)
	}
	return mean, math.Sqrt(deviation)
}
