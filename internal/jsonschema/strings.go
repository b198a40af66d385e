package jsonschema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jsontext"
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

func readPattern(c *compiler, s *schema, _, v *value, path string) {
	if v.kind != text {
		c.fail("%s is not a string", path)
	}
	s.pattern = v.text
	s.hasPattern = true
}

func readFormat(c *compiler, s *schema, _, v *value, path string) {
	if v.kind != text {
		c.fail("%s is not a string", path)
	}
	s.format = v.text
}

// pattern returns the canonical strings that match a pattern of s; in lossy mode all, where it cannot be promised.
func (c *compiler) pattern(s *schema, keyword, source string) regular.Expr {
	if p, ok := c.patterns[source]; ok && p.err == nil {
		return p.e
	}
	e, err := pattern.ECMA(c.r, pattern.JSON, source)
	c.patterns[source] = compiled{e, err}
	if err != nil {
		c.unsupported(s, keyword, "%v", err)
		return c.l.Canonicals
	}
	return e
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
		for _, v := range list {
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

func (c *compiler) orStrings(a, b stringSet) stringSet {
	switch {
	case a.kind == setNone || b.kind == setAll:
		return b
	case b.kind == setNone || a.kind == setAll:
		return a
	case a.kind == setFinite && b.kind == setFinite:
		texts := append(slices.Clone(a.texts), b.texts...)
		slices.Sort(texts)
		return stringSet{kind: setFinite, texts: slices.Compact(texts)}.because(a, b)
	case a.kind == setSimple && b.kind == setSimple && a.least == b.least && a.most == b.most:
		return a
	}
	return stringSet{kind: setExpr, expr: c.r.Or(c.stringExpr(a), c.stringExpr(b))}.because(a, b)
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
	switch a.kind {
	case setNone:
		return false
	case setAll:
		return true
	case setFinite:
		_, ok := slices.BinarySearch(a.texts, s)
		return ok
	case setSimple:
		n := len([]rune(s))
		return a.least <= n && n <= a.most
	}
	return c.r.Matches(a.expr, jsontext.Body(s))
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
		bodies := make([]string, len(a.texts))
		for i, t := range a.texts {
			bodies[i] = jsontext.Body(t)
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
