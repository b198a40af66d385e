package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// Results come check by check and are shown operation by operation. Types that passed with the same tolerance share a row of the table,
// with their largest errors. A type that failed has a row of its own, and its failed checks below. With -json each check is a line instead.
// For example, 12 checks of each of three types, and one of f16 fails:
//
//	operation         type           checks  worst abs  worst rel  tolerance        time
//	MatMulTransposed  q4_0 q8_0          24     0.0021     0.0008       0.01      3.1 ms   ok
//	MatMulTransposed  f16                12        0.4        0.2       0.01      1.5 ms   FAIL (1)
//	    then a line for the failed check: its shape, its input, and the detail

// number is an error; in JSON, which has no infinity, an infinite one is null.
type number float64

// MarshalJSON writes the number.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(n), 0) || math.IsNaN(float64(n)) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// reporter shows results as they come.
type reporter interface {
	begin(s *backendtest.Suite)
	add(r *backendtest.Result)
	end(elapsed time.Duration)
}

// lines is the reporter of -json: an object a check and line.
type lines struct{ *json.Encoder }

// line is the object.
type line struct {
	Operation string              `json:"operation"`
	Type      string              `json:"type"`
	Shape     string              `json:"shape"`
	Input     string              `json:"input"`
	Prepared  bool                `json:"prepared"`
	Worst     number              `json:"max_abs"`
	Relative  number              `json:"max_rel"`
	Tolerance float64             `json:"tolerance"`
	Seconds   float64             `json:"seconds"`
	Verdict   backendtest.Verdict `json:"verdict"`
	Detail    string              `json:"detail,omitempty"`
}

func newLines(w io.Writer) lines { return lines{json.NewEncoder(w)} }

func (lines) begin(*backendtest.Suite) {}
func (l lines) add(r *backendtest.Result) {
	l.Encode(line{
		r.Operation, r.Type, r.Shape, r.Input, r.Prepared, number(r.Worst), number(r.Relative), r.Tolerance, r.Seconds, r.Verdict, r.Detail,
	})
}
func (lines) end(time.Duration) {}

// table is the reporter for people: a row for the types of an operation that passed with the same tolerance, and one for each
// type that did not, with its failed checks.
type table struct {
	w       io.Writer
	verbose bool
	color   bool

	group  []*backendtest.Result // of one operation
	shown  map[string]bool       // texts of many lines, such as build logs
	counts map[backendtest.Verdict]int
	checks int
	bad    []string // the rows that failed
}

func newTable(w io.Writer, verbose bool) *table {
	return &table{w: w, verbose: verbose, color: cli.IsTerminal(w), shown: map[string]bool{}, counts: map[backendtest.Verdict]int{}}
}

// The columns of the table, of words and of numbers.
const (
	words   = "%-17s %-14s "
	titles  = words + "%6s %10s %10s %10s %11s\n"
	numbers = words + "%6d %10.3g %10.3g %10.3g %11s   %s\n"
)

// shownFailures is how many failed checks a row shows; -v shows all.
const shownFailures = 3

func (t *table) begin(s *backendtest.Suite) {
	how := "within the tolerances"
	if s.Exact {
		how = "bit for bit"
	}
	fmt.Fprintf(t.w, "%s: %s\nagainst the portable reference, %s, seed %d\n\n", s.Backend.Name(), describe(s.Backend), how, s.Seed)
	fmt.Fprintf(t.w, titles, "operation", "type", "checks", "worst abs", "worst rel", "tolerance", "time")
}

func (t *table) add(r *backendtest.Result) {
	if len(t.group) > 0 && t.group[0].Operation != r.Operation {
		t.flush()
	}
	t.group = append(t.group, r)
	t.counts[r.Verdict]++
	t.checks++
}

// row sums up results.
type row struct {
	operation       string
	types           []string
	results         []*backendtest.Result
	worst, relative float64
	tolerance       float64
	seconds         float64
	bad, missing    int
}

func (w *row) add(r *backendtest.Result) {
	w.operation, w.results = r.Operation, append(w.results, r)
	w.worst, w.relative = max(w.worst, r.Worst), max(w.relative, r.Relative)
	w.tolerance, w.seconds = max(w.tolerance, r.Tolerance), w.seconds+r.Seconds
	switch {
	case r.Verdict.Bad():
		w.bad++
	case r.Verdict == backendtest.Unsupported:
		w.missing++
	}
}

// clean reports whether all passed.
func (w *row) clean() bool { return w.bad+w.missing == 0 }

// rows sums up a group of results by type, and unless each is false joins the clean types of the same tolerance.
func rows(group []*backendtest.Result, each bool) (list []*row) {
	types := map[string]*row{}
	for _, r := range group {
		if types[r.Type] == nil {
			types[r.Type] = &row{types: []string{r.Type}}
			list = append(list, types[r.Type])
		}
		types[r.Type].add(r)
	}
	if each {
		return list
	}
	var joined []*row
	for _, w := range list {
		i := slices.IndexFunc(joined, func(o *row) bool { return o.clean() && w.clean() && o.tolerance == w.tolerance })
		if i < 0 {
			joined = append(joined, w)
			continue
		}
		joined[i].types = append(joined[i].types, w.types...)
		for _, r := range w.results {
			joined[i].add(r)
		}
	}
	return joined
}

// flush prints the group.
func (t *table) flush() {
	for _, w := range rows(t.group, t.verbose) {
		fmt.Fprintf(t.w, numbers, w.operation, w.typesText(), len(w.results), w.worst, w.relative, w.tolerance,
			milliseconds(w.seconds), t.verdict(w))
		if w.bad > 0 {
			t.bad = append(t.bad, w.operation+" "+w.typesText())
		}
		t.details(w.results)
	}
	t.group = nil
}

// typesText names the types of a row, or counts them.
func (w *row) typesText() string {
	if len(w.types) > 2 {
		return fmt.Sprintf("%d types", len(w.types))
	}
	return strings.Join(w.types, " ")
}

// verdict is a row's.
func (t *table) verdict(w *row) string {
	switch {
	case w.bad > 0:
		return t.paint(red, fmt.Sprintf("FAIL (%d)", w.bad))
	case w.missing == len(w.results):
		return t.paint(yellow, "unsupported")
	case w.missing > 0:
		return t.paint(yellow, fmt.Sprintf("ok, %d unsupported", w.missing))
	}
	return "ok"
}

// details prints the failed checks of a row, or with -v all.
func (t *table) details(results []*backendtest.Result) {
	shown, left := 0, 0
	for _, r := range results {
		switch {
		case t.verbose && r.Verdict == backendtest.Passed:
			fmt.Fprintf(t.w, "    %s: %.3g, %s\n", checkOf(r), r.Relative, milliseconds(r.Seconds))
		case !t.verbose && !r.Verdict.Bad():
		case !t.verbose && shown == shownFailures:
			left++
		default:
			fmt.Fprintf(t.w, "    %s %s: %s\n", t.paint(colorOf(r.Verdict), string(r.Verdict)), checkOf(r), t.once(r.Detail))
			shown++
		}
	}
	if left > 0 {
		fmt.Fprintf(t.w, "    and %d more (-v shows all)\n", left)
	}
}

// once returns a text of many lines whole only the first time.
func (t *table) once(text string) string {
	first, _, long := strings.Cut(text, "\n")
	if long && t.shown[text] {
		return first + " … (as above)"
	}
	t.shown[text] = long
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n      ")
}

// checkOf says which of the row's checks a result is of.
func checkOf(r *backendtest.Result) string {
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
	if n := t.counts[backendtest.Unsupported]; n > 0 {
		fmt.Fprintf(t.w, "%d unsupported, ", n)
	}
	if len(t.bad) == 0 {
		fmt.Fprintln(t.w, t.paint(green, "nothing is wrong"))
		return
	}
	fmt.Fprintln(t.w, t.paint(red, "these fail"))
	fmt.Fprintln(t.w, "  "+strings.Join(t.bad, "\n  "))
}

// color is a terminal's.
type color int

const (
	red    color = 31
	green  color = 32
	yellow color = 33
)

// colorOf returns a verdict's colour.
func colorOf(v backendtest.Verdict) color {
	if v == backendtest.Unsupported {
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
