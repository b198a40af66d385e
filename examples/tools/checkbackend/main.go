// Checkbackend compares every operation of a backend with the portable reference: what to run when a driver, a device or a
// new kernel is under suspicion.
package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	_ "github.com/antigravity-go/antigravity/backend/cpu"    // registers "cpu"
	_ "github.com/antigravity-go/antigravity/backend/opencl" // registers "opencl"; it needs the tag opencl to do more
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/checkbackend/internal/attention"
)

const about = `
checkbackend compares every operation of a backend with the portable reference, over element types, shapes and extreme
values, and finds whatever changes memory that is not its output.

  go run ./examples/tools/checkbackend
  go run -tags opencl ./examples/tools/checkbackend -backend opencl -op MatMulTransposed,Attend -v
  go run ./examples/tools/checkbackend -list
  go run -tags opencl ./examples/tools/checkbackend attention -h

With the word attention first it takes one attention apart instead: in which step, and at which slot, does it go wrong?

A backend that promises the reference's bits, as cpu does, and opencl on devices whose arithmetic allows it, is held to them:
its tolerance is 0 unless -tolerant is given. Other devices may round differently. Their errors are relative to the magnitude
of what is added up, and tolerated up to 1e-5 where all is float32, 1e-4 for exponentials, 2e-3 where weights or a cache have
16 bits, and 1/64 where they are quantised: the reference rounds activations to 8 bits then, and that is seven standard
deviations of the rounding. The exit status is 1 when an operation is out of tolerance, fails,
panics, hangs, or writes where it should not. What a backend declares unsupported is listed and is no failure. Times are the
device's, with the compilation of kernels that are used for the first time.`

func main() { cli.Main("checkbackend", run) }

// options are the command line's.
type options struct {
	backend    string
	device     string
	threads    int
	list       bool
	operations string
	seed       uint64
	quick      bool
	tolerant   bool
	verbose    bool
	json       bool
	timeout    time.Duration
}

func parse(args []string, stdout io.Writer) (*options, error) {
	o := &options{}
	f := cli.NewFlags("checkbackend", about)
	f.Group("Backend", func() {
		f.StringVar(&o.backend, "backend", "cpu", "`name` of the backend to check: "+strings.Join(backend.Names(), ", "))
		f.StringVar(&o.device, "device", "", "`device` of the backend, in its own terms; none: its choice")
		f.Threads(&o.threads, " of a backend on the host")
		f.BoolVar(&o.list, "list", false, "list the backends and what they run on, and check nothing")
	})
	f.Group("Checks", func() {
		f.StringVar(&o.operations, "op", "", "`names` of operations, with commas between; none: all")
		f.BoolVar(&o.quick, "quick", false, "leave out the large shapes")
		f.BoolVar(&o.tolerant, "tolerant", false, "tolerate rounding of a backend that promises the reference's bits")
		f.Uint64Var(&o.seed, "seed", 1, "`seed` of the random values")
		f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "`time` after which an operation is taken to hang")
	})
	f.Group("Output", func() {
		f.BoolVar(&o.verbose, "v", false, "show each check, not only each operation and type")
		f.BoolVar(&o.json, "json", false, "print one JSON object a check and line")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	if o.timeout <= 0 {
		return nil, cli.Usagef("-timeout %v: must be more than 0", o.timeout)
	}
	return o, nil
}

func run(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "attention" {
		return attention.Run(ctx, args[1:], stdout, stderr)
	}
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if o.list {
		return list(stdout, backend.Options{Threads: o.threads, Device: o.device})
	}
	checks, err := chosen(backendtest.Checks(o.quick), o.operations)
	if err != nil {
		return err
	}
	b, err := backend.Open(o.backend, backend.Options{Threads: o.threads, Device: o.device})
	if err != nil {
		return err
	}
	var report reporter = newTable(stdout, o.verbose)
	if o.json {
		report = newLines(stdout)
	}
	s := &backendtest.Suite{Backend: b, Exact: backend.BitExact(b) && !o.tolerant, Seed: o.seed, Timeout: o.timeout}
	err = walk(ctx, s, checks, report)
	if s.Stuck() {
		return err // Close might never return either
	}
	if closing := b.Close(); err == nil && closing != nil {
		return fmt.Errorf("close %s: %w", o.backend, closing)
	}
	return err
}

// walk does the checks. Its error counts the failures.
func walk(ctx context.Context, s *backendtest.Suite, checks []backendtest.Check, report reporter) error {
	began, bad, done := time.Now(), 0, 0
	report.begin(s)
	for _, c := range checks {
		r, err := s.Do(ctx, c)
		if err != nil {
			return err
		}
		report.add(r)
		done++
		if r.Verdict.Bad() {
			bad++
		}
		if s.Stuck() {
			break
		}
	}
	report.end(time.Since(began))
	switch {
	case s.Stuck():
		return fmt.Errorf("%s hangs: the last %d of %d checks were left out", s.Backend.Name(), len(checks)-done, len(checks))
	case bad > 0:
		return fmt.Errorf("%s fails %d of %d checks", s.Backend.Name(), bad, len(checks))
	}
	return nil
}

// chosen returns the checks of some operations, all for "". Case does not matter.
func chosen(checks []backendtest.Check, operations string) ([]backendtest.Check, error) {
	if operations == "" {
		return checks, nil
	}
	var result []backendtest.Check
	for _, name := range strings.Split(operations, ",") {
		name = strings.TrimSpace(name)
		before := len(result)
		for _, c := range checks {
			if strings.EqualFold(c.Operation, name) {
				result = append(result, c)
			}
		}
		if len(result) == before {
			return nil, cli.Usagef("-op: no operation %q; there are %s", name, strings.Join(operationsOf(checks), ", "))
		}
	}
	return result, nil
}

// operationsOf lists the operations that checks are of, each once.
func operationsOf(checks []backendtest.Check) (names []string) {
	for _, c := range checks {
		if !slices.Contains(names, c.Operation) {
			names = append(names, c.Operation)
		}
	}
	return names
}
