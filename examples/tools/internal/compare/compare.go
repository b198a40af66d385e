// Package compare prepares two sets of runs, before a change and after it, for package statistics. The suite's compare and the dashboard
// both use it, so that they call the same differences a change.
package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Threshold is the part by which something must change to be worth telling, unless a person says otherwise.
const Threshold = 0.02

// Measurement is what a repetition has of a metric.
type Measurement struct {
	Repetition int // 1, 2, …
	Began      time.Time
	Value      float64
}

// Sample returns what a metric is before and after: in pairs if the repetitions were measured in turn. The caller sets its Least.
func Sample(m runs.Metric, before, after []Measurement) statistics.Sample {
	s := statistics.Sample{Kind: m.Name}
	if s.Before, s.After, s.Paired = pairUp(before, after); !s.Paired {
		s.Before, s.After = values(before), values(after)
	}
	return s
}

func values(list []Measurement) []float64 {
	var of []float64
	for _, m := range list {
		of = append(of, m.Value)
	}
	return of
}

// pairUp returns the values of those repetitions that both sides have, if they were measured in turn: each pair before the next began.
func pairUp(a, b []Measurement) (before, after []float64, ok bool) {
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

// ClockRatio returns how many times as long the yardstick took after as before, of the yardsticks of all runs of both sides, in milliseconds:
// 1 if it is not known.
func ClockRatio(before, after []float64) float64 {
	usual := func(list []float64) float64 {
		return statistics.IntervalOf(slices.DeleteFunc(slices.Clone(list), func(y float64) bool { return !(y > 0) })).Median
	}
	x, y := usual(before), usual(after)
	if ratio := y / x; x > 0 && y > 0 && ratio > 0 && !math.IsInf(ratio, 0) {
		return ratio
	}
	return 1
}

// LeastChange returns by which part a metric must change to be reported: times by more than the clock's, a count by anything.
func LeastChange(m runs.Metric, threshold, clock float64) float64 {
	switch m.Unit {
	case "":
		return 0
	case "tokens/s", "ms", "s":
		return math.Exp(math.Log1p(threshold)+math.Abs(math.Log(clock))) - 1
	}
	return threshold
}
