package main

import (
	"context"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/internal/precise"
)

// leastTime is how long the calls that are measured together take at least, so that neither the clock's steps nor a turn of
// the scheduler matter.
const leastTime = 20 * time.Millisecond

// measure returns how long a call takes, measured once for each repetition and sorted in ascending order, and the work of a
// call.
func (o *options) measure(ctx context.Context, b *cpu.Backend, c testCase) ([]time.Duration, machine.Work, error) {
	l := newLab(b, o.span<<20)
	defer l.free()
	s, err := c.setUp(l, c)
	if err != nil {
		return nil, machine.Work{}, err
	}
	next := 0
	calls := func(n int) (time.Duration, error) {
		began := precise.Now()
		for range n {
			if err := s.run(next); err != nil {
				return 0, err
			}
			next++
		}
		return precise.Since(began), nil
	}
	n := 1
	for { // the calls to find n also warm up
		took, err := calls(n)
		if err != nil {
			return nil, s.work, err
		}
		if took >= leastTime {
			break
		}
		n = max(n+1, int(float64(n)*min(10, 1.2*float64(leastTime)/float64(max(took, 1)))))
	}
	times := make([]time.Duration, o.repetitions)
	for i := range times {
		if err := ctx.Err(); err != nil {
			return nil, s.work, err
		}
		took, err := calls(n)
		if err != nil {
			return nil, s.work, err
		}
		times[i] = took / time.Duration(n)
	}
	slices.Sort(times)
	return times, s.work, nil
}
