// Package admits reads off a JSON Schema whether it may have a value, without compiling it. It follows references within the schema, allOf,
// anyOf and oneOf, and looks at the keywords that are about single values. In doubt the answer is yes: a keyword that it does not know can only
// forbid more. For example, {"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 9}]} may have "12" and 5, and cannot have 12.
package admits

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
)

// maxSteps bounds how many schemas are looked at: parts that refer to each other could be looked at for ever.
const maxSteps = 10_000

// longList is how many values of an enumeration, or bytes of a reference, are as much to look at as a schema.
const longList = 64

// Schema is a JSON Schema. It is for one goroutine at a time.
type Schema struct {
	// Root is the whole schema, as encoding/json decodes it into an any.
	Root  any
	lost  bool // references cannot be followed, since parts have names of their own
	steps int  // how many more schemas may be looked at; Value, Text and Property begin anew
}

// Parse reads a schema. Numbers are json.Number.
func Parse(text []byte) (*Schema, error) {
	s := &Schema{lost: strings.Contains(string(text), `"$id"`), steps: maxSteps}
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	return s, d.Decode(&s.Root)
}

// Some reports whether a part of the schema may have a value of a kind. may reports it for the keywords of one object.
func (s *Schema) Some(part any, may func(keywords map[string]any) bool) bool {
	keywords, ok := part.(map[string]any)
	if !ok {
		return part != false
	}
	if s.steps--; s.steps < 0 {
		return true
	}
	each := func(one any) bool { return s.Some(one, may) }
	if ref, ok := keywords["$ref"].(string); ok {
		// Its neighbours count in newer drafts only.
		target, ok := s.resolve(ref)
		return !ok || each(target)
	}
	if all, ok := keywords["allOf"].([]any); ok && slices.ContainsFunc(all, func(one any) bool { return !each(one) }) {
		return false
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if some, ok := keywords[keyword].([]any); ok && !slices.ContainsFunc(some, each) {
			return false
		}
	}
	return may(keywords)
}

// resolve returns the part that a reference within the schema points to.
func (s *Schema) resolve(ref string) (target any, ok bool) {
	path, ok := strings.CutPrefix(ref, "#")
	s.steps -= len(path) / longList
	if !ok || s.lost || s.steps < 0 || strings.Contains(path, "%") {
		return nil, false
	}
	target = s.Root
	if path == "" {
		return target, true
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		keywords, ok := target.(map[string]any)
		if !ok {
			return nil, false
		}
		if target, ok = keywords[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]; !ok {
			return nil, false
		}
	}
	return target, true
}

// Property returns the part that is the schema of a property, true if the schema says nothing about it.
func (s *Schema) Property(name string) (part any) {
	part, s.steps = true, maxSteps
	s.Some(s.Root, func(keywords map[string]any) bool {
		properties, _ := keywords["properties"].(map[string]any)
		if p, ok := properties[name]; ok {
			if part == true {
				part = p
			} else {
				part = map[string]any{"allOf": []any{part, p}}
			}
		}
		return true
	})
	return part
}

// Value reports whether a part of the schema may have a value: nil, a bool, a json.Number, a string, a []any or a map[string]any.
func (s *Schema) Value(part, value any) bool {
	s.steps = maxSteps
	return s.Some(part, func(keywords map[string]any) bool {
		number, isNumber := rational(value)
		types := typesOf(value, number)
		if !slices.ContainsFunc(types, func(name string) bool { return OfType(keywords, name) }) && !(value == nil && keywords["nullable"] == true) {
			return false
		}
		if !s.Listed(keywords, func(v any) bool { return same(v, value) }) {
			return false
		}
		return !isNumber || within(keywords, number)
	})
}

// Type reports whether a part of the schema may have a value of a type, as JSON Schema names it.
func (s *Schema) Type(part any, name string) bool {
	s.steps = maxSteps
	return s.Some(part, func(keywords map[string]any) bool {
		number := name == "integer" && OfType(keywords, "number") || name == "number" && OfType(keywords, "integer")
		return (number || OfType(keywords, name) || name == "null" && keywords["nullable"] == true) && s.Listed(keywords, func(v any) bool {
			n, _ := rational(v)
			return slices.Contains(typesOf(v, n), name)
		})
	})
}

// Text reports whether a part of the schema may have some text.
func (s *Schema) Text(part any) bool {
	s.steps = maxSteps
	return s.Some(part, func(keywords map[string]any) bool {
		return OfType(keywords, "string") && s.Listed(keywords, func(v any) bool { _, text := v.(string); return text })
	})
}

// OfType reports whether the keyword type allows a type, or is absent.
func OfType(keywords map[string]any, name string) bool {
	switch t := keywords["type"].(type) {
	case string:
		return t == name || t == ""
	case []any:
		return slices.Contains(t, any(name))
	}
	return true
}

// Listed reports whether enum and const have a value of some kind, or are absent.
func (s *Schema) Listed(keywords map[string]any, is func(any) bool) bool {
	list, ok := keywords["enum"].([]any)
	if s.steps -= len(list) / longList; ok && !slices.ContainsFunc(list, is) {
		return false
	}
	value, ok := keywords["const"]
	return !ok || is(value)
}

// typesOf returns the names of a value's types.
func typesOf(value any, number *big.Rat) []string {
	switch value.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case []any:
		return []string{"array"}
	case map[string]any:
		return []string{"object"}
	}
	if number != nil && !number.IsInt() {
		return []string{"number"}
	}
	return []string{"number", "integer"}
}

// maxDigits bounds the numbers that are computed with, in bytes: 1e999999999 is short, and long when it is written out.
const maxDigits = 64

// rational returns a number's value. It is nil for one that is too long to compute with.
func rational(value any) (r *big.Rat, isNumber bool) {
	n, ok := value.(json.Number)
	if !ok {
		return nil, false
	}
	text := string(n)
	if _, exponent, ok := strings.Cut(strings.ToLower(text), "e"); len(text) > maxDigits || ok && len(strings.TrimLeft(exponent, "+-0")) > 3 {
		return nil, true
	}
	r, ok = new(big.Rat).SetString(text)
	if !ok {
		return nil, true
	}
	return r, true
}

// within reports whether a number is within the bounds that keywords set.
func within(keywords map[string]any, number *big.Rat) bool {
	if number == nil {
		return true
	}
	compare := func(keyword string) (c int, ok bool) {
		bound, _ := rational(keywords[keyword])
		if bound == nil {
			return 0, false
		}
		return number.Cmp(bound), true
	}
	for keyword, sign := range map[string]int{"minimum": -1, "maximum": 1} {
		if c, ok := compare(keyword); ok && (c == sign || c == 0 && keywords["exclusive"+strings.ToUpper(keyword[:1])+keyword[1:]] == true) {
			return false
		}
	}
	for keyword, sign := range map[string]int{"exclusiveMinimum": -1, "exclusiveMaximum": 1} {
		if c, ok := compare(keyword); ok && (c == sign || c == 0) {
			return false
		}
	}
	return true
}

// same reports whether two values are equal, numbers by their value.
func same(a, b any) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, same)
	case json.Number:
		x, _ := rational(a)
		y, _ := rational(b)
		if x != nil && y != nil {
			return x.Cmp(y) == 0
		}
	}
	return a == b
}
