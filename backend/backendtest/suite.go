package backendtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
)

// Check is one operation on operands of one shape, type and kind of values.
type Check struct {
	Operation string
	Type      string // of the weights, the cache, or of another operand with several types
	Shape     string
	Input     string // the kind of values
	Prepared  bool   // the weights are in the device's own layout

	build func(g generator) *trial
}

// name identifies a check. Prepared weights are the same weights.
func (c *Check) name() string {
	return strings.Join([]string{c.Operation, c.Type, c.Shape, c.Input}, " ")
}

// String names the check.
func (c Check) String() string {
	if c.Prepared {
		return c.name() + ", prepared"
	}
	return c.name()
}

// Verdict is the outcome of a check.
type Verdict string

// The verdicts.
const (
	Passed      Verdict = "ok"
	Wrong       Verdict = "wrong"       // out of tolerance
	Overwrote   Verdict = "overwrote"   // wrote outside its output
	Failed      Verdict = "error"       // the operation returned an error
	Panicked    Verdict = "panic"       // the operation panicked
	Hung        Verdict = "hangs"       // did not return in time
	Unsupported Verdict = "unsupported" // the backend says that it does not offer this
)

// Bad reports whether a verdict is a failure.
func (v Verdict) Bad() bool { return v != Passed && v != Unsupported }

// Result is the result of a check.
type Result struct {
	Check
	Worst     float64 // the largest absolute error, perhaps infinite
	Relative  float64 // the largest error relative to what the check says
	Tolerance float64 // the largest relative error that is tolerated; 0: the bits must be equal
	Seconds   float64 // that the backend took
	Verdict   Verdict
	Detail    string // the fault
}

// Suite checks one backend. A check at a time may be done.
type Suite struct {
	Backend backend.Backend
	Exact   bool          // the bits must be the reference's; else errors are tolerated, such as devices make that round differently
	Seed    uint64        // of the random values
	Timeout time.Duration // after which an operation is taken to hang

	stuck bool
	last  known
}

// known is the last trial with the reference's results: the next check often has the same, with prepared weights.
type known struct {
	name  string
	trial *trial
	want  *outcome
}

// Do does a check, but does not wait for an operation that never returns. Its error is the context's.
func (s *Suite) Do(ctx context.Context, c Check) (*Result, error) {
	finished := make(chan *Result, 1)
	go func() { finished <- s.do(&c) }()
	timer := time.NewTimer(s.Timeout)
	defer timer.Stop()
	select {
	case r := <-finished:
		return r, ctx.Err()
	case <-ctx.Done():
		s.stuck = true // perhaps: it is still at work
		return nil, ctx.Err()
	case <-timer.C:
		s.stuck = true
		return &Result{Check: c, Verdict: Hung, Detail: fmt.Sprintf("no result after %v", s.Timeout), Seconds: s.Timeout.Seconds()}, nil
	}
}

// Stuck reports whether an operation has not returned, after a verdict of Hung or when the context ended. Neither the suite nor the
// backend can be used any more then: even Close might never return.
func (s *Suite) Stuck() bool { return s.stuck }

// do runs one check on the reference and on the backend, and compares.
func (s *Suite) do(c *Check) *Result {
	r := &Result{Check: *c, Verdict: Passed}
	if s.last.name != c.name() {
		trial := c.build(newGenerator(s.Seed, c))
		want, err := trial.on(host.NewReference(), false)
		if err != nil {
			return r.fail(Failed, "the reference itself: "+err.Error())
		}
		s.last = known{c.name(), trial, want}
	}
	trial, want := s.last.trial, s.last.want
	got, err := guarded(func() (*outcome, error) { return trial.on(s.Backend, c.Prepared) })
	switch {
	case errors.Is(err, backend.ErrUnsupported) && c.Prepared && !errors.Is(err, errMove):
		return r.fail(Failed, "the weights could be prepared, but not used: "+err.Error())
	case errors.Is(err, backend.ErrUnsupported):
		return r.fail(Unsupported, err.Error())
	case errors.Is(err, errPanic):
		return r.fail(Panicked, err.Error())
	case err != nil:
		return r.fail(Failed, err.Error())
	}
	r.Seconds = got.elapsed.Seconds()
	for i := range trial.operands {
		if o := &trial.operands[i]; o.role == output || o.role == update {
			if !s.Exact {
				r.Tolerance = max(r.Tolerance, o.limit.tolerance)
			}
			r.judge(o, o.compare(got.contents[i], want.contents[i], s.Exact))
		}
	}
	for _, fault := range got.faults {
		r.fail(Overwrote, fault)
	}
	return r
}

// judge takes an output's comparison into account.
func (r *Result) judge(o *operand, c comparison) {
	r.Worst, r.Relative = max(r.Worst, c.worst), max(r.Relative, c.relative)
	if c.wrong > 0 {
		r.fail(Wrong, fmt.Sprintf("%s; %d of %d elements are wrong", c.first, c.wrong, elements(o.dims)))
	}
}

// fail notes a failure; the last verdict stays, with all details.
func (r *Result) fail(v Verdict, detail string) *Result {
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
