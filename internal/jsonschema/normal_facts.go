package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// facts is what is known of each schema without a look at arrays and objects.
type facts struct {
	*meter
	*schemas
	*sets
	source   *source
	known    []*fact // by schema.id; nil: nothing was asked
	patterns map[string]compiled
}

// fact is what is known of a schema.
type fact struct {
	scalarsKnown progress
	scalars      scalars
	others       *scalars // the complement of scalars; nil: not asked for
	typesKnown   progress
	may          typeSet
}

// of returns what is known of s.
func (c *facts) of(s *schema) *fact {
	if more := len(c.list) - len(c.known); more > 0 {
		c.known = append(c.known, make([]*fact, more)...)
	}
	if c.known[s.id] == nil {
		c.known[s.id] = &fact{}
	}
	return c.known[s.id]
}

// progress tells how far something is that refers to itself.
type progress uint8

const (
	untouched progress = iota
	begun
	done
)

// mayBe returns types that hold all types of a schema's values.
func (c *facts) mayBe(s *schema) typeSet {
	f := c.of(s)
	switch f.typesKnown {
	case begun:
		return everything
	case untouched:
		c.deeper(s)
		defer c.shallower()
		f.typesKnown = begun
		f.may = s.types
		for _, list := range [][]*schema{s.ref, s.allOf} {
			for _, t := range list {
				f.may &= c.mayBe(t)
			}
		}
		for _, list := range [][]*schema{s.anyOf, s.oneOf} {
			if list != nil {
				var any typeSet
				for _, t := range list {
					any |= c.mayBe(t)
				}
				f.may &= any
			}
		}
		for _, list := range s.enums {
			var any typeSet
			c.spend(len(list.values))
			for _, v := range list.values {
				any |= typeOf(v)
			}
			f.may &= any
		}
		f.typesKnown = done
	}
	return f.may
}

// schema returns the schema of a lit.
func (c *facts) schema(l lit) *schema { return c.list[l>>1] }

// scalarsUnder returns the scalars for which l is true.
func (c *facts) scalarsUnder(l lit) scalars {
	if s := c.schema(l); l.positive() {
		return c.scalarsOf(s)
	} else {
		return c.scalarsNot(s)
	}
}

// scalarsOf returns the values of s that are neither arrays nor objects.
func (c *facts) scalarsOf(s *schema) scalars {
	f := c.of(s)
	switch f.scalarsKnown {
	case done:
		return f.scalars
	case begun:
		fail("%q: the schema refers to itself without end", s.path)
	}
	f.scalarsKnown, c.here = begun, s
	if !s.never {
		c.deeper(s)
		f.scalars = c.scalarsSaid(s)
		c.shallower()
	}
	f.scalarsKnown = done
	return f.scalars
}

// scalarsSaid is scalarsOf for what was not asked before.
func (c *facts) scalarsSaid(s *schema) scalars {
	set := c.ownScalars(s)
	for _, list := range [][]*schema{s.ref, s.allOf} {
		for _, t := range list {
			set = c.and(set, c.scalarsOf(t))
		}
	}
	if s.anyOf != nil {
		some := make([]scalars, len(s.anyOf))
		for i, t := range s.anyOf {
			some[i] = c.scalarsOf(t)
		}
		set = c.and(set, c.or(some...))
	}
	if s.oneOf != nil {
		some, loose := make([]scalars, len(s.oneOf)), make([]bool, len(s.oneOf))
		for i, t := range s.oneOf {
			some[i], loose[i] = c.scalarsOf(t), t.loose
			if set.numbers.kind == setNone {
				some[i].numbers = numberSet{}
			}
			if set.strings.kind == setNone {
				some[i].strings = stringSet{}
			}
		}
		set = c.and(set, c.one(some, loose))
	}
	if s.not != nil {
		set = c.and(set, c.scalarsNot(s.not))
	}
	if s.cond != nil && (s.then != nil || s.otherwise != nil) {
		then, otherwise := c.scalarsOf(s.cond), c.scalarsNot(s.cond)
		if s.then != nil {
			then = c.and(then, c.scalarsOf(s.then))
		}
		if s.otherwise != nil {
			otherwise = c.and(otherwise, c.scalarsOf(s.otherwise))
		}
		set = c.and(set, c.or(then, otherwise))
	}
	return set
}

// scalarsNot returns the values that are not of s and are neither arrays nor objects. Of a schema that something was left out of,
// nothing is known to be no value.
func (c *facts) scalarsNot(s *schema) scalars {
	set := c.scalarsOf(s)
	if s.loose {
		return allScalars
	}
	f := c.of(s)
	if f.others == nil {
		c.here = s
		others := c.complement(set)
		f.others = &others
	}
	return *f.others
}

// ownScalars returns the values that the keywords allow that hold no schemas.
func (c *facts) ownScalars(s *schema) scalars {
	set := scalars{words: allWords}
	if s.types&nulls == 0 {
		set.words &^= wordNull
	}
	if s.types&booleans == 0 {
		set.words &^= wordTrue | wordFalse
	}
	for _, list := range s.enums {
		var some words
		c.spend(len(list.values))
		for _, v := range list.values {
			some |= wordOf(v)
		}
		set.words &= some
	}
	set.numbers, set.strings = c.numbersOf(s), c.stringsOf(s)
	return set
}

// numbersOf returns the numbers that the keywords of s allow.
func (c *facts) numbersOf(s *schema) numberSet {
	if s.types&(integers|fractions) == 0 {
		return numberSet{}
	}
	set := numbers.Set{ZeroFraction: true}
	if s.number != nil {
		set = s.number.And(set)
	}
	set.Integer = s.types&fractions == 0
	set.ZeroFraction = true
	n := numberSet{kind: setSimple, set: set}
	if set.Min == nil && set.Max == nil && set.MultipleOf == nil && !set.Integer {
		n.kind = setAll
	} else if s.number != nil {
		if _, err := numbers.Language(c.r, set); err != nil {
			c.unsupported(s, "multipleOf", "%v", err)
			n.kind = setAll
		}
	}
	for _, list := range s.enums {
		n = c.andNumbers(n, c.numbersAmong(s, list.values))
	}
	return n
}

// numbersAmong returns the numbers in an enumeration of s.
func (c *facts) numbersAmong(s *schema, values []*value) numberSet {
	var texts []numeral
	seen := map[int32]bool{}
	for _, v := range values {
		c.spend(1)
		if v.kind != number {
			continue
		}
		n, ok := numeralOf(c.source, v)
		if !ok {
			c.unsupported(s, "enum", "%.40s has too many digits", v.text)
			continue
		}
		c.spend(numberSteps)
		if !seen[n.same] {
			seen[n.same] = true
			texts = append(texts, n)
		}
	}
	return listed(texts)
}

// stringsOf returns the strings that the keywords of s allow.
func (c *facts) stringsOf(s *schema) stringSet {
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

// pattern returns the canonical strings that match a pattern of s; in lossy mode all, where it cannot be promised.
func (c *facts) pattern(s *schema, keyword, source string) regular.Expr {
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

// incomplete are the formats of which package pattern has not all strings, so that a string that it lacks may be of the format.
var incomplete = []string{"email", "idn-email", "hostname", "idn-hostname", "uri-template", "regex"}

// formatOf returns the strings of a format, and whether it says anything: unknown formats are annotations.
func (c *facts) formatOf(s *schema) (stringSet, bool) {
	e, ok := pattern.Format(c.r, s.format)
	if !ok {
		return stringSet{}, false
	}
	set := stringSet{kind: setExpr, expr: e}
	if slices.Contains(incomplete, s.format) {
		set.lacks = s
	}
	return set, true
}

// refuseExcess refuses a set that may have strings that do not belong there.
func (c *facts) refuseExcess(set stringSet) {
	if set.excess != nil {
		c.unsupported(set.excess, "format", "the strings that are not of the format %q are not known", set.excess.format)
	}
}
