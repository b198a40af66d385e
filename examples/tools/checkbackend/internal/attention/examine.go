package attention

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/tensor"
)

// verdict is what a comparison says of a step.
type verdict string

const (
	equal   verdict = "equal"     // the reference's bits
	close   verdict = "close"     // other bits, within the tolerance, of a backend that promises no more
	differs verdict = "different" // other bits though the backend promises the reference's, or beyond the tolerance
	failed  verdict = "failed"    // an operation returned an error
	absent  verdict = "absent"    // the situation has nothing that the step could be observed for
)

// bad reports whether the verdict is a fault.
func (v verdict) bad() bool { return v == differs || v == failed }

// result is the comparison of one step.
type result struct {
	backend    string
	dtype      tensor.DType
	situation  string
	step       *step
	reference  difference // from the reference's values
	definition difference // from the definition's values
	tolerance  float64
	verdict    verdict
	err        error // of a step that failed
}

// named is a backend and what it promises.
type named struct {
	name  string
	exact bool
	backend.Backend
}

// examination is what to look at.
type examination struct {
	shape      shape
	situations []situation
	types      []tensor.DType
	seed       uint64
	tolerance  float64 // 0: each step's own
	backends   []named
}

// do looks at every step of every situation, and calls note with each result: those of the reference first.
func (e *examination) do(ctx context.Context, note func(*result)) error {
	reference := named{"reference", true, host.NewReference()}
	defer reference.Close()
	for _, dtype := range e.types {
		for _, kind := range e.situations {
			p, err := e.shape.problem(kind, dtype, e.seed)
			if err != nil {
				return err
			}
			want, from, err := e.observe(ctx, reference, p, nil)
			if err != nil {
				return err
			}
			for i := range want {
				if want[i].err != nil {
					return fmt.Errorf("the reference fails at %s of %s, %v cache: %w", steps[i].name, p.name, dtype, want[i].err)
				}
			}
			d, err := define(p, from)
			if err != nil {
				return err
			}
			defined := make([][][]float64, len(steps))
			for i := range steps {
				defined[i] = steps[i].define(d)
			}
			for _, b := range append([]named{reference}, e.backends...) {
				got := want
				if b.Backend != reference.Backend {
					if got, _, err = e.observe(ctx, b, p, from); err != nil {
						return err
					}
				}
				for i := range steps {
					note(e.judge(b, p, &steps[i], got[i], want[i], defined[i]))
				}
			}
		}
	}
	return nil
}

// observed is what a device gave for a step.
type observed struct {
	list []vector
	err  error
}

// observe observes all steps of a problem on one device. from is what they begin with: nil on the reference, which then
// begins with its own. It returns that.
func (e *examination) observe(ctx context.Context, b named, p *problem, from *stored) ([]observed, *stored, error) {
	all := make([]observed, len(steps))
	l := &look{device: &device{Backend: b.Backend}, problem: p, from: from}
	for i := range steps {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		all[i].list, all[i].err = steps[i].observe(l)
		l.free()
		if l.from == nil { // the first step of the reference is to store; nothing can follow
			return nil, nil, fmt.Errorf("the reference cannot store: %w", all[i].err)
		}
	}
	return all, l.from, nil
}

// judge compares what a step gave.
func (e *examination) judge(b named, p *problem, s *step, got, want observed, defined [][]float64) *result {
	r := &result{backend: b.name, dtype: p.dtype, situation: p.name, step: s, tolerance: s.tolerance(p.dtype, e.tolerance), err: got.err, verdict: failed}
	if r.err == nil {
		r.reference, r.err = compare(got.list, wide(want.list), s.least)
	}
	if r.err == nil {
		r.definition, r.err = compare(got.list, defined, s.least)
	}
	switch {
	case r.err != nil:
	case len(got.list) == 0:
		r.verdict = absent
	case r.definition.Relative > r.tolerance, r.reference.Relative > r.tolerance, b.exact && r.reference.Bits > 0:
		r.verdict = differs
	case r.reference.Bits == 0:
		r.verdict = equal
	default:
		r.verdict = close
	}
	return r
}
