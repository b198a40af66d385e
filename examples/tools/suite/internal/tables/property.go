package tables

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// property is something that runs differ by: an axis of their Configs, or the machine or the commit.
type property struct {
	name, title string
	of          func(*runs.Run) string
}

// The properties that are no axes.
const (
	machineProperty = "machine"
	commitProperty  = "commit"
)

// properties lists the properties in the order in which tables show them.
func properties() []property {
	var list []property
	for _, a := range runs.Axes {
		list = append(list, property{a.Name, a.Title, func(r *runs.Run) string { return a.Of(&r.Config) }})
	}
	return append(list,
		property{machineProperty, "machine", func(r *runs.Run) string { return r.Machine.Name }},
		property{commitProperty, "commit", func(r *runs.Run) string { return r.Machine.Commit }})
}

// propertyNamed returns the property of a name, or an error that lists the names there are.
func propertyNamed(flag, name string) (property, error) {
	var known []string
	for _, p := range properties() {
		if p.name == name {
			return p, nil
		}
		known = append(known, p.name)
	}
	return property{}, cli.Usagef("%s: there is no axis %q: there are %s", flag, name, strings.Join(known, ", "))
}

// propertiesNamed returns the properties of a list of names with commas between; nil for "".
func propertiesNamed(flag, names string) (list []property, err error) {
	if names == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		p, err := propertyNamed(flag, name)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// metricsNamed returns the metrics of a list of names with commas between; of "all", all.
func metricsNamed(names string) ([]runs.Metric, error) {
	if names == "all" {
		return runs.Metrics, nil
	}
	var list []runs.Metric
	for name := range strings.SplitSeq(names, ",") {
		m, ok := runs.MetricNamed(strings.TrimSpace(name))
		if !ok {
			var known []string
			for _, m := range runs.Metrics {
				known = append(known, m.Name)
			}
			return nil, cli.Usagef("-metrics: there is no metric %q: there are %s", name, strings.Join(known, ", "))
		}
		list = append(list, m)
	}
	return list, nil
}

// valuesOf returns the values of a property, in order.
func valuesOf(p property, list []*runs.Run) []string {
	var values []string
	for _, r := range list {
		values = append(values, p.of(r))
	}
	slices.SortFunc(values, compareValues)
	return slices.Compact(values)
}

// compareValues orders values: numbers by size, before them the empty ones.
func compareValues(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	switch {
	case errX == nil && errY == nil && x != y:
		return cmp.Compare(x, y)
	case errX == nil && errY != nil:
		return 1
	case errX != nil && errY == nil:
		return -1
	}
	return strings.Compare(a, b)
}
