package constrain_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/constrain"
)

var weatherAndSum = []json.RawMessage{
	json.RawMessage(`{"type": "function", "function": {"name": "weather", "parameters": {"type": "object",
		"properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["city"], "additionalProperties": false}}}`),
	json.RawMessage(`{"name": "sum", "parameters": {"type": "object",
		"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"], "additionalProperties": false}}`),
	json.RawMessage(`{"name": "now"}`),
}

// Each choice allows what it says, in the way Flint's family writes calls: calls of functions on offer with arguments that fit, and no
// text that looks like another call.
func TestTools(t *testing.T) {
	tok := tokenizer(t)
	const (
		weather = `{"name": "weather", "parameters": {"city": "Rome", "unit": "celsius"}}`
		sum     = `{"name": "sum", "parameters": {"a": 1, "b": -2}}`
		now     = `{"name": "now", "parameters": {}}`
		text    = `It is warm in Rome.`
		object  = `{"temperature": 17}`
		other   = `{"name": "delete", "parameters": {}}`
		wrong   = `{"name": "sum", "parameters": {"a": "1", "b": 2}}`
		short   = `{"name": "sum", "parameters": {"a": 1}}`
	)
	for _, c := range []struct {
		name    string
		options constrain.ToolOptions
		allowed []string
		refused []string
	}{
		{"auto", constrain.ToolOptions{}, []string{weather, sum, now, text, object, "", weather + "; " + sum, text + "\n" + now}, []string{other, wrong, short, text + "\n" + other}},
		{"none", constrain.ToolOptions{Choice: constrain.ToolNone}, []string{text, object, ""}, []string{weather, other}},
		{"required", constrain.ToolOptions{Choice: constrain.ToolRequired}, []string{weather, sum + "; " + sum}, []string{text, "", other, wrong}},
		{"single", constrain.ToolOptions{Choice: constrain.ToolRequired, Single: true}, []string{weather, sum}, []string{sum + "; " + sum}},
		{"one function", constrain.ToolOptions{Function: "sum"}, []string{sum}, []string{weather, text, short}},
	} {
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
}

// What cannot be called says so.
func TestToolsErrors(t *testing.T) {
	tok := tokenizer(t)
	for name, c := range map[string]struct {
		tools   []json.RawMessage
		options constrain.ToolOptions
		says    string
	}{
		"no tools":       {nil, constrain.ToolOptions{}, "no function"},
		"unknown choice": {weatherAndSum, constrain.ToolOptions{Function: "delete"}, `"delete"`},
		"no name":        {[]json.RawMessage{json.RawMessage(`{"type": "function", "function": {}}`)}, constrain.ToolOptions{}, "name"},
		"odd name":       {[]json.RawMessage{json.RawMessage(`{"name": "a\"b"}`)}, constrain.ToolOptions{}, "letters"},
		"no JSON":        {[]json.RawMessage{json.RawMessage(`{`)}, constrain.ToolOptions{}, "JSON"},
		"schema":         {[]json.RawMessage{json.RawMessage(`{"name": "f", "parameters": {"properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}}`)}, constrain.ToolOptions{}, "pattern"},
	} {
		if _, err := constrain.Tools(tok, c.tools, c.options); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := constrain.Tools(tok, []json.RawMessage{json.RawMessage(`{"name": "f", "parameters": {"properties": {"a": {"type": "string", "pattern": "(a)\\1"}}}}`)}, constrain.ToolOptions{})
	var u *constrain.UnsupportedError
	if !errors.As(err, &u) || u.Keyword != "pattern" {
		t.Errorf("%v", err)
	}
}
