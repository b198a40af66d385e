package tables

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
)

// A report sorts the comparisons by how sure they are, and says in words why the two sides may be hard to compare. The exit status follows
// from it. For example, tokens a second, with the ratio of after to before and its interval:
//
//	ratio   interval       certain   listed in
//	0.90    0.88 … 0.92    yes       Changes, as worse: exit status 1
//	0.97    0.88 … 1.05    no        Unsure: it may be 12 % worse, and 10 % must be ruled out
//	1.01    0.98 … 1.03    no        no list: it is counted in Compared alone
//	0.80    3 runs each    no        counted in Few: 5 against 5 are needed

// report is what came of a comparison.
type report struct {
	A         side          `json:"a"`
	B         side          `json:"b"`
	Threshold float64       `json:"threshold"`
	Warnings  []string      `json:"warnings,omitempty"`
	Cells     int           `json:"cells"`    // that both sides have
	Compared  int           `json:"compared"` // metrics of cells
	Changes   []*comparison `json:"changes"`  // beyond noise, the largest first
	Broken    []string      `json:"broken,omitempty"`
	OnlyA     []string      `json:"only_a,omitempty"`
	OnlyB     []string      `json:"only_b,omitempty"`
	Few       int           `json:"few"` // comparisons of too few repetitions
	FewText   string        `json:"few_text,omitempty"`
	Unsure    []*comparison `json:"unsure,omitempty"` // that may hide a change for the worse of a tenth or more

	list  []*comparison
	same  string
	apart string // the axes for which the two sides share no value
}

// hidden is the change for the worse that a comparison must rule out to be sure that nothing happened.
const hidden = 0.1

// untold sums up the comparisons without a verdict.
func (r *report) untold() {
	fewest := [2]int{math.MaxInt, math.MaxInt}
	for _, c := range r.list {
		switch {
		case c.Few:
			r.Few++
			fewest = [2]int{min(fewest[0], c.Before.N), min(fewest[1], c.After.N)}
		case !c.Certain && !c.Exact && c.Ratio > 0 && c.worst() > hidden:
			r.Unsure = append(r.Unsure, c)
		}
	}
	if r.Few > 0 {
		r.FewText = fmt.Sprintf("%d of %d comparisons have too few repetitions to tell (%d against %d): at least 5 against 5 are needed, and 10 see a change of a tenth nearly always",
			r.Few, r.Compared, fewest[0], fewest[1])
	}
	slices.SortStableFunc(r.Unsure, func(x, y *comparison) int { return cmp.Compare(y.worst(), x.worst()) })
}

// worst returns by which part the metric may have become worse, by the interval.
func (c *comparison) worst() float64 {
	if c.metric.Better > 0 {
		return 1 - c.Low
	}
	return c.High - 1
}

// worse counts what became worse.
func (r *report) worse() int {
	n := len(r.Broken)
	for _, c := range r.Changes {
		if c.Verdict == worse {
			n++
		}
	}
	return n
}

// verdict returns an error if something became worse, or if nothing could be compared.
func (r *report) verdict() error {
	switch n := r.worse(); {
	case n > 0:
		return fmt.Errorf("%d of %d comparisons are worse beyond noise", n, r.Compared+len(r.Broken))
	case r.Cells == 0:
		return &nothingToCompare{fmt.Errorf("no cell is on both sides: they differ in %s; name in -a and in -b what is to be compared, "+
			"as in -a policy=none -b policy=h2o,window=128", cmp.Or(r.apart, "several axes"))}
	case r.Compared == r.Few:
		return &nothingToCompare{fmt.Errorf("nothing could be told from noise")}
	}
	return nil
}

// warnings says what makes the two sides hard to compare.
func warnings(a, b *side) []string {
	var list []string
	for _, p := range []struct {
		title string
		of    func(*runs.Machine) string
	}{
		{"machine", func(m *runs.Machine) string { return m.Name }},
		{"processor", func(m *runs.Machine) string { return m.Processor }},
		{"number of processors", func(m *runs.Machine) string { return fmt.Sprint(m.Processors) }},
		{"kernels", func(m *runs.Machine) string { return m.Kernels }},
		{"device", func(m *runs.Machine) string { return m.Device }},
		{"governor", func(m *runs.Machine) string { return m.Governor }},
		{"system", func(m *runs.Machine) string { return strings.TrimSpace(m.OS + " " + m.Kernel) }},
	} {
		of := property{p.title, p.title, func(r *runs.Run) string { return p.of(&r.Machine) }}
		x, y := valuesOf(of, a.list), valuesOf(of, b.list)
		if !slices.Equal(x, y) {
			list = append(list, fmt.Sprintf("THE %s DIFFERS: %s before, %s after", strings.ToUpper(p.title), strings.Join(quoted(x), ", "), strings.Join(quoted(y), ", ")))
		}
	}
	commit, _ := propertyNamed("", commitProperty)
	for i, s := range []*side{a, b} {
		if values := valuesOf(commit, s.list); len(values) > 1 {
			list = append(list, fmt.Sprintf("the runs %s are of %d commits", []string{"before", "after"}[i], len(values)))
		}
	}
	if c := clockRatio(a.list, b.list); math.Abs(math.Log(c)) > math.Log(1.05) {
		than := "more"
		if c < 1 {
			than = "less"
		}
		list = append(list, fmt.Sprintf("THE MACHINE'S CLOCK WAS DIFFERENT: a fixed piece of work took %.1f %% %s time after. "+
			"Times must differ by that much more to be told; a quieter machine helps, and measuring both in turn, with -programs", 100*math.Abs(c-1), than))
	}
	return list
}

// write prints the report.
func (r *report) write(w io.Writer) error {
	var b strings.Builder
	for i, s := range []side{r.A, r.B} {
		fmt.Fprintf(&b, "%s  %s: %d runs", []string{"before", "after "}[i], printable(s.Name), s.Runs)
		if s.Failed > 0 {
			fmt.Fprintf(&b, ", %d of which failed", s.Failed)
		}
		fmt.Fprintln(&b)
		for _, m := range s.Machines {
			fmt.Fprintf(&b, "        %s\n", m)
		}
	}
	if r.same != "" {
		fmt.Fprintf(&b, "all     %s\n", r.same)
	}
	for _, text := range r.Warnings {
		fmt.Fprintf(&b, "\n! %s.\n", text)
	}
	if len(r.Broken) > 0 {
		fmt.Fprintf(&b, "\nWorked before, and every run fails after:\n- %s\n", strings.Join(r.Broken, "\n- "))
	}
	if len(r.Changes) == 0 {
		fmt.Fprintf(&b, "\nNothing changed beyond noise, in %d comparisons (cells: %d).\n", r.Compared, r.Cells)
	} else {
		fmt.Fprintf(&b, "\nChanged beyond noise, %d of %d comparisons:\n\n", len(r.Changes), r.Compared)
		if err := writeComparisons(&b, r.Changes); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(r.Changes, func(c *comparison) bool { return c.Exact }) {
		fmt.Fprint(&b, "\nexact: all repetitions gave one value before and one after. There is no noise in it: this is a change.\n")
	}
	if r.FewText != "" {
		fmt.Fprintf(&b, "\n%s.\n", r.FewText)
	}
	if len(r.Unsure) > 0 {
		const most = 5
		fmt.Fprintf(&b, "\nNot told from noise, but %d may hide a change for the worse of more than %.0f %%; more repetitions would tell:\n\n", len(r.Unsure), 100*hidden)
		if err := writeComparisons(&b, r.Unsure[:min(most, len(r.Unsure))]); err != nil {
			return err
		}
		if more := len(r.Unsure) - most; more > 0 {
			fmt.Fprintf(&b, "and %d more\n", more)
		}
	}
	for _, missing := range []struct {
		side string
		list []string
	}{{"before", r.OnlyA}, {"after", r.OnlyB}} {
		if len(missing.list) > 0 {
			fmt.Fprintf(&b, "\nOnly %s:\n- %s\n", missing.side, strings.Join(missing.list, "\n- "))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeComparisons prints a table of comparisons.
func writeComparisons(w io.Writer, list []*comparison) error {
	t := cli.Table{Left: 2}
	t.Row("", "metric", "before", "after", "change", "95 % interval", "")
	for _, c := range list {
		interval := ""
		switch {
		case c.Exact:
			interval = "exact"
		case c.Ratio > 0:
			interval = percent(c.Low) + " … " + percent(c.High)
		}
		change := ""
		if c.Ratio > 0 {
			change = percent(c.Ratio)
		}
		t.Row(c.title, strings.TrimSpace(c.metric.Title+" "+c.metric.Unit), figure(c.Before), figure(c.After), change, interval, c.Verdict)
	}
	_, err := t.WriteTo(w)
	return err
}
