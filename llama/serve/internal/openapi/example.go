package openapi

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Example returns a document that fits the published schema of a name, such as InputItem: another one for each state of random. All its texts are
// "a", so that ids refer to each other. It returns nil if it finds no document.
func Example(name string, random *rand.Rand) []byte {
	p, err := read()
	if err != nil {
		panic("reading schemas.json.gz: " + err.Error())
	}
	g := generator{p, random}
	for range 20 {
		document, err := json.Marshal(g.value(map[string]any{"$ref": "#/$defs/" + name}, 0))
		if err == nil && validate(name, document) == nil {
			return document
		}
	}
	return nil
}

// generator makes values that mostly fit schemas.
type generator struct {
	*published
	random *rand.Rand
}

// deepest is how deep a value has members that need not be there.
const deepest = 6

// value returns a value for a schema.
func (g generator) value(schema any, depth int) any {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		return g.value(g.definitions[strings.TrimPrefix(ref, "#/$defs/")], depth)
	}
	for _, keyword := range []string{"enum", "anyOf", "oneOf"} {
		list, _ := s[keyword].([]any)
		switch {
		case len(list) == 0:
		case keyword == "enum":
			return list[g.random.IntN(len(list))]
		default:
			return g.value(list[g.random.IntN(len(list))], depth+1)
		}
	}
	if value, ok := s["const"]; ok {
		return value
	}
	if all, ok := s["allOf"].([]any); ok {
		merged := map[string]any{}
		for _, part := range all {
			if o, ok := g.value(part, depth+1).(map[string]any); ok {
				maps.Copy(merged, o)
			}
		}
		return merged
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		kind, _ = list[g.random.IntN(len(list))].(string)
	}
	switch kind {
	case "string":
		return "a"
	case "integer", "number":
		return 1
	case "boolean":
		return g.random.IntN(2) == 0
	case "null":
		return nil
	case "array":
		list := []any{}
		for range 1 + g.random.IntN(2) {
			list = append(list, g.value(s["items"], depth+1))
		}
		return list
	}
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(required, any(name)) || depth < deepest && g.random.IntN(2) == 0 {
			object[name] = g.value(properties[name], depth+1)
		}
	}
	return object
}
