// Package tables sums up and compares what the suite measured: runs of one configuration become a cell, cells the rows of a table or the
// two sides of a comparison.
package tables

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/spread"
)

const summaryAbout = `
suite summary DIR prints a table of the runs in a folder: a row for each configuration with the medians of its repetitions, and how far
off they may be: 95 % intervals, or everything that was measured where there are fewer than six repetitions.

  go run ./examples/tools/suite summary results
  go run ./examples/tools/suite summary results -metrics generating,cache,accuracy -by policy,window -markdown
  go run ./examples/tools/suite summary results -ratio policy=none -where kv=f16

With -ratio each row is divided by the row that has this value and is the same in everything else.`

// usualMetrics are those that a summary shows unless it is told which.
const usualMetrics = "generating,reading,first,gap99,accuracy,resident,cache"

// summaryOptions are the command line's.
type summaryOptions struct {
	metrics  []runs.Metric
	by       []property // the columns of properties that come first
	ratio    selection  // one property with one value; nil: no ratios
	markdown bool
	csv      bool
}

// Summary is the subcommand that prints a table of what was measured.
func Summary(_ context.Context, args []string, stdout, _ io.Writer) error {
	var o summaryOptions
	var where, metrics, by, ratio string
	f := cli.NewFlags("suite summary", summaryAbout)
	f.Group("What to show", func() {
		f.StringVar(&where, "where", "", "`axis=value,…` that the runs have; an axis that is named twice has either value")
		f.StringVar(&metrics, "metrics", usualMetrics, "`names` of metrics with commas between, or all; those that no run has are left out")
		f.StringVar(&by, "by", "", "`axes` whose columns come first, and by which the rows are sorted, with commas between")
		f.StringVar(&ratio, "ratio", "", "`axis=value` of the rows that the others are divided by")
	})
	f.Group("Form", func() {
		f.BoolVar(&o.markdown, "markdown", false, "print a table in Markdown")
		f.BoolVar(&o.csv, "csv", false, "print comma-separated values, with all digits and all axes")
	})
	dirs, err := folders(f, args, stdout)
	if err != nil {
		return err
	}
	if len(dirs) != 1 {
		return cli.Usagef("name the folder of the runs: suite summary DIR")
	}
	if o.markdown && o.csv {
		return cli.Usagef("-markdown or -csv: a table has one form")
	}
	if o.metrics, err = metricsNamed(metrics); err != nil {
		return err
	}
	for name := range strings.SplitSeq(by, ",") {
		if by == "" {
			break
		}
		p, err := propertyNamed("-by", name)
		if err != nil {
			return err
		}
		o.by = append(o.by, p)
	}
	chosen, err := parseSelection("-where", where)
	if err != nil {
		return err
	}
	if ratio != "" {
		if o.ratio, err = parseSelection("-ratio", ratio); err != nil {
			return err
		}
		if len(o.ratio) != 1 {
			return cli.Usagef("-ratio %s: name one axis with one value", ratio)
		}
	}
	list, err := readRuns(dirs[0])
	if err != nil {
		return err
	}
	if err := chosen.check("-where", list); err != nil {
		return err
	}
	list = chosen.of(list)
	if err := o.ratio.check("-ratio", list); err != nil {
		return err
	}
	return summarise(list, &o).write(stdout, &o)
}

// readRuns returns the runs of a folder, of which there must be some.
func readRuns(dir string) ([]*runs.Run, error) {
	list, err := runs.Folder(dir).All()
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: there are no runs in it: suite -out %s makes some", dir, dir)
	}
	return list, err
}

// table is a summary.
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
	figures []spread.Interval
	ratios  []spread.Change // to the row that this one is divided by; nil: there are no ratios, or none for this row
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
			r.figures = append(r.figures, spread.Of(values))
		}
		switch base := t.base(c, cells, o.ratio); {
		case base == c:
			r.ratios = slices.Repeat([]spread.Change{{Ratio: 1, Low: 1, High: 1}}, len(t.metrics))
		case base != nil:
			for _, m := range t.metrics {
				r.ratios = append(r.ratios, spread.CompareAll([]spread.Sample{sampleOf(base, c, m)})[0])
			}
		}
		t.rows = append(t.rows, r)
		t.failed = append(t.failed, c.failed...)
	}
	return t
}

// base returns the cell that another is divided by: the same in all but the property of the ratio. Where a policy is divided by another
// that has no such cell, the window and the protected tokens, which belong to the policy, may differ too. It is nil if there is none.
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

// write prints the table.
func (t *table) write(w io.Writer, o *summaryOptions) error {
	if o.csv {
		return t.writeCSV(w, o)
	}
	head := []string{}
	for _, p := range t.columns {
		head = append(head, p.title)
	}
	head = append(head, "runs")
	for _, m := range t.metrics {
		head = append(head, strings.TrimSpace(m.Title+" "+m.Unit))
		if o.ratio != nil {
			head = append(head, "ratio")
		}
	}
	lines := [][]string{head}
	for _, r := range t.rows {
		line := quotedEmpty(r.values)
		line = append(line, strconv.Itoa(len(r.runs)))
		for i := range t.metrics {
			line = append(line, figure(r.figures[i]))
			if o.ratio != nil {
				line = append(line, r.ratio(i))
			}
		}
		lines = append(lines, line)
	}
	var b strings.Builder
	prose := func(text string) string { return text }
	if o.markdown {
		prose = escapeMarkdown
	}
	if t.same != "" {
		fmt.Fprintf(&b, "All: %s.\n\n", prose(t.same))
	}
	if o.markdown {
		writeMarkdown(&b, lines, len(t.columns))
	} else {
		aligned := cli.Table{Left: len(t.columns)}
		for _, line := range lines {
			aligned.Row(line...)
		}
		if _, err := aligned.WriteTo(&b); err != nil {
			return err
		}
	}
	fmt.Fprintf(&b, "\nMedians, and how far from them their 95 %% intervals reach; of fewer than six runs, all of them.")
	if o.ratio != nil {
		fmt.Fprintf(&b, " Ratios with their intervals.")
	}
	fmt.Fprint(&b, "\n")
	for _, line := range machines(t.all) {
		fmt.Fprintf(&b, "Measured on %s.\n", prose(line))
	}
	if len(t.failed) > 0 {
		fmt.Fprintf(&b, "\n%d failed:\n", len(t.failed))
		for _, r := range t.failed {
			fmt.Fprintf(&b, "- %s: %s\n", prose(describe(r, t.columns)), prose(printable(r.Error)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// quotedEmpty returns the values for a table, in which an empty one is a dash.
func quotedEmpty(values []string) []string {
	list := make([]string, len(values))
	for i, v := range values {
		if list[i] = printable(v); list[i] == "" {
			list[i] = "–"
		}
	}
	return list
}

// describe names a run by its properties.
func describe(r *runs.Run, by []property) string {
	var parts []string
	for _, p := range by {
		if v := p.of(r); v != "" {
			parts = append(parts, p.title+" "+printable(v))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("repetition %d", r.Repetition)), ", ")
}

// ratio writes the ratio of a metric with its interval.
func (r *row) ratio(metric int) string {
	if r.ratios == nil || r.ratios[metric].Ratio == 0 {
		return ""
	}
	c := r.ratios[metric]
	if c.Low == c.High {
		return fmt.Sprintf("%.2f", c.Ratio)
	}
	return fmt.Sprintf("%.2f (%.2f–%.2f)", c.Ratio, c.Low, c.High)
}

// figure writes a median and how far off it may be, with three digits or more.
func figure(i spread.Interval) string {
	if i.N == 0 {
		return ""
	}
	decimals := decimalsOf(i.Median)
	text := strconv.FormatFloat(i.Median, 'f', decimals, 64)
	switch off := max(i.High-i.Median, i.Median-i.Low); {
	case off > math.Abs(i.Median)/2: // a ± would reach below 0
		text += fmt.Sprintf(" (%.*f–%.*f)", decimals, i.Low, decimals, i.High)
	case off > 0:
		text += " ±" + strconv.FormatFloat(off, 'f', decimals, 64)
	}
	return text
}

// decimalsOf returns how many decimals a number is written with.
func decimalsOf(x float64) int {
	switch x = math.Abs(x); {
	case x == math.Trunc(x) && x < 1e6, x >= 99.95:
		return 0
	case x >= 9.995:
		return 1
	case x >= 0.0995:
		return 2
	}
	return 4
}

// escapeMarkdown returns a text that stands in Markdown, and in a cell of a table, as it is.
func escapeMarkdown(text string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "\\`", "*", `\*`, "[", `\[`).Replace(text)
}

// plainField returns a text as a field of CSV that no spreadsheet takes for a formula, and that no terminal obeys.
func plainField(text string) string {
	text = cli.Printable(text)
	if _, err := strconv.ParseFloat(text, 64); err != nil && strings.ContainsAny(text[:min(len(text), 1)], "=+-@\t\n") {
		return "'" + text
	}
	return text
}

// writeMarkdown writes a table whose leading columns are aligned to the left.
func writeMarkdown(b *strings.Builder, lines [][]string, left int) {
	for n, line := range lines {
		for _, text := range line {
			fmt.Fprintf(b, "| %s ", escapeMarkdown(text))
		}
		fmt.Fprintln(b, "|")
		if n > 0 {
			continue
		}
		for i := range line {
			if i < left {
				fmt.Fprint(b, "|---")
			} else {
				fmt.Fprint(b, "|--:")
			}
		}
		fmt.Fprintln(b, "|")
	}
}

// writeCSV prints the table with all digits. Where there is no number, a field is empty.
func (t *table) writeCSV(w io.Writer, o *summaryOptions) error {
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	var head []string
	for _, p := range t.columns {
		head = append(head, p.name)
	}
	head = append(head, "runs", "failed")
	for _, m := range t.metrics {
		head = append(head, m.Name, m.Name+"_low", m.Name+"_high")
		if o.ratio != nil {
			head = append(head, m.Name+"_ratio", m.Name+"_ratio_low", m.Name+"_ratio_high")
		}
	}
	c := csv.NewWriter(w)
	c.UseCRLF = true // as RFC 4180 has it
	lines := [][]string{head}
	for _, r := range t.rows {
		var line []string
		for _, v := range r.values {
			line = append(line, plainField(v))
		}
		line = append(line, strconv.Itoa(len(r.runs)), strconv.Itoa(len(r.failed)))
		for i, f := range r.figures {
			three := []string{"", "", ""}
			if f.N > 0 {
				three = []string{number(f.Median), number(f.Low), number(f.High)}
			}
			line = append(line, three...)
			if o.ratio == nil {
				continue
			}
			three = []string{"", "", ""}
			if r.ratios != nil && r.ratios[i].Ratio != 0 {
				three = []string{number(r.ratios[i].Ratio), number(r.ratios[i].Low), number(r.ratios[i].High)}
			}
			line = append(line, three...)
		}
		lines = append(lines, line)
	}
	return c.WriteAll(lines)
}

// machines returns a line for each machine and commit that runs are of.
func machines(list []*runs.Run) []string {
	var lines []string
	for _, r := range list {
		m := &r.Machine
		var parts []string
		for _, s := range []string{m.Name, m.Processor, m.Kernels, m.Device, m.OS} {
			if s = printable(s); s != "" {
				parts = append(parts, s)
			}
		}
		if m.Processors > 0 {
			parts = append(parts, fmt.Sprintf("%d processors", m.Processors))
		}
		if m.Commit != "" {
			parts = append(parts, "commit "+shortCommit(m.Commit))
		}
		if line := strings.Join(parts, ", "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// shortCommit returns a commit as people write it; the + of one with changes stays.
func shortCommit(commit string) string {
	const letters = 12
	name, changed := strings.CutSuffix(printable(commit), "+")
	if len(name) > letters {
		name = name[:letters]
	}
	if changed {
		name += "+"
	}
	return name
}
