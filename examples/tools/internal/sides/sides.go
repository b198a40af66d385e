// Package sides makes of two sets of runs, before a change and after it, what spread compares. The suite's compare and the dashboard
// both do it here, so that they call the same things a change.
package sides

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/spread"
)

// Threshold is the part by which something must change to be worth telling, unless a person says otherwise.
const Threshold = 0.02

// Measured is what a repetition has of a metric.
type Measured struct {
	Repetition int // 1, 2, …
	Began      time.Time
	Value      float64
}

// Sample returns what a metric is before and after: in pairs, where the repetitions were measured in turn. Its Least is to be set.
func Sample(m runs.Metric, before, after []Measured) spread.Sample {
	s := spread.Sample{Kind: m.Name}
	if s.Before, s.After, s.Paired = inTurn(before, after); !s.Paired {
		s.Before, s.After = values(before), values(after)
	}
	return s
}

func values(list []Measured) []float64 {
	var of []float64
	for _, m := range list {
		of = append(of, m.Value)
	}
	return of
}

// inTurn returns the values of those repetitions that both sides have, if they were measured in turn: each pair before the next began.
func inTurn(a, b []Measured) (before, after []float64, ok bool) {
	type pair struct {
		a, b        float64
		begin, last int64 // of the runs' beginnings
	}
	var pairs []pair
	for _, x := range a {
		for _, y := range b {
			if x.Repetition == y.Repetition {
				t, u := x.Began.UnixNano(), y.Began.UnixNano()
				pairs = append(pairs, pair{x.Value, y.Value, min(t, u), max(t, u)})
			}
		}
	}
	if len(pairs) < 2 || 2*len(pairs) < len(a)+len(b)-2 { // one that failed is no reason, more are
		return nil, nil, false
	}
	slices.SortFunc(pairs, func(p, q pair) int { return cmp.Compare(p.begin, q.begin) })
	for i, p := range pairs {
		if i > 0 && pairs[i-1].last >= p.begin {
			return nil, nil, false
		}
		before, after = append(before, p.a), append(after, p.b)
	}
	return before, after, true
}

// Clock returns how many times as long the yardstick took after as before, of the yardsticks of all runs of both sides, in milliseconds:
// 1 if it is not known.
func Clock(before, after []float64) float64 {
	usual := func(list []float64) float64 {
		return spread.Of(slices.DeleteFunc(slices.Clone(list), func(y float64) bool { return !(y > 0) })).Median
	}
	x, y := usual(before), usual(after)
	if ratio := y / x; x > 0 && y > 0 && ratio > 0 && !math.IsInf(ratio, 0) {
		return ratio
	}
	return 1
}

// Least returns by which part a metric must change to be told: times by more than the clock's, a count by anything.
func Least(m runs.Metric, threshold, clock float64) float64 {
	switch m.Unit {
	case "":
		return 0
	case "tokens/s", "ms", "s":
		return math.Exp(math.Log1p(threshold)+math.Abs(math.Log(clock))) - 1
	}
	return threshold
}
