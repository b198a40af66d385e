// Package rounds decides which run of a matrix comes next, and says how long the rest will take.
//
// A matrix is measured in rounds: each cell (a Config) once, then each once more, because a machine's clock wanders over minutes and
// would favour the cells that were measured in its good ones. In each round the cells come in another order, for the same reason. What
// differs only in the program, or in the handicap that stands for a slower program, comes in a row: it is there to be compared.
//
// Which runs are missing and in which order they come follows from the runs that are there, the rule, and nothing else. So a suite that
// was ended and begins again goes on as if it had not been ended.
package rounds

import (
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Rule says how often cells are repeated: Least times, and then until the intervals of their rates are narrow, but at most Most times.
type Rule struct {
	Least, Most int     // 1 ≤ Least ≤ Most
	Spread      float64 // half an interval's width as a part of its median, that is narrow enough: 0.02 for ± 2 %
	Seed        uint64  // of the order in the rounds
}

// decisive are the metrics that must have narrow intervals, in runs that have them.
var decisive = [...]string{"generating", "reading"}

// attempts is how often a run may fail, one attempt right after the other in its cell, before its cell is given up.
const attempts = 2

// Rounds are the runs of a matrix, those that are there and those that are missing. It is not safe for concurrent use.
type Rounds struct {
	rule  Rule
	cells []*cell
	of    map[runs.Config]*cell
	round int     // of the queue, from 1
	queue []*cell // of the round, still to be looked at, the next one first
}

// cell is a Config with its runs so far.
type cell struct {
	config   runs.Config
	runs     map[int]*runs.Run // by repetition, those without an error
	seconds  []float64         // that the runs took
	failures int               // attempts that failed since the last that did not
}

// New returns the runs of some Configs, which differ from each other. No run is measured yet.
func New(rule Rule, configs []runs.Config) *Rounds {
	r := &Rounds{rule: rule, of: map[runs.Config]*cell{}}
	for _, c := range configs {
		one := &cell{config: c, runs: map[int]*runs.Run{}}
		r.cells = append(r.cells, one)
		r.of[c] = one
	}
	return r
}

// Note takes notice of a run that is there now or has failed, and of the seconds that it took with everything around it. Runs of other
// Configs are ignored.
func (r *Rounds) Note(run *runs.Run, seconds float64) {
	c := r.of[run.Config]
	switch {
	case c == nil:
	case run.Error == "":
		c.runs[run.Repetition] = run
		c.seconds = append(c.seconds, seconds)
		c.failures = 0
	default:
		if c.failures++; c.failures < attempts {
			r.queue = append(r.queue, c) // once more, at the end of the round
		}
	}
}

// Next returns the run that comes next: a Config and its repetition. Without one, everything is done that can be.
func (r *Rounds) Next() (config runs.Config, repetition int, ok bool) {
	for {
		for len(r.queue) > 0 {
			c := r.queue[0]
			r.queue = r.queue[1:]
			if r.needsRun(c, r.round) {
				return c.config, r.round, true
			}
		}
		if r.round == r.rule.Most {
			return runs.Config{}, 0, false
		}
		r.round++
		r.queue = r.order()
	}
}

// order returns the cells in the order of the round.
func (r *Rounds) order() []*cell {
	var groups [][]*cell // of cells that differ only in the program and the handicap
	place := map[runs.Config]int{}
	for _, c := range r.cells {
		common := c.config
		common.Program, common.Handicap = "", 0
		i, ok := place[common]
		if !ok {
			i = len(groups)
			place[common] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], c)
	}
	random := rand.New(rand.NewPCG(r.rule.Seed, uint64(r.round)))
	random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	for _, g := range groups {
		random.Shuffle(len(g), func(i, j int) { g[i], g[j] = g[j], g[i] })
	}
	return slices.Concat(groups...)
}

// needsRun reports whether a cell has to be measured in a round.
func (r *Rounds) needsRun(c *cell, round int) bool {
	return c.runs[round] == nil && c.failures < attempts && (round <= r.rule.Least || r.isUncertain(c, round))
}

// isUncertain reports whether a cell's runs before a round spread too much.
func (r *Rounds) isUncertain(c *cell, round int) bool {
	relative, ok := c.spread(round)
	return ok && relative > r.rule.Spread
}

// spread returns how wide the intervals of the decisive metrics are over the runs before a round: half the width as a part of the
// median, of the widest.
func (c *cell) spread(round int) (widest float64, ok bool) {
	for _, name := range decisive {
		metric, _ := runs.MetricNamed(name)
		var values []float64
		for repetition := 1; repetition < round; repetition++ {
			if run := c.runs[repetition]; run != nil {
				if v, ok := metric.Of(run); ok {
					values = append(values, v)
				}
			}
		}
		if len(values) > 0 {
			widest, ok = max(widest, statistics.IntervalOf(values).Relative()), true
		}
	}
	return widest, ok
}

// Spread returns how wide the intervals of a Config's rates are by now: half the width as a part of the median. It needs two runs.
func (r *Rounds) Spread(config *runs.Config) (relative float64, ok bool) {
	c := r.of[*config]
	if c == nil || len(c.runs) < 2 {
		return 0, false
	}
	return c.spread(r.rule.Most + 1)
}
