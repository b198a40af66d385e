package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// number is an error; in JSON, which has no infinity, an infinite one is null.
type number float64

// MarshalJSON writes the number.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// lines is the reporter of -json: an object a check and line.
type lines struct{ *json.Encoder }

func newLines(w io.Writer) lines { return lines{json.NewEncoder(w)} }

func (lines) begin(backend.Backend, bool, uint64) {}
func (l lines) add(r *result)                     { l.Encode(r) }
func (lines) end(time.Duration)                   {}

// table is the reporter for people: a row for each operation and type, and under it the checks that failed.
type table struct {
	w       io.Writer
	verbose bool
	color   bool

	row     []*result // of one operation and type, which come one after the other
	counts  map[verdict]int
	checks  int
	badRows []string
}

func newTable(w io.Writer, verbose bool) *table {
	return &table{w: w, verbose: verbose, color: cli.IsTerminal(w), counts: map[verdict]int{}}
}

// The columns of the table, of words and of numbers.
const (
	words   = "%-17s %-12s "
	numbers = "%6d %10.3g %10.3g %10.3g %9s   "
	titles  = words + "%6s %10s %10s %10s %9s\n"
)

// shownFailures is how many failed checks a row shows; -v shows all.
const shownFailures = 3

func (t *table) begin(b backend.Backend, exact bool, seed uint64) {
	how := "within the tolerances"
	if exact {
		how = "bit for bit"
	}
	fmt.Fprintf(t.w, "%s: %s\nagainst the portable reference, %s, seed %d\n\n", b.Name(), describe(b), how, seed)
	fmt.Fprintf(t.w, titles, "operation", "type", "checks", "worst abs", "worst rel", "tolerance", "time")
}

func (t *table) add(r *result) {
	if len(t.row) > 0 && (t.row[0].Operation != r.Operation || t.row[0].Type != r.Type) {
		t.flush()
	}
	t.row = append(t.row, r)
	t.counts[r.Verdict]++
	t.checks++
}

// flush prints the row.
func (t *table) flush() {
	if len(t.row) == 0 {
		return
	}
	first, sum, counts := t.row[0], result{}, map[verdict]int{}
	for _, r := range t.row {
		sum.Worst, sum.Relative = max(sum.Worst, r.Worst), max(sum.Relative, r.Relative)
		sum.Tolerance, sum.Seconds = max(sum.Tolerance, r.Tolerance), sum.Seconds+r.Seconds
		counts[r.Verdict]++
	}
	fmt.Fprintf(t.w, words+numbers+"%s\n", first.Operation, first.Type, len(t.row), float64(sum.Worst), float64(sum.Relative),
		sum.Tolerance, milliseconds(sum.Seconds), t.summary(counts, len(t.row)))
	if bad := len(t.row) - counts[passed] - counts[unsupported]; bad > 0 {
		t.badRows = append(t.badRows, first.Operation+" "+first.Type)
	}
	t.details()
	t.row = t.row[:0]
}

// summary is a row's verdict.
func (t *table) summary(counts map[verdict]int, n int) string {
	switch bad := n - counts[passed] - counts[unsupported]; {
	case bad > 0:
		return t.paint(red, fmt.Sprintf("FAIL (%d)", bad))
	case counts[unsupported] == n:
		return t.paint(yellow, "unsupported")
	case counts[unsupported] > 0:
		return t.paint(yellow, fmt.Sprintf("ok, %d unsupported", counts[unsupported]))
	}
	return "ok"
}

// details prints the failed checks of the row, or with -v all.
func (t *table) details() {
	shown, left := 0, 0
	for _, r := range t.row {
		switch {
		case t.verbose && r.Verdict == passed:
			fmt.Fprintf(t.w, "    %s: %.3g, %s\n", r.about(), float64(r.Relative), milliseconds(r.Seconds))
		case r.Verdict == passed || r.Verdict == unsupported && !t.verbose:
		case shown == shownFailures && !t.verbose:
			left++
		default:
			fmt.Fprintf(t.w, "    %s %s: %s\n", t.paint(r.Verdict.color(), string(r.Verdict)), r.about(), r.Detail)
			shown++
		}
	}
	if left > 0 {
		fmt.Fprintf(t.w, "    and %d more (-v shows all)\n", left)
	}
}

// about tells which of the row's checks a result is of.
func (r *result) about() string {
	text := r.Shape + ", " + r.Input
	if r.Prepared {
		text += ", prepared"
	}
	return text
}

// milliseconds formats a time for a column.
func milliseconds(seconds float64) string { return fmt.Sprintf("%.1f ms", 1e3*seconds) }

func (t *table) end(elapsed time.Duration) {
	t.flush()
	fmt.Fprintf(t.w, "\n%d checks in %.1f s: ", t.checks, elapsed.Seconds())
	if n := t.counts[unsupported]; n > 0 {
		fmt.Fprintf(t.w, "%d unsupported, ", n)
	}
	if len(t.badRows) == 0 {
		fmt.Fprintln(t.w, t.paint(green, "nothing is wrong"))
		return
	}
	fmt.Fprintln(t.w, t.paint(red, "these fail"))
	for _, row := range t.badRows {
		fmt.Fprintln(t.w, "  "+row)
	}
}

// color is a terminal's.
type color int

const (
	red    color = 31
	green  color = 32
	yellow color = 33
)

func (v verdict) color() color {
	if v == unsupported {
		return yellow
	}
	return red
}

// paint colours text on a terminal.
func (t *table) paint(c color, text string) string {
	if !t.color {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", c, text)
}
