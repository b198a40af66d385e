package jsonschema

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/numbers"
)

// schema is a schema that was read: the keywords that matter, and the schemas below it.
type schema struct {
	id    int32
	path  *place
	in    *resource
	value *value    // what it was read from; nil: see add
	loose bool      // something is left out of it, or of one that applies to the same value: its complement would allow too little
	users []*schema // those that s applies to the same value for

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
}

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

// evaluatesMatches reports whether unevaluatedItems leaves out the elements that contains matches, as it does since draft 2020-12.
func (s *schema) evaluatesMatches() bool { return s.contains != nil && s.in.draft >= draft2020 }

// alone tells whether no other schema applies to the same values as s.
func (s *schema) alone() bool {
	return len(s.applicators) == 0 && s.not == nil && !slices.ContainsFunc(s.needs, func(n need) bool { return n.is != nil })
}

// pointer returns the JSON pointer of s.
func (s *schema) pointer() string { return s.path.String() }

// telling returns the keyword of s that most likely makes it complex; other if none does.
func (s *schema) telling(other string) string {
	for _, k := range []struct {
		name string
		has  bool
	}{
		{"pattern", s.hasPattern}, {"format", s.format != ""}, {"multipleOf", s.number != nil}, {"enum", s.enums != nil}, {"patternProperties", s.byPattern != nil},
		{"anyOf", s.anyOf != nil}, {"oneOf", s.oneOf != nil}, {"not", s.not != nil}, {"allOf", s.allOf != nil}, {"if", s.cond != nil}, {"$ref", s.ref != nil},
		{"dependentSchemas", s.needs != nil}, {"properties", s.properties != nil}, {"required", s.required != nil}, {"prefixItems", s.prefix != nil},
	} {
		if k.has {
			return k.name
		}
	}
	return other
}
