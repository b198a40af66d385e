// Microbench measures one operation at a time and compares it with the most that the machine can do.
package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

const about = `
microbench measures the operations that models consist of, one at a time, beside what the machine can do at most.

  go run ./examples/tools/microbench
  go run ./examples/tools/microbench -op matmul -m 1 -n 8192 -k 2048 -dtype q8_0
  go run ./examples/tools/microbench -op attention -m 1 -n 4096 -dtype q8_0 -json

Without flags it takes every operation in the shapes of Llama 3.2 1B. Weights, embeddings and cached keys and values are read
from memory, as they are in a model: copies of them take turns. Activations stay in the caches.`

func main() { cli.Main("microbench", run) }

// options are the command line's.
type options struct {
	op          string
	dtype       tensor.DType // 0: the operation's own
	given       map[byte]int // the dimensions that were given: m, n, k
	heads       int
	kvHeads     int
	threads     int
	repetitions int
	span        int // MiB
	json        bool
}

const maxRepetitions = 10000

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{given: map[byte]int{}}
	f := cli.NewFlags("microbench", strings.TrimSpace(about)+"\n\n"+describeOperations())
	var m, n, k int
	f.Group("Operation", func() {
		f.StringVar(&o.op, "op", everything, "`name` of an operation, or "+everything)
		f.IntVar(&m, "m", 0, "`rows` of the activation, tokens mostly")
		f.IntVar(&n, "n", 0, "`rows` of weights or of a table, slots of a cache, or heads")
		f.IntVar(&k, "k", 0, "`length` of a row, or of a head")
		f.DType(&o.dtype, "dtype", "of the weights, of the cache, or to convert to", stored...)
		f.IntVar(&o.heads, "heads", 32, "`number` of query heads of an attention")
		f.IntVar(&o.kvHeads, "kv-heads", 8, "`number` of its key and value heads")
	})
	f.Group("Measurement", func() {
		f.Threads(&o.threads, " to compute with")
		f.IntVar(&o.repetitions, "r", 5, "`times` to measure each operation: the best counts")
		f.IntVar(&o.span, "span", machine.DefaultSpan>>20, "`MiB` that the copies of weights fill, and that the memory's limit is measured with")
		f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	for name, value := range map[byte]int{'m': m, 'n': n, 'k': k} {
		if f.Given(string(name)) {
			o.given[name] = value
		}
	}
	if o.repetitions < 1 || o.repetitions > maxRepetitions {
		return nil, cli.Usagef("-threads is 0 or more, -r is between 1 and %d", maxRepetitions)
	}
	if err := machine.CheckSpan(o.span); err != nil {
		return nil, cli.Usagef("-span: %v", err)
	}
	return o, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	sections, err := o.sections()
	if err != nil {
		return err
	}
	b := cpu.New(o.threads)
	defer b.Close()
	limits, err := machine.Measure(o.threads, o.span<<20, machine.DefaultWindow)
	if err != nil {
		return err
	}
	report := newReport(o, stdout, b, limits)
	show := status(stderr)
	defer show("")
	for _, s := range sections {
		report.section(s.title)
		for _, c := range s.cases {
			if err := ctx.Err(); err != nil {
				return err
			}
			show(c.String())
			times, work, err := o.measure(ctx, b, c)
			if err != nil {
				return fmt.Errorf("%v: %w", c, err)
			}
			if err := report.add(c, times, work); err != nil {
				return err
			}
		}
	}
	show("")
	return report.end()
}

// status returns a function that replaces the line it wrote before, if w is a terminal.
func status(w io.Writer) func(string) {
	if !cli.IsTerminal(w) {
		return func(string) {}
	}
	return func(line string) { fmt.Fprintf(w, "\r\x1b[K%s", line) }
}
