package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/examples/tools/internal/statistics"
)

// Each result of an engine is added to its summary. report sorts the times and prints a column for each engine. For example, these two
// results and their rows:
//
//	{ID: "a", Verdict: "pass", CompileUS: 300, MaskUS: [20 30]}
//	{ID: "b", Verdict: "unsupported", Keyword: "uniqueItems", CompileUS: 50}
//
//	schemas                             2
//	pass                                1
//	pass, %                          50.0
//	compile errors                      1
//	masks                               2
//	a mask, µs: average              25.0
//	compiling, µs: average            300   of a alone
//	refusing a schema, µs: average   50.0   of b alone
//
// Below the table, uniqueItems is listed with its count 1 and the id b.

// summary adds up what an engine's schemas gave.
type summary struct {
	name     string
	schemas  int
	verdicts map[string]int
	// accepts and refuses count the schemas that let a wrong document through, or refuse a right one; one schema can do both.
	accepts, refuses          int
	masks                     []float64 // microseconds, all of them
	compiles, refusals        []float64 // microseconds of compiling, if it succeeded and if it failed
	compiledBytes, usedBytes  int64     // the largest constraint, after compiling and after its tests
	largest                   string    // its id
	tokens, forced, misforced int
	keywords                  map[string]int      // UnsupportedErrors
	examples                  map[string][]string // some ids of schemas, by keyword
	wrongs                    []*result           // those with another verdict than pass and unsupported
}

func newSummary(name string) *summary {
	return &summary{name: name, verdicts: map[string]int{}, keywords: map[string]int{}, examples: map[string][]string{}}
}

// manyExamples is how many ids are shown of a keyword that is not supported.
const manyExamples = 3

func (s *summary) add(r *result) {
	s.schemas++
	s.verdicts[r.Verdict]++
	if r.Accepts > 0 {
		s.accepts++
	}
	if r.Refuses > 0 {
		s.refuses++
	}
	s.masks = append(s.masks, r.MaskUS...)
	if r.Verdict == unsupported || r.Verdict == broken && len(r.MaskUS) == 0 {
		s.refusals = append(s.refusals, r.CompileUS)
	} else {
		s.compiles = append(s.compiles, r.CompileUS)
	}
	if bytes := max(r.CompiledBytes, r.UsedBytes); bytes > max(s.compiledBytes, s.usedBytes) {
		s.compiledBytes, s.usedBytes, s.largest = r.CompiledBytes, r.UsedBytes, r.ID
	}
	s.tokens += r.Tokens
	s.forced += r.Forced
	s.misforced += r.Misforced
	switch r.Verdict {
	case passed:
	case unsupported:
		s.keywords[r.Keyword]++
		if len(s.examples[r.Keyword]) < manyExamples {
			s.examples[r.Keyword] = append(s.examples[r.Keyword], r.ID)
		}
	default:
		r.MaskUS = nil // they are in s.masks
		s.wrongs = append(s.wrongs, r)
	}
}

// wrong returns an error if the engine did what it never may.
func (s *summary) wrong() error {
	if s.accepts > 0 || s.verdicts[broken] > 0 {
		return fmt.Errorf("%d schemas accept what they must refuse, %d fail", s.accepts, s.verdicts[broken])
	}
	return nil
}

// readSummary sums up what -json printed.
func readSummary(name, path string) (*summary, error) {
	s := newSummary(name)
	for line, err := range lines(path) {
		if err != nil {
			return nil, err
		}
		r := new(result)
		if err := json.Unmarshal(line, r); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		s.add(r)
	}
	return s, nil
}

// report writes the table of all engines, and what kept schemas of ours from passing.
func (o *options) report(ours *summary, warmed time.Duration, w io.Writer) error {
	engines := []*summary{ours}
	for _, c := range o.compare {
		name, path, _ := strings.Cut(c, "=")
		s, err := readSummary(name, path)
		if err != nil {
			return err
		}
		engines = append(engines, s)
	}
	table := cli.Table{Left: 1}
	row := func(title string, cell func(s *summary) string) {
		cells := []string{title}
		for _, s := range engines {
			cells = append(cells, cell(s))
		}
		table.Row(cells...)
	}
	count := func(n func(s *summary) int) func(s *summary) string {
		return func(s *summary) string { return strconv.Itoa(n(s)) }
	}
	row("", func(s *summary) string { return s.name })
	row("schemas", count(func(s *summary) int { return s.schemas }))
	row("pass", count(func(s *summary) int { return s.verdicts[passed] }))
	row("pass, %", func(s *summary) string { return percent(s.verdicts[passed], s.schemas) })
	row("compile errors", count(func(s *summary) int { return s.verdicts[unsupported] }))
	row("accept what they must refuse", count(func(s *summary) int { return s.accepts }))
	row("refuse what they must accept", count(func(s *summary) int { return s.refuses }))
	row("fail otherwise", count(func(s *summary) int { return s.verdicts[broken] }))
	row("masks", count(func(s *summary) int { return len(s.masks) }))
	for _, c := range []struct {
		title string
		of    func(s *summary) []float64
		most  bool
	}{
		{"a mask, µs", func(s *summary) []float64 { return s.masks }, true},
		{"compiling, µs", func(s *summary) []float64 { return s.compiles }, false},
		{"refusing a schema, µs", func(s *summary) []float64 { return s.refusals }, false},
	} {
		for _, s := range engines {
			slices.Sort(c.of(s))
		}
		row(c.title+": average", func(s *summary) string { return time3(average(c.of(s))) })
		row("  p50", func(s *summary) string { return time3(statistics.Quantile(c.of(s), 0.5)) })
		row("  p99", func(s *summary) string { return time3(statistics.Quantile(c.of(s), 0.99)) })
		if c.most {
			row("  p99.9", func(s *summary) string { return time3(statistics.Quantile(c.of(s), 0.999)) })
		}
		row("  worst", func(s *summary) string { return time3(statistics.Quantile(c.of(s), 1)) })
	}
	if o.forced {
		row("tokens of accepted documents", count(func(s *summary) int { return s.tokens }))
		row("  foretold by Forced, %", func(s *summary) string { return percent(s.forced, s.tokens) })
		row("  foretold otherwise", count(func(s *summary) int { return s.misforced }))
	}
	if o.memory {
		row("largest constraint, MB: compiled", func(s *summary) string { return megabytes(s.compiledBytes) })
		row("  after its tests", func(s *summary) string { return megabytes(s.usedBytes) })
		row("  its schema", func(s *summary) string { return s.largest })
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\npreparing the vocabulary: %.1f ms\n", warmed.Seconds()*1e3)
	ours.writeKeywords(w, o.list)
	ours.writeWrongs(w, o.list)
	return nil
}

// writeKeywords lists the keywords of UnsupportedErrors, the most frequent first.
func (s *summary) writeKeywords(w io.Writer, most int) {
	list := slices.SortedFunc(maps.Keys(s.keywords), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.keywords[b], s.keywords[a]), cmp.Compare(a, b))
	})
	if len(list) == 0 || most == 0 {
		return
	}
	fmt.Fprintln(w, "\nnot supported:")
	for _, k := range list[:min(most, len(list))] {
		fmt.Fprintf(w, "  %5d %-24s %s\n", s.keywords[k], k, strings.Join(s.examples[k], " "))
	}
	if left := len(list) - most; left > 0 {
		fmt.Fprintf(w, "  and %d other keywords\n", left)
	}
}

// writeWrongs lists the schemas with wrong verdicts.
func (s *summary) writeWrongs(w io.Writer, most int) {
	for _, verdict := range []string{broken, accepts, refuses} {
		shown := 0
		for _, r := range s.wrongs {
			if r.Verdict != verdict {
				continue
			}
			if shown++; shown > most {
				continue
			}
			if shown == 1 {
				fmt.Fprintf(w, "\n%s:\n", verdict)
			}
			fmt.Fprintf(w, "  %s: %s\n", r.ID, r.Reason)
		}
		if shown > most {
			fmt.Fprintf(w, "  and %d others\n", shown-most)
		}
	}
}

func percent(part, whole int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(whole, 1)), 'f', 1, 64)
}

func megabytes(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) }

// time3 writes a time with about three digits.
func time3(us float64) string {
	if us < 100 {
		return strconv.FormatFloat(us, 'f', 1, 64)
	}
	return strconv.FormatFloat(us, 'f', 0, 64)
}

func average(list []float64) float64 {
	sum := 0.0
	for _, x := range list {
		sum += x
	}
	return sum / float64(max(len(list), 1))
}
