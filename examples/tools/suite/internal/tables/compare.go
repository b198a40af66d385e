package tables

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/compare"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Runs are sorted into cells of equal values in all properties that are not compared, and each cell before is paired with the cell after
// that has the same values. Every metric of every pair is a comparison; all comparisons are judged together (statistics.CompareAll). For
// example, with -a program=base -b program=new:
//
//	before                after
//	pebble q8_0, 6 runs   pebble q8_0, 6 runs     a pair: a comparison for each metric
//	pebble f16, 6 runs    pebble f16, all fail    Broken
//	flint q8_0, 6 runs                            OnlyA
//	                      flint f16, 6 runs       OnlyB
//
// If there are two pairs or more, a further comparison is about the mean over all of them, for each metric with a unit.

const compareAbout = `
suite compare says what differs between two sets of runs beyond noise: two folders, or two selections within one.

  go run ./examples/tools/suite compare results-before results-after
  go run ./examples/tools/suite compare results -a program=base -b program=new
  go run ./examples/tools/suite compare results -a commit=1f3c -b commit=77ab -where model=pebble

Runs are compared with those that are the same in all axes that -a and -b do not name. What is called a change is one that would arise by
chance, anywhere in the whole comparison, in fewer than one of a hundred cases in which nothing changed. At least five repetitions of each
are needed to tell, and six where hundreds of figures are compared. Sharpest are two programs that were measured in turn (suite -programs
base=…,new=…): what the machine's clock does meanwhile is then taken out. A folder that was measured later was measured on another clock,
which the runs' yardsticks tell, a fixed piece of work: times must differ by that much more.

The exit status is 0 if nothing became worse, 1 if something did, and 2 if there is nothing to compare.`

// compareOptions are the command line's.
type compareOptions struct {
	metrics   []runs.Metric
	a, b      selection
	threshold float64
	json      bool
}

// Compare prints what differs between two sets of runs.
func Compare(_ context.Context, args []string, stdout, _ io.Writer) error {
	var o compareOptions
	var a, b, where, metrics string
	f := cli.NewFlags("suite compare", compareAbout)
	f.Group("What to compare", func() {
		f.StringVar(&a, "a", "", "`axis=value,…` of the runs before")
		f.StringVar(&b, "b", "", "`axis=value,…` of the runs after")
		f.StringVar(&where, "where", "", "`axis=value,…` that the runs of both sides have; an axis that is named twice has either value")
		f.StringVar(&metrics, "metrics", "all", "`names` of metrics with commas between, or all")
		f.Float64Var(&o.threshold, "threshold", compare.Threshold, "the least `part` by which something must change to be worth telling")
	})
	f.Group("Form", func() { f.BoolVar(&o.json, "json", false, "print one JSON object") })
	dirs, err := f.ParseMixed(args, stdout)
	if err != nil {
		return err
	}
	if o.metrics, err = metricsNamed(metrics); err != nil {
		return err
	}
	if !(o.threshold >= 0 && o.threshold < 1) {
		return cli.Usagef("-threshold %v: it must be 0 or more, and below 1", o.threshold)
	}
	if o.a, err = parseSelection("-a", a); err != nil {
		return err
	}
	if o.b, err = parseSelection("-b", b); err != nil {
		return err
	}
	both, err := parseSelection("-where", where)
	if err != nil {
		return err
	}
	switch {
	case len(dirs) == 0 || len(dirs) > 2:
		return cli.Usagef("name two folders of runs, or one with -a and -b: suite compare A B")
	case len(dirs) == 1 && (a == "" || b == "" || a == b):
		return cli.Usagef("to compare within one folder, choose with -a and -b: for instance -a program=base -b program=new")
	}
	var ab [2]side
	for i, choice := range []selection{o.a, o.b} {
		if ab[i], err = readSide(dirs[min(i, len(dirs)-1)], []string{"-a", "-b"}[i], []string{a, b}[i], choice, both); err != nil {
			return &nothingToCompare{err}
		}
	}
	report := compareSides(&ab[0], &ab[1], &o)
	if o.json {
		err = cli.PrintJSON(stdout, report)
	} else {
		err = report.write(stdout)
	}
	if err != nil {
		return err
	}
	return report.verdict()
}

// nothingToCompare is an error after which nothing was compared: its exit status is not that of something that became worse.
type nothingToCompare struct{ error }

func (e *nothingToCompare) Unwrap() error { return e.error }

// ExitStatus is for cli.Exit.
func (e *nothingToCompare) ExitStatus() int { return 2 }

// side is one of the two sets of runs.
type side struct {
	Name     string   `json:"name"`
	Runs     int      `json:"runs"`
	Failed   int      `json:"failed"`
	Machines []string `json:"machines"` // with their commits
	list     []*runs.Run
}

// readSide reads a set of runs.
func readSide(dir, flag, choice string, chosen, both selection) (side, error) {
	list, err := readRuns(dir)
	if err != nil {
		return side{}, err
	}
	if err := both.check("-where", list); err != nil {
		return side{}, err
	}
	list = both.of(list)
	if err := chosen.check(flag, list); err != nil {
		return side{}, err
	}
	s := side{Name: strings.TrimSpace(dir + " " + choice), list: chosen.of(list)}
	s.Runs, s.Machines = len(s.list), machines(s.list)
	for _, r := range s.list {
		if r.Error != "" {
			s.Failed++
		}
	}
	return s, nil
}

// comparison is one metric in one cell.
type comparison struct {
	Cell    map[string]string `json:"cell"` // by axis; nil: all cells together
	Metric  string            `json:"metric"`
	Verdict string            `json:"verdict"` // better, worse, or "": it may be noise
	statistics.Change
	metric runs.Metric
	title  string // of the cell
}

// The verdicts.
const (
	better = "better"
	worse  = "worse"
)

// size is how much changed, to sort by.
func (c *comparison) size() float64 {
	if c.Ratio == 0 {
		return math.Inf(1) // from or to 0
	}
	return math.Abs(math.Log(c.Ratio))
}

// comparable returns the properties by which cells of the two sides belong together: all but those that -a and -b choose by, and but the
// machine and the commit, which may differ and are shown.
func (o *compareOptions) comparable() []property {
	return slices.DeleteFunc(properties(), func(p property) bool {
		_, inA := o.a[p.name]
		_, inB := o.b[p.name]
		return inA || inB || p.name == machineProperty || p.name == commitProperty
	})
}

// differingProperty names the properties for which two lists of runs share no value.
func differingProperty(a, b []*runs.Run, by []property) string {
	var names []string
	for _, p := range by {
		values := valuesOf(p, b)
		if !slices.ContainsFunc(valuesOf(p, a), func(v string) bool { return slices.Contains(values, v) }) {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, ", ")
}

// compareSides compares all that both sides have.
func compareSides(a, b *side, o *compareOptions) *report {
	r := &report{A: *a, B: *b, Threshold: o.threshold, Changes: []*comparison{}, Warnings: warnings(a, b)}
	differ, same := differing(slices.Concat(a.list, b.list), o.comparable())
	r.same, r.apart = same, differingProperty(a.list, b.list, differ)
	pairs := r.match(cellsOf(a.list, differ), cellsOf(b.list, differ), differ)
	var samples []statistics.Sample
	r.list, samples = comparisons(pairs, differ, clockRatio(a.list, b.list), o)
	r.Cells, r.Compared = len(pairs), len(r.list)
	for i, change := range statistics.CompareAll(samples) {
		c := r.list[i]
		if c.Change = change; c.Certain {
			if c.Verdict = worse; c.Increased() == (c.metric.Better > 0) {
				c.Verdict = better
			}
			r.Changes = append(r.Changes, c)
		}
	}
	slices.SortStableFunc(r.Changes, func(x, y *comparison) int { return cmp.Compare(y.size(), x.size()) })
	r.untold()
	return r
}

// match returns the pairs of cells that have the same values, and reports cells that are on one side only, or fail on the second.
func (r *report) match(before, after []*cell, by []property) (pairs [][2]*cell) {
	for _, x := range before {
		i := slices.IndexFunc(after, func(y *cell) bool { return slices.Equal(x.values, y.values) })
		switch {
		case i < 0:
			r.OnlyA = append(r.OnlyA, title(x.values, by))
		case len(x.runs) > 0 && len(after[i].runs) == 0:
			r.Broken = append(r.Broken, title(x.values, by)+": "+printable(after[i].failed[0].Error))
		default:
			pairs = append(pairs, [2]*cell{x, after[i]})
		}
	}
	for _, y := range after {
		if !slices.ContainsFunc(before, func(x *cell) bool { return slices.Equal(x.values, y.values) }) {
			r.OnlyB = append(r.OnlyB, title(y.values, by))
		}
	}
	return pairs
}

// comparisons lists the comparisons, each with its sample: every metric in each pair of cells, and over all of them together. whole is how
// many times as long the yardstick took in all runs after as in all runs before.
func comparisons(pairs [][2]*cell, by []property, whole float64, o *compareOptions) (list []*comparison, samples []statistics.Sample) {
	for _, m := range o.metrics {
		for _, p := range pairs {
			s := sampleOf(p[0], p[1], m)
			if len(s.Before) == 0 && len(s.After) == 0 {
				continue
			}
			c := &comparison{Cell: map[string]string{}, Metric: m.Name, metric: m, title: title(p[0].values, by)}
			for i, axis := range by {
				c.Cell[axis.name] = p[0].values[i]
			}
			s.Least = compare.LeastChange(m, o.threshold, clockRatio(p[0].runs, p[1].runs))
			samples, list = append(samples, s), append(list, c)
		}
		if s, ok := together(pairs, m); ok {
			s.Least = compare.LeastChange(m, o.threshold, whole)
			samples, list = append(samples, s), append(list, &comparison{Metric: m.Name, metric: m, title: fmt.Sprintf("all %d cells together", len(pairs))})
		}
	}
	return list, samples
}

// sampleOf returns what two cells' runs have of a metric.
func sampleOf(a, b *cell, m runs.Metric) statistics.Sample {
	return compare.Sample(m, a.measured(m), b.measured(m))
}

// together returns, for each repetition that all cells have, the geometric mean of a metric over the cells: what changed a little
// everywhere is seen there. Only metrics with noise are summed up so, and only of two cells or more. The means are in pairs if those of all
// cells are.
func together(pairs [][2]*cell, m runs.Metric) (statistics.Sample, bool) {
	if len(pairs) < 2 || m.Unit == "" {
		return statistics.Sample{}, false
	}
	s := statistics.Sample{Kind: m.Name + ", all cells", Paired: true}
	var means [2]map[int]float64 // by repetition
	for side := range means {
		sums, counts := map[int]float64{}, map[int]int{}
		for _, p := range pairs {
			list, of := p[side].metric(m)
			for i, x := range list {
				sums[of[i].Repetition] += math.Log(x) / float64(len(pairs))
				counts[of[i].Repetition]++
			}
		}
		maps.DeleteFunc(sums, func(repetition int, _ float64) bool { return counts[repetition] != len(pairs) })
		means[side] = sums
	}
	for _, p := range pairs {
		s.Paired = s.Paired && sampleOf(p[0], p[1], m).Paired
	}
	for side, values := range []*[]float64{&s.Before, &s.After} {
		for _, repetition := range slices.Sorted(maps.Keys(means[side])) {
			if _, both := means[1-side][repetition]; both || !s.Paired {
				*values = append(*values, math.Exp(means[side][repetition]))
			}
		}
	}
	return s, len(s.Before) > 0 && len(s.After) > 0
}

// clockRatio returns how many times as long the yardstick took in the runs b as in the runs a.
func clockRatio(a, b []*runs.Run) float64 {
	yardsticks := func(list []*runs.Run) (all []float64) {
		for _, r := range list {
			all = append(all, r.Yardsticks[:]...)
		}
		return all
	}
	return compare.ClockRatio(yardsticks(a), yardsticks(b))
}
