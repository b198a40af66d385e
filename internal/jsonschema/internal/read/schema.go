package read

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/numbers"
)

// Schema is a schema that was read: the keywords that matter, and the schemas below it. Only package read changes a Schema, and who adds it
// (Schemas.Add).
type Schema struct {
	ID    int32 // its place in Schemas.List
	Path  *document.Place
	in    *resource
	value *document.Value // the value that it was read from; nil: see Schemas.Add
	Loose bool            // something is left out of it, or of one that applies to the same value: its complement would allow too little
	users []*Schema       // those that s applies to the same value for

	Never                  bool // the schema false
	Trivial                bool // no keyword says anything
	Single                 bool // it says nothing but what its one value is
	Types                  TypeSet
	Enums                  []*document.List // the values of enum and of const
	Number                 *numbers.Set
	MinLength              int
	MaxLength              int
	HasPattern             bool
	Pattern                string
	Format                 string
	Properties             []Property
	Named                  map[string]*Schema // properties by name
	ByPattern              []PatternProperty
	Additional             *Schema
	Names                  *Schema
	Required               []string
	MinMembers             int
	MaxMembers             int
	Needs                  []Need
	Prefix                 []*Schema
	Items                  *Schema // of the elements after Prefix
	Contains               *Schema
	MinMatches             int
	MaxMatches             int
	MinItems               int
	MaxItems               int
	Unique                 bool
	Ref                    []*Schema // $ref, $dynamicRef
	AllOf                  []*Schema
	AnyOf                  []*Schema
	OneOf                  []*Schema
	Not                    *Schema
	If                     *Schema // Then and Else are nil without it
	Then                   *Schema
	Else                   *Schema
	RestMembers, RestItems *Schema   // unevaluatedProperties, unevaluatedItems
	Applicators            []*Schema // those that apply to the same values: Ref, AllOf, AnyOf, OneOf, If, Then, Else in the order in which they are written
}

// Property is a property that the keyword properties names.
type Property struct {
	Name string
	Is   *Schema
}

// PatternProperty is a schema for the properties with names that match a pattern.
type PatternProperty struct {
	Pattern string
	Is      *Schema
}

// Need says that an object with a property must have others, or must fulfil a schema.
type Need struct {
	Name  string
	Names []string
	Is    *Schema
}

// EvaluatesMatches reports whether unevaluatedItems leaves out the elements that contains matches, as it does since draft 2020-12.
func (s *Schema) EvaluatesMatches() bool { return s.Contains != nil && s.in.draft >= draft2020 }

// Alone reports whether no other schema applies to the same values as s.
func (s *Schema) Alone() bool {
	return len(s.Applicators) == 0 && s.Not == nil && !slices.ContainsFunc(s.Needs, func(n Need) bool { return n.Is != nil })
}

// Pointer returns the JSON pointer of s.
func (s *Schema) Pointer() string { return s.Path.String() }

// Suspect returns the keyword of s that most likely makes it complex, or other.
func (s *Schema) Suspect(other string) string {
	for _, k := range []struct {
		name string
		has  bool
	}{
		{"pattern", s.HasPattern}, {"format", s.Format != ""}, {"multipleOf", s.Number != nil}, {"enum", s.Enums != nil}, {"patternProperties", s.ByPattern != nil},
		{"anyOf", s.AnyOf != nil}, {"oneOf", s.OneOf != nil}, {"not", s.Not != nil}, {"allOf", s.AllOf != nil}, {"if", s.If != nil}, {"$ref", s.Ref != nil},
		{"dependentSchemas", s.Needs != nil}, {"properties", s.Properties != nil}, {"required", s.Required != nil}, {"prefixItems", s.Prefix != nil},
	} {
		if k.has {
			return k.name
		}
	}
	return other
}
