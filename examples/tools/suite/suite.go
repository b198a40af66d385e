package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/suite/internal/rounds"
)

// suite measures what its rounds say is missing.
type suite struct {
	*options
	results *results
	rounds  *rounds.Rounds
	measure func(ctx context.Context, c runs.Config, repetition int) (*runs.Run, error)
	tell    *progress
	stdout  io.Writer
}

// resume takes notice of the runs that the folder has, and writes the matrix into it. commit is the program's, "" if it is not known here.
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
			r, damaged, err := s.results.read(c, repetition)
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
		s.tell.say("%s in %s already", plural(found, "run is", "runs are"), s.out)
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
		r, err := s.measureOne(ctx, c, repetition, measured == 0)
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

// measureOne measures a run when the machine has had its rest.
func (s *suite) measureOne(ctx context.Context, c runs.Config, repetition int, first bool) (*runs.Run, error) {
	if err := s.rest.wait(ctx, first); err != nil {
		return nil, err
	}
	s.tell.begin(&c, repetition, s.rounds)
	return s.measure(ctx, c, repetition)
}

// line is a run's line with -json.
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
		s.tell.say("interrupted; %s in %s: %s goes on from there", plural(s.rounds.Outlook().Done, "run is", "runs are"), s.out, command)
		return err
	}
	var low *batteryLowError
	if errors.As(err, &low) {
		return err
	}
	return fmt.Errorf("%w (%s goes on from here)", err, command)
}

// finish says what there is now.
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
		fmt.Fprintf(s.stdout, "%s in %s, %d measured now.\n", plural(o.Done, "run is", "runs are"), s.out, measured)
		if wide > 0 {
			fmt.Fprintf(s.stdout, "Of %d of %s the interval is wider than ± %g %% (-spread): more repetitions (-r-max) or a quieter machine narrow it.\n",
				wide, plural(len(s.configs), "configuration"), 100*s.rule.Spread)
		}
		fmt.Fprintf(s.stdout, "A table of them: go run ./examples/tools/suite summary %s\n", s.out)
	}
	if o.CellsGivenUp > 0 {
		return fmt.Errorf("%s failed, as told above and in the files: the same command tries again", plural(o.CellsGivenUp, "configuration"))
	}
	return nil
}
