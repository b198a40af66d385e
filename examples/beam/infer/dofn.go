package infer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/window"
)

// workItem is an element that a model makes a result R of.
type workItem[R any] interface {
	element
	// name is the element's ID.
	name() string
	// concurrency is how many such elements a bundle begins before it waits for one of them.
	concurrency(m Model) int
	// compute makes the result. An error of the element itself is a Failure; a *bundleError fails the bundle.
	compute(ctx context.Context, l *loaded) (R, measured, error)
}

// bundleError is an error that is not its element's: the bundle fails, and the runner tries it again.
type bundleError struct{ err error }

func (e *bundleError) Error() string { return e.err.Error() }
func (e *bundleError) Unwrap() error { return e.err }

// outcome is what became of an element.
type outcome[R any] struct {
	at      beam.EventTime
	result  R
	failure *Failure // nil: there is a result
	err     error    // fails the bundle
	measured
}

// doFn makes results R of elements E: each element on a goroutine of its own, while Beam's goroutine begins them and hands the results on.
//
// Invariants between two calls of Beam: going counts the elements that have begun but were not handed on yet. Each of them sends one
// outcome to done. done has room for all of them, so no goroutine waits for a bundle that was given up. An instance serves one bundle at a
// time.
type doFn[E workItem[R], R any] struct {
	Model Model

	ctx   context.Context
	stop  context.CancelFunc
	done  chan outcome[R]
	going int
}

// StartBundle begins a bundle. If the one before failed elsewhere, its elements are stopped. Beam wants the emitters named here, too.
func (f *doFn[E, R]) StartBundle(ctx context.Context, _ func(beam.EventTime, R), _ func(beam.EventTime, Failure)) {
	if f.stop != nil {
		f.stop()
	}
	declareMetrics(ctx)
	var e E
	f.ctx, f.stop = context.WithCancel(ctx)
	f.done, f.going = make(chan outcome[R], e.concurrency(f.Model)), 0
}

// ProcessElement begins an element, once there is room for it, and hands on the results that are ready.
func (f *doFn[E, R]) ProcessElement(
	ctx context.Context, w beam.Window, at beam.EventTime, e E, results func(beam.EventTime, R), failures func(beam.EventTime, Failure),
) error {
	if f.going == cap(f.done) {
		if err := f.next(ctx, results, failures); err != nil {
			return err
		}
	}
	f.going++
	go func(ctx context.Context, done chan<- outcome[R]) { done <- f.compute(ctx, at, e) }(f.ctx, f.done)
	for f.going > 0 && (len(f.done) > 0 || !w.Equals(window.GlobalWindow{})) {
		if err := f.next(ctx, results, failures); err != nil {
			return err
		}
	}
	return nil
}

// FinishBundle waits for the remaining results and hands them on.
func (f *doFn[E, R]) FinishBundle(ctx context.Context, results func(beam.EventTime, R), failures func(beam.EventTime, Failure)) error {
	for f.going > 0 {
		if err := f.next(ctx, results, failures); err != nil {
			return err
		}
	}
	f.stop()
	return nil
}

// next waits for an outcome and hands it on. An error gives the bundle up.
func (f *doFn[E, R]) next(ctx context.Context, results func(beam.EventTime, R), failures func(beam.EventTime, Failure)) error {
	var o outcome[R]
	select {
	case o = <-f.done:
		f.going--
	case <-ctx.Done():
		o.err = context.Cause(ctx)
	}
	if o.err != nil {
		f.stop()
		return o.err
	}
	o.measured.report(ctx)
	if o.failure != nil {
		failures(o.at, *o.failure)
	} else {
		results(o.at, o.result)
	}
	return nil
}

// compute computes one element.
func (f *doFn[E, R]) compute(ctx context.Context, at beam.EventTime, e E) outcome[R] {
	o := outcome[R]{at: at}
	l, release, first, err := loadedModels.use(ctx, f.Model)
	if err != nil {
		o.err = err
		return o
	}
	defer release()
	began := time.Now()
	o.result, o.measured, err = e.compute(ctx, l)
	o.first, o.took = first, time.Since(began)
	var bundle *bundleError
	switch {
	case err == nil:
		if o.results+o.failures == 0 { // not a file, which counts its lines itself
			o.results = 1
		}
	case ctx.Err() != nil:
		o.err = context.Cause(ctx)
	case errors.As(err, &bundle):
		o.err = fmt.Errorf("compute %q: %w", e.name(), err)
	default:
		failure := failureOf(e.name(), e, err)
		o.failure, o.failures = &failure, 1
	}
	return o
}
