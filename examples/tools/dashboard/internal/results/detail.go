package results

import (
	"math"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// Detail is one run with its timelines. Long timelines are thinned.
type Detail struct {
	Key        string          `json:"key"`
	Config     runs.Config     `json:"config"`
	Repetition int             `json:"repetition"`
	Began      time.Time       `json:"began"`
	Seconds    number          `json:"seconds"`
	Error      string          `json:"error,omitempty"`
	Machine    runs.Machine    `json:"machine"`
	Yardsticks [2]number       `json:"yardsticks"`
	Load       number          `json:"load"`
	Reading    [2]number       `json:"read"`
	Weights    int64           `json:"weights"`
	Gaps       Series          `json:"gaps"`       // when a token came, and how long after the one before it, in milliseconds
	Memory     Series          `json:"memory"`     // when; bytes resident; bytes of the cache; slots
	Conditions Series          `json:"conditions"` // when; MHz, Celsius, battery percent, watts: 0 if the machine did not report it
	Evictions  []runs.Eviction `json:"evictions"`
	Evicted    int             `json:"evicted"` // how many evictions there were
	Profiles   []runs.Profile  `json:"profiles"`
	Accuracy   []runs.Accuracy `json:"accuracy"`
}

// Series is a timeline: points, each beginning with its time in seconds since the run began.
type Series struct {
	Of     int        `json:"of"` // how many points there were
	Points [][]number `json:"points"`
}

// Bounds of the lists, so that no file makes a page that a browser cannot show.
const (
	mostOperations = 60
	mostSkills     = 200
)

// detailOf makes the detail of a run; no timeline of it has more than about that many points.
func detailOf(key string, r *runs.Run, points int) *Detail {
	d := &Detail{
		Key: key, Config: r.Config, Repetition: r.Repetition, Began: r.Began, Seconds: number(r.Seconds), Error: clip(r.Error, 4000),
		Machine: r.Machine, Yardsticks: [2]number{number(r.Yardsticks[0]), number(r.Yardsticks[1])}, Load: number(r.Load),
		Reading: [2]number{number(r.Reading[0]), number(r.Reading[1])}, Weights: r.Weights, Evicted: len(r.Evictions),
		Evictions: []runs.Eviction{}, Profiles: []runs.Profile{}, Accuracy: r.Accuracy[:min(len(r.Accuracy), mostSkills)],
	}
	if d.Accuracy == nil {
		d.Accuracy = []runs.Accuracy{}
	}
	gaps := r.Gaps()
	d.Gaps = series(len(gaps), points, func(i int) []float64 { return []float64{r.Tokens[i+1], gaps[i]} })
	d.Memory = series(len(r.Memory), points, func(i int) []float64 {
		m := &r.Memory[i]
		return []float64{m.At, float64(m.Resident), float64(m.Cache), float64(m.Slots)}
	})
	d.Conditions = series(len(r.Conditions), points, func(i int) []float64 {
		c := &r.Conditions[i]
		return []float64{c.At, c.MHz, c.Celsius, c.Battery, c.Watts}
	})
	for _, i := range thin(len(r.Evictions), points/2, func(i int) []float64 { return []float64{r.Evictions[i].Took, float64(r.Evictions[i].Bytes)} }) {
		e := r.Evictions[i]
		e.At, e.Took = micro(e.At), micro(e.Took)
		e.Reason = clip(e.Reason, 200)
		d.Evictions = append(d.Evictions, e)
	}
	for _, p := range r.Profiles[:min(len(r.Profiles), 8)] {
		p.Part, p.Operations = clip(p.Part, 50), fewOperations(p.Operations)
		d.Profiles = append(d.Profiles, p)
	}
	return d
}

// fewOperations keeps the longest operations and adds the others up.
func fewOperations(list []runs.Operation) []runs.Operation {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b runs.Operation) int {
		switch {
		case a.Seconds > b.Seconds:
			return -1
		case a.Seconds < b.Seconds:
			return 1
		}
		return 0
	})
	if len(list) > mostOperations {
		others := runs.Operation{Name: "others"}
		for _, o := range list[mostOperations-1:] {
			others.Calls += o.Calls
			others.Seconds += o.Seconds
		}
		if !finite(others.Seconds) {
			others.Seconds = 0 // JSON has no infinity
		}
		list = append(list[:mostOperations-1], others)
	}
	for i := range list {
		o := &list[i]
		o.Name, o.Shape, o.Type = clip(o.Name, 100), clip(o.Shape, 100), clip(o.Type, 50)
	}
	return list
}

// micro rounds to millionths, the resolution of clocks; a number too large for that stays.
func micro(x float64) float64 {
	if rounded := math.Round(x*1e6) / 1e6; finite(rounded) {
		return rounded
	}
	return x
}

// series makes a Series of n points. at returns a point's time and values.
func series(n, points int, at func(i int) []float64) Series {
	s := Series{Of: n, Points: [][]number{}}
	for _, i := range thin(n, points, func(i int) []float64 { return at(i)[1:] }) {
		point := at(i)
		row := make([]number, len(point))
		for j, x := range point {
			row[j] = number(x)
		}
		s.Points = append(s.Points, row)
	}
	return s
}
