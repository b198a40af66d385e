package tables

import (
	"slices"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// table is what a summary prints: a row for each cell, with a figure for each metric.
type table struct {
	columns []property
	same    string // what all rows have in common
	metrics []runs.Metric
	rows    []row
	failed  []*runs.Run
	all     []*runs.Run
}

// row is a cell with its figures, one for each of the table's metrics.
type row struct {
	*cell
	figures []statistics.Interval
	ratios  []statistics.Change // to the row that this one is divided by; nil: there are no ratios, or this row has no ratio
}

// summarise makes the table.
func summarise(list []*runs.Run, o *summaryOptions) *table {
	order := slices.Clone(o.by)
	for _, p := range properties() {
		if !slices.ContainsFunc(order, func(q property) bool { return q.name == p.name }) {
			order = append(order, p)
		}
	}
	t := &table{all: list}
	if o.csv {
		t.columns = order
	} else {
		t.columns, t.same = differing(list, order)
	}
	cells := cellsOf(list, t.columns)
	for _, m := range o.metrics {
		if slices.ContainsFunc(cells, func(c *cell) bool { values, _ := c.metric(m); return len(values) > 0 }) {
			t.metrics = append(t.metrics, m)
		}
	}
	for _, c := range cells {
		r := row{cell: c}
		for _, m := range t.metrics {
			values, _ := c.metric(m)
			r.figures = append(r.figures, statistics.IntervalOf(values))
		}
		switch base := t.base(c, cells, o.ratio); {
		case base == c:
			r.ratios = slices.Repeat([]statistics.Change{{Ratio: 1, Low: 1, High: 1}}, len(t.metrics))
		case base != nil:
			for _, m := range t.metrics {
				r.ratios = append(r.ratios, statistics.CompareAll([]statistics.Sample{sampleOf(base, c, m)})[0])
			}
		}
		t.rows = append(t.rows, r)
		t.failed = append(t.failed, c.failed...)
	}
	return t
}

// base returns the cell that another is divided by: the same in all but the property of the ratio. If policies are divided and there is no
// such cell, the window and the protected tokens, which belong to the policy, may differ too. base returns nil if no cell fits.
func (t *table) base(c *cell, cells []*cell, ratio selection) *cell {
	if len(ratio) == 0 {
		return nil
	}
	free := []string{}
	for range 2 {
		for _, other := range cells {
			matches := len(ratio.of(slices.Concat(other.runs, other.failed))) > 0
			for i, p := range t.columns {
				_, divided := ratio[p.name]
				matches = matches && (divided || slices.Contains(free, p.name) || other.values[i] == c.values[i])
			}
			if matches {
				return other
			}
		}
		if _, policies := ratio["policy"]; policies {
			free = []string{"window", "protected"}
		}
	}
	return nil
}
