package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/questions"
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
	l, err := o.launcher(ctx, t)
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
	if err := s.resume(ownCommit(l.stamp)); err != nil {
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
	_, err := fmt.Fprintf(w, "\n%s, each %d to %d times\n", several(len(o.configs), "run"), o.rule.Least, o.rule.Most)
	return err
}

// clean removes what was copied to a target.
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

// launcher brings the programs and files that the matrix needs to the target.
func (o *options) launcher(ctx context.Context, t target.Target) (*launcher, error) {
	l := &launcher{target: t, programs: map[string]string{}, files: map[string]string{}, timeout: o.timeout, stamp: stamped(ctx, "")}
	backends := map[string]bool{}
	for _, c := range o.configs {
		backends[c.Backend] = true
	}
	own, err := ownProgram(ctx, t, backends["opencl"])
	if err != nil {
		return nil, err
	}
	for label, path := range o.matrix.ProgramPaths() {
		if path == "" {
			path = own
		}
		if l.programs[label], err = t.Push(ctx, path); err != nil {
			return nil, fmt.Errorf("the program %s: %w", path, err)
		}
	}
	if _, local := t.(target.Local); local && len(o.matrix.Programs) == 0 {
		for name := range backends {
			if !slices.Contains(backend.Names(), name) {
				return nil, cli.Usagef("-backends: this program has no backend %q: it has %s%s", name, strings.Join(backend.Names(), ", "), withOpenCL(name))
			}
		}
	}
	for _, c := range o.configs {
		if _, known := l.files[c.Model]; !known && !(&cli.Model{Path: c.Model}).Embedded() {
			if l.files[c.Model], err = t.Push(ctx, c.Model); err != nil {
				return nil, missing("-models", c.Model, "pebble and flint are part of the program, others are paths", err)
			}
		}
		if _, known := l.files[c.Questions]; !known && c.Questions != "" && c.Questions != questions.Pebble {
			if l.files[c.Questions], err = t.Push(ctx, c.Questions); err != nil {
				return nil, missing("-questions", c.Questions, "pebble is part of the program, others are paths", err)
			}
		}
	}
	return l, nil
}

func withOpenCL(name string) string {
	if name != "opencl" {
		return ""
	}
	return "; opencl is there in programs built with -tags opencl"
}

// missing says that a file is not there, or why it cannot be brought to the target.
func missing(flag, name, names string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return cli.Usagef("%s: there is no %s: %s", flag, name, names)
	}
	return fmt.Errorf("%s %s: %w", flag, name, err)
}

// ownProgram returns where a suite lies on this machine that runs on the target: this one, or one that is built for it.
func ownProgram(ctx context.Context, t target.Target, openCL bool) (string, error) {
	own, err := os.Executable()
	if _, local := t.(target.Local); local {
		return own, err
	}
	goos, goarch, platform := t.Platform(ctx)
	if platform != nil {
		return "", platform
	}
	tags := ""
	if openCL {
		tags = "opencl"
	}
	built, cannot := target.Build(ctx, goos, goarch, tags, "")
	switch {
	case cannot == nil:
		return built, nil
	case err == nil && target.BuiltHere(goos, goarch):
		return own, nil
	}
	return "", cannot
}

// suite measures what its rounds say is missing.
type suite struct {
	*options
	results *results
	rounds  *rounds.Rounds
	measure func(ctx context.Context, c runs.Config, repetition int) (*runs.Run, error)
	tell    *progress
	stdout  io.Writer
}

// resume takes notice of the runs that the folder has, and writes down what is measured. commit is the program's, "" where it is not
// known here.
func (s *suite) resume(commit string) error {
	found, commits := 0, map[string]bool{}
	for i := range s.configs {
		c := &s.configs[i]
		if s.again {
			if err := s.results.remove(c); err != nil {
				return fmt.Errorf("-again: %w", err)
			}
			continue
		}
		for repetition := 1; repetition <= s.rule.Most; repetition++ {
			r, damaged, err := s.results.there(c, repetition)
			switch {
			case err != nil:
				return err
			case damaged != nil:
				s.tell.say("measuring anew what cannot be used: %v", damaged)
			case r != nil && r.Error == "":
				s.rounds.Note(r, r.Seconds+s.rest.pause.Seconds())
				found++
				commits[strings.TrimSuffix(r.Machine.Commit, "+")] = true
			}
		}
	}
	if found > 0 {
		s.tell.say("%s in %s already", several(found, "run is", "runs are"), s.out)
		if commit != "" && (len(commits) > 1 || !commits[commit]) {
			s.tell.say("some of them are of other commits than this program's, %.8s: -again measures them anew, -out keeps them apart", commit)
		}
	}
	s.results.log.Info("begin", "matrix", len(s.configs), "there", found, "commit", commit)
	return s.results.keepMatrix(s.matrix)
}

// run measures until nothing is missing, or the context ends.
func (s *suite) run(ctx context.Context) error {
	measured := 0
	for {
		c, repetition, ok := s.rounds.Next()
		if !ok {
			return s.finish(measured)
		}
		began := time.Now()
		r, err := s.one(ctx, c, repetition, measured == 0)
		if err == nil {
			if err = s.results.Write(r); err == nil {
				measured++
				seconds := time.Since(began).Seconds()
				s.rounds.Note(r, seconds)
				s.tell.end(r, seconds, s.rounds)
				err = s.note(r)
			}
		}
		if err != nil {
			return s.stop(err, measured)
		}
	}
}

// one measures a run when the machine has had its rest.
func (s *suite) one(ctx context.Context, c runs.Config, repetition int, first bool) (*runs.Run, error) {
	if err := s.rest.before(ctx, first); err != nil {
		return nil, err
	}
	s.tell.begin(&c, repetition, s.rounds)
	return s.measure(ctx, c, repetition)
}

// line is what -json tells of a run.
type line struct {
	runs.Config `json:"config"`
	Repetition  int                `json:"repetition"`
	Error       string             `json:"error,omitempty"`
	Metrics     map[string]float64 `json:"metrics,omitempty"`
	Done        int                `json:"done"`       // runs that are there
	LeastLeft   int                `json:"least_left"` // runs that are missing for sure
	MostLeft    int                `json:"most_left"`
	Soonest     float64            `json:"soonest_seconds"`
	Latest      float64            `json:"latest_seconds"`
}

// note writes a run down in the log and, with -json, prints it.
func (s *suite) note(r *runs.Run) error {
	s.results.log.Info("run", "id", r.Config.ID(), "repetition", r.Repetition, "seconds", r.Seconds, "error", r.Error)
	if !s.json {
		return nil
	}
	o := s.rounds.Outlook()
	p := line{Config: r.Config, Repetition: r.Repetition, Error: r.Error, Metrics: map[string]float64{}, Done: o.Done,
		LeastLeft: o.Least, MostLeft: o.Most, Soonest: o.Soonest, Latest: o.Latest}
	for _, m := range runs.Metrics {
		if v, ok := m.Of(r); ok {
			p.Metrics[m.Name] = v
		}
	}
	return cli.PrintJSON(s.stdout, p)
}

// stop says how the suite goes on after something ended it.
func (s *suite) stop(err error, measured int) error {
	s.tell.close()
	s.results.log.Info("stop", "reason", err.Error(), "measured", measured)
	command := "the same command"
	if s.again {
		command = "the same command without -again"
	}
	if errors.Is(err, context.Canceled) {
		s.tell.say("interrupted; %s in %s: %s goes on from there", several(s.rounds.Outlook().Done, "run is", "runs are"), s.out, command)
		return err
	}
	var low *flat
	if errors.As(err, &low) {
		return err
	}
	return fmt.Errorf("%w (%s goes on from here)", err, command)
}

// finish tells what there is now.
func (s *suite) finish(measured int) error {
	s.tell.close()
	o, wide := s.rounds.Outlook(), 0
	for i := range s.configs {
		if spread, ok := s.rounds.Spread(&s.configs[i]); ok && spread > s.rule.Spread {
			wide++
		}
	}
	s.results.log.Info("end", "there", o.Done, "measured", measured, "given up", o.CellsGivenUp)
	if !s.json {
		fmt.Fprintf(s.stdout, "%s in %s, %d measured now.\n", several(o.Done, "run is", "runs are"), s.out, measured)
		if wide > 0 {
			fmt.Fprintf(s.stdout, "Of %d of %s the interval is wider than ± %g %% (-spread): more repetitions (-r-max) or a quieter machine narrow it.\n",
				wide, several(len(s.configs), "configuration"), 100*s.rule.Spread)
		}
		fmt.Fprintf(s.stdout, "A table of them: go run ./examples/tools/suite summary %s\n", s.out)
	}
	if o.CellsGivenUp > 0 {
		return fmt.Errorf("%s failed, as told above and in the files: the same command tries again", several(o.CellsGivenUp, "configuration"))
	}
	return nil
}

// several says how many there are of something: one word for one, and one for another number, which unless given adds an s.
func several(n int, words ...string) string {
	if n == 1 {
		return "1 " + words[0]
	}
	if len(words) == 1 {
		words = append(words, words[0]+"s")
	}
	return fmt.Sprint(n, " ", words[1])
}
