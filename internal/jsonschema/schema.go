package jsonschema

import (
	"github.com/antigravity-go/antigravity/internal/numbers"
)

// Unlimited is the upper bound of a count that has none.
const unlimited = 1<<31 - 1

// schema is a schema that was read: the keywords that matter, and the schemas below it.
type schema struct {
	id      int32
	path    *place
	in      *resource
	value   *value          // what it was read from; nil: see add
	inexact bool            // it allows more than it should, since something of it was left out
	loose   bool            // it is inexact, or one is that applies to the same value: its complement would allow too little
	users   []*schema       // those that s applies to the same value for
	places  map[*schema]int // of applicators; nil: not asked for

	never                  bool // the schema false
	trivial                bool // no keyword says anything
	single                 bool // made by only: it says nothing but what its one value is
	types                  typeSet
	enums                  []*valueList // the values of enum and of const
	number                 *numbers.Set
	minLength              int
	maxLength              int
	hasPattern             bool
	pattern                string
	format                 string
	properties             []property
	named                  map[string]*schema // properties by name
	byPattern              []patternProperty
	additional             *schema
	names                  *schema
	required               []string
	minMembers             int
	maxMembers             int
	needs                  []need
	prefix                 []*schema
	items                  *schema // of the elements behind prefix
	contains               *schema
	minMatches             int
	maxMatches             int
	minItems               int
	maxItems               int
	unique                 bool
	ref                    []*schema // $ref, $dynamicRef
	allOf                  []*schema
	anyOf                  []*schema
	oneOf                  []*schema
	not                    *schema
	cond                   *schema // if; then and otherwise are nil without it
	then                   *schema
	otherwise              *schema
	restMembers, restItems *schema      // unevaluatedProperties, unevaluatedItems
	applicators            []applicator // ref, allOf, anyOf, oneOf, then, otherwise in the order in which they are written

	scalarsKnown progress
	scalars      scalars
	others       *scalars // the complement of scalars; nil: not asked for
	typesKnown   progress
	may          typeSet
}

// progress tells how far something is that refers to itself.
type progress uint8

const (
	untouched progress = iota
	begun
	done
)

// property is what a property must be.
type property struct {
	name string
	is   *schema
}

// patternProperty is what the properties must be whose names match.
type patternProperty struct {
	pattern string
	is      *schema
}

// need says that an object with a property must have others, or must fulfil a schema.
type need struct {
	name  string
	names []string
	is    *schema
}

// applicator is a schema that applies to the same value as the one that has it.
type applicator = *schema

// read returns the schema that a value is, at a path of the text. What it says is read later, by readAll, so that no chain of references
// is a chain of calls.
func (c *compiler) read(v *value, in *resource, path *place) *schema {
	key := schemaKey{v, in}
	if s, ok := c.schemas[key]; ok {
		return s
	}
	if len(c.list) >= maxSchemas {
		c.fail("the schema has more than %d schemas in it", maxSchemas)
	}
	s := c.newSchema(path, c.resourceOf(v, in, path))
	s.value = v
	c.schemas[key] = s
	c.unread = append(c.unread, s)
	return s
}

// newSchema returns a schema that says nothing yet.
func (c *compiler) newSchema(path *place, in *resource) *schema {
	c.spend(schemaSteps)
	s := &schema{id: int32(len(c.list)), path: path, in: in, types: everything, maxLength: unlimited, maxMembers: unlimited, maxItems: unlimited, minMatches: 1, maxMatches: unlimited}
	c.list = append(c.list, s)
	return s
}

// schemaSteps is how much work a schema is.
const schemaSteps = 20

// readAll reads what the schemas say that were found, and those below them.
func (c *compiler) readAll() {
	for len(c.unread) > 0 {
		s := c.unread[0]
		c.unread, c.here = c.unread[1:], s
		c.readKeywords(s)
		c.link(s)
		if c.loose[spot{s.value, s.in.root}] {
			c.inexact(s)
		}
	}
}

// readKeywords reads what s says.
func (c *compiler) readKeywords(s *schema) {
	v := s.value
	switch {
	case v.kind == boolean:
		s.never, s.trivial = !v.truth, v.truth
		if s.never {
			s.types = 0
		}
		return
	case v.kind != object:
		c.fail("%q is neither an object nor true nor false: it is no schema", s.path)
	}
	c.spend(len(v.members))
	if ref := v.get("$ref"); ref != nil && s.in.draft.refAlone() && ref.kind == text {
		s.ref = append(s.ref, c.resolve(s, "$ref", ref.text))
		s.applicators = s.ref
		return
	}
	s.trivial = true
	for _, m := range v.members {
		if k, ok := keywords[m.name]; ok && k.since <= s.in.draft && s.in.draft <= k.until {
			s.trivial = false
			k.read(c, s, v, m.value, s.path.at(m.name))
		}
	}
	if s.cond == nil {
		s.then, s.otherwise = nil, nil
	}
}

// Bounds of the names of a schema.
const (
	maxProperties = 10_000
	maxRequired   = 2_000
)

// maxSchemas bounds the schemas of a text.
const maxSchemas = 200_000

// add returns a schema that no text has, made of parts of one that has.
func (c *compiler) add(like *schema, change func(*schema)) *schema {
	s := c.newSchema(like.path, like.in)
	change(s)
	c.link(s)
	return s
}
