package jsonschema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/numbers"
)

// typeSet is a set of types of values.
type typeSet uint8

const (
	nulls typeSet = 1 << iota
	booleans
	integers
	fractions // numbers that are not integers
	strs
	arrays
	objects
	everything = 1<<7 - 1
)

// typeNames are the types as schemas name them.
var typeNames = map[string]typeSet{
	"null": nulls, "boolean": booleans, "integer": integers, "number": integers | fractions, "string": strs, "array": arrays, "object": objects,
	"any": everything, // draft 3
}

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

// resource is a schema with a URI of its own, in which references are looked up.
type resource struct {
	base *url.URL
	root *value
	path string
}

// schemaKey identifies a schema.
type schemaKey struct {
	v  *value
	in *resource
}

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

// resolve returns the schema that a reference names.
func (c *compiler) resolve(s *schema, keyword, ref string) *schema {
	u, err := url.Parse(ref)
	if err != nil {
		c.fail("%s: %q is no URI: %v", s.path, ref, err)
	}
	target := s.in
	if u.Scheme != "" || u.Host != "" || u.Path != "" || u.RawQuery != "" || u.Opaque != "" {
		full := s.in.base.ResolveReference(u)
		full.Fragment, full.RawFragment = "", ""
		c.index()
		target = c.resources[full.String()]
		if target == nil {
			c.unsupported(s, keyword, "%q is another document", ref)
			return c.always
		}
	}
	fragment := u.Fragment
	for _, in := range []*resource{target, c.whole} {
		if fragment == "" {
			return c.read(in.root, in, in.path)
		}
		if strings.HasPrefix(fragment, "/") {
			if v, path := pointer(in.root, in.path, fragment); v != nil {
				return c.read(v, in, path)
			}
			continue
		}
		c.index()
		if a, ok := c.anchors[in.base.String()+"#"+fragment]; ok {
			return c.read(a.v, a.in, a.path)
		}
	}
	c.fail("%s: the reference %q leads nowhere", s.path, ref)
	return nil
}

// refuseDynamic sees to it that a reference always leads to the same schema: that there is one anchor only that it can mean.
func (c *compiler) refuseDynamic(s *schema, keyword, ref string) {
	c.index()
	name := "$recursiveAnchor"
	if keyword == "$dynamicRef" {
		if _, name, _ = strings.Cut(ref, "#"); name == "" || name[0] == '/' {
			return
		}
	}
	if c.dynamic[name] > 1 {
		c.unsupported(s, keyword, "which schema %q is depends on the way that leads there", ref)
	}
}

// pointer follows a JSON pointer.
func pointer(v *value, path, p string) (*value, string) {
	for _, token := range strings.Split(p[1:], "/") {
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		path += "/" + token
		if v.kind == array {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil, ""
			}
			v = v.items[i]
			continue
		}
		if v = v.get(name); v == nil {
			return nil, ""
		}
	}
	return v, path
}

// escape writes a name as part of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// anchor is a place that has a name.
type anchor struct {
	v    *value
	in   *resource
	path string
}

// index looks for all resources and anchors of the text.
func (c *compiler) index() {
	if c.indexed {
		return
	}
	c.indexed = true
	c.resources[c.whole.base.String()] = c.whole
	type place struct {
		v    *value
		in   *resource
		path string
	}
	seen := map[schemaKey]bool{}
	todo := []place{{c.whole.root, c.whole, ""}}
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		if seen[schemaKey{p.v, p.in}] {
			continue
		}
		seen[schemaKey{p.v, p.in}] = true
		if p.v.kind == array {
			for i, item := range p.v.items {
				todo = append(todo, place{item, p.in, p.path + "/" + strconv.Itoa(i)})
			}
			continue
		}
		if p.v.kind != object {
			continue
		}
		in := p.in
		if id := c.identity(p.v); id != "" && p.v != in.root {
			if u, err := in.base.Parse(id); err == nil {
				in = &resource{base: u, root: p.v, path: p.path}
				if s := c.schemas[schemaKey{p.v, p.in}]; s != nil {
					in = s.in
				}
				if _, ok := c.resources[u.String()]; !ok {
					c.resources[u.String()] = in
				}
			}
		}
		for _, name := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
			if a := p.v.get(name); a != nil && a.kind == text && (name[0] == '$' && name[1] != 'i' || strings.HasPrefix(a.text, "#")) {
				key := in.base.String() + "#" + strings.TrimPrefix(a.text, "#")
				if _, ok := c.anchors[key]; !ok {
					c.anchors[key] = anchor{p.v, in, p.path}
				}
			}
		}
		if a := p.v.get("$dynamicAnchor"); a != nil {
			c.dynamic[a.text]++
		}
		if a := p.v.get("$recursiveAnchor"); a != nil && a.truth {
			c.dynamic["$recursiveAnchor"]++
		}
		for _, m := range p.v.members {
			if m.name != "enum" && m.name != "const" && m.name != "default" && m.name != "examples" {
				todo = append(todo, place{m.value, in, p.path + "/" + escape(m.name)})
			}
		}
	}
}

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
			c.fail("%s is not a type", path)
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

// mayBe returns types that hold all types of a schema's values.
func (c *compiler) mayBe(s *schema) typeSet {
	switch s.typesKnown {
	case begun:
		return everything
	case untouched:
		s.typesKnown = begun
		s.may = s.types
		for _, list := range [][]*schema{s.ref, s.allOf} {
			for _, t := range list {
				s.may &= c.mayBe(t)
			}
		}
		for _, list := range [][]*schema{s.anyOf, s.oneOf} {
			if list != nil {
				var any typeSet
				for _, t := range list {
					any |= c.mayBe(t)
				}
				s.may &= any
			}
		}
		for _, list := range s.enums {
			var any typeSet
			for _, v := range list {
				any |= typeOf(v)
			}
			s.may &= any
		}
		s.typesKnown = done
	}
	return s.may
}

// typeOf returns the type of a value; an integer counts as any number.
func typeOf(v *value) typeSet {
	return [...]typeSet{nulls, booleans, integers | fractions, strs, arrays, objects}[v.kind]
}
