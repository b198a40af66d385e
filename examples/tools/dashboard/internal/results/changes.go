package results

import (
	"cmp"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// Change is a metric of a Config that differs beyond noise between one cell and the next: of two commits, or of two programs.
type Change struct {
	From   int    `json:"from"` // index of the cell
	To     int    `json:"to"`   // index of the cell
	Metric int    `json:"metric"`
	Ratio  number `json:"ratio"` // after ÷ before
	Low    number `json:"low"`
	High   number `json:"high"`
	Worse  bool   `json:"worse"`
}

// changes compares each cell with the one before it, and returns what differs beyond noise, the largest first, with how many
// comparisons were made.
func changes(o *Overview, members [][]*summary) (found []Change, compared int) {
	found = []Change{}
	for to, from := range predecessors(o, members) {
		if from < 0 {
			continue
		}
		for i, m := range runs.Metrics {
			before, after := valuesOf(members[from], i), valuesOf(members[to], i)
			if len(before) == 0 || len(after) == 0 {
				continue
			}
			compared++
			ratio, low, high, certain := compare(before, after)
			if !certain {
				continue
			}
			worse := m.Better > 0 && ratio < 1 || m.Better < 0 && ratio > 1
			found = append(found, Change{from, to, i, number(ratio), number(low), number(high), worse})
		}
	}
	slices.SortStableFunc(found, func(a, b Change) int { return cmp.Compare(size(b.Ratio), size(a.Ratio)) })
	return found, compared
}

// size is how far a ratio is from 1, in either direction alike.
func size(ratio number) float64 {
	if ratio <= 0 {
		return math.Inf(1)
	}
	return math.Abs(math.Log(float64(ratio)))
}

// predecessors returns for each cell the one that it is compared with, or -1: the same Config and machine at the commit before; where there
// is none, and the Config names a program, what the program that ran first came to last.
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
