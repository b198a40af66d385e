package jsonschema

import "slices"

// verdicts says which values of the text are of which schemas.
type verdicts struct {
	*facts
	given    map[question]verdict
	listings map[**schema]map[int32][]*schema // of listing, by the first schema of a list
}

// question is whether a value is of a schema: the schema's id, and source.same of the value.
type question struct{ schema, value int32 }

// verdict is the answer to a question.
type verdict uint8

const (
	open verdict = iota + 1 // it is being found
	yes
	no
)

// satisfies tells whether all lits are true of a value.
func (c *verdicts) satisfies(lits []lit, v *value) bool {
	for _, l := range lits {
		s := c.schema(l)
		if l.positive() && !c.valid(s, v) || !l.positive() && !s.loose && c.valid(s, v) {
			return false
		}
	}
	return true
}

// valid reports whether a value is of a schema. Each question is answered once; if it is asked again before that, the schema refers to itself
// without end.
func (c *verdicts) valid(s *schema, v *value) bool {
	all := c.scalarsOf(s) // fails where a schema refers to itself without end
	c.spend(1)
	switch v.kind {
	case null, boolean:
		return all.words&wordOf(v) != 0
	case number:
		n, ok := numeralOf(c.source, v)
		return ok && c.hasNumber(all.numbers, n)
	case text:
		return c.hasString(all.strings, v.text)
	}
	q := question{s.id, c.source.same(v)}
	switch c.given[q] {
	case open:
		fail("%q: the schema refers to itself without end", s.path)
	case yes:
		return true
	case no:
		return false
	}
	c.given[q] = open
	c.deeper(s)
	answer := no
	if c.holds(s, v) {
		answer = yes
	}
	c.shallower()
	c.given[q] = answer
	return answer == yes
}

// holds is valid for arrays and objects.
func (c *verdicts) holds(s *schema, v *value) bool {
	if s.never || s.types&typeOf(v) == 0 {
		return false
	}
	for _, list := range s.enums {
		if c.spend(1); !list.among(c.source)[c.source.same(v)] {
			return false
		}
	}
	count := func(list []*schema) (n int) {
		for _, t := range c.listing(list, v) {
			if c.valid(t, v) {
				n++
			}
		}
		return n
	}
	if count(s.ref) < len(s.ref) || count(s.allOf) < len(s.allOf) || s.anyOf != nil && count(s.anyOf) == 0 || s.oneOf != nil && count(s.oneOf) != 1 ||
		s.not != nil && !s.not.loose && c.valid(s.not, v) {
		return false
	}
	if s.cond != nil {
		if c.valid(s.cond, v) {
			if s.then != nil && !c.valid(s.then, v) {
				return false
			}
		} else if s.otherwise != nil && !c.valid(s.otherwise, v) {
			return false
		}
	}
	if v.kind == array {
		return c.validArray(s, v)
	}
	return c.validObject(s, v)
}

// listing returns those of a list of schemas that may list a value: where there are many, those that have enumerations without it are left
// out at once.
func (c *verdicts) listing(list []*schema, v *value) []*schema {
	if len(list) <= fewElements {
		return list
	}
	x, ok := c.listings[&list[0]]
	if !ok {
		x = map[int32][]*schema{}
		c.listings[&list[0]] = x
		for _, t := range list {
			for same := range c.listedBy(t) {
				x[same] = append(x[same], t)
			}
		}
	}
	return append(slices.Clip(x[c.source.same(v)]), x[unlisted]...)
}

// unlisted stands for the values of a schema without an enumeration.
const unlisted int32 = 0

// listedBy returns the values that an enumeration of s has, unlisted if s has none.
func (c *verdicts) listedBy(s *schema) map[int32]bool {
	if len(s.enums) == 0 {
		return map[int32]bool{unlisted: true}
	}
	c.spend(len(s.enums[0].values))
	return s.enums[0].among(c.source)
}

func (c *verdicts) validArray(s *schema, v *value) bool {
	if len(v.items) < s.minItems || len(v.items) > s.maxItems {
		return false
	}
	if s.restItems != nil {
		c.unsupported(s, "unevaluatedItems", "an array is listed")
	}
	matched := 0
	var seen map[int32]bool
	if s.unique {
		seen = make(map[int32]bool, len(v.items))
	}
	for i, item := range v.items {
		c.spend(1)
		switch {
		case i < len(s.prefix):
			if !c.valid(s.prefix[i], item) {
				return false
			}
		case s.items != nil:
			if !c.valid(s.items, item) {
				return false
			}
		}
		if s.contains != nil && c.valid(s.contains, item) {
			matched++
		}
		if s.unique {
			same := c.source.same(item)
			if seen[same] {
				return false
			}
			seen[same] = true
		}
	}
	return s.contains == nil || matched >= s.minMatches && matched <= s.maxMatches
}

func (c *verdicts) validObject(s *schema, v *value) bool {
	if len(v.members) < s.minMembers || len(v.members) > s.maxMembers {
		return false
	}
	if s.restMembers != nil {
		c.unsupported(s, "unevaluatedProperties", "an object is listed")
	}
	c.spend(len(s.required) + len(s.needs))
	for _, name := range s.required {
		if v.get(name) == nil {
			return false
		}
	}
	for _, n := range s.needs {
		if v.get(n.name) == nil {
			continue
		}
		c.spend(len(n.names))
		for _, name := range n.names {
			if v.get(name) == nil {
				return false
			}
		}
		if n.is != nil && !c.valid(n.is, v) {
			return false
		}
	}
	for _, m := range v.members {
		c.spend(1)
		if !c.validMember(s, m) {
			return false
		}
	}
	return true
}

// validMember reports whether an object of s may have a member.
func (c *verdicts) validMember(s *schema, m member) bool {
	is, ok := s.named[m.name]
	if ok && !c.valid(is, m.value) {
		return false
	}
	for _, p := range s.byPattern {
		if c.hasKey(keys{kind: keyPattern, pattern: p.pattern, of: s}, m.name) {
			if ok = true; !c.valid(p.is, m.value) {
				return false
			}
		}
	}
	if !ok && s.additional != nil && !c.valid(s.additional, m.value) {
		return false
	}
	return s.names == nil || c.hasString(c.scalarsOf(s.names).strings, m.name)
}
