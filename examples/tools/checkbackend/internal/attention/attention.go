// Package attention takes one attention apart: it compares each of its steps, on every backend and with every type of cache, with the
// portable reference and the definition, and shows the first element that differs.
package attention

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/tensor"
)

// Run reads the flags, opens the backends, and then compares or measures. Each step of each case is computed three times: by the reference,
// by the definition in float64, and by each backend. Every comparison is one result.
//
//	checkbackend attention -backend cpu -kv-type q8_0 -case token -slots 129
//
//	parse    8 query heads and 2 KV heads of 64 elements, 129 slots, type q8_0, case token
//	open     the backend cpu
//	compare  9 results of the reference, from queries to whole, and then 9 of cpu
//
// With -time, Run calls measure in place of compare. Without -slots it then measures 128, 512, 2048, 4096 and 16384 slots.

const about = `
checkbackend attention takes one attention apart. It shows each step, from the rotation of queries and keys to the output, on every backend and
with every type of cache, beside the portable reference and beside the definition, computed in float64, and names the first element that
differs.

  go run ./examples/tools/checkbackend attention
  go run -tags opencl ./examples/tools/checkbackend attention -backend opencl -kv-type q8_0 -case token -slots 129 -v
  go run -tags opencl ./examples/tools/checkbackend attention -time

checkbackend finds out whether a backend's operations are right; with attention, in which step of an attention, and at which slot, one goes wrong.
A step begins with the reference's result of the step before, so that the first step that differs is the one at fault. What a device does not
show is found in a roundabout way: weights by values that are 1 in one element and 0 in the others, and scores from the weights. A quantised
cache's values are multiplied by weights that are rounded to 8 bits: the steps scores and weights show what these are before, output and
whole show what becomes of them.

The exit status is 1 when a backend that promises the reference's bits has others, or when a backend, or the reference itself, is farther
from the definition or from the reference than the tolerance. With -time nothing is compared: it measures how long the attention of one token takes
by the number of slots, and what it would take to read a device's cache back and to compute on the processor.`

// options are the command line's.
type options struct {
	examination
	device      string
	threads     int
	json        bool
	verbose     bool
	time        bool
	lengths     []int // slots, for time
	repetitions int
}

func parse(args []string, stdout io.Writer) (*options, []string, error) {
	o := &options{}
	var names, kinds, types string
	f := cli.NewFlags("checkbackend attention", strings.TrimSpace(about)+"\n\n"+describe())
	f.Group("Attention", func() {
		f.IntVar(&o.shape.heads, "heads", 8, "`number` of query heads")
		f.IntVar(&o.shape.kvHeads, "kv-heads", 2, "`number` of key and value heads")
		f.IntVar(&o.shape.dim, "head-dim", 64, "`elements` of a head")
		f.IntVar(&o.shape.slots, "slots", 300, "`number` of cached tokens, with those of the prompt")
		f.IntVar(&o.shape.queries, "queries", 20, "`number` of tokens of the prompt")
		f.StringVar(&types, "kv-type", "f32,f16,q8_0,q4_0", "`types` of the cache, with commas between")
		f.StringVar(&kinds, "case", "", "`names` of cases, with commas between; none: all")
		f.Uint64Var(&o.seed, "seed", 1, "`seed` of the random values")
	})
	f.Group("Backends", func() {
		f.StringVar(&names, "backend", "", "`names` of backends, with commas between: "+strings.Join(backend.Names(), ", ")+"; none: all that can be opened")
		f.StringVar(&o.device, "device", "", "`device` of the backends, in their own terms; none: their choice")
		f.Threads(&o.threads, " of a backend on the host")
		f.Float64Var(&o.tolerance, "tolerance", 0, "`part` of the largest element of a vector by which others may differ; 0: what each step and type needs")
	})
	f.Group("Time", func() {
		f.BoolVar(&o.time, "time", false, "measure how long the attention of one token takes, and compare nothing; -slots is then 128 to 16384 unless given")
		f.IntVar(&o.repetitions, "r", 5, "`times` to measure: the shortest counts")
	})
	f.Group("Output", func() {
		f.BoolVar(&o.verbose, "v", false, "show values around the first difference, of differences within the tolerance as well")
		f.BoolVar(&o.json, "json", false, "print one JSON object a line: one for each backend, type, case and step")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, nil, err
	}
	var err error
	if o.types, err = cacheTypesOf(types); err != nil {
		return nil, nil, err
	}
	if o.situations, err = situationsOf(kinds); err != nil {
		return nil, nil, err
	}
	if o.repetitions < 1 || o.repetitions > 10000 {
		return nil, nil, cli.Usagef("-r %d: it is between 1 and 10000", o.repetitions)
	}
	if !(o.tolerance >= 0) {
		return nil, nil, cli.Usagef("-tolerance %v: it is 0 or more", o.tolerance)
	}
	if !f.Given("queries") {
		o.shape.queries = min(o.shape.queries, max(o.shape.slots, 1))
	}
	if o.lengths = []int{o.shape.slots}; !f.Given("slots") {
		o.lengths = defaultLengths
	}
	if err := o.shape.check(o.types); err != nil {
		return nil, nil, cli.Usagef("%v", err)
	}
	return o, fields(names), nil
}

// describe says what the cases and the steps are.
func describe() string {
	var b strings.Builder
	b.WriteString("Cases\n")
	for _, s := range situations {
		fmt.Fprintf(&b, "  %-11s %s\n", s.name, s.what)
	}
	b.WriteString("\nSteps\n")
	for _, s := range steps {
		fmt.Fprintf(&b, "  %-11s %s\n", s.name, s.what)
	}
	return b.String()
}

// fields splits a list with commas; an element that occurs twice counts once.
func fields(s string) (list []string) {
	for field := range strings.SplitSeq(s, ",") {
		if field = strings.TrimSpace(field); field != "" && !slices.Contains(list, field) {
			list = append(list, field)
		}
	}
	return list
}

// cacheTypesOf reads -kv-type.
func cacheTypesOf(s string) (list []tensor.DType, err error) {
	for _, name := range fields(s) {
		d, err := tensor.ParseDType(name)
		if err != nil || !slices.Contains(cacheTypes, d) {
			return nil, cli.Usagef("-kv-type: %q must be one of f32, f16, q8_0, q4_0", name)
		}
		list = append(list, d)
	}
	if len(list) == 0 {
		return nil, cli.Usagef("-kv-type needs at least one type")
	}
	return list, nil
}

// situationsOf reads -case.
func situationsOf(s string) (list []situation, err error) {
	names := fields(s)
	if len(names) == 0 {
		return situations, nil
	}
	var known []string
	for _, one := range situations {
		known = append(known, one.name)
		if slices.Contains(names, one.name) {
			list = append(list, one)
		}
	}
	if len(list) < len(names) {
		return nil, cli.Usagef("-case %q: there are %s", s, strings.Join(known, ", "))
	}
	return list, nil
}

// Run is the mode attention of checkbackend, with the arguments that follow the word.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, names, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if err := o.open(names, stderr); err != nil {
		return err
	}
	defer func() {
		for _, b := range o.backends {
			if closing := b.Close(); closing != nil {
				err = errors.Join(err, fmt.Errorf("close %s: %w", b.name, closing))
			}
		}
	}()
	if o.time {
		return o.measure(ctx, stdout)
	}
	return o.compare(ctx, stdout)
}

// open opens the named backends. Without names it opens all, and reports on stderr those that cannot be opened.
func (o *options) open(names []string, stderr io.Writer) error {
	all := len(names) == 0
	if all {
		names = backend.Names()
	}
	for _, name := range names {
		b, err := backend.Open(name, backend.Options{Threads: o.threads, Device: o.device})
		if err != nil && all {
			fmt.Fprintf(stderr, "left out: %v\n", err)
			continue
		}
		if err != nil {
			for _, opened := range o.backends {
				opened.Close()
			}
			o.backends = nil
			return err
		}
		o.backends = append(o.backends, named{name, backend.BitExact(b), b})
	}
	if len(o.backends) == 0 {
		return errors.New("no backend can be opened")
	}
	return nil
}

// compare compares the steps. Its error counts the wrong ones.
func (o *options) compare(ctx context.Context, stdout io.Writer) error {
	r, all, wrong := &report{w: stdout, verbose: o.verbose}, 0, 0
	first := "" // the first step that is wrong
	var printing error
	if !o.json {
		fmt.Fprintf(stdout, "%d query heads and %d KV heads of %d elements, %d slots, a prompt of %d tokens, seed %d\n",
			o.shape.heads, o.shape.kvHeads, o.shape.dim, o.shape.slots, o.shape.queries, o.seed)
	}
	err := o.do(ctx, func(one *result) {
		if all++; one.verdict.bad() {
			if wrong++; wrong == 1 {
				first = fmt.Sprintf("%s, %v cache, case %s, step %s", one.backend, one.dtype, one.situation, one.step.name)
			}
		}
		if r.add(one); o.json && printing == nil {
			printing = cli.PrintJSON(stdout, one.record())
		}
	})
	if err = errors.Join(err, printing); err != nil {
		return err
	}
	if !o.json {
		if err := r.print(&o.examination); err != nil {
			return err
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d comparisons differ; the first: %s", wrong, all, first)
	}
	return nil
}
