package jsonschema

import (
	"strings"

	"github.com/antigravity-go/antigravity/internal/numbers"
)

// keyword is a keyword of the drafts from since until until; in others it is an annotation. read reads its value v into s; all is the object
// that has it.
type keyword struct {
	since, until draft
	read         readFunc
}

// readFunc reads a keyword.
type readFunc func(c *reader, s *schema, all, v *value, path *place)

// keywords has every keyword that means anything; others are annotations.
var keywords map[string]keyword

func init() {
	one := func(field func(*schema) **schema) readFunc {
		return func(c *reader, s *schema, _, v *value, path *place) { *field(s) = c.read(v, s.in, path) }
	}
	many := func(field func(*schema) *[]*schema) readFunc {
		return func(c *reader, s *schema, _, v *value, path *place) {
			list := c.schemasOf(s, v, path)
			*field(s) = list
			s.applicators = append(s.applicators, list...)
		}
	}
	branch := func(field func(*schema) **schema) readFunc {
		return func(c *reader, s *schema, _, v *value, path *place) {
			*field(s) = c.read(v, s.in, path)
			s.applicators = append(s.applicators, *field(s))
		}
	}
	count := func(field func(*schema) *int) readFunc {
		return func(c *reader, s *schema, _, v *value, path *place) { *field(s) = c.count(s, v, path) }
	}
	always := func(read readFunc) keyword { return keyword{draft3, draft2020, read} }
	since := func(first draft, read readFunc) keyword { return keyword{first, draft2020, read} }
	keywords = map[string]keyword{
		"$ref": always(readReference), "$dynamicRef": since(draft2020, readReference), "$recursiveRef": {draft2019, draft2019, readReference},
		"type": always(readType), "enum": always(readEnum), "const": since(draft6, readConst),

		"minimum": always(bound), "maximum": always(bound), "multipleOf": since(draft4, bound),
		"exclusiveMinimum": always(bound), "exclusiveMaximum": always(bound),

		"minLength": always(count(func(s *schema) *int { return &s.minLength })), "maxLength": always(count(func(s *schema) *int { return &s.maxLength })),
		"pattern": always(readPattern), "format": always(readFormat),

		"properties": always(readProperties), "patternProperties": always(readPatternProperties),
		"additionalProperties":  always(one(func(s *schema) **schema { return &s.additional })),
		"unevaluatedProperties": since(draft2019, one(func(s *schema) **schema { return &s.restMembers })),
		"propertyNames":         since(draft6, one(func(s *schema) **schema { return &s.names })),
		"required":              always(readRequired),
		"minProperties":         since(draft4, count(func(s *schema) *int { return &s.minMembers })),
		"maxProperties":         since(draft4, count(func(s *schema) *int { return &s.maxMembers })),
		"dependencies":          always(readNeeds), // later drafts leave it to implementations
		"dependentRequired":     since(draft2019, readNeeds), "dependentSchemas": since(draft2019, readNeeds),

		"prefixItems": since(draft2020, func(c *reader, s *schema, _, v *value, path *place) { s.prefix = c.schemasOf(s, v, path) }),
		"items":       always(readItems), "additionalItems": always(readAdditionalItems),
		"unevaluatedItems": since(draft2019, one(func(s *schema) **schema { return &s.restItems })),
		"contains":         since(draft6, one(func(s *schema) **schema { return &s.contains })),
		"minContains":      since(draft2019, count(func(s *schema) *int { return &s.minMatches })),
		"maxContains":      since(draft2019, count(func(s *schema) *int { return &s.maxMatches })),
		"minItems":         always(count(func(s *schema) *int { return &s.minItems })), "maxItems": always(count(func(s *schema) *int { return &s.maxItems })),
		"uniqueItems": always(readUnique),

		"allOf": since(draft4, many(func(s *schema) *[]*schema { return &s.allOf })), "anyOf": since(draft4, many(func(s *schema) *[]*schema { return &s.anyOf })),
		"oneOf": since(draft4, many(func(s *schema) *[]*schema { return &s.oneOf })), "not": since(draft4, one(func(s *schema) **schema { return &s.not })),
		"if":   since(draft7, branch(func(s *schema) **schema { return &s.cond })),
		"then": since(draft7, branch(func(s *schema) **schema { return &s.then })), "else": since(draft7, branch(func(s *schema) **schema { return &s.otherwise })),

		"extends": {draft3, draft3, readOld}, "disallow": {draft3, draft3, readOld}, "divisibleBy": {draft3, draft3, readOld},
	}
}

// readOld refuses a keyword that later drafts spell differently.
func readOld(c *reader, s *schema, _, _ *value, path *place) {
	c.unsupported(s, path.token, "it is of draft 3 of JSON Schema")
}

func readReference(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != text {
		fail("%s is not a string", path)
	}
	target := c.resolve(s, path.token, v.text)
	if path.token != "$ref" {
		c.refuseDynamic(s, path.token, v.text)
	}
	s.ref = append(s.ref, target)
	s.applicators = append(s.applicators, target)
}

func readEnum(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != array {
		fail("%s is not an array", path)
	}
	s.enums = append(s.enums, &valueList{values: v.items})
}

func readConst(_ *reader, s *schema, _, v *value, _ *place) {
	s.enums = append(s.enums, &valueList{values: []*value{v}})
}

func readRequired(c *reader, s *schema, _, v *value, path *place) {
	if v.kind == boolean { // draft 3: the property is required, not its own
		c.unsupported(s, "required", "it is of draft 3 of JSON Schema")
		return
	}
	if s.required = c.strings(v, path); len(s.required) > maxRequired {
		tooComplex(s, "required")
	}
}

// Bounds of the names of a schema.
const (
	maxProperties = 10_000
	maxRequired   = 2_000
)

func readItems(c *reader, s *schema, _, v *value, path *place) {
	if v.kind == array {
		s.prefix = c.schemasOf(s, v, path)
		return
	}
	s.items = c.read(v, s.in, path)
}

func readAdditionalItems(c *reader, s *schema, all, v *value, path *place) {
	if items := all.get("items"); items != nil && items.kind == array {
		s.items = c.read(v, s.in, path)
	}
}

func readUnique(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != boolean {
		fail("%s is neither true nor false", path)
	}
	s.unique = v.truth
}

func readType(c *reader, s *schema, _, v *value, path *place) {
	list := []*value{v}
	if v.kind == array {
		list = v.items
	}
	s.types = 0
	for _, v := range list {
		t, ok := typeNames[v.text]
		if v.kind != text || !ok {
			fail("%s is not a type but %.80q: types are array, boolean, integer, null, number, object and string", path, v.text)
		}
		s.types |= t
	}
}

func readProperties(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != object {
		fail("%s is not an object", path)
	}
	if len(v.members) > maxProperties {
		tooComplex(s, "properties")
	}
	s.named = make(map[string]*schema, len(v.members))
	for _, m := range v.members {
		p := property{m.name, c.read(m.value, s.in, path.at(m.name))}
		s.properties = append(s.properties, p)
		s.named[m.name] = p.is
	}
}

func readPatternProperties(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != object {
		fail("%s is not an object", path)
	}
	for _, m := range v.members {
		s.byPattern = append(s.byPattern, patternProperty{m.name, c.read(m.value, s.in, path.at(m.name))})
	}
}

func readNeeds(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != object {
		fail("%s is not an object", path)
	}
	for _, m := range v.members {
		n := need{name: m.name}
		at := path.at(m.name)
		switch m.value.kind {
		case array:
			n.names = c.strings(m.value, at)
		case text: // draft 3
			n.names = []string{m.value.text}
		default:
			n.is = c.read(m.value, s.in, at)
		}
		s.needs = append(s.needs, n)
	}
}

// bound reads a keyword that bounds numbers.
func bound(c *reader, s *schema, all, v *value, path *place) {
	name := path.token
	if s.number == nil {
		s.number = &numbers.Set{}
	}
	if v.kind == boolean && strings.HasPrefix(name, "exclusive") { // draft 4: minimum says where
		return
	}
	if v.kind != number {
		fail("%s is not a number", path)
	}
	r := rational(v)
	if r == nil {
		c.unsupported(s, name, "%.40s has too many digits", v.text)
		return
	}
	exclusive := func(name string) bool {
		e := all.get(name)
		return e != nil && e.kind == boolean && e.truth
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
			fail("%s is not above 0", path)
		}
		add.MultipleOf = r
	}
	*s.number = s.number.And(add)
}

func readPattern(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != text {
		fail("%s is not a string", path)
	}
	s.pattern = v.text
	s.hasPattern = true
}

func readFormat(c *reader, s *schema, _, v *value, path *place) {
	if v.kind != text {
		fail("%s is not a string", path)
	}
	s.format = v.text
}
