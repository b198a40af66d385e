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

// Each keyword, with documents that fit and documents that do not.
func TestKeywords(t *testing.T) {
	for _, test := range []struct {
		schema         string
		valid, invalid []string
	}{
		{`true`, []string{`null`, ` `[1:] + `[1, {"a" : []}]`, `"é"`, `-1.5e30`, "{\n  \"a\": 1\n}"}, []string{``, `[1,]`, `{"a"}`, `nul`, `"`, `01`}},
		{`{"type": "integer"}`, []string{`1`, `-20`, `0`}, []string{`1.5`, `"1"`, `1e`, `null`}},
		// Each range of a union is written as it would be alone: with exponents if plain decimals would be long.
		{`{"type": "number", "anyOf": [{"minimum": 1e-30, "maximum": 2e-30}, {"minimum": 1e30, "maximum": 2e30}, {"minimum": 2, "maximum": 3}]}`,
			[]string{`1e-30`, `1.5e-30`, `1.25e+30`, `2.5`, `3`}, []string{`1`, `4`, `1e-29`, `3e+30`, `0`}},
		{`{"type": "number", "maximum": 1e30, "anyOf": [{"maximum": 0}, {"minimum": 1e20, "maximum": 5e29}, {"enum": [7, 1e40]}]}`,
			[]string{`-1e+30`, `1e+20`, `7`, `0`}, []string{`1`, `1e+40`, `6e+29`}},
		{`{"type": ["string", "null"]}`, []string{`"a\u0041"`, `null`}, []string{`1`, `{}`}},
		{`{"enum": ["a", 1, null, {"x": [1, "b"]}, []]}`, []string{`"a"`, `1`, `null`, `{"x":[1,"b"]}`, `{ "x": [1, "b"] }`, `[]`}, []string{`"b"`, `2`, `{}`, `{"x":[1]}`, `"\u0061"`}},
		{`{"const": 1.0}`, []string{`1.0`, `1`}, []string{`2`, `"1"`}},
		{`{"minimum": 2, "exclusiveMaximum": 5.5, "type": "number"}`, []string{`2`, `5.49`, `3`}, []string{`1.99`, `5.5`, `6`}},
		{`{"minimum": 2, "exclusiveMinimum": true, "type": "integer"}`, []string{`3`}, []string{`2`}},
		{`{"multipleOf": 0.25, "type": "number"}`, []string{`0.75`, `2`, `-1.5`}, []string{`0.3`}},
		{`{"minLength": 2, "maxLength": 3, "type": "string"}`, []string{`"ab"`, `"é\n"`, `"\ud83d\ude00a"`, `"😀a"`}, []string{`"a"`, `"abcd"`, `"😀"`}},
		{`{"pattern": "^a+$", "type": "string"}`, []string{`"aa"`}, []string{`"ba"`, `""`, `"\u0061"`}},
		{`{"pattern": "a", "maxLength": 2, "not": {"const": "ab"}, "type": "string"}`, []string{`"ba"`, `"a"`}, []string{`"ab"`, `"bb"`, `"bba"`}},
		{`{"format": "date", "type": "string"}`, []string{`"2024-02-29"`}, []string{`"2023-02-29"`, `"x"`}},
		{`{"format": "no such format", "type": "string"}`, []string{`"x"`}, nil},
		{`{"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["b"], "type": "object"}`,
			[]string{`{"a":1,"b":"x"}`, `{"b":"x","c":[1],"d":2}`, `{"b":""}`}, []string{`{}`, `{"a":1}`, `{"a":"x","b":"x"}`, `{"b":1}`, `{"b":"x",}`}},
		{`{"properties": {"a": {}}, "additionalProperties": false, "type": "object"}`, []string{`{}`, `{"a":1}`, `{ }`}, []string{`{"b":1}`, `{"a":1,"a":2}`}},
		{`{"additionalProperties": {"type": "null"}, "patternProperties": {"^x": {"type": "integer"}}, "properties": {"xy": {"minimum": 3}}, "type": "object"}`,
			[]string{`{"xy":3,"xz":1,"b":null}`, `{"b":null,"x":1}`}, []string{`{"xy":2}`, `{"xz":null}`, `{"b":1}`, `{"xy":"a"}`}},
		{`{"propertyNames": {"pattern": "^[ab]+$"}, "type": "object"}`, []string{`{"a":1,"bb":2}`}, []string{`{"c":1}`, `{"":1}`}},
		{`{"minProperties": 1, "maxProperties": 2, "type": "object"}`, []string{`{"a":1}`, `{"a":1,"b":2}`}, []string{`{}`, `{"a":1,"b":2,"c":3}`}},
		{`{"minProperties": 2, "properties": {"a": {}, "b": {}, "c": {}}, "additionalProperties": false, "type": "object"}`, []string{`{"a":1,"c":2}`, `{"b":1,"c":2}`}, []string{`{"c":1}`, `{}`}},
		{`{"dependentRequired": {"a": ["b"]}, "properties": {"a": {}, "b": {}}, "type": "object"}`, []string{`{"a":1,"b":1}`, `{"b":1}`, `{"c":1}`}, []string{`{"a":1}`, `{"a":1,"c":1}`}},
		{`{"dependencies": {"a": {"required": ["c"]}}, "type": "object"}`, []string{`{"b":1}`, `{"a":1,"c":1}`}, []string{`{"a":1}`}},
		{`{"items": {"type": "integer"}, "minItems": 1, "maxItems": 3, "type": "array"}`, []string{`[1]`, `[1, 2,3]`}, []string{`[]`, `[1,2,3,4]`, `["a"]`}},
		{`{"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "type": "array"}`, []string{`[]`, `[1]`, `[1,"a"]`}, []string{`["a"]`, `[1,"a",1]`}},
		{`{"items": [{"type": "integer"}], "additionalItems": {"type": "null"}, "type": "array"}`, []string{`[]`, `[1,null,null]`}, []string{`[null]`, `[1,1]`}},
		{`{"contains": {"const": 7}, "minContains": 2, "maxContains": 3, "type": "array", "items": {"type": "integer"}}`,
			[]string{`[7,7]`, `[1,7,2,7,7]`}, []string{`[7]`, `[7,7,7,7]`, `[7,7,"a"]`}},
		{`{"uniqueItems": true, "items": {"enum": ["a", "b", 3]}, "minItems": 2, "type": "array"}`, []string{`["a","b"]`, `[3,"b","a"]`}, []string{`["a","a"]`, `["a"]`, `["a","b",3,"a"]`}},
		{`{"uniqueItems": true, "maxItems": 1, "type": "array"}`, []string{`[]`, `[{}]`}, []string{`[1,1]`}},
		{`{"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]}`, []string{`12`, `"a"`}, []string{`"ab"`, `1.5`}},
		{`{"oneOf": [{"type": "integer"}, {"type": "number", "minimum": 3}]}`, []string{`2`, `3.5`}, []string{`3`, `2.5`}},
		{`{"oneOf": [{"required": ["a"]}, {"required": ["b"]}], "type": "object", "properties": {"a": {}, "b": {}}}`, []string{`{"a":1}`, `{"b":1,"c":1}`}, []string{`{}`, `{"a":1,"b":1}`}},
		{`{"oneOf": [{"properties": {"k": {"const": "a"}, "x": {"type": "integer"}}, "required": ["k"]}, {"$ref": "#/$defs/b"}], "type": "object",
			"$defs": {"b": {"properties": {"k": {"enum": ["b", "c"]}}, "required": ["k", "y"]}}}`,
			[]string{`{"k":"a","x":1}`, `{"k":"b","y":1}`, `{"k":"a","y":1}`}, []string{`{"k":"b"}`, `{"k":"d","y":1}`, `{"x":1}`, `{"k":"a","x":"s"}`}},
		{`{"allOf": [{"properties": {"a": {"minimum": 1}}}, {"properties": {"a": {"type": "integer", "maximum": 3}}, "required": ["a"]}], "type": "object"}`,
			[]string{`{"a":2}`}, []string{`{"a":0}`, `{"a":4}`, `{}`, `{"a":"x"}`}},
		{`{"not": {"type": ["object", "array"]}}`, []string{`1`, `null`, `"x"`}, []string{`{}`, `[]`}},
		{`{"type": "object", "not": {"required": ["a", "b"]}}`, []string{`{"a":1}`, `{"b":1}`, `{}`}, []string{`{"a":1,"b":2}`}},
		{`{"type": "array", "not": {"items": {"type": "integer"}}}`, []string{`[1,"a"]`, `["a",1]`}, []string{`[]`, `[1,2]`}},
		{`{"type": "array", "enum": [[1], [], {}], "minItems": 1}`, []string{`[1]`}, []string{`[]`, `{}`}},
		{`{"type": ["array", "object"], "not": {"enum": [[1], [], {"a": 1}, {}]}}`, []string{`[2]`, `[1,1]`, `{"a":2}`, `{"b":1}`, `{"a":1,"b":1}`}, []string{`[1]`, `[]`, `{"a":1}`, `{}`}},
		{`{"if": {"properties": {"k": {"const": 1}}, "required": ["k"]}, "then": {"required": ["a"]}, "else": {"required": ["b"]}, "type": "object", "properties": {"k": {}, "a": {}, "b": {}}}`,
			[]string{`{"k":1,"a":1}`, `{"k":2,"b":1}`, `{"b":1}`}, []string{`{"k":1,"b":1}`, `{"k":2,"a":1}`, `{}`}},
		{`{"$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "v": {"type": "integer"}}, "required": ["v"], "additionalProperties": false}}, "$ref": "#/$defs/n"}`,
			[]string{`{"v":1}`, `{"next":{"next":{"v":3},"v":2},"v":1}`}, []string{`{"next":{},"v":1}`, `{}`}},
		{`{"$defs": {"a/b~c%": {"type": "null"}}, "$ref": "#/$defs/a~1b~0c%25"}`, []string{`null`}, []string{`1`}},
		{`{"$id": "http://x.test/root", "$defs": {"p": {"$id": "part", "$anchor": "here", "type": "null"}}, "items": {"$ref": "part#here"}, "prefixItems": [{"$ref": "http://x.test/part"}], "type": "array"}`,
			[]string{`[null,null]`}, []string{`[1]`, `[null,1]`}},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a", "maximum": 3}`, []string{`4`}, []string{`"x"`}},
		{`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"a": {"type": "integer"}}, "$ref": "#/$defs/a", "maximum": 3}`, []string{`3`}, []string{`4`}},
		{`{"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "unevaluatedProperties": false, "type": "object"}`, []string{`{"a":1,"b":1}`}, []string{`{"c":1}`}},
		{`{"anyOf": [{"prefixItems": [{"const": 1}]}, {"prefixItems": [{}, {"const": 2}]}], "unevaluatedItems": {"const": 3}, "type": "array"}`,
			[]string{`[1,3]`, `[1,2,3]`, `[5,2,3]`}, []string{`[5,5]`, `[1,4]`}},
	} {
		for _, any := range []bool{false, true} {
			m, err := compile(test.schema, jsonschema.Options{AnyOrder: any})
			if err != nil {
				t.Errorf("%s: %v", test.schema, err)
				break
			}
			for _, text := range test.valid {
				if !accepts(m, text) {
					t.Errorf("%s refuses %s", test.schema, text)
				}
			}
			for _, text := range test.invalid {
				if accepts(m, text) {
					t.Errorf("%s accepts %s", test.schema, text)
				}
			}
		}
	}
}

// A keyword counts in the drafts that have it.
func TestDrafts(t *testing.T) {
	const inner = `"definitions":{"a":{"type":"integer"}},"properties":{"x":{%q:"http://x.test/foo","definitions":{"a":{"type":"string"}},"allOf":[{"$ref":"#/definitions/a"}]}},"type":"object"}`
	id, dollar := fmt.Sprintf(inner, "id"), fmt.Sprintf(inner, "$id")
	drafts := map[int]string{
		0: `{`, 4: `{"$schema":"http://json-schema.org/draft-04/schema#",`, 6: `{"$schema":"http://json-schema.org/draft-06/schema#",`, 7: `{"$schema":"http://json-schema.org/draft-07/schema#",`,
		2019: `{"$schema":"https://json-schema.org/draft/2019-09/schema",`, 2020: `{"$schema":"https://json-schema.org/draft/2020-12/schema",`,
	}
	for _, test := range []struct {
		schema      string // without its beginning
		first, last int    // of the drafts that have the keyword; the schema without $schema is of the latest
		text        string // invalid in these drafts, valid in others
	}{
		{id, 0, 4, `{"x":1}`}, {dollar, 6, 2020, `{"x":1}`},
		{`"const":1}`, 6, 2020, `2`}, {`"contains":{"const":1},"type":"array"}`, 6, 2020, `[2]`}, {`"propertyNames":{"maxLength":1},"type":"object"}`, 6, 2020, `{"ab":1}`},
		{`"if":{"type":"string"},"else":{"minimum":3}}`, 7, 2020, `2`},
		{`"contains":{"const":1},"minContains":2,"type":"array"}`, 2019, 2020, `[1]`}, {`"contains":{"const":1},"maxContains":1,"type":"array"}`, 2019, 2020, `[1,1]`},
		{`"dependentRequired":{"a":["b"]},"type":"object"}`, 2019, 2020, `{"a":1}`}, {`"dependentSchemas":{"a":false},"type":"object"}`, 2019, 2020, `{"a":1}`},
		{`"unevaluatedProperties":false,"type":"object"}`, 2019, 2020, `{"a":1}`}, {`"unevaluatedItems":false,"type":"array"}`, 2019, 2020, `[1]`},
		{`"prefixItems":[{"type":"null"}],"type":"array"}`, 2020, 2020, `[1]`},
		{`"allOf":[{"$ref":"#/definitions/a","maximum":3}],"definitions":{"a":{"type":"integer"}}}`, 2019, 2020, `4`},
	} {
		for draft, begin := range drafts {
			m, err := compile(begin+test.schema, jsonschema.Options{})
			if err != nil {
				t.Errorf("draft %d: %s: %v", draft, test.schema, err)
				continue
			}
			if draft == 0 {
				draft = 2020
			}
			if want := draft < test.first || draft > test.last; accepts(m, test.text) != want {
				t.Errorf("draft %d: %s: %s is accepted: %v", draft, test.schema, test.text, !want)
			}
		}
	}
}

// Properties come in the order in which schemas name them, or in any order, each once.
func TestOrder(t *testing.T) {
	const schema = `{"type": "object", "required": ["z", "b"], "allOf": [{"properties": {"c": {}}}], "properties": {"b": {}, "a": {}}}`
	inOrder, err := compile(schema, jsonschema.Options{})
	if err != nil {
		t.Fatal(err)
	}
	anyOrder, err := compile(schema, jsonschema.Options{AnyOrder: true})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2]bool{
		`{"b":1,"a":1,"c":1,"z":1,"other":1}`: {true, true}, `{"b":1,"z":1}`: {true, true},
		`{"a":1,"b":1,"z":1}`: {false, true}, `{"z":1,"b":1}`: {false, true}, `{"other":1,"z":1,"c":1,"b":1}`: {false, true},
		`{"b":1,"z":1,"z":1}`: {false, false}, `{"b":1}`: {false, false},
	} {
		if got := [2]bool{accepts(inOrder, text), accepts(anyOrder, text)}; got != want {
			t.Errorf("%s: in order and in any order: %v, want %v", text, got, want)
		}
	}
}

// Objects of more properties than an argument has bits for come in any order all the same.
func TestManyPropertiesInAnyOrder(t *testing.T) {
	const n = 70
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf(`"p%d"`, i))
	}
	m, err := compile(`{"type":"object","required":[`+strings.Join(names[:3], ",")+`,"p69"],"additionalProperties":false,"properties":{`+strings.Join(names, `:{},`)+`:{}}}`, jsonschema.Options{AnyOrder: true})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"p69":1,"p65":1,"p2":1,"p1":1,"p0":1}`: true, `{"p65":1,"p2":1,"p1":1,"p0":1}`: false, `{"p69":1,"p69":1,"p2":1,"p1":1,"p0":1}`: false, `{"p69":1,"p2":1,"p1":1}`: false,
	} {
		if got := accepts(m, text); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// Keywords that cannot be promised are named, with their places.
func TestUnsupported(t *testing.T) {
	for schema, want := range map[string]jsonschema.UnsupportedError{
		`{"properties": {"a/b": {"uniqueItems": true, "type": "array"}}}`: {Keyword: "uniqueItems", Path: "/properties/a~1b"},
		`{"items": {"$ref": "http://elsewhere.test/schema"}}`:             {Keyword: "$ref", Path: "/items"},
		`{"type": "object", "minProperties": 3}`:                          {Keyword: "minProperties"},
		`{"type": "string", "pattern": "(a)\\1"}`:                         {Keyword: "pattern"},
		`{"type": "string", "minLength": 1e15}`:                           {Keyword: "minLength"},
		`{"type": "string", "not": {"format": "email"}}`:                  {Keyword: "format", Path: "/not"},
	} {
		_, err := compile(schema, jsonschema.Options{})
		var u *jsonschema.UnsupportedError
		if !errors.As(err, &u) || u.Keyword != want.Keyword || u.Path != want.Path || u.Reason == "" {
			t.Errorf("%s: %v, want %+v", schema, err, want)
		}
	}
}

// A lossy constraint allows all that the rest of the schema allows, and lists the keywords that it leaves out. They are left out of a
// schema's complement too.
func TestLossy(t *testing.T) {
	for _, test := range []struct {
		schema         string
		left           []string
		valid, invalid []string
	}{
		{`{"type": "array", "uniqueItems": true, "items": {"type": "string", "maxLength": 1}}`, []string{"uniqueItems"}, []string{`["a","a"]`}, []string{`["ab"]`}},
		{`{"type": "string", "pattern": "(a)\\1", "maxLength": 3}`, []string{"pattern"}, []string{`"aa"`, `"x"`}, []string{`"aaaa"`}},
		{`{"type": "string", "not": {"pattern": "(a)\\1"}, "maxLength": 3}`, []string{"pattern"}, []string{`"b"`, `"aa"`}, []string{`"aaaa"`, `1`}},
		{`{"type": "object", "properties": {"a": {"type": "string", "pattern": "(a)\\1"}}, "not": {"required": ["b"]}}`, []string{"pattern"}, []string{`{"a":"x"}`}, []string{`{"a":1}`, `{"b":1}`}},
		{`{"type": "array", "items": {"type": "integer"}, "minItems": 1}`, nil, []string{`[1]`}, []string{`[]`}},
	} {
		l := jsonexpr.New()
		g := grammar.New(l.Arena)
		var left []*jsonschema.UnsupportedError
		var err error
		if g.Start, left, err = jsonschema.Compile([]byte(test.schema), l, g, jsonschema.Options{Lossy: true}); err != nil {
			t.Errorf("%s: %v", test.schema, err)
			continue
		}
		var keywords []string
		for _, u := range left {
			keywords = append(keywords, u.Keyword)
		}
		if fmt.Sprint(keywords) != fmt.Sprint(test.left) {
			t.Errorf("%s leaves out %v, want %v", test.schema, keywords, test.left)
		}
		m := grammar.NewMachine(g)
		for _, text := range test.valid {
			if !accepts(m, text) {
				t.Errorf("%s refuses %s", test.schema, text)
			}
		}
		for _, text := range test.invalid {
			if accepts(m, text) {
				t.Errorf("%s accepts %s", test.schema, text)
			}
		}
	}
}

// Texts that are no schemas, and schemas that nothing satisfies, are errors that say so.
func TestErrors(t *testing.T) {
	for schema, want := range map[string]string{
		``: "not JSON", `{"a": }`: "not JSON", `3`: "no schema", `{"properties": []}`: "/properties is not an object", `{"type": "text"}`: `/type is not a type but "text": types are array`,
		`{"items": {"minimum": "1"}}`: "/items/minimum is not a number", `{"minLength": -1}`: "/minLength is not a count", `{"multipleOf": 0}`: "not above 0",
		`{"$ref": "#/nowhere"}`: "leads nowhere", `{"$ref": "#"}`: "without end", `{"anyOf": [{"$ref": "#"}, {"type": "null"}]}`: "without end",
		`{"const":{},"if":{"$ref":"#"}}`: "without end", `{"const":{"a":1},"dependentSchemas":{"a":{"$ref":"#"}}}`: "without end",
		`{"enum":[{"a":1}],"dependencies":{"a":{"allOf":[{"$ref":"#"}]}}}`: "without end", `{"required": "a"}`: "array of strings",
		`false`: "no value satisfies", `{"type": "object", "required": ["a"], "properties": {"a": false}}`: "no value satisfies",
		`{"$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}, "required": ["n"]}}, "$ref": "#/$defs/n"}`: "no value satisfies",
		`{"type": "array", "minItems": 2, "maxItems": 1}`:                                                                          "no value satisfies", strings.Repeat(`{"items":`, 2000) + `1` + strings.Repeat(`}`, 2000): "deep",
	} {
		if _, err := compile(schema, jsonschema.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s: %v, want %q", schema, err, want)
		}
	}
}

// Whatever a schema is, compiling it ends, and its constraint can be walked through.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"],"anyOf":[{"not":{"required":["b"]}}]}`,
		`{"oneOf":[{"items":{"enum":[1,2]},"uniqueItems":true},{"pattern":"a|b","minLength":3}]}`, `{"if":{"contains":{"const":1}},"then":{"maxItems":3},"unevaluatedItems":false}`,
		`{"patternProperties":{"^a":{"type":"integer"}},"propertyNames":{"maxLength":3},"minProperties":1,"dependentSchemas":{"a":{"multipleOf":0.5}}}`} {
		f.Add(s, true, false)
		f.Add(s, false, true)
	}
	f.Fuzz(func(t *testing.T, schema string, anyOrder, lossy bool) {
		m, err := compile(schema, jsonschema.Options{AnyOrder: anyOrder, Lossy: lossy})
		if err != nil {
			return
		}
		s := m.Start()
		for i := range 200 {
			first := m.First(s)
			next := first.Bytes(nil)
			if m.Err() != nil {
				return
			}
			if len(next) == 0 {
				if !m.Accepts(s) {
					t.Fatalf("%s is stuck", schema)
				}
				return
			}
			if s = m.Next(s, next[(i*7)%len(next)]); s == grammar.Dead && m.Err() == nil {
				t.Fatalf("%s leads to nothing", schema)
			}
		}
	})
}
