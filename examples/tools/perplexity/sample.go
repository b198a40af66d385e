package main

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// sample is a list of measured values.
type sample []float64

// mean returns the mean and its standard error, as if the values were independent.
func (s sample) mean() (mean, stderr float64) {
	n := float64(len(s))
	for _, v := range s {
		mean += v / n
	}
	if len(s) < 2 {
		return mean, 0
	}
	variance := 0.0
	for _, v := range s {
		variance += (v - mean) * (v - mean) / (n - 1)
	}
	return mean, math.Sqrt(variance / n)
}

// perplexity returns the exponential of the mean, and its standard error to first order.
func (s sample) perplexity() (perplexity, stderr float64) {
	mean, e := s.mean()
	perplexity = math.Exp(mean)
	return perplexity, perplexity * e
}

// quantile returns the value that a part q of the values do not exceed.
func (s sample) quantile(q float64) float64 {
	return statistics.Quantile(slices.Sorted(slices.Values(s)), q)
}
