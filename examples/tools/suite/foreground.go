package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/foreground"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
	"github.com/antigravity-go/antigravity/internal/atomicfile"
)

// The command suite foreground is also each process of its test: its first word says which one. On a target the command runs as a whole,
// and its JSON comes back. For example, with -threads 2 -nice 0,19:
//
//	suite foreground -threads 2 -nice 0,19    the command: it starts the others and prints the table
//	suite foreground frames                   the frames: once alone, and once with each generation
//	suite foreground generate                 the generation: once with niceness 0, once with 19
//
//	generating         missed  frame p50  …  tokens/s  without frames
//	nothing             0.0 %     8.0 ms
//	2 threads, nice 0  12.0 %    14.1 ms           95             180
//	2 threads, nice 19  1.5 %     8.9 ms           88             180

const foregroundAbout = `
suite foreground measures what generating does to the program that a person is looking at.

  go run ./examples/tools/suite foreground
  go run ./examples/tools/suite foreground -threads 1,2,4 -nice 0,19 -target adb

A task stands for that program: in each frame of a display it has a fixed amount of work to do. It is measured alone and beside a model
that generates in another process, with each number of threads and each niceness. A frame is missed when its work ends after the next
frame has begun. What comes of it is printed as a table, and kept as JSON in the folder -out.`

// foregroundOptions are the command line's.
type foregroundOptions struct {
	foreground.Options
	seconds float64
	threads string
	nice    string
	target  string
	program string
	exec    string
	out     string
	json    bool
}

// foregroundTest carries the test out, here or on a target. With "frames" or "generate" as its argument it is one of the test's
// processes.
func foregroundTest(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "frames":
		return foreground.Frames(ctx, stdin, stdout)
	case len(args) == 1 && args[0] == "generate":
		return foreground.Generate(ctx, stdin, stdout, stderr)
	}
	o, err := parseForeground(args, stdout)
	if err != nil {
		return err
	}
	chosen := cli.Model{Path: o.Model}
	if _, err := chosen.Fetch(ctx, stderr); err != nil { // what measures finds it in the cache
		return err
	}
	here := func(what string) { fmt.Fprintln(stderr, what) }
	measure := o.runHere
	if o.target != "" {
		measure = func(ctx context.Context, _ func(string)) (*foreground.Result, error) {
			return o.runOnTarget(ctx, stderr)
		}
	}
	r, err := measure(ctx, here)
	if err != nil {
		return err
	}
	if o.out != "" {
		path, err := keep(r, o.out)
		if err != nil {
			return err
		}
		fmt.Fprintln(stderr, "kept in", path)
	}
	if o.json {
		return cli.PrintJSON(stdout, r)
	}
	return printForeground(stdout, r)
}

func parseForeground(args []string, stdout io.Writer) (*foregroundOptions, error) {
	o := &foregroundOptions{}
	f := cli.NewFlags("suite foreground", foregroundAbout)
	f.Group("Frames", func() {
		f.DurationVar(&o.Plan.Frame, "frame", 16700*time.Microsecond, "`time` from one frame to the next: 16.7ms are 60 a second, 8.3ms 120")
		f.DurationVar(&o.Plan.Work, "work", 8*time.Millisecond, "`time` that the work of a frame takes when nothing else runs")
		f.Float64Var(&o.seconds, "seconds", 10, "`seconds` of frames in each measurement")
	})
	f.Group("Generation", func() {
		f.StringVar(&o.Model, "model", "pebble", "`path` of "+cli.Models+"; or pebble or flint, which are embedded")
		f.StringVar(&o.Backend, "backend", "cpu", "`name` of what computes")
		f.StringVar(&o.threads, "threads", "", "`numbers` of threads that generate, with commas between; none: 1, 2, 4, … up to the processors")
		f.StringVar(&o.nice, "nice", "0,10,19", "`numbers`: niceness of the generation, 0 (as the frames) to 19 (the nicest), with commas between")
	})
	f.Group("Where, and what becomes of it", func() {
		f.StringVar(&o.target, "target", "", "`name` of where to measure: adb, adb:SERIAL or ssh:HOST; none: here")
		f.StringVar(&o.program, "program", "", "`path` of the suite that was built for the target; none: it is built")
		f.StringVar(&o.exec, "exec", "", "`command` that starts the test's processes, such as \"taskset f0\" for some of the processors")
		f.StringVar(&o.out, "out", "results", "`folder` to keep the result in; none: it is not kept")
		f.BoolVar(&o.json, "json", false, "print the result as JSON instead of a table")
	})
	if err := f.Parse(args, stdout); err != nil {
		return nil, err
	}
	var err error
	if o.Threads, err = integers("threads", o.threads, 1, 1024); err != nil {
		return nil, err
	}
	if o.Nice, err = integers("nice", o.nice, -20, 19); err != nil {
		return nil, err
	}
	p := &o.Plan
	switch {
	case p.Frame < time.Millisecond || p.Frame > time.Second:
		return nil, cli.Usagef("-frame is between 1ms and 1s, and %v is not", p.Frame)
	case p.Work <= 0 || p.Work >= p.Frame:
		return nil, cli.Usagef("-work is shorter than a frame, which is %v, and %v is not: every frame would be missed", p.Frame, p.Work)
	case !(o.seconds >= 0.1 && o.seconds <= 3600):
		return nil, cli.Usagef("-seconds is between 0.1 and 3600, and %v is not", o.seconds)
	case len(o.Nice) == 0:
		return nil, cli.Usagef("-nice names no niceness: 0 is that of the frames")
	case o.program != "" && o.target == "":
		return nil, cli.Usagef("-program is for a -target: here this program measures")
	}
	p.Frames = max(1, int(o.seconds*float64(time.Second)/float64(p.Frame)))
	return o, nil
}

// integers reads a list of numbers.
func integers(flag, list string, low, high int) (numbers []int, err error) {
	for field := range strings.SplitSeq(list, ",") {
		field = strings.TrimSpace(field)
		if field == "" && list == "" {
			return nil, nil
		}
		n, err := strconv.Atoi(field)
		if err != nil || n < low || n > high {
			return nil, cli.Usagef("-%s %q: it is a list of numbers from %d to %d, such as 1,2", flag, list, low, high)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// runHere measures on this machine.
func (o *foregroundOptions) runHere(ctx context.Context, tell func(string)) (*foreground.Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := append(strings.Fields(o.exec), self, "foreground")
	test := o.Options
	test.Progress = tell
	test.Frames, test.Generate = append(command[:len(command):len(command)], "frames"), append(command[:len(command):len(command)], "generate")
	return foreground.Run(ctx, test)
}

// runOnTarget measures on a target: the test runs there as a whole, and its result comes back.
func (o *foregroundOptions) runOnTarget(ctx context.Context, stderr io.Writer) (*foreground.Result, error) {
	t, err := target.Open(ctx, o.target, target.Options{Progress: cli.Progress(stderr, "copying")})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if o.program == "" {
		if o.program, err = ownProgram(ctx, t, o.Backend == "opencl"); err != nil {
			return nil, err
		}
	}
	program, err := t.Push(ctx, o.program)
	if err != nil {
		return nil, err
	}
	model := o.Model
	if chosen := (&cli.Model{Path: model}); !chosen.Embedded() {
		path, err := chosen.Fetch(ctx, stderr)
		if err != nil {
			return nil, err
		}
		if model, err = t.Push(ctx, path); err != nil {
			return nil, err
		}
	}
	var answer bytes.Buffer
	err = t.Run(ctx, program, []string{"foreground", "-json", "-out", "", "-model", model, "-backend", o.Backend, "-threads", o.threads, "-nice", o.nice,
		"-frame", o.Plan.Frame.String(), "-work", o.Plan.Work.String(), "-seconds", fmt.Sprint(o.seconds), "-exec", o.exec}, nil, &answer, stderr)
	if err != nil {
		return nil, fmt.Errorf("the test on %s: %w", t.Name(), err)
	}
	r := new(foreground.Result)
	if err := json.Unmarshal(answer.Bytes(), r); err != nil {
		return nil, fmt.Errorf("the test on %s answered what is no result: %w", t.Name(), err)
	}
	r.Target, r.Model = t.Name(), o.Model
	return r, nil
}

// keep writes a result to a file of its own and returns its path.
func keep(r *foreground.Result, folder string) (string, error) {
	text, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "foreground-"+r.Began.UTC().Format("20060102-150405")+".json")
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return "", fmt.Errorf("keep the result: %w", err)
	}
	if err := atomicfile.WriteBytes(path, append(text, '\n')); err != nil {
		return "", fmt.Errorf("keep the result: %w", err)
	}
	return path, nil
}

// printForeground writes a result as a table.
func printForeground(w io.Writer, r *foreground.Result) error {
	where := r.Machine.Processor
	if r.Target != "" {
		where = r.Target + ", " + where
	}
	fmt.Fprintf(w, "%s beside frames of %.4g ms with %.4g ms of work, on %s with %d processors\n\n",
		r.Model, r.Frame, r.Work, where, r.Machine.Processors)
	t := cli.Table{Left: 1}
	t.Row("generating", "missed", "frame p50", "p99", "longest", "woken p99", "tokens/s", "without frames")
	row := func(name string, m *foreground.FrameTimes, rates ...string) {
		t.Row(append([]string{name, fmt.Sprintf("%.1f %%", 100*m.Share()), fmt.Sprintf("%.1f ms", m.Median), fmt.Sprintf("%.1f ms", m.P99),
			fmt.Sprintf("%.1f ms", m.Longest), fmt.Sprintf("%.2f ms", m.WakeP99)}, rates...)...)
	}
	row("nothing", &r.Alone, "", "")
	for i := range r.Beside {
		b := &r.Beside[i]
		plural := "s"
		if b.Threads == 1 {
			plural = ""
		}
		row(fmt.Sprintf("%d thread%s, nice %d", b.Threads, plural, b.Nice), &b.Frames, fmt.Sprintf("%.0f", b.Rate), fmt.Sprintf("%.0f", b.RateAlone))
	}
	_, err := t.WriteTo(w)
	if share := r.Alone.Share(); share > calm && err == nil {
		_, err = fmt.Fprintf(w, "\nWith nothing beside them %.0f %% of the frames were missed already: something else keeps this machine busy, or a frame's work\n"+
			"is too long for it (-work). These figures say little about generation.\n", 100*share)
	}
	return err
}

// calm is the part of the frames that may be missed while nothing else runs.
const calm = 0.02
