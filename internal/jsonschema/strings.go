package jsonschema

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// stringSet is a set of strings.
type stringSet struct {
	kind        setKind
	least, most int          // of setSimple: how many characters, most may be unlimited
	texts       []string     // of setFinite
	expr        regular.Expr // of setExpr: canonical

	// lacks is a schema because of whose format there may be more strings than the set has; excess is one because of whose format
	// there may be strings in the set that do not belong there, as in the complement of a set that lacks some.
	lacks, excess *schema
}

func readPattern(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != text {
		c.fail("%s is not a string", path)
	}
	s.pattern = v.text
	s.hasPattern = true
}

func readFormat(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != text {
		c.fail("%s is not a string", path)
	}
	s.format = v.text
}

// pattern returns the canonical strings that match a pattern of s; in lossy mode all, where it cannot be promised.
func (c *compiler) pattern(s *schema, keyword, source string) regular.Expr {
	p, ok := c.patterns[source]
	if !ok {
		c.spend(len(source))
		p.e, p.err = pattern.ECMA(c.r, pattern.JSON, source)
		c.patterns[source] = p
	}
	if p.err != nil {
		c.unsupported(s, keyword, "%v", p.err)
		return c.l.Canonicals
	}
	return p.e
}

// compiled is a pattern's language.
type compiled struct {
	e   regular.Expr
	err error
}

// stringsOf returns the strings that the keywords of s allow.
func (c *compiler) stringsOf(s *schema) stringSet {
	if s.types&strs == 0 {
		return stringSet{}
	}
	n := stringSet{kind: setAll}
	if s.minLength > 0 || s.maxLength < unlimited {
		n = stringSet{kind: setSimple, least: s.minLength, most: s.maxLength}
		if s.minLength > s.maxLength {
			return stringSet{}
		}
	}
	if s.hasPattern {
		n = c.andStrings(n, stringSet{kind: setExpr, expr: c.pattern(s, "pattern", s.pattern)})
	}
	if s.format != "" {
		if set, ok := c.formatOf(s); ok {
			n = c.andStrings(n, set)
		}
	}
	for _, list := range s.enums {
		some := stringSet{kind: setFinite}
		c.spend(2 * len(list.values))
		for _, v := range list.values {
			if v.kind == text {
				some.texts = append(some.texts, v.text)
			}
		}
		slices.Sort(some.texts)
		if some.texts = slices.Compact(some.texts); len(some.texts) == 0 {
			return stringSet{}
		}
		n = c.andStrings(n, some)
	}
	return n
}

func (c *compiler) andStrings(a, b stringSet) stringSet {
	switch {
	case a.kind == setNone || b.kind == setAll:
		return a
	case b.kind == setNone || a.kind == setAll:
		return b
	case a.kind == setSimple && b.kind == setSimple:
		a.least, a.most = max(a.least, b.least), min(a.most, b.most)
		if a.least > a.most {
			return stringSet{}
		}
		return a
	case a.kind == setFinite && b.kind == setFinite && len(a.texts) == len(b.texts) && &a.texts[0] == &b.texts[0]: // references to one enumeration
		return a.because(a, b)
	case a.kind == setFinite || b.kind == setFinite:
		if a.kind != setFinite {
			a, b = b, a
		}
		out := stringSet{kind: setFinite}.because(a, b)
		for _, t := range a.texts {
			if c.hasString(b, t) {
				out.texts = append(out.texts, t)
			}
		}
		if len(out.texts) == 0 {
			return stringSet{}
		}
		return out
	}
	return stringSet{kind: setExpr, expr: c.r.And(c.stringExpr(a), c.stringExpr(b))}.because(a, b)
}

// orStrings returns the strings that are in any of some sets.
func (c *compiler) orStrings(sets ...stringSet) stringSet {
	var texts []string
	var others []stringSet
	var from stringSet
	for _, a := range sets {
		switch {
		case a.kind == setNone:
			continue
		case a.kind == setAll:
			return a
		case a.kind == setFinite:
			c.spend(2 * len(a.texts))
			texts = append(texts, a.texts...)
		case a.kind == setSimple && slices.ContainsFunc(others, func(b stringSet) bool { return b.kind == setSimple && a.least == b.least && a.most == b.most }):
		default:
			c.spend(1 + len(others)/longText)
			others = append(others, a)
		}
		from = from.because(from, a)
	}
	switch {
	case len(others) == 0 && texts == nil:
		return stringSet{}
	case len(others) == 1 && texts == nil:
		return others[0]
	}
	slices.Sort(texts)
	finite := stringSet{kind: setFinite, texts: slices.Compact(texts)}
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
	return stringSet{kind: setExpr, expr: c.r.Or(list...)}.because(from, from)
}

// oneString returns the strings that are in exactly one of some sets, where a set that is loose may lack strings that it says it has.
func (c *compiler) oneString(sets []stringSet, loose []bool) stringSet {
	finite := map[string]tally{}
	zero, one := stringSet{kind: setAll}, stringSet{}
	sure := !slices.ContainsFunc(sets, func(a stringSet) bool { return a.lacks != nil || a.excess != nil })
	var rest []int
	for i, a := range sets {
		if a.kind != setFinite || !sure {
			rest = append(rest, i)
			continue
		}
		c.spend(2 * len(a.texts))
		for _, t := range a.texts {
			finite[t] = finite[t].with(loose[i])
		}
	}
	for _, i := range rest {
		is, isNot := sets[i], stringSet{kind: setAll}
		if !loose[i] {
			isNot = c.notStrings(is)
		}
		one = c.orStrings(c.andStrings(one, isNot), c.andStrings(zero, is))
		zero = c.andStrings(zero, isNot)
	}
	if len(finite) == 0 {
		return one
	}
	texts := slices.Sorted(maps.Keys(finite))
	kept := make([]string, 0, len(texts))
	for _, text := range texts {
		t := finite[text]
		for _, i := range rest {
			if c.hasString(sets[i], text) {
				t = t.with(loose[i])
			}
		}
		if t.one() {
			kept = append(kept, text)
		}
	}
	if one.kind != setNone {
		one = c.andStrings(one, c.notStrings(stringSet{kind: setFinite, texts: texts}))
	}
	if len(kept) == 0 {
		return one
	}
	return c.orStrings(stringSet{kind: setFinite, texts: kept}, one)
}

// because returns the set, which was made of two others, with what these lack or have in excess.
func (a stringSet) because(x, y stringSet) stringSet {
	a.lacks, a.excess = cmp.Or(x.lacks, y.lacks), cmp.Or(x.excess, y.excess)
	return a
}

func (c *compiler) notStrings(a stringSet) stringSet {
	switch a.kind {
	case setNone:
		return stringSet{kind: setAll}
	case setAll:
		return stringSet{}
	case setSimple:
		switch {
		case a.least == 0:
			return stringSet{kind: setSimple, least: a.most + 1, most: unlimited}
		case a.most == unlimited:
			return stringSet{kind: setSimple, most: a.least - 1}
		}
	}
	return stringSet{kind: setExpr, expr: c.r.Minus(c.l.Canonicals, c.stringExpr(a)), lacks: a.excess, excess: a.lacks}
}

// hasString tells whether a string belongs to a set.
func (c *compiler) hasString(a stringSet, s string) bool {
	c.spend(1 + len(s)/longText)
	switch a.kind {
	case setNone:
		return false
	case setAll:
		return true
	case setFinite:
		_, ok := slices.BinarySearch(a.texts, s)
		return ok
	case setSimple:
		n := utf8.RuneCountInString(s)
		return a.least <= n && n <= a.most
	}
	return c.r.Matches(a.expr, jsonexpr.Body(s))
}

// stringExpr returns the canonical texts of a set's strings, without quotes.
func (c *compiler) stringExpr(a stringSet) regular.Expr {
	switch a.kind {
	case setNone:
		return regular.None
	case setAll:
		return c.l.Canonicals
	case setSimple:
		return c.r.Repeat(c.l.Canonical, a.least, upper(a.most))
	case setFinite:
		c.spend(4 * len(a.texts))
		bodies := make([]string, len(a.texts))
		for i, t := range a.texts {
			bodies[i] = jsonexpr.Body(t)
		}
		return c.oneOf(bodies)
	}
	return a.expr
}

// quoted returns the texts of a set's strings with quotes, in any writing where the set says nothing but how many characters there are.
func (c *compiler) quoted(a stringSet) regular.Expr {
	switch a.kind {
	case setNone:
		return regular.None
	case setAll:
		return c.l.String
	case setSimple:
		return c.r.Concat(c.quote, c.r.Repeat(c.l.Char, a.least, upper(a.most)), c.quote)
	}
	return c.r.Concat(c.quote, c.stringExpr(a), c.quote)
}

// upper returns an upper bound as package regular has it.
func upper(n int) int {
	if n == unlimited {
		return regular.Unbounded
	}
	return n
}

// oneOf returns the language of some texts, in which each beginning is followed once.
func (c *compiler) oneOf(texts []string) regular.Expr {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return c.trie(slices.Compact(texts))
}

func (c *compiler) trie(texts []string) regular.Expr {
	if len(texts) <= 4 {
		list := make([]regular.Expr, len(texts))
		for i, t := range texts {
			list[i] = c.r.Literal(t)
		}
		return c.r.Or(list...)
	}
	var list []regular.Expr
	if texts[0] == "" {
		list, texts = append(list, regular.Empty), texts[1:]
	}
	for len(texts) > 0 {
		n := 1
		for n < len(texts) && texts[n][0] == texts[0][0] {
			n++
		}
		first, last := texts[0], texts[n-1]
		common := 1
		for common < len(first) && common < len(last) && first[common] == last[common] {
			common++
		}
		rest := make([]string, n)
		for i, t := range texts[:n] {
			rest[i] = t[common:]
		}
		tail := regular.Empty
		if n > 1 {
			tail = c.trie(rest)
		}
		list = append(list, c.r.Concat(c.r.Literal(strings.Clone(first[:common])), tail))
		texts = texts[n:]
	}
	return c.r.Or(list...)
}
