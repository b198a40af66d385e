package read

import (
	"strings"

	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/document"
	"github.com/antigravity-go/antigravity/internal/jsonschema/internal/limits"
	"github.com/antigravity-go/antigravity/internal/numbers"
)

// Each keyword has a function in one table, with the drafts that know it. The function fills in fields of the Schema. For example,
//
//	"type": "object"                     readType: Types
//	"required": ["a"]                    readRequired: Required
//	"minimum": 0, "multipleOf": 0.5      bound, twice: Number has both conditions
//	"unevaluatedItems": false            RestItems; an annotation in drafts before 2019-09
//	"title": "x"                         not in the table: an annotation

// keyword is a keyword of the drafts from since until until; in others it is an annotation. read reads its value v into s; all is the object
// that has it.
type keyword struct {
	since, until draft
	read         readFunc
}

// readFunc reads a keyword.
type readFunc func(c *reader, s *Schema, all, v *document.Value, path *document.Place)

// keywords has every keyword that means anything; others are annotations.
var keywords = keywordTable()

func keywordTable() map[string]keyword {
	one := func(field func(*Schema) **Schema) readFunc {
		return func(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
			*field(s) = c.read(v, s.in, path)
		}
	}
	many := func(field func(*Schema) *[]*Schema) readFunc {
		return func(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
			list := c.schemasOf(s, v, path)
			*field(s) = list
			s.Applicators = append(s.Applicators, list...)
		}
	}
	branch := func(field func(*Schema) **Schema) readFunc {
		return func(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
			*field(s) = c.read(v, s.in, path)
			s.Applicators = append(s.Applicators, *field(s))
		}
	}
	count := func(field func(*Schema) *int) readFunc {
		return func(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
			*field(s) = c.count(s, v, path)
		}
	}
	always := func(read readFunc) keyword { return keyword{draft3, draft2020, read} }
	since := func(first draft, read readFunc) keyword { return keyword{first, draft2020, read} }
	return map[string]keyword{
		"$ref": always(readReference), "$dynamicRef": since(draft2020, readReference), "$recursiveRef": {draft2019, draft2019, readReference},
		"type": always(readType), "enum": always(readEnum), "const": since(draft6, readConst),

		"minimum": always(bound), "maximum": always(bound), "multipleOf": since(draft4, bound),
		"exclusiveMinimum": always(bound), "exclusiveMaximum": always(bound),

		"minLength": always(count(func(s *Schema) *int { return &s.MinLength })), "maxLength": always(count(func(s *Schema) *int { return &s.MaxLength })),
		"pattern": always(readPattern), "format": always(readFormat),

		"properties": always(readProperties), "patternProperties": always(readPatternProperties),
		"additionalProperties":  always(one(func(s *Schema) **Schema { return &s.Additional })),
		"unevaluatedProperties": since(draft2019, one(func(s *Schema) **Schema { return &s.RestMembers })),
		"propertyNames":         since(draft6, one(func(s *Schema) **Schema { return &s.Names })),
		"required":              always(readRequired),
		"minProperties":         since(draft4, count(func(s *Schema) *int { return &s.MinMembers })),
		"maxProperties":         since(draft4, count(func(s *Schema) *int { return &s.MaxMembers })),
		"dependencies":          always(readNeeds), // later drafts leave it to implementations
		"dependentRequired":     since(draft2019, readNeeds), "dependentSchemas": since(draft2019, readNeeds),

		"prefixItems": since(draft2020, func(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
			s.Prefix = c.schemasOf(s, v, path)
		}),
		"items": always(readItems), "additionalItems": always(readAdditionalItems),
		"unevaluatedItems": since(draft2019, one(func(s *Schema) **Schema { return &s.RestItems })),
		"contains":         since(draft6, one(func(s *Schema) **Schema { return &s.Contains })),
		"minContains":      since(draft2019, count(func(s *Schema) *int { return &s.MinMatches })),
		"maxContains":      since(draft2019, count(func(s *Schema) *int { return &s.MaxMatches })),
		"minItems":         always(count(func(s *Schema) *int { return &s.MinItems })), "maxItems": always(count(func(s *Schema) *int { return &s.MaxItems })),
		"uniqueItems": always(readUnique),

		"allOf": since(draft4, many(func(s *Schema) *[]*Schema { return &s.AllOf })), "anyOf": since(draft4, many(func(s *Schema) *[]*Schema { return &s.AnyOf })),
		"oneOf": since(draft4, many(func(s *Schema) *[]*Schema { return &s.OneOf })), "not": since(draft4, one(func(s *Schema) **Schema { return &s.Not })),
		"if":   since(draft7, branch(func(s *Schema) **Schema { return &s.If })),
		"then": since(draft7, branch(func(s *Schema) **Schema { return &s.Then })), "else": since(draft7, branch(func(s *Schema) **Schema { return &s.Else })),

		"extends": {draft3, draft3, readOld}, "disallow": {draft3, draft3, readOld}, "divisibleBy": {draft3, draft3, readOld},
	}
}

// readOld refuses a keyword that later drafts spell differently.
func readOld(c *reader, s *Schema, _, _ *document.Value, path *document.Place) {
	c.Unsupported(s, path.Token, "it is of draft 3 of JSON Schema")
}

func readReference(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Text {
		limits.Fail(path, "%s is not a string", path)
	}
	target := c.resolve(s, path.Token, v.Text)
	if path.Token != "$ref" {
		c.refuseDynamic(s, path.Token, v.Text)
	}
	s.Ref = append(s.Ref, target)
	s.Applicators = append(s.Applicators, target)
}

func readEnum(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Array {
		limits.Fail(path, "%s is not an array", path)
	}
	s.Enums = append(s.Enums, &document.List{Values: v.Items})
}

func readConst(_ *reader, s *Schema, _, v *document.Value, _ *document.Place) {
	s.Enums = append(s.Enums, &document.List{Values: []*document.Value{v}})
}

func readRequired(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind == document.Boolean { // draft 3: the property is required, not its own
		c.Unsupported(s, "required", "it is of draft 3 of JSON Schema")
		return
	}
	if s.Required = c.strings(v, path); len(s.Required) > maxRequired {
		limits.TooComplex(s, "required")
	}
}

// Bounds of the names of a schema.
const (
	maxProperties = 10_000
	maxRequired   = 2_000
)

func readItems(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind == document.Array {
		s.Prefix = c.schemasOf(s, v, path)
		return
	}
	s.Items = c.read(v, s.in, path)
}

func readAdditionalItems(c *reader, s *Schema, all, v *document.Value, path *document.Place) {
	if items := all.Get("items"); items != nil && items.Kind == document.Array {
		s.Items = c.read(v, s.in, path)
	}
}

func readUnique(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Boolean {
		limits.Fail(path, "%s is neither true nor false", path)
	}
	s.Unique = v.Truth
}

func readType(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	list := []*document.Value{v}
	if v.Kind == document.Array {
		list = v.Items
	}
	s.Types = 0
	for _, v := range list {
		t, ok := typeNames[v.Text]
		if v.Kind != document.Text || !ok {
			limits.Fail(path, "%s is not a type but %.80q: types are array, boolean, integer, null, number, object and string", path, v.Text)
		}
		s.Types |= t
	}
}

func readProperties(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Object {
		limits.Fail(path, "%s is not an object", path)
	}
	if len(v.Members) > maxProperties {
		limits.TooComplex(s, "properties")
	}
	s.Named = make(map[string]*Schema, len(v.Members))
	for _, m := range v.Members {
		p := Property{m.Name, c.read(m.Value, s.in, path.At(m.Name))}
		s.Properties = append(s.Properties, p)
		s.Named[m.Name] = p.Is
	}
}

func readPatternProperties(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Object {
		limits.Fail(path, "%s is not an object", path)
	}
	for _, m := range v.Members {
		s.ByPattern = append(s.ByPattern, PatternProperty{m.Name, c.read(m.Value, s.in, path.At(m.Name))})
	}
}

func readNeeds(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Object {
		limits.Fail(path, "%s is not an object", path)
	}
	for _, m := range v.Members {
		n := Need{Name: m.Name}
		at := path.At(m.Name)
		switch m.Value.Kind {
		case document.Array:
			n.Names = c.strings(m.Value, at)
		case document.Text: // draft 3
			n.Names = []string{m.Value.Text}
		default:
			n.Is = c.read(m.Value, s.in, at)
		}
		s.Needs = append(s.Needs, n)
	}
}

// bound reads a keyword that bounds numbers.
func bound(c *reader, s *Schema, all, v *document.Value, path *document.Place) {
	name := path.Token
	if s.Number == nil {
		s.Number = &numbers.Set{}
	}
	if v.Kind == document.Boolean && strings.HasPrefix(name, "exclusive") { // draft 4: minimum has the number
		return
	}
	if v.Kind != document.Number {
		limits.Fail(path, "%s is not a number", path)
	}
	r := document.Rational(v)
	if r == nil {
		c.Unsupported(s, name, "%.40s has too many digits", v.Text)
		return
	}
	exclusive := func(name string) bool {
		e := all.Get(name)
		return e != nil && e.Kind == document.Boolean && e.Truth
	}
	add := numbers.Set{}
	switch name {
	case "minimum":
		add.Min, add.MinExclusive = r, exclusive("exclusiveMinimum")
	case "maximum":
		add.Max, add.MaxExclusive = r, exclusive("exclusiveMaximum")
	case "exclusiveMinimum":
		add.Min, add.MinExclusive = r, true
	case "exclusiveMaximum":
		add.Max, add.MaxExclusive = r, true
	case "multipleOf":
		if r.Sign() <= 0 {
			limits.Fail(path, "%s is not above 0", path)
		}
		add.MultipleOf = r
	}
	*s.Number = s.Number.And(add)
}

func readPattern(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Text {
		limits.Fail(path, "%s is not a string", path)
	}
	s.Pattern = v.Text
	s.HasPattern = true
}

func readFormat(c *reader, s *Schema, _, v *document.Value, path *document.Place) {
	if v.Kind != document.Text {
		limits.Fail(path, "%s is not a string", path)
	}
	s.Format = v.Text
}
