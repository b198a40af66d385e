package attention

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/tensor"
)

// number is a float64 that JSON can hold: an infinite one is null there.
type number float64

// MarshalJSON writes the number.
func (n number) MarshalJSON() ([]byte, error) {
	if f := float64(n); math.IsInf(f, 0) || math.IsNaN(f) {
		return []byte("null"), nil
	}
	return fmt.Appendf(nil, "%g", float64(n)), nil
}

// record is a result in the form of -json.
type record struct {
	Backend    string   `json:"backend"`
	Cache      string   `json:"kv"`
	Situation  string   `json:"case"`
	Step       string   `json:"step"`
	Verdict    verdict  `json:"verdict"`
	Values     int      `json:"values"`
	Different  int      `json:"different_bits"`
	Abs        number   `json:"max_abs"`
	Relative   number   `json:"max_relative"`
	ULP        uint64   `json:"max_ulp"`
	Definition number   `json:"definition_max_relative"`
	Tolerance  number   `json:"tolerance"`
	Places     []string `json:"places,omitempty"` // what the numbers of first count
	First      []int    `json:"first,omitempty"`  // the first value with other bits, or else beyond the tolerance of the definition
	Got        *number  `json:"got,omitempty"`
	Want       *number  `json:"want,omitempty"`
	Error      string   `json:"error,omitempty"`
}

// record returns the result in the form of -json.
func (r *result) record() record {
	d := &r.reference
	o := record{
		Backend: r.backend, Cache: r.dtype.String(), Situation: r.situation, Step: r.step.name, Verdict: r.verdict, Values: d.Values, Different: d.Bits,
		Abs: number(d.Abs), Relative: number(d.Relative), ULP: d.ULP, Definition: number(r.definition.Relative), Tolerance: number(r.tolerance),
	}
	if r.err != nil {
		o.Error = r.err.Error()
	}
	if p, _, _ := r.fault(); p != nil {
		got, want := number(p.got), number(p.want)
		o.Places, o.First, o.Got, o.Want = r.step.places, p.at, &got, &want
	}
	return o
}

// fault returns the value to look at first, what it was compared with and its neighbours: the first that has not the reference's bits; or,
// if all have them and yet the definition is too far away, the farthest one. It is nil if nothing is to be looked at.
func (r *result) fault() (p *place, with string, around near) {
	switch {
	case r.reference.first != nil:
		return r.reference.first, "the reference", r.reference.vectors[0]
	case r.verdict == differs:
		return r.definition.worst, "the definition", r.definition.vectors[1]
	}
	return nil, "", near{}
}

// report collects results for a person.
type report struct {
	w       io.Writer
	verbose bool
	results []*result
}

// add takes a result.
func (r *report) add(one *result) { r.results = append(r.results, one) }

// of returns the results that belong to a backend, a type and a step.
func (r *report) of(backend string, d tensor.DType, s *step) []*result {
	return slices.DeleteFunc(slices.Clone(r.results), func(o *result) bool { return o.backend != backend || o.dtype != d || o.step != s })
}

// print writes the tables and the faults.
func (r *report) print(e *examination) error {
	fmt.Fprintf(r.w, "\nThe portable reference beside the definition in float64: the largest difference, as a part of the largest element of its vector\n\n")
	if err := r.table(e, "reference", func(list []*result) string {
		return r.worst(list, func(o *result) float64 { return o.definition.Relative })
	}); err != nil {
		return err
	}
	for _, b := range e.backends {
		promise := "which promises its bits"
		if !b.exact {
			promise = "whose bits it need not have: the largest difference is told, as a part of the largest element of its vector"
		}
		fmt.Fprintf(r.w, "\n%s (%s) beside the reference, %s\n\n", b.name, b.Describe(), promise)
		if err := r.table(e, b.name, r.verdicts); err != nil {
			return err
		}
	}
	r.faults()
	return nil
}

// table writes a table of steps and types; cell makes a cell of the results of all situations.
func (r *report) table(e *examination, backend string, cell func([]*result) string) error {
	t := &cli.Table{Left: 1}
	head := []string{"step"}
	for _, d := range e.types {
		head = append(head, d.String())
	}
	t.Row(head...)
	for i := range steps {
		row := []string{steps[i].name}
		for _, d := range e.types {
			row = append(row, cell(r.of(backend, d, &steps[i])))
		}
		t.Row(row...)
	}
	_, err := t.WriteTo(r.w)
	return err
}

// worst formats the largest of some figures, marked if any of the results is bad.
func (r *report) worst(list []*result, of func(*result) float64) string {
	largest, mark, seen := 0.0, "", false
	for _, o := range list {
		largest, seen = max(largest, of(o)), seen || o.verdict != absent
		if o.verdict.bad() {
			mark = "! "
		}
	}
	if !seen {
		return "-"
	}
	return fmt.Sprintf("%s%.1e", mark, largest)
}

// verdicts formats what the situations say together.
func (r *report) verdicts(list []*result) string {
	text := "-"
	for _, o := range list {
		switch {
		case o.verdict.bad():
			return "DIFFERENT"
		case o.verdict == close:
			text = r.worst(list, func(o *result) float64 { return o.reference.Relative })
		case o.verdict == equal && text == "-":
			text = "equal"
		}
	}
	return text
}

// faults writes the places of bad results, step by step: the first step that is wrong is the one to look into.
func (r *report) faults() {
	count := 0
	for _, o := range r.results {
		p, with, around := o.fault()
		if !o.verdict.bad() && !(r.verbose && p != nil) {
			continue
		}
		if count++; count == 1 {
			fmt.Fprintf(r.w, "\nWhere they differ (a step begins with the reference's result of the step before, but for \"whole\")\n")
		}
		fmt.Fprintf(r.w, "\n%s, %v cache, %s, step %s: %s\n", o.backend, o.dtype, o.situation, o.step.name, o.step.what)
		if o.err != nil {
			fmt.Fprintf(r.w, "  failed: %v\n", o.err)
			continue
		}
		d := &o.reference
		if with == "the definition" {
			d = &o.definition
		}
		fmt.Fprintf(r.w, "  beside %s: %d of %d values differ, by up to %.3g, relatively %.3g (tolerance %.3g), %d ULP\n", with, d.Bits, d.Values, d.Abs, d.Relative, o.tolerance, d.ULP)
		fmt.Fprintf(r.w, "  first    %s\n", p.text(o.step.places))
		if d.worst != nil && !slices.Equal(d.worst.at, p.at) {
			fmt.Fprintf(r.w, "  farthest %s\n", d.worst.text(o.step.places))
		}
		if r.verbose {
			fmt.Fprintf(r.w, "  around the first, from %s %d on\n    got  %s\n    want %s\n", o.step.places[len(o.step.places)-1], around.from, list(around.got), list(around.want))
		}
	}
}

// list formats numbers.
func list(x []float64) string {
	texts := make([]string, len(x))
	for i, v := range x {
		texts[i] = fmt.Sprintf("%13.8g", v)
	}
	return strings.Join(texts, " ")
}
