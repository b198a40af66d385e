package jinja

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/builtins"
)

// A templateWriter writes templates that parse, mostly, and that use everything the language has.
type templateWriter struct {
	*rand.Rand
	strings.Builder
	depth int
}

// generate returns the template of a seed.
func generate(seed uint64) string {
	g := &templateWriter{Rand: rand.New(rand.NewPCG(seed, 1))}
	for range 1 + g.IntN(3) {
		g.statement()
	}
	return g.String()
}

func (g *templateWriter) one(list ...string) string { return list[g.IntN(len(list))] }

func (g *templateWriter) printf(format string, args ...any) { fmt.Fprintf(g, format, args...) }

// tag writes a tag with random control of white space.
func (g *templateWriter) tag(text string) {
	g.printf("{%%%s %s %s%%}", g.one("", "-", "+"), text, g.one("", "-", "+"))
}

func (g *templateWriter) statement() {
	if g.depth++; g.depth > 4 {
		g.printf("{{ %s }}", g.expression())
		g.depth--
		return
	}
	switch g.IntN(12) {
	case 0:
		g.WriteString(g.one("text", " \n ", "{# c #}", "{% raw %}{{ x }}{% endraw %}", "\n  ", "a\tb\r\n"))
	case 1:
		g.tag("if " + g.expression())
		g.statement()
		if g.IntN(2) == 0 {
			g.tag("else")
			g.statement()
		}
		g.tag("endif")
	case 2, 3:
		g.tag("for " + g.one("x", "y", "x, y") + " in " + g.operand() + g.one("", "", " if "+g.operand()))
		g.statement()
		g.WriteString(g.one("{{ loop.index }}{{ loop.last }}", "{{ loop.nextitem }}", "{% break %}", "{% continue %}", "{{ loop.cycle(x, y) }}", ""))
		g.tag("endfor")
	case 4:
		g.tag("set " + g.one("x", "y", "v") + " = " + g.expression())
	case 5:
		g.tag("set " + g.one("x", "y") + g.one("", "|upper", "|trim|reverse"))
		g.statement()
		g.tag("endset")
	case 6:
		g.WriteString("{% set ns = namespace(a=" + g.expression() + ") %}{% set ns.b = " + g.expression() + " %}{{ ns.a }}{{ ns.b }}")
	case 7:
		g.tag("macro m(x, y=" + g.expression() + ")")
		g.statement()
		g.tag("endmacro")
		g.printf("{{ m(%s) }}{%% call m(%s) %%}z{%% endcall %%}", g.expression(), g.one("", g.expression()))
	case 8:
		g.tag("filter " + g.one("upper", "indent(2)", "replace('a', v)", "trim", "tojson"))
		g.statement()
		g.tag("endfilter")
	case 9:
		g.tag("with x = " + g.expression())
		g.statement()
		g.tag("endwith")
	default:
		g.printf("{{%s %s %s}}", g.one("", "-"), g.expression(), g.one("", "-"))
	}
	g.depth--
}

func (g *templateWriter) expression() string {
	if g.depth++; g.depth > 9 {
		g.depth--
		return g.one("v", "1", "'a'")
	}
	defer func() { g.depth-- }()
	switch g.IntN(6) {
	case 0:
		if g.IntN(3) > 0 {
			return g.operand() + " " + g.one("~", "==", "!=", "and", "or") + " " + g.operand()
		}
		return g.operand() + " " + g.one("+", "-", "*", "/", "//", "%", "**", "<", ">=", "in", "not in") + " " + g.operand()
	case 1:
		return g.operand() + " if " + g.operand() + g.one("", " else "+g.operand())
	case 2:
		return g.operand() + " is " + g.one("", "not ") + g.call(builtins.Tests)
	}
	return g.operand()
}

func (g *templateWriter) operand() string {
	s := g.one("v", "v", "w", "l", "d", "x", "v", "none", "3", "-2", "1.5", "9223372036854775807", "'a b'", "'%s|{}'", "'\\n'", "[]", "nothing", "range(4)")
	isText := s == "v" || s == "w" || s[0] == '\''
	if g.depth < 7 && g.IntN(4) == 0 {
		g.depth++
		s = g.one("("+g.expression()+")", "["+g.expression()+", "+g.expression()+"]", "{'k': "+g.expression()+", 1: v}", "("+g.expression()+",)")
		g.depth--
	}
	for range g.IntN(3) {
		g.depth++
		switch g.IntN(6) {
		case 0:
			s += g.one(".k", "['k']", "[0]", "[-1]", "[v]", ".items", "[1:]", "[:2]", "[::-1]", "[1:9:2]", "[-3:-1]")
		case 1, 2:
			s += "|" + g.call(builtins.Filters)
		default:
			switch {
			case isText || g.IntN(9) == 0:
				s += "." + g.call(builtins.TextMethods)
			case s == "d" || g.IntN(9) == 0:
				s += "." + g.call(builtins.DictMethods)
			}
		}
		g.depth--
	}
	return s
}

// call is a name of a table, with arguments that may fit.
func (g *templateWriter) call(table map[string]*builtins.Builtin) string {
	names := sortedNames(table)
	for {
		name := names[g.IntN(len(names))]
		b := table[name]
		if name[0] < 'a' {
			continue // an operator in the form of a test
		}
		var list []string
		n := b.Need
		if len(b.Names) > b.Need {
			n += g.IntN(len(b.Names) - b.Need + 1)
		}
		if b.Rest {
			n = g.IntN(3)
		}
		for i := range n {
			argument := g.one("v", "w", "'a'", "' '", "1", "2", "0", "-1", "true", "none", "l", "'upper'", "'in'", "'k'", "','")
			if b.Names != nil && b.Names[i] == "ensure_ascii" {
				argument = "false"
			}
			list = append(list, argument)
		}
		if name == "map" && g.IntN(2) == 0 {
			list = []string{"attribute='k'"}
		}
		return name + "(" + strings.Join(list, ", ") + ")"
	}
}

// sortedNames returns the names of a table, for error messages and tests.
func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
