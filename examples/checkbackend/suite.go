package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend"
)

// check is one operation on operands of one shape, type and kind of values.
type check struct {
	Operation string `json:"operation"`
	Type      string `json:"type"`
	Shape     string `json:"shape"`
	Input     string `json:"input"`
	Prepared  bool   `json:"prepared"` // the weights are in the device's own layout

	build func(g generator) *trial
}

// name identifies a check. Prepared weights are the same weights.
func (c *check) name() string {
	return strings.Join([]string{c.Operation, c.Type, c.Shape, c.Input}, " ")
}

// verdict is the outcome of a check.
type verdict string

const (
	passed      verdict = "ok"
	wrong       verdict = "wrong"       // out of tolerance
	overwrote   verdict = "overwrote"   // wrote outside its output
	failed      verdict = "error"       // the operation returned an error
	panicked    verdict = "panic"       // the operation panicked
	hung        verdict = "hangs"       // did not return in time
	unsupported verdict = "unsupported" // the backend says that it does not offer this
)

// bad tells whether a verdict is a failure.
func (v verdict) bad() bool { return v != passed && v != unsupported }

// result is what came out of a check.
type result struct {
	check
	Worst     number  `json:"max_abs"`
	Relative  number  `json:"max_rel"`
	Tolerance float64 `json:"tolerance"`
	Seconds   float64 `json:"seconds"`
	Verdict   verdict `json:"verdict"`
	Detail    string  `json:"detail,omitempty"`
}

// reporter shows results as they come.
type reporter interface {
	begin(b backend.Backend, exact bool, seed uint64)
	add(r *result)
	end(elapsed time.Duration)
}

// suite checks one backend.
type suite struct {
	backend backend.Backend
	exact   bool // the bits must be the reference's
	seed    uint64
	timeout time.Duration
	stuck   bool // an operation did not return

	last known
}

// known is the last trial with the reference's results: the next check often has the same, with prepared weights.
type known struct {
	name  string
	trial *trial
	want  *outcome
}

// run does the checks. Its error counts the failures.
func (s *suite) run(ctx context.Context, checks []check, report reporter) error {
	began, bad, done := time.Now(), 0, 0
	report.begin(s.backend, s.exact, s.seed)
	for i := range checks {
		r, err := s.await(ctx, &checks[i])
		if err != nil {
			return err
		}
		report.add(r)
		done++
		if r.Verdict.bad() {
			bad++
		}
		if s.stuck {
			break
		}
	}
	report.end(time.Since(began))
	switch {
	case s.stuck:
		return fmt.Errorf("%s hangs: the last %d of %d checks were left out", s.backend.Name(), len(checks)-done, len(checks))
	case bad > 0:
		return fmt.Errorf("%s fails %d of %d checks", s.backend.Name(), bad, len(checks))
	}
	return nil
}

// await does a check, but does not wait for an operation that never returns.
func (s *suite) await(ctx context.Context, c *check) (*result, error) {
	finished := make(chan *result, 1)
	go func() { finished <- s.do(c) }()
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	select {
	case r := <-finished:
		return r, ctx.Err()
	case <-ctx.Done():
		s.stuck = true // perhaps: it is still at work
		return nil, ctx.Err()
	case <-timer.C:
		s.stuck = true
		return &result{check: *c, Verdict: hung, Detail: fmt.Sprintf("no result after %v", s.timeout), Seconds: s.timeout.Seconds()}, nil
	}
}

// do runs one check on the reference and on the backend, and compares.
func (s *suite) do(c *check) *result {
	r := &result{check: *c, Verdict: passed}
	if s.last.name != c.name() {
		trial := c.build(newGenerator(s.seed, c))
		want, err := trial.on(newReference(), false)
		if err != nil {
			return r.fail(failed, "the reference itself: "+err.Error())
		}
		s.last = known{c.name(), trial, want}
	}
	trial, want := s.last.trial, s.last.want
	got, err := guarded(func() (*outcome, error) { return trial.on(s.backend, c.Prepared) })
	switch {
	case errors.Is(err, backend.ErrUnsupported) && c.Prepared && !errors.Is(err, errMove):
		return r.fail(failed, "the weights could be prepared, but not used: "+err.Error())
	case errors.Is(err, backend.ErrUnsupported):
		return r.fail(unsupported, err.Error())
	case errors.Is(err, errPanic):
		return r.fail(panicked, err.Error())
	case err != nil:
		return r.fail(failed, err.Error())
	}
	r.Seconds = got.elapsed.Seconds()
	for i := range trial.operands {
		if o := &trial.operands[i]; o.role == output || o.role == update {
			if !s.exact {
				r.Tolerance = max(r.Tolerance, o.limit.tolerance)
			}
			r.judge(o, o.compare(got.contents[i], want.contents[i], s.exact))
		}
	}
	for _, fault := range got.faults {
		r.fail(overwrote, fault)
	}
	return r
}

// judge takes an output's comparison into account.
func (r *result) judge(o *operand, c comparison) {
	r.Worst, r.Relative = max(r.Worst, number(c.worst)), max(r.Relative, number(c.relative))
	if c.wrong > 0 {
		r.fail(wrong, fmt.Sprintf("%s; %d of %d elements are wrong", c.first, c.wrong, elements(o.dims)))
	}
}

// fail notes a failure; the last verdict stays, with all details.
func (r *result) fail(v verdict, detail string) *result {
	if r.Verdict = v; r.Detail != "" {
		r.Detail += "; "
	}
	r.Detail += detail
	return r
}

var errPanic = errors.New("panic")

// guarded makes a panic an error.
func guarded(f func() (*outcome, error)) (result *outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return f()
}
