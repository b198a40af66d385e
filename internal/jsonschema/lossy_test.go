package jsonschema_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonexpr"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
)

// Parts of a schema that are wrong, or say nothing, as programs send them. Each is at /properties/a/… of an object that also demands a b.
var wrongParts = []struct {
	part  string
	left  string // the keyword that is left out, or "-" for the whole part; "": nothing is
	valid string // a value of the part
}{
	{`{"$ref": "#/$defs/FilterType"}`, "$ref", `1`},
	{`{"$ref": "#anchor"}`, "$ref", `1`},
	{`{"$ref": "http://[x"}`, "$ref", `1`},
	{`{"$ref": 5}`, "$ref", `1`},
	{`{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/x"}`, "$ref", `1`},
	{`{"type": "object", "properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "string"}}}`, "", `{"x":"y"}`},
	{`{"type": "object", "properties": null}`, "", `{}`},
	{`{"type": "object", "properties": []}`, "", `{"x":1}`},
	{`{"type": "object", "properties": {}, "required": null}`, "", `{}`},
	{`{"type": "object", "required": {}}`, "", `{}`},
	{`{"type": ""}`, "", `1`},
	{`{"type": null, "minimum": null, "enum": null, "items": null, "pattern": null, "anyOf": null, "description": null}`, "", `"x"`},
	{`null`, "", `1`},
	{`[]`, "", `1`},
	{`"string"`, "-", `1`},
	{`{"type": "float"}`, "type", `1.5`},
	{`{"type": "string", "pattern": "("}`, "pattern", `"x"`},
	{`{"type": "string", "pattern": "(a)\\1"}`, "pattern", `"x"`},
	{`{"type": "string", "pattern": "\\p{Nothing}"}`, "pattern", `"x"`},
	{`{"type": "string", "pattern": 1}`, "pattern", `"x"`},
	{`{"type": "string", "minLength": "1"}`, "minLength", `""`},
	{`{"type": "string", "minLength": -1}`, "minLength", `""`},
	{`{"type": "number", "minimum": "0"}`, "minimum", `-1`},
	{`{"type": "number", "multipleOf": 0}`, "multipleOf", `1.5`},
	{`{"type": "string", "enum": "a"}`, "enum", `"b"`},
	{`{"type": "string", "enum": []}`, "-", `"b"`},
	{`{"type": "string", "const": 1}`, "-", `"b"`},
	{`{"type": "number", "minimum": 2, "maximum": 1}`, "-", `5`},
	{`{"type": "object", "required": true}`, "required", `{}`},
	{`{"type": "object", "properties": {"x": {"enum": []}}, "required": ["x"]}`, "/properties/x", `{"x":1}`},
	{`{"type": "array", "items": [{"type": "string"}, 5]}`, "/items/1", `["x",1]`},
	{`{"type": "array", "items": "string"}`, "/items", `[1]`},
	{`{"type": "array", "uniqueItems": "yes"}`, "uniqueItems", `[1,1]`},
	{`{"type": "array", "uniqueItems": true}`, "uniqueItems", `[1,1]`},
	{`{"anyOf": {"type": "string"}}`, "anyOf", `1`},
	{`{"allOf": [{"$ref": "#/nowhere"}, {"type": "string"}]}`, "/allOf/0", `"x"`},
	{`{"type": "object", "patternProperties": {"^x$": 1}}`, "/patternProperties/^x$", `{"x":1}`},
	{`{"type": "object", "additionalProperties": "no"}`, "/additionalProperties", `{"x":1}`},
	{`{"$ref": "#/properties/a"}`, "-", `1`},
	{`{"dependentRequired": {"x": "y", "z": 1}, "type": "object"}`, "/dependentRequired/z", `{"z":1}`},
}

// compileLossy is compile in lossy mode.
func compileLossy(schema string) (*grammar.Machine, []*jsonschema.UnsupportedError, error) {
	l := jsonexpr.New()
	g := grammar.New(l.Arena)
	var left []*jsonschema.UnsupportedError
	var err error
	if g.Start, left, err = jsonschema.Compile([]byte(schema), l, g, jsonschema.Options{Lossy: true}); err != nil {
		return nil, nil, err
	}
	return grammar.NewMachine(g), left, nil
}

// In lossy mode mistakes are left out, with its place, and the rest is kept. Otherwise it is an error.
func TestWrongPartsAreLeftOut(t *testing.T) {
	for _, c := range wrongParts {
		schema := fmt.Sprintf(`{"type": "object", "properties": {"a": %s, "b": {"type": "integer"}}, "required": ["a", "b"], "additionalProperties": false}`, c.part)
		_, strict := compile(schema, jsonschema.Options{})
		if said := c.left != ""; said && strict == nil {
			t.Errorf("%s: no error where nothing may be left out", c.part)
		}
		m, left, err := compileLossy(schema)
		if err != nil {
			t.Errorf("%s: %v", c.part, err)
			continue
		}
		for text, want := range map[string]bool{`{"a":` + c.valid + `,"b":1}`: true, `{"a":` + c.valid + `,"b":"x"}`: false, `{"a":` + c.valid + `}`: false} {
			if accepts(m, text) != want {
				t.Errorf("%s: %s: accepted is %v", c.part, text, !want)
			}
		}
		path, keyword := "/properties/a", c.left
		switch {
		case c.left == "":
			if len(left) > 0 {
				t.Errorf("%s: left out is %v", c.part, left[0])
			}
			continue
		case c.left == "-":
			keyword = ""
		case strings.HasPrefix(c.left, "/"):
			path += c.left
			if len(left) > 0 {
				keyword = left[0].Keyword
			}
		}
		if len(left) != 1 || left[0].Path != path || left[0].Keyword != keyword {
			t.Errorf("%s: left out are %v, want %q at %s", c.part, left, keyword, path)
		}
	}
}

// The error about a schema without a value names the part that is why.
func TestNoValue(t *testing.T) {
	for schema, want := range map[string]string{
		`false`: "",
		`{"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]}`:                                                 "/properties/a",
		`{"type": "object", "properties": {"a~/b": {"type": "integer", "minimum": 2, "maximum": 1}}, "required": ["a~/b"]}`:        "/properties/a~0~1b",
		`{"allOf": [{"type": "string"}, {"type": "object", "properties": {"x": false}, "required": ["x"]}]}`:                       "/allOf/1/properties/x",
		`{"type": "array", "items": {"const": 1, "type": "string"}, "minItems": 1}`:                                                "/items",
		`{"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}}`: "/$defs/n",
	} {
		_, err := compile(schema, jsonschema.Options{})
		var mistake *jsonschema.MistakeError
		if !errors.As(err, &mistake) || !strings.HasPrefix(mistake.Path, want) || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want the place %s", schema, err, want)
		}
	}
}

// A schema within a text is compiled with the text's references, and errors name its place in the text.
func TestAt(t *testing.T) {
	const text = `{"properties": {"a/b": {"$ref": "#/$defs/n"}, "c": {"type": "float"}}, "$defs": {"n": {"minimum": 3}}}`
	m, err := compile(text, jsonschema.Options{At: "/properties/a~1b"})
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]bool{`3`: true, `2`: false, `{}`: true} {
		if accepts(m, value) != want {
			t.Errorf("%s: accepted is %v", value, !want)
		}
	}
	if m, err = compile(text, jsonschema.Options{At: "/properties/a~1b", Types: []string{"object"}}); err != nil || accepts(m, `3`) || !accepts(m, `{}`) {
		t.Errorf("objects only: %v", err)
	}
	if _, err := compile(text, jsonschema.Options{At: "/properties/c"}); err == nil || !strings.Contains(err.Error(), "/properties/c/type") {
		t.Error(err)
	}
	if _, err := compile(text, jsonschema.Options{At: "/properties/d"}); err == nil || !strings.Contains(err.Error(), "/properties/d") {
		t.Error(err)
	}
}
