package jsonschema

import (
	"strconv"
	"strings"
)

// keyword is a keyword of the drafts from since until until; in others it is an annotation. read reads its value v into s; all is the object
// that has it.
type keyword struct {
	since, until draft
	read         reader
}

// reader reads a keyword.
type reader func(c *compiler, s *schema, all, v *value, path *place)

// keywords has every keyword that means anything; others are annotations.
var keywords map[string]keyword

func init() {
	one := func(field func(*schema) **schema) reader {
		return func(c *compiler, s *schema, _, v *value, path *place) { *field(s) = c.read(v, s.in, path) }
	}
	many := func(field func(*schema) *[]*schema) reader {
		return func(c *compiler, s *schema, _, v *value, path *place) {
			list := c.schemasOf(s, v, path)
			*field(s) = list
			s.applicators = append(s.applicators, list...)
		}
	}
	branch := func(field func(*schema) **schema) reader {
		return func(c *compiler, s *schema, _, v *value, path *place) {
			*field(s) = c.read(v, s.in, path)
			s.applicators = append(s.applicators, *field(s))
		}
	}
	count := func(field func(*schema) *int) reader {
		return func(c *compiler, s *schema, _, v *value, path *place) { *field(s) = c.count(s, v, path) }
	}
	always := func(read reader) keyword { return keyword{draft3, draft2020, read} }
	since := func(first draft, read reader) keyword { return keyword{first, draft2020, read} }
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

		"prefixItems": since(draft2020, func(c *compiler, s *schema, _, v *value, path *place) { s.prefix = c.schemasOf(s, v, path) }),
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
func readOld(c *compiler, s *schema, _, _ *value, path *place) {
	c.unsupported(s, path.token, "it is of draft 3 of JSON Schema")
}

func readReference(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != text {
		c.fail("%s is not a string", path)
	}
	target := c.resolve(s, path.token, v.text)
	if path.token != "$ref" {
		c.refuseDynamic(s, path.token, v.text)
	}
	s.ref = append(s.ref, target)
	s.applicators = append(s.applicators, target)
}

func readEnum(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != array {
		c.fail("%s is not an array", path)
	}
	s.enums = append(s.enums, &valueList{values: v.items})
}

func readConst(_ *compiler, s *schema, _, v *value, _ *place) {
	s.enums = append(s.enums, &valueList{values: []*value{v}})
}

func readRequired(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind == boolean { // draft 3: the property is required, not its own
		c.unsupported(s, "required", "it is of draft 3 of JSON Schema")
		return
	}
	if s.required = c.strings(v, path); len(s.required) > maxRequired {
		c.tooComplex(s, "required")
	}
}

func readItems(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind == array {
		s.prefix = c.schemasOf(s, v, path)
		return
	}
	s.items = c.read(v, s.in, path)
}

func readAdditionalItems(c *compiler, s *schema, all, v *value, path *place) {
	if items := all.get("items"); items != nil && items.kind == array {
		s.items = c.read(v, s.in, path)
	}
}

func readUnique(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != boolean {
		c.fail("%s is neither true nor false", path)
	}
	s.unique = v.truth
}

// schemasOf reads an array of schemas.
func (c *compiler) schemasOf(s *schema, v *value, path *place) []*schema {
	if v.kind != array {
		c.fail("%s is not an array of schemas", path)
	}
	list := make([]*schema, len(v.items))
	for i, item := range v.items {
		list[i] = c.read(item, s.in, path.at(strconv.Itoa(i)))
	}
	return list
}

// strings reads an array of strings.
func (c *compiler) strings(v *value, path *place) []string {
	if v.kind != array {
		c.fail("%s is not an array of strings", path)
	}
	var list []string
	seen := make(map[string]bool, len(v.items))
	for _, item := range v.items {
		if item.kind != text {
			c.fail("%s has something in it that is not a string", path)
		}
		if !seen[item.text] {
			seen[item.text] = true
			list = append(list, item.text)
		}
	}
	return list
}

// maxCounted is the largest count that is kept; a larger least count cannot be promised, a larger highest one is never reached.
const maxCounted = 1 << 24

// count reads a number that counts something.
func (c *compiler) count(s *schema, v *value, path *place) int {
	r := rational(v)
	if r == nil || !r.IsInt() || r.Sign() < 0 {
		c.fail("%s is not a count", path)
	}
	if name := path.token; !r.Num().IsInt64() || r.Num().Int64() > maxCounted {
		if strings.HasPrefix(name, "min") {
			c.unsupported(s, name, "nothing is counted to more than %d", maxCounted)
			return 0
		}
		return maxCounted
	}
	return int(r.Num().Int64())
}

func readType(c *compiler, s *schema, _, v *value, path *place) {
	list := []*value{v}
	if v.kind == array {
		list = v.items
	}
	s.types = 0
	for _, v := range list {
		t, ok := typeNames[v.text]
		if v.kind != text || !ok {
			c.fail("%s is not a type but %.80q: types are array, boolean, integer, null, number, object and string", path, v.text)
		}
		s.types |= t
	}
}

func readProperties(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != object {
		c.fail("%s is not an object", path)
	}
	if len(v.members) > maxProperties {
		c.tooComplex(s, "properties")
	}
	s.named = make(map[string]*schema, len(v.members))
	for _, m := range v.members {
		p := property{m.name, c.read(m.value, s.in, path.at(m.name))}
		s.properties = append(s.properties, p)
		s.named[m.name] = p.is
	}
}

func readPatternProperties(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != object {
		c.fail("%s is not an object", path)
	}
	for _, m := range v.members {
		s.byPattern = append(s.byPattern, patternProperty{m.name, c.read(m.value, s.in, path.at(m.name))})
	}
}

func readNeeds(c *compiler, s *schema, _, v *value, path *place) {
	if v.kind != object {
		c.fail("%s is not an object", path)
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
