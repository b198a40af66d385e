package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/pattern"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// facts finds, for each schema, its scalars and the types that its values may have. Both follow from the schema's own keywords and from the
// facts about the schemas that apply to the same value. For example, for
//
//	{"type": ["integer", "array"], "anyOf": [{"minimum": 3}, {"const": null}]}
//
// the scalars are the whole numbers from 3 on, and a value may be an integer or an array. A schema that refers to itself without end has no
// facts of its own: see progress.

// facts holds, for each schema, a fact that does not depend on arrays and objects.
type facts struct {
	*limits.Meter
	*read.Schemas
	*sets.Algebra
	doc      *document.Document
	known    []*fact // by Schema.ID; nil: nothing was asked
	patterns map[string]compiled
}

// fact is the knowledge about one schema.
type fact struct {
	scalarsKnown progress
	scalars      sets.Scalars
	others       *sets.Scalars // the complement of scalars; nil: not asked for
	typesKnown   progress
	may          read.TypeSet
}

// of returns the fact about s.
func (c *facts) of(s *read.Schema) *fact {
	if more := len(c.List) - len(c.known); more > 0 {
		c.known = append(c.known, make([]*fact, more)...)
	}
	if c.known[s.ID] == nil {
		c.known[s.ID] = &fact{}
	}
	return c.known[s.ID]
}

// progress says how far something is that refers to itself.
type progress uint8

const (
	untouched progress = iota
	begun
	done
)

// mayBe returns types that hold all types of a schema's values.
func (c *facts) mayBe(s *read.Schema) read.TypeSet {
	f := c.of(s)
	switch f.typesKnown {
	case begun:
		return read.Everything
	case untouched:
		c.Deeper(s)
		defer c.Shallower()
		f.typesKnown = begun
		f.may = s.Types
		for _, list := range [][]*read.Schema{s.Ref, s.AllOf} {
			for _, t := range list {
				f.may &= c.mayBe(t)
			}
		}
		for _, list := range [][]*read.Schema{s.AnyOf, s.OneOf} {
			if list != nil {
				var any read.TypeSet
				for _, t := range list {
					any |= c.mayBe(t)
				}
				f.may &= any
			}
		}
		for _, list := range s.Enums {
			var any read.TypeSet
			c.Spend(len(list.Values))
			for _, v := range list.Values {
				any |= read.TypeOf(v)
			}
			f.may &= any
		}
		f.typesKnown = done
	}
	return f.may
}

// schema returns the schema of a lit.
func (c *facts) schema(l lit) *read.Schema { return c.List[l>>1] }

// scalarsUnder returns the scalars for which l is true.
func (c *facts) scalarsUnder(l lit) sets.Scalars {
	if s := c.schema(l); l.positive() {
		return c.scalarsOf(s)
	} else {
		return c.scalarsNot(s)
	}
}

// scalarsOf returns the values of s that are neither arrays nor objects.
func (c *facts) scalarsOf(s *read.Schema) sets.Scalars {
	f := c.of(s)
	switch f.scalarsKnown {
	case done:
		return f.scalars
	case begun:
		limits.Fail(s.Path, "%q: the schema refers to itself without end", s.Path)
	}
	f.scalarsKnown, c.Here = begun, s
	if !s.Never {
		c.Deeper(s)
		f.scalars = c.scalarsSaid(s)
		c.Shallower()
	}
	f.scalarsKnown = done
	return f.scalars
}

// scalarsSaid computes scalarsOf for a schema that is not in the table yet.
func (c *facts) scalarsSaid(s *read.Schema) sets.Scalars {
	set := c.ownScalars(s)
	for _, list := range [][]*read.Schema{s.Ref, s.AllOf} {
		for _, t := range list {
			set = c.And(set, c.scalarsOf(t))
		}
	}
	if s.AnyOf != nil {
		some := make([]sets.Scalars, len(s.AnyOf))
		for i, t := range s.AnyOf {
			some[i] = c.scalarsOf(t)
		}
		set = c.And(set, c.Or(some...))
	}
	if s.OneOf != nil {
		some, loose := make([]sets.Scalars, len(s.OneOf)), make([]bool, len(s.OneOf))
		for i, t := range s.OneOf {
			some[i], loose[i] = c.scalarsOf(t), t.Loose
			if set.Numbers.Kind == sets.None {
				some[i].Numbers = sets.Numbers{}
			}
			if set.Strings.Kind == sets.None {
				some[i].Strings = sets.Strings{}
			}
		}
		set = c.And(set, c.One(some, loose))
	}
	if s.Not != nil {
		set = c.And(set, c.scalarsNot(s.Not))
	}
	if s.If != nil && (s.Then != nil || s.Else != nil) {
		then, otherwise := c.scalarsOf(s.If), c.scalarsNot(s.If)
		if s.Then != nil {
			then = c.And(then, c.scalarsOf(s.Then))
		}
		if s.Else != nil {
			otherwise = c.And(otherwise, c.scalarsOf(s.Else))
		}
		set = c.And(set, c.Or(then, otherwise))
	}
	return set
}

// scalarsNot returns the values that are not of s and are neither arrays nor objects. Of a schema that something was left out of,
// nothing is known to be no value.
func (c *facts) scalarsNot(s *read.Schema) sets.Scalars {
	set := c.scalarsOf(s)
	if s.Loose {
		return sets.AllScalars
	}
	f := c.of(s)
	if f.others == nil {
		c.Here = s
		others := c.Complement(set)
		f.others = &others
	}
	return *f.others
}

// ownScalars returns the values that the keywords allow that hold no schemas.
func (c *facts) ownScalars(s *read.Schema) sets.Scalars {
	set := sets.Scalars{Words: sets.AllWords}
	if s.Types&read.Nulls == 0 {
		set.Words &^= sets.WordNull
	}
	if s.Types&read.Booleans == 0 {
		set.Words &^= sets.WordTrue | sets.WordFalse
	}
	for _, list := range s.Enums {
		var some sets.Words
		c.Spend(len(list.Values))
		for _, v := range list.Values {
			some |= sets.WordOf(v)
		}
		set.Words &= some
	}
	set.Numbers, set.Strings = c.numbersOf(s), c.stringsOf(s)
	return set
}

// numbersOf returns the numbers that the keywords of s allow.
func (c *facts) numbersOf(s *read.Schema) sets.Numbers {
	if s.Types&(read.Integers|read.Fractions) == 0 {
		return sets.Numbers{}
	}
	set := numbers.Set{ZeroFraction: true}
	if s.Number != nil {
		set = s.Number.And(set)
	}
	set.Integer = s.Types&read.Fractions == 0
	set.ZeroFraction = true
	n := sets.Numbers{Kind: sets.Simple, Set: set}
	if set.Min == nil && set.Max == nil && set.MultipleOf == nil && !set.Integer {
		n.Kind = sets.All
	} else if s.Number != nil {
		if err := set.Check(); err != nil {
			c.Unsupported(s, "multipleOf", "%v", err)
			n.Kind = sets.All
		}
	}
	for _, list := range s.Enums {
		n = c.AndNumbers(n, c.numbersAmong(s, list.Values))
	}
	return n
}

// numbersAmong returns the numbers in an enumeration of s.
func (c *facts) numbersAmong(s *read.Schema, values []*document.Value) sets.Numbers {
	var texts []sets.Numeral
	seen := map[int32]bool{}
	for _, v := range values {
		c.Spend(1)
		if v.Kind != document.Number {
			continue
		}
		n, ok := sets.NumeralOf(c.doc, v)
		if !ok {
			c.Unsupported(s, "enum", "%.40s has too many digits", v.Text)
			continue
		}
		c.Spend(sets.NumberSteps)
		if !seen[n.Same] {
			seen[n.Same] = true
			texts = append(texts, n)
		}
	}
	return sets.Listed(texts)
}

// stringsOf returns the strings that the keywords of s allow.
func (c *facts) stringsOf(s *read.Schema) sets.Strings {
	if s.Types&read.Strings == 0 {
		return sets.Strings{}
	}
	n := sets.Strings{Kind: sets.All}
	if s.MinLength > s.MaxLength {
		return sets.Strings{}
	}
	most := s.MaxLength
	if pattern.Longest(s.Format) <= most {
		most = limits.Unlimited
	}
	if s.MinLength > 0 || most < limits.Unlimited {
		n = sets.Strings{Kind: sets.Simple, Least: s.MinLength, Most: most}
	}
	if s.HasPattern {
		n = c.AndStrings(n, sets.Strings{Kind: sets.Expr, Expr: c.pattern(s, "pattern", s.Pattern)})
	}
	if s.Format != "" {
		if set, ok := c.formatOf(s); ok {
			n = c.AndStrings(n, set)
		}
	}
	for _, list := range s.Enums {
		some := sets.Strings{Kind: sets.Finite}
		c.Spend(2 * len(list.Values))
		for _, v := range list.Values {
			if v.Kind == document.Text {
				some.Texts = append(some.Texts, v.Text)
			}
		}
		slices.Sort(some.Texts)
		if some.Texts = slices.Compact(some.Texts); len(some.Texts) == 0 {
			return sets.Strings{}
		}
		n = c.AndStrings(n, some)
	}
	return n
}

// pattern returns the canonical strings that match a pattern of s; in lossy mode all strings, if the pattern cannot be promised.
func (c *facts) pattern(s *read.Schema, keyword, source string) regular.Expr {
	p, ok := c.patterns[source]
	if !ok {
		c.Spend(len(source))
		p.e, p.err = pattern.ECMA(c.Arena, c.alphabet(), source)
		p.e = c.Written(p.e)
		c.patterns[source] = p
	}
	if p.err != nil {
		c.Unsupported(s, keyword, "%v", p.err)
		return c.Language.Canonicals
	}
	return p.e
}

// alphabet returns how characters of strings are written.
func (c *facts) alphabet() pattern.Alphabet {
	if c.Language.Raw {
		return pattern.Raw
	}
	return pattern.JSON
}

// compiled is a pattern's language.
type compiled struct {
	e   regular.Expr
	err error
}

// incomplete are the formats with strings that package pattern lacks.
var incomplete = []string{"email", "idn-email", "hostname", "idn-hostname", "uri-template", "regex"}

// formatOf returns the strings of a format, and whether it says anything: unknown formats are annotations.
func (c *facts) formatOf(s *read.Schema) (sets.Strings, bool) {
	e, ok := pattern.Format(c.Arena, c.alphabet(), s.Format)
	if !ok {
		return sets.Strings{}, false
	}
	set := sets.Strings{Kind: sets.Expr, Expr: c.Written(e)}
	if slices.Contains(incomplete, s.Format) {
		set.Lacks = s
	}
	return set, true
}

// refuseExcess refuses a set that may have strings that do not belong there.
func (c *facts) refuseExcess(set sets.Strings) {
	if set.Excess != nil {
		c.Unsupported(set.Excess, "format", "the strings that are not of the format %q are not known", set.Excess.Format)
	}
}
