package results

import (
	"math"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// summary is what the overview needs of a run.
type summary struct {
	config     runs.Config
	id         string // of config
	repetition int
	began      time.Time
	seconds    float64
	err        string
	machine    runs.Machine
	yardsticks [2]float64
	values     []float64 // of runs.Metrics, in their order; NaN: the run does not have it
	gaps       []float64 // between tokens, in milliseconds, ascending; at most mostGaps
	asked      int       // questions
}

// mostGaps bounds the gaps of a run that are held: of more, as many evenly spaced ones of their order, with the least and the largest.
const mostGaps = 2048

func summaryOf(r *runs.Run) *summary {
	s := &summary{
		config: r.Config, id: r.Config.ID(), repetition: r.Repetition, began: r.Began, seconds: r.Seconds, err: clip(r.Error, 1000),
		machine: r.Machine, yardsticks: r.Yardsticks, values: make([]float64, len(runs.Metrics)),
	}
	for i, m := range runs.Metrics {
		value, ok := m.Of(r)
		if !ok || r.Error != "" || !finite(value) {
			value = math.NaN()
		}
		s.values[i] = value
	}
	for _, a := range r.Accuracy {
		s.asked += a.Asked
	}
	if r.Error == "" {
		s.gaps = fewer(slices.Sorted(slices.Values(slices.DeleteFunc(r.Gaps(), func(x float64) bool { return !finite(x) }))), mostGaps)
	}
	return s
}

// fewer keeps at most n evenly spaced of ascending values, the first and the last among them.
func fewer(sorted []float64, n int) []float64 {
	if len(sorted) <= n {
		return sorted
	}
	kept := make([]float64, n)
	for i := range kept {
		kept[i] = sorted[i*(len(sorted)-1)/(n-1)]
	}
	return kept
}
