package constrain_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// An answer calls functions or is JSON of the schema, on one line; nothing else.
func TestToolsOrAnswer(t *testing.T) {
	tok := tokenizer(t)
	const (
		schema = `{"type": "object", "properties": {"name": {"type": "string"}, "ages": {"type": "array", "items": {"type": "integer"}}},
			"required": ["name"], "additionalProperties": false}`
		sum    = `{"name": "sum", "parameters": {"a": 1, "b": -2}}`
		now    = `{"name": "now", "parameters": {}}`
		answer = `{"name": "sum", "ages": [7, 9]}` // a name that a function has, too
		lines  = "{\"name\": \"Ann\",\n\"ages\": [7]}"
		wrong  = `{"name": "Ann", "age": 7}`
		text   = `It is warm in Rome.`
	)
	for _, c := range []struct {
		name    string
		options constrain.ToolOptions
		allowed []string
		refused []string
	}{
		{"auto", constrain.ToolOptions{}, []string{sum, now, sum + "; " + now, answer, `{"ages":[],"name":""}`}, []string{text, "", wrong, lines, text + "\n" + now, answer + "; " + now, now + answer}},
		{"single", constrain.ToolOptions{Single: true}, []string{sum, answer}, []string{sum + "; " + now, text}},
		{"none", constrain.ToolOptions{Choice: constrain.ToolNone}, []string{answer}, []string{sum, text}},
		{"required", constrain.ToolOptions{Choice: constrain.ToolRequired}, []string{sum, now}, []string{answer, text}},
		{"one function", constrain.ToolOptions{Function: "now"}, []string{now}, []string{answer, sum}},
		{"ordered", constrain.ToolOptions{Answer: &constrain.Answer{Options: constrain.SchemaOptions{Ordered: true}}}, []string{sum, answer}, []string{`{"ages":[],"name":""}`}},
	} {
		if c.options.Answer == nil {
			c.options.Answer = new(constrain.Answer)
		}
		c.options.Answer.Schema = json.RawMessage(schema)
		constraint, err := constrain.Tools(tok, weatherAndSum, c.options)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		for _, a := range c.allowed {
			if !accepts(t, tok, constraint, a) {
				t.Errorf("%s: %s is refused", c.name, a)
			}
		}
		for _, r := range c.refused {
			if accepts(t, tok, constraint, r) {
				t.Errorf("%s: %s is allowed", c.name, r)
			}
		}
	}
	if got := tok.ParseAnswer(tok.Encode(answer), -1); len(got.ToolCalls) != 0 || got.Content != answer {
		t.Errorf("the answer is read as %+v", got)
	}
}

// Schemas with values that could be taken for calls are refused, and no others.
func TestAnswerOrCall(t *testing.T) {
	tok := tokenizer(t)
	for _, c := range []struct {
		schema string
		ok     bool
	}{
		{`{"type": "array", "items": {"type": "object"}}`, true},
		{`{"type": ["string", "null"]}`, true},
		{`{"enum": [1, "sum"]}`, true},
		{`{"const": {"name": "sum", "parameters": {}}}`, false},
		{`true`, false},
		{`{}`, false},
		{`{"type": "object"}`, false},
		{`{"type": "object", "additionalProperties": {"type": "string"}}`, true},
		{`{"type": "object", "additionalProperties": {"type": ["string", "object"]}}`, false},
		{`{"type": "object", "properties": {"name": {"type": "string"}}}`, false},
		{`{"type": "object", "properties": {"name": {"type": "integer"}}}`, true},
		{`{"type": "object", "properties": {"name": false}}`, true},
		{`{"type": "object", "properties": {"name": {"enum": ["Ann", "now"]}}}`, false},
		{`{"type": "object", "properties": {"name": {"enum": ["Ann", "Bob"]}}}`, true},
		{`{"type": "object", "properties": {"name": {"const": "Ann"}}}`, true},
		{`{"type": "object", "properties": {"name": {"type": "string"}, "parameters": {"type": "integer"}}}`, false},
		{`{"type": "object", "properties": {"name": {"type": "string"}, "parameters": {"type": "integer"}, "arguments": {"type": "array"}}}`, true},
		{`{"type": "object", "properties": {"name": {"type": "string"}, "parameters": {"$ref": "#/$defs/p"}}, "additionalProperties": false, "$defs": {"p": {"type": "integer"}}}`, true},
		{`{"type": "object", "properties": {"name": {"type": "string"}, "parameters": {"$ref": "#/$defs/p"}}, "additionalProperties": false, "$defs": {"p": {"type": "object"}}}`, false},
		{`{"type": "object", "patternProperties": {"^p": {}}, "properties": {"name": {}}, "additionalProperties": false}`, false},
		{`{"anyOf": [{"type": "integer"}, {"type": "object", "additionalProperties": false, "properties": {"name": {}}}]}`, true},
		{`{"anyOf": [{"type": "integer"}, {"type": "object"}]}`, false},
		{`{"allOf": [{"type": "object"}, {"additionalProperties": false, "properties": {"answer": {"type": "object"}}}]}`, true},
		{`{"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"], "additionalProperties": false}}}`, true},
		{`{"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "integer"}}}`, true},
	} {
		_, err := constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{Answer: &constrain.Answer{Schema: json.RawMessage(c.schema)}})
		if (err == nil) != c.ok || err != nil && !errors.Is(err, llama.ErrUnsupported) {
			t.Errorf("%s: %v", c.schema, err)
		}
	}
}

// Parts of a schema that refer to each other are not looked at for ever.
func TestAnswerOfManyReferences(t *testing.T) {
	effort.Turn(t, 8)
	tok := tokenizer(t)
	var defs strings.Builder
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		next := `{"$ref": "#/$defs/` + string(name[0]+1) + `"}`
		defs.WriteString(`"` + name + `": {"anyOf": [` + strings.Repeat(next+", ", 19) + next + `]}, `)
	}
	schema := `{"$ref": "#/$defs/a", "$defs": {` + defs.String() + `"i": {"type": "integer"}}}`
	var err error
	units := cost.Units(func() {
		_, err = constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{Answer: &constrain.Answer{Schema: json.RawMessage(schema)}})
	})
	if units > 30 {
		t.Errorf("%.1f units of processor time: %v", units, err)
	}
}

// Faults of the schema are reported. Lossy leaves out the parts that cannot be kept.
func TestAnswerErrors(t *testing.T) {
	tok := tokenizer(t)
	const hard = `{"type": "object", "properties": {"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true}}, "additionalProperties": false}`
	_, err := constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{Answer: &constrain.Answer{Schema: json.RawMessage(hard)}})
	if u, ok := errors.AsType[*constrain.UnsupportedError](err); !ok || u.Keyword != "uniqueItems" || !strings.Contains(err.Error(), "answer") {
		t.Errorf("%v", err)
	}
	c, err := constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{Answer: &constrain.Answer{Schema: json.RawMessage(hard), Options: constrain.SchemaOptions{Lossy: true}}})
	if err != nil || !accepts(t, tok, c, `{"tags": ["a", "a"]}`) || accepts(t, tok, c, `{"tags": [1]}`) {
		t.Errorf("%v", err)
	}
	if _, err := constrain.Tools(tok, weatherAndSum, constrain.ToolOptions{Answer: &constrain.Answer{Schema: json.RawMessage(`{"type"`)}}); err == nil {
		t.Error("a schema that is no JSON is accepted")
	}
}
