// Package spread says how sure a number is that was measured a few times, and whether two such numbers differ.
//
// Times on a shared machine are not normally distributed: they have a floor, a long tail and slow drifts. Nothing here assumes a
// distribution.
package spread

import (
	"math"
	"slices"
)

// Interval is the median of some measurements, and between which values the true median lies with a confidence of 95 %; of fewer than six
// measurements, between which values they all lie.
type Interval struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Of returns the interval of some measurements, which it does not change. Without any it is the zero Interval.
func Of(values []float64) Interval {
	n := len(values)
	if n == 0 {
		return Interval{}
	}
	sorted := slices.Sorted(slices.Values(values))
	median := (sorted[(n-1)/2] + sorted[n/2]) / 2
	return Interval{N: n, Median: median, Low: sorted[0], High: sorted[n-1]}
}

// Relative returns half the interval's width as a part of the median: 0.02 for ± 2 %. Without a median it is infinite.
func (i Interval) Relative() float64 {
	if i.Median == 0 {
		return math.Inf(1)
	}
	return (i.High - i.Low) / 2 / math.Abs(i.Median)
}

// Change compares measurements of one thing before and after a change.
type Change struct {
	Ratio   float64 `json:"ratio"` // the median after ÷ the median before
	Low     float64 `json:"low"`   // between Low and High the true ratio lies with a confidence of 95 %
	High    float64 `json:"high"`
	P       float64 `json:"p"`       // how likely a difference like this is where nothing changed
	Certain bool    `json:"certain"` // beyond noise
}
