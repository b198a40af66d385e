package normal

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/read"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/sets"
)

// verdicts decides whether values that stand in the schema, in an enum or a const, satisfy other schemas: scalars by their sets, arrays and
// objects keyword by keyword. For example, in
//
//	{"enum": [[1], ["x"]], "items": {"type": "integer"}}
//
// it finds that [1] is valid and ["x"] is not, so that the enumeration has one value left.

// verdicts records which values of the text satisfy which schemas.
type verdicts struct {
	*facts
	given    map[question]verdict
	listings map[**read.Schema]map[int32][]*read.Schema // of listing, by the first schema of a list
}

// question is whether a value is of a schema: the schema's ID, and Document.Same of the value.
type question struct{ schema, value int32 }

// verdict is the answer to a question.
type verdict uint8

const (
	open verdict = iota + 1 // it is being found
	yes
	no
)

// satisfies reports whether all lits are true of a value.
func (c *verdicts) satisfies(lits []lit, v *document.Value) bool {
	for _, l := range lits {
		s := c.schema(l)
		if l.positive() && !c.valid(s, v) || !l.positive() && !s.Loose && c.valid(s, v) {
			return false
		}
	}
	return true
}

// valid reports whether a value is of a schema. Each question is answered once; if it is asked again before that, the schema refers to itself
// without end.
func (c *verdicts) valid(s *read.Schema, v *document.Value) bool {
	all := c.scalarsOf(s) // fails if a schema refers to itself without end
	c.Spend(1)
	switch v.Kind {
	case document.Null, document.Boolean:
		return all.Words&sets.WordOf(v) != 0
	case document.Number:
		n, ok := sets.NumeralOf(c.doc, v)
		return ok && c.HasNumber(all.Numbers, n)
	case document.Text:
		return c.HasString(all.Strings, v.Text)
	}
	q := question{s.ID, c.doc.Same(v)}
	switch c.given[q] {
	case open:
		limits.Fail(s.Path, "%q: the schema refers to itself without end", s.Path)
	case yes:
		return true
	case no:
		return false
	}
	c.given[q] = open
	c.Deeper(s)
	answer := no
	if c.holds(s, v) {
		answer = yes
	}
	c.Shallower()
	c.given[q] = answer
	return answer == yes
}

// holds is valid for arrays and objects.
func (c *verdicts) holds(s *read.Schema, v *document.Value) bool {
	if s.Never || s.Types&read.TypeOf(v) == 0 {
		return false
	}
	for _, list := range s.Enums {
		if c.Spend(1); !list.Among(c.doc)[c.doc.Same(v)] {
			return false
		}
	}
	count := func(list []*read.Schema) (n int) {
		for _, t := range c.listing(list, v) {
			if c.valid(t, v) {
				n++
			}
		}
		return n
	}
	if count(s.Ref) < len(s.Ref) || count(s.AllOf) < len(s.AllOf) || s.AnyOf != nil && count(s.AnyOf) == 0 || s.OneOf != nil && count(s.OneOf) != 1 ||
		s.Not != nil && !s.Not.Loose && c.valid(s.Not, v) {
		return false
	}
	if s.If != nil {
		if c.valid(s.If, v) {
			if s.Then != nil && !c.valid(s.Then, v) {
				return false
			}
		} else if s.Else != nil && !c.valid(s.Else, v) {
			return false
		}
	}
	if v.Kind == document.Array {
		return c.validArray(s, v)
	}
	return c.validObject(s, v)
}

// listing returns those of a list of schemas that may list a value: if there are many, those that have enumerations without it are left
// out at once.
func (c *verdicts) listing(list []*read.Schema, v *document.Value) []*read.Schema {
	if len(list) <= fewElements {
		return list
	}
	x, ok := c.listings[&list[0]]
	if !ok {
		x = map[int32][]*read.Schema{}
		c.listings[&list[0]] = x
		for _, t := range list {
			for same := range c.listedBy(t) {
				x[same] = append(x[same], t)
			}
		}
	}
	return append(slices.Clip(x[c.doc.Same(v)]), x[unlisted]...)
}

// unlisted stands for the values of a schema without an enumeration.
const unlisted int32 = 0

// listedBy returns the values of an enumeration of s, or unlisted if s has no enumeration.
func (c *verdicts) listedBy(s *read.Schema) map[int32]bool {
	if len(s.Enums) == 0 {
		return map[int32]bool{unlisted: true}
	}
	c.Spend(len(s.Enums[0].Values))
	return s.Enums[0].Among(c.doc)
}

func (c *verdicts) validArray(s *read.Schema, v *document.Value) bool {
	if len(v.Items) < s.MinItems || len(v.Items) > s.MaxItems {
		return false
	}
	if s.RestItems != nil {
		c.Unsupported(s, "unevaluatedItems", "an array is listed")
	}
	matched := 0
	var seen map[int32]bool
	if s.Unique {
		seen = make(map[int32]bool, len(v.Items))
	}
	for i, item := range v.Items {
		c.Spend(1)
		switch {
		case i < len(s.Prefix):
			if !c.valid(s.Prefix[i], item) {
				return false
			}
		case s.Items != nil:
			if !c.valid(s.Items, item) {
				return false
			}
		}
		if s.Contains != nil && c.valid(s.Contains, item) {
			matched++
		}
		if s.Unique {
			same := c.doc.Same(item)
			if seen[same] {
				return false
			}
			seen[same] = true
		}
	}
	return s.Contains == nil || matched >= s.MinMatches && matched <= s.MaxMatches
}

func (c *verdicts) validObject(s *read.Schema, v *document.Value) bool {
	if len(v.Members) < s.MinMembers || len(v.Members) > s.MaxMembers {
		return false
	}
	if s.RestMembers != nil {
		c.Unsupported(s, "unevaluatedProperties", "an object is listed")
	}
	c.Spend(len(s.Required) + len(s.Needs))
	for _, name := range s.Required {
		if v.Get(name) == nil {
			return false
		}
	}
	for _, n := range s.Needs {
		if v.Get(n.Name) == nil {
			continue
		}
		c.Spend(len(n.Names))
		for _, name := range n.Names {
			if v.Get(name) == nil {
				return false
			}
		}
		if n.Is != nil && !c.valid(n.Is, v) {
			return false
		}
	}
	for _, m := range v.Members {
		c.Spend(1)
		if !c.validMember(s, m) {
			return false
		}
	}
	return true
}

// validMember reports whether an object of s may have a member.
func (c *verdicts) validMember(s *read.Schema, m document.Member) bool {
	is, ok := s.Named[m.Name]
	if ok && !c.valid(is, m.Value) {
		return false
	}
	for _, p := range s.ByPattern {
		if c.hasKey(keys{kind: keyPattern, pattern: p.Pattern, of: s}, m.Name) {
			if ok = true; !c.valid(p.Is, m.Value) {
				return false
			}
		}
	}
	if !ok && s.Additional != nil && !c.valid(s.Additional, m.Value) {
		return false
	}
	return s.Names == nil || c.HasString(c.scalarsOf(s.Names).Strings, m.Name)
}
