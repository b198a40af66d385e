package jsonschema

import (
	"strconv"
	"strings"
)

// keyword reads a keyword's value v into s. all is the object that has it.
type keyword func(c *compiler, s *schema, all, v *value, path string)

// keywords has every keyword that means anything; others are annotations.
var keywords map[string]keyword

func init() {
	one := func(field func(*schema) **schema) keyword {
		return func(c *compiler, s *schema, _, v *value, path string) { *field(s) = c.read(v, s.in, path) }
	}
	many := func(field func(*schema) *[]*schema) keyword {
		return func(c *compiler, s *schema, _, v *value, path string) {
			list := c.schemasOf(s, v, path)
			*field(s) = list
			s.applicators = append(s.applicators, list...)
		}
	}
	count := func(field func(*schema) *int) keyword {
		return func(c *compiler, s *schema, _, v *value, path string) { *field(s) = c.count(s, v, path) }
	}
	reference := func(c *compiler, s *schema, _, v *value, path string) {
		if v.kind != text {
			c.fail("%s is not a string", path)
		}
		name := path[strings.LastIndexByte(path, '/')+1:]
		target := c.resolve(s, name, v.text)
		if name != "$ref" {
			c.refuseDynamic(s, name, v.text)
		}
		s.ref = append(s.ref, target)
		s.applicators = append(s.applicators, target)
	}
	definitions := func(name string) keyword {
		return func(c *compiler, s *schema, all, v *value, path string) {
			bound(c, s, all, v, path, name)
		}
	}
	keywords = map[string]keyword{
		"$ref": reference, "$dynamicRef": reference, "$recursiveRef": reference,
		"type": readType,
		"enum": func(c *compiler, s *schema, _, v *value, path string) {
			if v.kind != array {
				c.fail("%s is not an array", path)
			}
			s.enums = append(s.enums, v.items)
		},
		"const": func(c *compiler, s *schema, _, v *value, _ string) { s.enums = append(s.enums, []*value{v}) },

		"minimum": definitions("minimum"), "maximum": definitions("maximum"), "exclusiveMinimum": definitions("exclusiveMinimum"),
		"exclusiveMaximum": definitions("exclusiveMaximum"), "multipleOf": definitions("multipleOf"),

		"minLength": count(func(s *schema) *int { return &s.minLength }), "maxLength": count(func(s *schema) *int { return &s.maxLength }),
		"pattern": readPattern, "format": readFormat,

		"properties": readProperties, "patternProperties": readPatternProperties,
		"additionalProperties": one(func(s *schema) **schema { return &s.additional }),
		"propertyNames":        one(func(s *schema) **schema { return &s.names }),
		"required": func(c *compiler, s *schema, _, v *value, path string) {
			if v.kind == boolean { // draft 3: the property is required, not its own
				c.unsupported(s, "required", "it is of draft 3 of JSON Schema")
				return
			}
			if s.required = c.strings(v, path); len(s.required) > maxRequired {
				c.tooComplex(s, "required")
			}
		},
		"minProperties": count(func(s *schema) *int { return &s.minMembers }), "maxProperties": count(func(s *schema) *int { return &s.maxMembers }),
		"dependencies": readNeeds, "dependentRequired": readNeeds, "dependentSchemas": readNeeds,
		"unevaluatedProperties": one(func(s *schema) **schema { return &s.restMembers }),

		"prefixItems": func(c *compiler, s *schema, _, v *value, path string) { s.prefix = c.schemasOf(s, v, path) },
		"items": func(c *compiler, s *schema, _, v *value, path string) {
			if v.kind == array {
				s.prefix = c.schemasOf(s, v, path)
				return
			}
			s.items = c.read(v, s.in, path)
		},
		"additionalItems": func(c *compiler, s *schema, all, v *value, path string) {
			if items := all.get("items"); items != nil && items.kind == array {
				s.items = c.read(v, s.in, path)
			}
		},
		"contains":    one(func(s *schema) **schema { return &s.contains }),
		"minContains": count(func(s *schema) *int { return &s.minMatches }), "maxContains": count(func(s *schema) *int { return &s.maxMatches }),
		"minItems": count(func(s *schema) *int { return &s.minItems }), "maxItems": count(func(s *schema) *int { return &s.maxItems }),
		"uniqueItems": func(c *compiler, s *schema, _, v *value, path string) {
			if v.kind != boolean {
				c.fail("%s is neither true nor false", path)
			}
			s.unique = v.truth
		},
		"unevaluatedItems": one(func(s *schema) **schema { return &s.restItems }),

		"allOf": many(func(s *schema) *[]*schema { return &s.allOf }), "anyOf": many(func(s *schema) *[]*schema { return &s.anyOf }),
		"oneOf": many(func(s *schema) *[]*schema { return &s.oneOf }),
		"not":   one(func(s *schema) **schema { return &s.not }),
		"if": func(c *compiler, s *schema, _, v *value, path string) {
			s.cond = c.read(v, s.in, path)
			s.applicators = append(s.applicators, s.cond)
		},
		"then": func(c *compiler, s *schema, _, v *value, path string) {
			s.then = c.read(v, s.in, path)
			s.applicators = append(s.applicators, s.then)
		},
		"else": func(c *compiler, s *schema, _, v *value, path string) {
			s.otherwise = c.read(v, s.in, path)
			s.applicators = append(s.applicators, s.otherwise)
		},
	}
}

// schemasOf reads an array of schemas.
func (c *compiler) schemasOf(s *schema, v *value, path string) []*schema {
	if v.kind != array {
		c.fail("%s is not an array of schemas", path)
	}
	list := make([]*schema, len(v.items))
	for i, item := range v.items {
		list[i] = c.read(item, s.in, path+"/"+strconv.Itoa(i))
	}
	return list
}

// strings reads an array of strings.
func (c *compiler) strings(v *value, path string) []string {
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
func (c *compiler) count(s *schema, v *value, path string) int {
	r := rational(v)
	if r == nil || !r.IsInt() || r.Sign() < 0 {
		c.fail("%s is not a count", path)
	}
	if name := path[strings.LastIndexByte(path, '/')+1:]; !r.Num().IsInt64() || r.Num().Int64() > maxCounted {
		if strings.HasPrefix(name, "min") {
			c.unsupported(s, name, "nothing is counted to more than %d", maxCounted)
			return 0
		}
		return maxCounted
	}
	return int(r.Num().Int64())
}

func readType(c *compiler, s *schema, _, v *value, path string) {
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

func readProperties(c *compiler, s *schema, _, v *value, path string) {
	if v.kind != object {
		c.fail("%s is not an object", path)
	}
	if len(v.members) > maxProperties {
		c.tooComplex(s, "properties")
	}
	s.named = make(map[string]*schema, len(v.members))
	for _, m := range v.members {
		p := property{m.name, c.read(m.value, s.in, path+"/"+escape(m.name))}
		s.properties = append(s.properties, p)
		s.named[m.name] = p.is
	}
}

func readPatternProperties(c *compiler, s *schema, _, v *value, path string) {
	if v.kind != object {
		c.fail("%s is not an object", path)
	}
	for _, m := range v.members {
		s.byPattern = append(s.byPattern, patternProperty{m.name, c.read(m.value, s.in, path+"/"+escape(m.name))})
	}
}

func readNeeds(c *compiler, s *schema, _, v *value, path string) {
	if v.kind != object {
		c.fail("%s is not an object", path)
	}
	for _, m := range v.members {
		n := need{name: m.name}
		at := path + "/" + escape(m.name)
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
