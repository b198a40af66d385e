//go:build unix

package jinja

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// hostile are templates that ask for all the time, the memory or the stack that there is. In each, b is a long string made of the caller's,
// m one with alternating origins, n a long list, d a large dictionary.
func hostile() map[string]string {
	cases := map[string]string{
		"output":                  "{% for i in range(100000) %}{{ b }}{% endfor %}",
		"text":                    "{% for i in range(100000) %}" + strings.Repeat("a", 1000) + "{% endfor %}",
		"nested loops":            "{% for a in range(2000) %}{% for b in range(2000) %}{% for c in range(2000) %}{% endfor %}{% endfor %}{% endfor %}",
		"nested empty ifs":        "{% for a in range(99999) %}{% for b in range(99999) %}{% if a %}{% endif %}{% endfor %}{% endfor %}",
		"doubling with ~":         "{% set x = b %}" + strings.Repeat("{% set x = x ~ x %}", 60),
		"doubling with +":         "{% set x = b %}" + strings.Repeat("{% set x = x + x %}", 60),
		"doubling mixed":          "{% set x = m %}" + strings.Repeat("{% set x = x + x %}", 60),
		"doubling lists":          "{% set x = [1] %}" + strings.Repeat("{% set x = x + x %}", 60),
		"doubling in a namespace": "{% set ns = namespace(x=b) %}{% for i in range(100) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
		"growing slowly":          "{% set ns = namespace(x='') %}{% for i in range(100000) %}{% set ns.x = ns.x ~ 'abcdefgh' %}{% endfor %}",
		"growing a list":          "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = ns.x + [i] %}{% endfor %}",
		"shared lists compared":   "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
		"shared lists printed":    "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
		"shared lists as JSON":    "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x|tojson }}",
		"shared lists ordered":    "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}{{ ns.x < ns.y }}",
		"shared lists summed":     "{% set ns = namespace(x=[1]) %}{% for i in range(90) %}{% set ns.x = [ns.x, ns.x]|sum(start=[]) %}{% endfor %}",
		"deep list printed":       "{% set ns = namespace(x=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
		"deep list as JSON":       "{% set ns = namespace(x=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x|tojson }}",
		"deep list compared":      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(5000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] %}{% endfor %}{{ ns.x == ns.y }}",
		"cyclic namespace":        "{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}",
		"endless recursion":       "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
		"exponential recursion":   "{% macro m(n) %}{% if n > 0 %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(40) }}",
		"endless loop recursion":  "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
		"lists in macros":         "{% macro m(l) %}{% set k = l + l %}{{ m(k) }}{% endmacro %}{{ m([1, 2, 3]) }}",
		"callers in callers":      "{% macro m(x) %}{{ caller(x ~ x) }}{% endmacro %}" + strings.Repeat("{% call(x) m(b) %}", 60) + strings.Repeat("{% endcall %}", 60) + "{% for i in range(99999) %}{% call(x) m(b) %}{% endcall %}{% endfor %}",
		"many variables":          manyVariables(),
		"distinct keys":           "{% set ns = namespace(d={}) %}{% for i in range(100000) %}{% for j in range(100000) %}{% set ns.d = dict(ns.d, x=1) %}{% endfor %}{% endfor %}",
		"long chains":             "{% for i in range(100000) %}{{ 1" + strings.Repeat("+1", 30000) + " }}{% endfor %}",
		"indent by megabytes":     "{{ ('\\n' * 4000)|indent('a' * 4000000, true, true) }}",
		"repetition":              "{{ 'a' * 2000000000 }}",
		"repetition of a list":    "{{ [1] * 2000000000 }}",
		"repetition of nothing":   "{% for i in range(100000) %}{% for i in range(100000) %}{{ '' * 2000000000 }}{{ [] * 2000000000 }}{% endfor %}{% endfor %}",
		"power":                   "{% for i in range(100000) %}{% for j in range(100) %}{{ 3 ** 2000 }}{% endfor %}{% endfor %}",
		"power of a power":        "{{ 10 ** 10 ** 10 }}",
		"long integers":           "{% set x = 3 ** 2500 %}{% for i in range(100000) %}{% for j in range(100) %}{% if x * 1 == x and x // 7 > 1.5 %}{% endif %}{% endfor %}{% endfor %}",
		"long integers printed":   "{% set x = 3 ** 2500 %}{% for i in range(100000) %}{% for j in range(100) %}{% set y = x ~ '' %}{% endfor %}{% endfor %}",
		"wide format":             "{{ '{:999999999d}'.format(1) }}",
		"formats":                 "{% for i in range(100000) %}{% set y = '{:1000}{:1000}{:1000}'.format(1, 2, b) %}{% endfor %}",
		"namespaces":              "{% for i in range(100000) %}{% for j in range(100) %}{% set ns = namespace(a=1, b=2) %}{% endfor %}{% endfor %}",
	}
	// Every filter, method and test, and the operators, over and over on large values of each kind.
	again := "{%% for i in range(100000) %%}{%% for j in range(100000) %%}{%% set y = %s %%}{%% endfor %%}{%% endfor %%}" // fewer, see TestCeilings
	arguments := map[string][]string{
		"trim": {"()", "(b)", "(m)"}, "replace": {"('a', m)", "('', 'xy')", "(b, 'x')"}, "indent": {"()", "(b, true, true)"}, "join": {"()", "(b)", "(', ', attribute='a')"},
		"map": {"('upper')", "('string')", "('list')", "(attribute='a.b')", "('replace', 'a', b)"}, "select": {"()", "('in', b)", "('in', n)", "('eq', b)"}, "reject": {"('in', n)"},
		"selectattr": {"('a')", "('a', 'in', n)"}, "rejectattr": {"('a')"}, "batch": {"(2)", "(2000000, 1)"}, "slice": {"(3)", "(2000000, 1)"}, "center": {"(4000000)"}, "truncate": {"(9)", "(100000, true, m)"},
		"tojson": {"()", "(indent=2)", "(indent=b)", "(sort_keys=true)", "(ensure_ascii=true)"}, "sort": {"()", "(attribute='a')"}, "dictsort": {"()", "(by='value')"}, "groupby": {"('a')", "(0)"},
		"unique": {"()", "(true)"}, "sum": {"()", "(start=[])"}, "format": {"(b)", "(n, n)"}, "attr": {"('a')"}, "int": {"()", "(0, 36)"}, "default": {"(b, true)"}, "round": {"(2)"},
	}
	for _, f := range sortedNames(builtins.Filters) {
		forms := arguments[f]
		if forms == nil {
			forms = []string{""}
		}
		for _, a := range forms {
			for _, v := range []string{"b", "m", "n", "w", "d", "b|list", "5"} {
				cases[fmt.Sprintf("%s|%s%s", v, f, a)] = fmt.Sprintf(again, fmt.Sprintf("(%s)|%s%s", v, f, a))
			}
		}
	}
	for _, f := range sortedNames(builtins.TextMethods) {
		b := builtins.TextMethods[f]
		for _, v := range []string{"b", "m"} {
			forms := []string{"()", "(b)", "(m)", "(',')", "(100000)"}
			if b.Need == 2 {
				forms = []string{"('a', m)", "('', 'xy')", "(m, m)"}
			}
			if len(b.Names) == 3 && b.Need == 1 {
				forms = append(forms, "('zz', 1)", "('a', -5000)")
			}
			for _, a := range forms {
				cases[fmt.Sprintf("%s.%s%s", v, f, a)] = fmt.Sprintf(again, fmt.Sprintf("%s.%s%s", v, f, a))
			}
		}
	}
	for _, f := range sortedNames(builtins.DictMethods) {
		cases["d."+f] = fmt.Sprintf(again, "d."+f+"(b)") + fmt.Sprintf(again, "d."+f+"()")
		cases["d."+f+" without"] = fmt.Sprintf(again, "d."+f+"()")
	}
	for _, f := range sortedNames(builtins.ListMethods) {
		cases["n."+f] = fmt.Sprintf(again, "n."+f+"(b)")
		cases["n."+f+" without"] = fmt.Sprintf(again, "n."+f+"()")
	}
	for _, f := range sortedNames(builtins.Tests) {
		if f[0] < 'a' {
			continue // operators, below
		}
		for _, v := range []string{"b", "m", "n", "d"} {
			a := ""
			if builtins.Tests[f].Need > 0 {
				a = "(" + v + ")"
			}
			cases[v+" is "+f] = fmt.Sprintf(again, v+" is "+f+a)
		}
	}
	for _, op := range []string{"+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", ">=", "in", "not in", "and", "or"} {
		for _, v := range []string{"b", "m", "n", "d", "w", "3"} {
			for _, w := range []string{"b", "b ~ 'x'", "m", "n", "d", "3"} {
				cases[v+" "+op+" "+w] = fmt.Sprintf(again, fmt.Sprintf("(%s) %s (%s)", v, op, w))
			}
		}
	}
	for _, s := range []string{"[0]", "[-1]", "[5:-5]", "[::-1]", "[::3]", ".a", "['a']", "[b]", "[:]"} {
		for _, v := range []string{"b", "m", "n", "d"} {
			cases[v+s] = fmt.Sprintf(again, v+s)
		}
	}
	for _, v := range []string{"b", "m", "n", "d", "w", "range(100000)"} {
		cases["loop over "+v] = "{% for i in range(100000) %}{% for x in " + v + " %}{% if loop.last and loop.nextitem and loop.length %}{% endif %}{% endfor %}{% endfor %}"
		cases["filtered loop over "+v] = "{% for i in range(100000) %}{% for x in " + v + " if x == b %}{% endfor %}{% endfor %}"
		cases["printing "+v] = "{% for i in range(100000) %}{% set x %}{{ " + v + " }}{% endset %}{% endfor %}"
		cases["star of "+v] = "{% macro m() %}{{ varargs }}{% endmacro %}{% for i in range(100000) %}{% set x = m(*" + v + ") %}{% endfor %}"
		cases["filter block on "+v] = "{% for i in range(100000) %}{% set x %}{% filter upper %}{{ " + v + " }}{% endfilter %}{% endset %}{% endfor %}"
	}
	return cases
}

func manyVariables() string {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "{%% set v%d = 1 %%}", i)
	}
	return b.String() + "{% for i in range(100000) %}{{ v1 ~ v19999 }}{% endfor %}"
}

// large returns the variables of hostile templates: strings of 4·size bytes, and lists of size/20 values.
func large(t testing.TB, size int) map[string]Value {
	t.Helper()
	m := texts.NewMeter(context.Background(), 1)
	b := m.Builder()
	for range size / 2 {
		b.Write("a", 1)
		b.Write(",é", 2)
	}
	mixed, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	n, w, d := NewList(), NewList(), NewDict()
	for i := range size / 20 {
		n.Items = append(n.Items, int64(i*7919%size))
		w.Items = append(w.Items, From(strings.Repeat("a", 100)+fmt.Sprint(i), 1))
		d.Set(From(strings.Repeat("A", 100)+fmt.Sprint(i), 1), From("x", 1))
	}
	return map[string]Value{"b": From(strings.Repeat("a b\n", size), 1), "m": mixed, "n": n, "w": w, "d": d}
}

// TestCeilings renders the hostile templates. Each ends within the budget, whether it fails or not. The meter's count is near to the bytes
// that it allocated, and to the time: no template gets far more done for a unit of work than others do. That is tried with a small part of
// the budget; ANTIGRAVITY_EVAL=all takes the whole, and prints the table.
func TestCeilings(t *testing.T) {
	effort.Turn(t, 8)
	part, size := 64, 4000
	if effort.All() {
		part, size = 1, 100000
	}
	variables := large(t, size)
	cases := hostile()
	type result struct {
		name    string
		bytes   int
		perUnit float64 // nanoseconds
		took    time.Duration
		err     error
		counted int
	}
	var results []result
	for _, name := range sortedNames(cases) {
		source := cases[name]
		if part > 1 {
			source = strings.ReplaceAll(source, "range(100000)", "range(2000)")
		}
		template, err := Parse(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := result{name: name, perUnit: math.Inf(1)}
		for try := 0; try < 10 && (try == 0 || part > 1); try++ { // the fastest counts: other programs run, too
			e := newEvaluator(t.Context(), variables)
			e.Meter = texts.NewMeter(t.Context(), part)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := cpuTime()
			_, r.err = template.run(e)
			r.took = cpuTime() - start
			runtime.ReadMemStats(&after)
			work, memory := e.Left()
			r.bytes, r.counted = int(after.TotalAlloc-before.TotalAlloc), texts.MaxMemory/part-memory
			r.perUnit = min(r.perUnit, float64(r.took)/float64(texts.MaxWork/part-work+10000))
			if r.perUnit < 2 {
				break
			}
		}
		if errors.Is(r.err, errPanic) || r.err != nil && len(r.err.Error()) > 500 {
			t.Errorf("%s: %.500v", name, r.err)
		}
		if limit := 64<<20/part + 1<<16; r.bytes > limit {
			t.Errorf("%s: allocates %d bytes, of which the meter counted %d; at most %d are allowed", name, r.bytes, r.counted, limit)
		}
		results = append(results, r)
	}
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(b.perUnit, a.perUnit) })
	median := results[len(results)/2].perUnit
	for i, r := range results {
		if r.perUnit > 25*median {
			t.Errorf("%s: %.1f ns for a unit of work; the median is %.1f", r.name, r.perUnit, median)
		}
		if part == 1 || i < 5 {
			t.Logf("%-36s %7d KB %8v CPU %6.1f ns/unit %.60v", r.name, r.bytes>>10, r.took.Round(100*time.Microsecond), r.perUnit, r.err)
		}
	}
}

// cpuTime is the processor time of this process so far, in all its threads.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
