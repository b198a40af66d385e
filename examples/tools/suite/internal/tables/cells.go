package tables

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/tools/internal/compare"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// cell holds the runs that agree in some properties, the earliest first.
type cell struct {
	values []string // of those properties
	runs   []*runs.Run
	failed []*runs.Run // those with an Error
}

// cellsOf sorts runs into cells by some properties. The cells are in the order of their values.
func cellsOf(list []*runs.Run, by []property) []*cell {
	cells := map[string]*cell{}
	for _, r := range list {
		values := make([]string, len(by))
		for i, p := range by {
			values[i] = p.of(r)
		}
		key := strings.Join(values, "\x00")
		c := cells[key]
		if c == nil {
			c = &cell{values: values}
			cells[key] = c
		}
		if r.Error != "" {
			c.failed = append(c.failed, r)
		} else {
			c.runs = append(c.runs, r)
		}
	}
	var sorted []*cell
	for _, c := range cells {
		for _, list := range [][]*runs.Run{c.runs, c.failed} {
			slices.SortStableFunc(list, func(a, b *runs.Run) int { return a.Began.Compare(b.Began) })
		}
		sorted = append(sorted, c)
	}
	slices.SortFunc(sorted, func(a, b *cell) int { return slices.CompareFunc(a.values, b.values, compareValues) })
	return sorted
}

// differing returns the properties in which the runs differ, and a text of the values of those in which they agree and that are not usual.
func differing(list []*runs.Run, among []property) (differ []property, same string) {
	var parts []string
	for _, p := range among {
		values := valuesOf(p, list)
		switch {
		case len(values) > 1:
			differ = append(differ, p)
		case len(values) == 1 && values[0] != "" && values[0] != "0" && values[0] != "false":
			parts = append(parts, p.title+" "+printable(values[0]))
		}
	}
	return differ, strings.Join(parts, ", ")
}

// metric returns the values of a metric, and which runs have it.
func (c *cell) metric(m runs.Metric) (values []float64, of []*runs.Run) {
	for _, r := range c.runs {
		if x, ok := m.Of(r); ok {
			values, of = append(values, x), append(of, r)
		}
	}
	return values, of
}

// measured returns a metric of the runs that have it.
func (c *cell) measured(m runs.Metric) (list []compare.Measurement) {
	values, of := c.metric(m)
	for i, r := range of {
		list = append(list, compare.Measurement{Repetition: r.Repetition, Began: r.Began, Value: values[i]})
	}
	return list
}
