package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/sysinfo"
)

// rounds measures: for each model and each length of prompts, in each round, each program in turn. A program that fails with a model, as one
// does that does not know its architecture, is left out for the rest of that model, and named in the error at the end.
type rounds struct {
	*options
	programs []program
	known    []result
	out      io.Writer
	stderr   io.Writer
}

func (r *rounds) run(ctx context.Context) error {
	var failed []error
	for _, model := range r.models {
		able := slices.Clone(r.programs)
		for _, prompt := range r.prompts {
			for round := range r.rounds {
				for _, p := range slices.Clone(able) {
					err := r.measure(ctx, model, p, prompt, round+1)
					if err == nil {
						continue
					}
					err = fmt.Errorf("%s with %s: %w", filepath.Base(model), p.name(), err)
					if ctx.Err() != nil || errors.Is(err, errBusy) || errors.Is(err, errUnknownLoad) || errors.Is(err, errResults) {
						return err
					}
					fmt.Fprintln(r.stderr, err)
					failed = append(failed, err)
					able = slices.DeleteFunc(able, func(other program) bool { return other == p })
				}
			}
		}
	}
	return errors.Join(failed...)
}

// measure gives a program its turn of a round with one model and one length of prompts.
func (r *rounds) measure(ctx context.Context, model string, p program, prompt, round int) error {
	for _, c := range p.calls(r.options, model, prompt) {
		if r.has(model, p, c.cells, round) {
			continue
		}
		if err := r.turn(ctx, model, p, c, round); err != nil {
			return err
		}
	}
	return nil
}

// errResults says that nothing can be kept, so that further work would be lost.
var errResults = errors.New("the file of results cannot be written")

// has reports whether all cells of a call are known.
func (r *rounds) has(model string, p program, cells []cell, round int) bool {
	for _, c := range cells {
		if !slices.ContainsFunc(r.known, func(k result) bool {
			return k.Model == filepath.Base(model) && k.Program == p.name() && k.cell == c && k.Round == round && k.Threads == r.threads
		}) {
			return false
		}
	}
	return true
}

// attempts is how often a figure is measured until other programs leave it alone.
const attempts = 3

// turn measures the cells of a call.
func (r *rounds) turn(ctx context.Context, model string, p program, c call, round int) error {
	for attempt := 1; ; attempt++ {
		if err := awaitIdle(ctx, r.busy, r.patience); err != nil {
			return err
		}
		before := readClock()
		stdout, state, err := output(ctx, c)
		if err != nil {
			return err
		}
		others := before.othersUntil(readClock(), state.UserTime()+state.SystemTime())
		if others > r.busy {
			fmt.Fprintf(r.stderr, "%s with %s: other programs took %.0f %% of the processors' time\n", filepath.Base(model), p.name(), 100*others)
			if attempt == attempts {
				return fmt.Errorf("other programs took more than %.0f %% of the processors' time, %d times: %w", 100*r.busy, attempts, errBusy)
			}
			continue
		}
		rates, err := c.read(stdout)
		if err != nil {
			return err
		}
		for _, at := range c.cells {
			rate, ok := rates[at]
			if !ok {
				return fmt.Errorf("there is no figure for the %v in what it printed", at)
			}
			if err := r.add(result{
				Model: filepath.Base(model), Program: p.name(), cell: at, Rate: rate, PeakBytes: peakBytes(state), Others: max(others, 0), Threads: r.threads, Round: round,
				Time: time.Now().UTC().Truncate(time.Second), Processor: sysinfo.Here().Machine().Processor, Command: c.command,
			}); err != nil {
				return err
			}
		}
		return nil
	}
}

// add keeps a result, in the file too.
func (r *rounds) add(k result) error {
	line, err := json.Marshal(k)
	if err != nil {
		return err
	}
	if _, err := r.out.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%w: %w", errResults, err)
	}
	r.known = append(r.known, k)
	fmt.Fprintf(r.stderr, "round %d  %s  %s: %.1f tokens/s (%s)\n", k.Round, k.Model, k.cell, k.Rate, k.Program)
	return nil
}

// output runs a process and returns what it printed.
func output(ctx context.Context, c call) (stdout string, state *os.ProcessState, err error) {
	command := exec.CommandContext(ctx, c.command[0], c.command[1:]...)
	command.Dir, command.Env = c.dir, append(os.Environ(), c.env...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	if err := command.Run(); err != nil {
		if ctx.Err() != nil {
			return "", nil, ctx.Err()
		}
		return "", nil, fmt.Errorf("%s: %w: %s", strings.Join(c.command, " "), err, lastLines(errs.String()))
	}
	return out.String() + errs.String(), command.ProcessState, nil
}

// lastLines returns the last lines of a text, in which programs say why they failed.
func lastLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-5, 0):], "\n")
}
