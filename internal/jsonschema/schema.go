package jsonschema

import (
	"strings"

	"github.com/antigravity-go/antigravity/internal/numbers"
)

// Unlimited is the upper bound of a count that has none.
const unlimited = 1<<31 - 1

// schema is a schema that was read: the keywords that matter, and the schemas below it.
type schema struct {
	id      int32
	path    string
	in      *resource
	inexact bool // it allows more than it should, since something of it was left out: its complement would allow too little

	never                  bool // the schema false
	trivial                bool // no keyword says anything
	single                 bool // made by only: it says nothing but what its one value is
	types                  typeSet
	enums                  [][]*value // the values of enum and of const
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

// read returns the schema that a value is, at a path of the text.
func (c *compiler) read(v *value, in *resource, path string) *schema {
	key := schemaKey{v, in}
	if s, ok := c.schemas[key]; ok {
		return s
	}
	if len(c.list) >= maxSchemas {
		c.fail("the schema has more than %d schemas in it", maxSchemas)
	}
	s := &schema{id: int32(len(c.list)), path: path, in: in, types: everything, maxLength: unlimited, maxMembers: unlimited, maxItems: unlimited, minMatches: 1, maxMatches: unlimited}
	c.schemas[key] = s
	c.list = append(c.list, s)
	switch {
	case v.kind == boolean:
		s.never, s.trivial = !v.truth, v.truth
		if s.never {
			s.types = 0
		}
		return s
	case v.kind != object:
		c.fail("%q is neither an object nor true nor false: it is no schema", path)
	}
	if id := c.identity(v); id != "" && v != in.root {
		if u, err := in.base.Parse(id); err == nil {
			s.in = &resource{base: u, root: v, path: path}
		}
	}
	if ref := v.get("$ref"); ref != nil && c.refAlone && ref.kind == text {
		s.ref = append(s.ref, c.resolve(s, "$ref", ref.text))
		s.applicators = s.ref
		return s
	}
	s.trivial = true
	for _, m := range v.members {
		if f := keywords[m.name]; f != nil {
			s.trivial = false
			f(c, s, v, m.value, path+"/"+m.name)
		}
	}
	if s.cond == nil {
		s.then, s.otherwise = nil, nil
	}
	return s
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
	s := &schema{id: int32(len(c.list)), path: like.path, in: like.in, types: everything, maxLength: unlimited, maxMembers: unlimited, maxItems: unlimited, minMatches: 1, maxMatches: unlimited}
	c.list = append(c.list, s)
	change(s)
	return s
}

// identity returns the URI that a schema gives itself, or "".
func (c *compiler) identity(v *value) string {
	if c.refAlone && v.get("$ref") != nil {
		return ""
	}
	return identity(v)
}

// identity returns the URI that the keyword $id, or id, names, or "".
func identity(v *value) string {
	for _, name := range []string{"$id", "id"} {
		if id := v.get(name); id != nil && id.kind == text && !strings.HasPrefix(id.text, "#") {
			return strings.TrimSuffix(id.text, "#")
		}
	}
	return ""
}
