package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/rounds"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/target"
)

// measure measures the matrix that the command line describes.
func measure(ctx context.Context, args []string, _ io.Reader, stdout, stderr io.Writer) error {
	o, err := parse(args, stdout)
	if err != nil {
		return err
	}
	if o.list {
		return o.print(stdout)
	}
	t, err := target.Open(ctx, o.target, target.Options{Progress: cli.Progress(stderr, "copying")})
	if err != nil {
		return fmt.Errorf("-target %s: %w", o.target, err)
	}
	defer t.Close()
	if o.clean {
		return clean(ctx, t, stdout)
	}
	for i := range o.configs {
		o.configs[i].Target = t.Name()
	}
	l, err := o.launcher(ctx, t, stderr)
	if err != nil {
		return err
	}
	kept, err := openResults(o.out)
	if err != nil {
		return err
	}
	defer kept.Close()
	s := &suite{options: o, results: kept, rounds: rounds.New(o.rule, o.configs), measure: l.measure, stdout: stdout}
	s.tell = newProgress(stderr, o.configs)
	defer s.tell.close()
	if s.tell.terminal {
		l.progress = s.tell.part
	}
	s.rest.say = s.tell.say
	s.rest.conditions = func(ctx context.Context) (runs.Condition, error) { return conditionsOf(ctx, t, l.programs[""]) }
	commit := ownCommit(l.stamp)
	if commit == "" {
		s.tell.say("warning: %s", unknownCommit)
	}
	if err := s.resume(commit); err != nil {
		return err
	}
	return s.run(ctx)
}

// print writes the runs of the matrix.
func (o *options) print(w io.Writer) error {
	if o.json {
		for _, c := range o.configs {
			if err := cli.PrintJSON(w, c); err != nil {
				return err
			}
		}
		return nil
	}
	axes := varying(o.configs)
	if len(axes) == 0 { // a single run
		axes = slices.DeleteFunc(slices.Clone(runs.Axes), func(a runs.Axis) bool { return a.Of(&o.configs[0]) == "" })
	}
	table := cli.Table{Left: len(axes)}
	var titles []string
	for _, a := range axes {
		titles = append(titles, a.Title)
	}
	table.Row(titles...)
	for i := range o.configs {
		var row []string
		for _, a := range axes {
			row = append(row, a.Of(&o.configs[i]))
		}
		table.Row(row...)
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s, each %d to %d times\n", plural(len(o.configs), "run"), o.rule.Least, o.rule.Most)
	return err
}

// clean removes the files that were copied to a target.
func clean(ctx context.Context, t target.Target, stdout io.Writer) error {
	c, ok := t.(target.Cleaner)
	if !ok {
		return cli.Usagef("-clean: nothing is ever copied to this machine: say which one with -target")
	}
	bytes, err := c.Clean(ctx)
	if err == nil {
		_, err = fmt.Fprintf(stdout, "removed %.1f MB\n", float64(bytes)/1e6)
	}
	return err
}
