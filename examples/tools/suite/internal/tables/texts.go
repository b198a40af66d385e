package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/antigravity-go/antigravity/examples/tools/internal/runs"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

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

// percent writes a ratio as the difference from 1 in percent.
func percent(ratio float64) string { return fmt.Sprintf("%+.1f %%", 100*(ratio-1)) }

// title names a cell by its values.
func title(values []string, of []property) string {
	if len(of) == 0 {
		return "all"
	}
	var parts []string
	for i, p := range of {
		if v := printable(values[i]); v != "" && v != "0" && v != "false" {
			parts = append(parts, p.title+" "+v)
		}
	}
	if len(parts) == 0 {
		return of[0].title + " " + quoted(values[:1])[0]
	}
	return strings.Join(parts, ", ")
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
func figure(i statistics.Interval) string {
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
			parts = append(parts, "commit "+printable(runs.ShortCommit(m.Commit)))
		}
		if line := strings.Join(parts, ", "); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}
