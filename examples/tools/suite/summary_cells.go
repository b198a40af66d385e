package main

import (
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// property is something that runs differ by: an axis of their Configs, or where and of which commit they ran.
type property struct {
	name, title string
	of          func(*runs.Run) string
}

// The properties that are no axes.
const (
	machineProperty = "machine"
	commitProperty  = "commit"
)

// properties lists the properties in the order in which tables show them. Together they hold everything in which Configs may differ.
func properties() []property {
	var list []property
	for _, a := range runs.Axes {
		list = append(list, property{a.Name, a.Title, func(r *runs.Run) string { return a.Of(&r.Config) }})
	}
	for _, p := range []property{
		{"asked", "asked", func(r *runs.Run) string { return strconv.Itoa(r.Config.Asked) }},
		{"profile", "profile", func(r *runs.Run) string { return strconv.FormatBool(r.Config.Profile) }},
		{machineProperty, "machine", func(r *runs.Run) string { return r.Machine.Name }},
		{commitProperty, "commit", func(r *runs.Run) string { return r.Machine.Commit }},
	} {
		if !slices.ContainsFunc(list, func(q property) bool { return q.name == p.name }) {
			list = append(list, p)
		}
	}
	return list
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

// selection chooses runs: of each of its properties, by name, a run has one of the values.
type selection map[string][]string

// parseSelection reads axis=value,axis=value. An axis that is named twice has either value. A value may hold commas, since what follows
// them is no axis.
func parseSelection(flag, text string) (selection, error) {
	s := selection{}
	last := ""
	for part := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case ok:
			if _, err := propertyNamed(flag, name); err != nil {
				return nil, err
			}
			last = name
			s[name] = append(s[name], value)
		case last != "":
			values := s[last]
			values[len(values)-1] += "," + part
		case text != "":
			return nil, cli.Usagef("%s %s: it must be axis=value, or several with commas between", flag, text)
		}
	}
	return s, nil
}

// of returns the runs that are chosen.
func (s selection) of(list []*runs.Run) []*runs.Run {
	chosen := slices.Clone(list)
	for _, p := range properties() {
		values, ok := s[p.name]
		if !ok {
			continue
		}
		chosen = slices.DeleteFunc(chosen, func(r *runs.Run) bool {
			return !slices.ContainsFunc(values, func(v string) bool {
				have := p.of(r)
				return have == v || p.name == commitProperty && v != "" && strings.HasPrefix(have, v) // commits are written short
			})
		})
	}
	return chosen
}

// check returns an error if no run of a list is chosen: it tells the values that there are.
func (s selection) check(flag string, list []*runs.Run) error {
	if len(list) == 0 || len(s.of(list)) > 0 {
		return nil
	}
	for _, p := range properties() {
		if values, ok := s[p.name]; ok && len(selection{p.name: values}.of(list)) == 0 {
			return cli.Usagef("%s: no run has %s=%s: there are %s", flag, p.name, strings.Join(values, " or "), strings.Join(quoted(valuesOf(p, list)), ", "))
		}
	}
	return cli.Usagef("%s: no run has all of these values at once", flag)
}

// quoted returns the values for a message, in which an empty one can be seen.
func quoted(values []string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		if list[i] = printable(v); v == "" {
			list[i] = `""`
		}
	}
	return list
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

// compareValues orders values: numbers by size, and before them what is none.
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

// printable returns a text for a line of a table: a file may hold anything.
func printable(text string) string {
	const most = 300 // characters
	text = strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)), " ")
	if letters := []rune(text); len(letters) > most {
		text = string(letters[:most]) + "…"
	}
	return text
}

// folders parses flags and the names of folders, which may stand before, between and after them.
func folders(f *cli.Flags, args []string, stdout io.Writer) ([]string, error) {
	var list []string
	for {
		if err := f.FlagSet.Parse(args); err != nil {
			return nil, f.Parse(args, stdout) // the same error in the words of all programs, or the help
		}
		if f.NArg() == 0 {
			return list, nil
		}
		list = append(list, f.Arg(0))
		args = f.Args()[1:]
	}
}
