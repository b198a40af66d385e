package runs

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Metric is a number that is read off a run.
type Metric struct {
	Name   string // in flags, URLs and columns of CSV
	Title  string
	Unit   string // "": no unit
	Better int    // +1: more is better; -1: less is
	Of     func(r *Run) (value float64, ok bool)
}

// Metrics lists the figures of a run, the most telling first.
var Metrics = []Metric{
	{"generating", "generating", "tokens/s", +1, func(r *Run) (float64, bool) { return rate(len(r.Tokens)-1, r.span()) }},
	{"reading", "reading the prompt", "tokens/s", +1, func(r *Run) (float64, bool) { return rate(r.Config.Prompt, r.Reading[1]-r.Reading[0]) }},
	{"first", "first token", "ms", -1, (*Run).first},
	{"gap50", "between tokens, median", "ms", -1, func(r *Run) (float64, bool) { return r.gap(0.5) }},
	{"gap99", "between tokens, 99 of 100", "ms", -1, func(r *Run) (float64, bool) { return r.gap(0.99) }},
	{"accuracy", "accuracy", "", +1, (*Run).right},
	{"resident", "peak of resident memory", "MB", -1, func(r *Run) (float64, bool) { return r.peak(func(m *Memory) int64 { return m.Resident }) }},
	{"cache", "peak of the cache", "MB", -1, func(r *Run) (float64, bool) { return r.peak(func(m *Memory) int64 { return m.Cache }) }},
	{"weights", "weights", "MB", -1, func(r *Run) (float64, bool) { return float64(r.Weights) / 1e6, r.Weights > 0 }},
	{"evictions", "evictions", "", -1, func(r *Run) (float64, bool) { return float64(len(r.Evictions)), r.Error == "" }},
	{"load", "loading", "s", -1, func(r *Run) (float64, bool) { return r.Load, r.Load > 0 }},
}

// MetricNamed returns the metric of a name.
func MetricNamed(name string) (Metric, bool) {
	i := slices.IndexFunc(Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return Metric{}, false
	}
	return Metrics[i], true
}

// rate is n per second.
func rate(n int, seconds float64) (float64, bool) {
	if n < 1 || seconds <= 0 {
		return 0, false
	}
	perSecond := float64(n) / seconds
	return perSecond, !math.IsInf(perSecond, 0) // a file may hold a time that is too short for any clock
}

// span is the time from the answer's first token to its last, in seconds.
func (r *Run) span() float64 {
	if len(r.Tokens) == 0 {
		return 0
	}
	return r.Tokens[len(r.Tokens)-1] - r.Tokens[0]
}

// first is the time from the beginning of the prompt to the first token, in milliseconds.
func (r *Run) first() (float64, bool) {
	if len(r.Tokens) == 0 {
		return 0, false
	}
	return 1e3 * (r.Tokens[0] - r.Reading[0]), true
}

// Gaps returns the times between one token of the answer and the next, in milliseconds.
func (r *Run) Gaps() []float64 {
	gaps := make([]float64, max(len(r.Tokens)-1, 0))
	for i := range gaps {
		gaps[i] = 1e3 * (r.Tokens[i+1] - r.Tokens[i])
	}
	return gaps
}

// gap is the time that a part of the gaps is not longer than, in milliseconds.
func (r *Run) gap(part float64) (float64, bool) {
	gaps := r.Gaps()
	if len(gaps) == 0 {
		return 0, false
	}
	slices.Sort(gaps)
	return statistics.Quantile(gaps, part), true
}

// right is the part of the questions that were answered rightly.
func (r *Run) right() (float64, bool) {
	asked, right := 0, 0
	for _, a := range r.Accuracy {
		asked, right = asked+a.Asked, right+a.Right
	}
	if asked == 0 {
		return 0, false
	}
	return float64(right) / float64(asked), true
}

// peak is the largest of some bytes, in MB.
func (r *Run) peak(of func(*Memory) int64) (float64, bool) {
	most := int64(0)
	for i := range r.Memory {
		most = max(most, of(&r.Memory[i]))
	}
	return float64(most) / 1e6, most > 0
}
