package tables

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// write prints the table.
func (t *table) write(w io.Writer, o *summaryOptions) error {
	if o.csv {
		return t.writeCSV(w, o)
	}
	var b strings.Builder
	prose := func(text string) string { return text }
	if o.markdown {
		prose = escapeMarkdown
	}
	if t.same != "" {
		fmt.Fprintf(&b, "All: %s.\n\n", prose(t.same))
	}
	lines := t.lines(o.ratio != nil)
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

// lines returns the table's head and rows as texts.
func (t *table) lines(ratios bool) [][]string {
	head := []string{}
	for _, p := range t.columns {
		head = append(head, p.title)
	}
	head = append(head, "runs")
	for _, m := range t.metrics {
		head = append(head, strings.TrimSpace(m.Title+" "+m.Unit))
		if ratios {
			head = append(head, "ratio")
		}
	}
	lines := [][]string{head}
	for _, r := range t.rows {
		line := quotedEmpty(r.values)
		line = append(line, strconv.Itoa(len(r.runs)))
		for i := range t.metrics {
			line = append(line, figure(r.figures[i]))
			if ratios {
				line = append(line, r.ratio(i))
			}
		}
		lines = append(lines, line)
	}
	return lines
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

// writeMarkdown writes a table with its left leading columns aligned to the left.
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

// writeCSV prints the table with all digits. A missing number is an empty field.
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
