package sets

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// A set of strings is held in the simplest of five ways that fits (Kind), so that most schemas need no automaton:
//
//	And({"a", "bc"}, at least 2 characters) = {"bc"}          Finite, string by string
//	And(at least 2, at most 5 characters) = 2 to 5            Simple
//	And(at least 2 characters, ^[a-z]+$)                      Expr: a regular language of canonical texts

// Strings is a set of strings.
type Strings struct {
	Kind        Kind
	Least, Most int          // of Simple: how many characters, most may be unlimited
	Texts       []string     // of Finite
	Expr        regular.Expr // of Expr: canonical

	// Formats are not always complete. Lacks is a schema with a format. The set may lack some of the format's strings. Excess is a schema
	// with a format that may have left strings in the set that do not belong there, as in the complement of a set that lacks some.
	Lacks, Excess *read.Schema
}

// Just returns the set of one string.
func Just(text string) Strings { return Strings{Kind: Finite, Texts: []string{text}} }

// AndStrings returns the strings that are in both sets.
func (c *Algebra) AndStrings(a, b Strings) Strings {
	switch {
	case a.Kind == None || b.Kind == All:
		return a
	case b.Kind == None || a.Kind == All:
		return b
	case a.Kind == Simple && b.Kind == Simple:
		a.Least, a.Most = max(a.Least, b.Least), min(a.Most, b.Most)
		if a.Least > a.Most {
			return Strings{}
		}
		return a
	case a.Kind == Finite && b.Kind == Finite && len(a.Texts) == len(b.Texts) && &a.Texts[0] == &b.Texts[0]: // references to one enumeration
		return a.because(a, b)
	case a.Kind == Finite || b.Kind == Finite:
		if a.Kind != Finite {
			a, b = b, a
		}
		out := Strings{Kind: Finite}.because(a, b)
		for _, t := range a.Texts {
			if c.HasString(b, t) {
				out.Texts = append(out.Texts, t)
			}
		}
		if len(out.Texts) == 0 {
			return Strings{}
		}
		return out
	}
	return Strings{Kind: Expr, Expr: c.Arena.And(c.stringExpr(a), c.stringExpr(b))}.because(a, b)
}

// orStrings returns the strings that are in any of some sets.
func (c *Algebra) orStrings(sets ...Strings) Strings {
	var texts []string
	var others []Strings
	var from Strings
	for _, a := range sets {
		switch {
		case a.Kind == None:
			continue
		case a.Kind == All:
			return a
		case a.Kind == Finite:
			c.Spend(2 * len(a.Texts))
			texts = append(texts, a.Texts...)
		case a.Kind == Simple && slices.ContainsFunc(others, func(b Strings) bool { return b.Kind == Simple && a.Least == b.Least && a.Most == b.Most }):
		default:
			c.Spend(1 + len(others)/limits.LongText)
			others = append(others, a)
		}
		from = from.because(from, a)
	}
	switch {
	case len(others) == 0 && texts == nil:
		return Strings{}
	case len(others) == 1 && texts == nil:
		return others[0]
	}
	slices.Sort(texts)
	finite := Strings{Kind: Finite, Texts: slices.Compact(texts)}
	if len(others) == 0 {
		return finite.because(from, from)
	}
	var list []regular.Expr
	for _, a := range others {
		list = append(list, c.stringExpr(a))
	}
	if texts != nil {
		list = append(list, c.stringExpr(finite))
	}
	return Strings{Kind: Expr, Expr: c.Arena.Or(list...)}.because(from, from)
}

// oneString returns the strings that are in exactly one of some sets. A set that is loose may lack strings that the set says it has.
func (c *Algebra) oneString(sets []Strings, loose []bool) Strings {
	finite := map[string]tally{}
	zero, one := Strings{Kind: All}, Strings{}
	sure := !slices.ContainsFunc(sets, func(a Strings) bool { return a.Lacks != nil || a.Excess != nil })
	var rest []int
	for i, a := range sets {
		if a.Kind != Finite || !sure {
			rest = append(rest, i)
			continue
		}
		c.Spend(2 * len(a.Texts))
		for _, t := range a.Texts {
			finite[t] = finite[t].with(loose[i])
		}
	}
	for _, i := range rest {
		is, isNot := sets[i], Strings{Kind: All}
		if !loose[i] {
			isNot = c.NotStrings(is)
		}
		one = c.orStrings(c.AndStrings(one, isNot), c.AndStrings(zero, is))
		zero = c.AndStrings(zero, isNot)
	}
	if len(finite) == 0 {
		return one
	}
	texts := slices.Sorted(maps.Keys(finite))
	kept := make([]string, 0, len(texts))
	for _, text := range texts {
		t := finite[text]
		for _, i := range rest {
			if c.HasString(sets[i], text) {
				t = t.with(loose[i])
			}
		}
		if t.one() {
			kept = append(kept, text)
		}
	}
	if one.Kind != None {
		one = c.AndStrings(one, c.NotStrings(Strings{Kind: Finite, Texts: texts}))
	}
	if len(kept) == 0 {
		return one
	}
	return c.orStrings(Strings{Kind: Finite, Texts: kept}, one)
}

// because returns the set, which was made of two others, with what these lack or have in excess.
func (a Strings) because(x, y Strings) Strings {
	a.Lacks, a.Excess = cmp.Or(x.Lacks, y.Lacks), cmp.Or(x.Excess, y.Excess)
	return a
}

// NotStrings returns the strings that are not in the set.
func (c *Algebra) NotStrings(a Strings) Strings {
	switch a.Kind {
	case None:
		return Strings{Kind: All}
	case All:
		return Strings{}
	case Simple:
		switch {
		case a.Least == 0:
			return Strings{Kind: Simple, Least: a.Most + 1, Most: limits.Unlimited}
		case a.Most == limits.Unlimited:
			return Strings{Kind: Simple, Most: a.Least - 1}
		}
	}
	return Strings{Kind: Expr, Expr: c.Arena.Minus(c.Language.Canonicals, c.stringExpr(a)), Lacks: a.Excess, Excess: a.Lacks}
}

// HasString reports whether a string belongs to a set.
func (c *Algebra) HasString(a Strings, s string) bool {
	c.Spend(1 + len(s)/limits.LongText)
	switch a.Kind {
	case None:
		return false
	case All:
		return true
	case Finite:
		_, ok := slices.BinarySearch(a.Texts, s)
		return ok
	case Simple:
		n := utf8.RuneCountInString(s)
		return a.Least <= n && n <= a.Most
	}
	return c.Arena.Matches(a.Expr, c.Language.Body(s))
}

// SomeString reports whether a set has any string.
func (c *Algebra) SomeString(a Strings) bool {
	return a.Kind != None && (a.Kind != Expr || c.Alive(a.Expr))
}

// stringExpr returns the canonical texts of a set's strings, without quotes.
func (c *Algebra) stringExpr(a Strings) regular.Expr {
	switch a.Kind {
	case None:
		return regular.None
	case All:
		return c.Language.Canonicals
	case Simple:
		return c.Written(c.Arena.Repeat(c.Language.Canonical, a.Least, upper(a.Most)))
	case Finite:
		c.Spend(4 * len(a.Texts))
		bodies := make([]string, len(a.Texts))
		for i, t := range a.Texts {
			bodies[i] = c.Language.Body(t)
		}
		return oneOf(c.Arena, bodies)
	}
	return a.Expr
}

// Quoted returns the texts of a set's strings with quotes, in any writing if the set says nothing but how many characters there are.
func (c *Algebra) Quoted(a Strings) regular.Expr {
	switch a.Kind {
	case None:
		return regular.None
	case All:
		return c.Language.String
	case Simple:
		return c.Arena.Concat(c.Language.Quote, c.Written(c.Arena.Repeat(c.Language.Char, a.Least, upper(a.Most))), c.Language.Quote)
	}
	return c.Arena.Concat(c.Language.Quote, c.stringExpr(a), c.Language.Quote)
}

// Names returns the canonical texts of a set's strings as names of members.
func (c *Algebra) Names(a Strings) regular.Expr { return c.Language.Names(c.stringExpr(a)) }

// Written returns the texts of e that can stand between quotes: all, unless the language says that some texts cannot.
func (c *Algebra) Written(e regular.Expr) regular.Expr {
	if !c.Language.Raw || c.Language.Canonicals == c.Language.Text {
		return e
	}
	return c.Arena.And(e, c.Language.Canonicals)
}

// upper returns an upper bound as package regular has it.
func upper(n int) int {
	if n == limits.Unlimited {
		return regular.Unbounded
	}
	return n
}
