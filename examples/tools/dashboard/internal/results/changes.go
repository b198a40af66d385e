package results

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/examples/tools/internal/compare"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Change is a metric of a Config that differs beyond noise between one cell and the next: of two commits, or of two programs.
type Change struct {
	From   int    `json:"from"` // index of the cell
	To     int    `json:"to"`   // index of the cell
	Metric int    `json:"metric"`
	Ratio  number `json:"ratio"` // after ÷ before; 0 if a value is 0: then only the medians say something
	Low    number `json:"low"`
	High   number `json:"high"`
	Before number `json:"before"` // median
	After  number `json:"after"`  // median
	Worse  bool   `json:"worse"`
}

// Compared counts the comparisons that changes were looked for in.
type Compared struct {
	All int `json:"all"`
	Few int `json:"few"` // with too few runs to find any change
}

// step is from which commit and program to which: comparisons of one step are judged together, like one call of the suite's compare.
type step struct {
	fromCommit, toCommit   int
	fromProgram, toProgram string
}

// comparisons remembers what came of comparing some samples, by the samples. Comparing takes the most time of all that an overview needs, and
// while a suite runs only those of the newest commit are new.
type comparisons map[[sha256.Size]byte][]statistics.Change

// compare is statistics.CompareAll, unless old knows the result; it is in c afterwards.
func (c comparisons) compare(old comparisons, samples []statistics.Sample) []statistics.Change {
	h := sha256.New()
	number := func(x uint64) { h.Write(binary.LittleEndian.AppendUint64(nil, x)) }
	for _, s := range samples {
		for _, values := range [][]float64{s.Before, s.After} {
			number(uint64(len(values)))
			for _, v := range values {
				number(math.Float64bits(v))
			}
		}
		number(uint64(len(s.Kind)))
		h.Write([]byte(s.Kind))
		number(math.Float64bits(s.Least))
		fmt.Fprint(h, s.Paired)
	}
	key := [sha256.Size]byte(h.Sum(nil))
	result, ok := old[key]
	if !ok {
		result = statistics.CompareAll(samples)
	}
	c[key] = result
	return result
}

// changes compares each cell with the one before it, and returns what differs beyond noise, the largest first, and all comparisons for the
// next time.
func changes(o *Overview, members [][]*summary, old comparisons) (found []Change, compared Compared, all comparisons) {
	all = comparisons{}
	found = []Change{}
	steps := map[step][]Change{} // to be filled in
	for to, from := range predecessors(o, members) {
		if from < 0 {
			continue
		}
		s := step{o.Cells[from].Commit, o.Cells[to].Commit, members[from][0].config.Program, members[to][0].config.Program}
		for i := range runs.Metrics {
			if o.Cells[from].Metrics[i] != nil && o.Cells[to].Metrics[i] != nil {
				steps[s] = append(steps[s], Change{From: from, To: to, Metric: i})
			}
		}
	}
	for _, list := range steps {
		samples := make([]statistics.Sample, len(list))
		for i, c := range list {
			from, to, metric := members[c.From], members[c.To], runs.Metrics[c.Metric]
			samples[i] = compare.Sample(metric, measured(from, c.Metric), measured(to, c.Metric))
			samples[i].Least = compare.LeastChange(metric, compare.Threshold, compare.ClockRatio(yardsticks(from), yardsticks(to)))
		}
		compared.All += len(list)
		for i, result := range all.compare(old, samples) {
			if result.Few {
				compared.Few++
			}
			if !result.Certain {
				continue
			}
			c := list[i]
			c.Ratio, c.Low, c.High = number(result.Ratio), number(result.Low), number(result.High)
			c.Before, c.After = number(result.Before.Median), number(result.After.Median)
			c.Worse = result.Increased() == (runs.Metrics[c.Metric].Better < 0)
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b Change) int {
		return cmp.Or(cmp.Compare(size(b.Ratio), size(a.Ratio)), cmp.Compare(a.To, b.To), cmp.Compare(a.Metric, b.Metric))
	})
	return found, compared, all
}

// measured lists a metric of those runs that have it.
func measured(members []*summary, metric int) (list []compare.Measurement) {
	for _, r := range members {
		if v := r.values[metric]; finite(v) {
			list = append(list, compare.Measurement{Repetition: r.repetition, Began: r.began, Value: v})
		}
	}
	return list
}

// yardsticks lists the yardsticks of all runs, in milliseconds.
func yardsticks(members []*summary) (list []float64) {
	for _, r := range members {
		list = append(list, r.yardsticks[:]...)
	}
	return list
}

// size is how far a ratio is from 1, in either direction alike.
func size(ratio number) float64 {
	if ratio <= 0 {
		return math.Inf(1)
	}
	return math.Abs(math.Log(float64(ratio)))
}

// predecessors returns for each cell the index of the cell that it is compared with, or -1: that of the same Config and machine at the
// commit before. Without one, if the Config names a program, it is the latest cell of the program that ran first.
func predecessors(o *Overview, members [][]*summary) []int {
	type place struct {
		config  runs.Config
		machine int
	}
	same := map[place][]int{}  // cells by Config and machine, in the order of commits
	alike := map[place][]int{} // cells by Config without its program, likewise in the order of their first runs
	for i := range o.Cells {
		p := place{members[i][0].config, o.Cells[i].Machine}
		same[p] = append(same[p], i)
		p.config.Program = ""
		alike[p] = append(alike[p], i)
	}
	before := slices.Repeat([]int{-1}, len(o.Cells))
	for _, list := range same {
		slices.SortFunc(list, func(a, b int) int { return cmp.Compare(o.Cells[a].Commit, o.Cells[b].Commit) })
		for i := 1; i < len(list); i++ {
			before[list[i]] = list[i-1]
		}
	}
	for p, list := range alike {
		first := members[list[0]][0].config.Program // cells are in the order of their first runs
		p.config.Program = first
		base := same[p]
		for _, cell := range list {
			if before[cell] < 0 && members[cell][0].config.Program != first {
				before[cell] = base[len(base)-1]
			}
		}
	}
	return before
}
