package admits

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func value(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValue(t *testing.T) {
	for _, c := range []struct{ schema, yes, no string }{
		{`{}`, `[null, 1, "a", [], {}, true]`, `[]`},
		{`true`, `[1]`, `[]`},
		{`false`, `[]`, `[1, null]`},
		{`{"type": "string"}`, `["", "5"]`, `[5, null, [], {}]`},
		{`{"type": ["string", "null"]}`, `["5", null]`, `[5, true]`},
		{`{"anyOf": [{"type": "string"}, {"type": "integer", "maximum": 9}]}`, `["12", 5, 9.0]`, `[12, 5.5, null]`},
		{`{"oneOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]}`, `["a", null]`, `[1e5]`},
		{`{"allOf": [{"type": ["string", "number"]}, {"type": ["number", "null"]}]}`, `[1]`, `["a", null]`},
		{`{"$ref": "#/$defs/S", "$defs": {"S": {"type": "string"}}}`, `["a"]`, `[1]`},
		{`{"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "null"}}}`, `[null]`, `[1]`},
		{`{"$ref": "#/$defs/no"}`, `[1]`, `[]`},
		{`{"$ref": "#"}`, `[1]`, `[]`},
		{`{"enum": ["a", 1, null, [1.0]]}`, `["a", 1, 1.0, null, [1]]`, `["b", 2, true, [2], []]`},
		{`{"const": 2e1}`, `[20]`, `[2]`},
		{`{"type": "number", "minimum": 0, "exclusiveMaximum": 1}`, `[0, 0.5]`, `[1, -0.1]`},
		{`{"type": "number", "maximum": 1, "exclusiveMaximum": true}`, `[0.5]`, `[1, 2]`},
		{`{"type": "integer"}`, `[1, 1e2, 1e999999]`, `[1.5, "1"]`},
		{`{"type": "string", "nullable": true}`, `["a", null]`, `[1]`},
		{`{"type": "", "description": "as some clients write it"}`, `[1, "a"]`, `[]`},
	} {
		s, err := Parse([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		for want, list := range map[bool]string{true: c.yes, false: c.no} {
			for _, v := range value(t, list).([]any) {
				if got := s.Value(s.Root, v); got != want {
					t.Errorf("%s: %v %T is %v", c.schema, v, v, got)
				}
			}
		}
	}
}

func TestProperty(t *testing.T) {
	s, err := Parse([]byte(`{"allOf": [{"properties": {"a": {"type": ["string", "integer"]}}}, {"$ref": "#/$defs/more"}], "properties": {"b": {"type": "null"}},
		"$defs": {"more": {"properties": {"a": {"type": ["integer", "null"]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, value string
		want        bool
	}{{"a", `1`, true}, {"a", `"x"`, false}, {"a", `null`, false}, {"b", `null`, true}, {"b", `1`, false}, {"c", `[1]`, true}} {
		if got := s.Value(s.Property(c.name), value(t, c.value)); got != c.want {
			t.Errorf("%s may be %s: %v", c.name, c.value, got)
		}
	}
	if s.Text(s.Property("b")) || !s.Text(s.Property("c")) {
		t.Error("b has a text, or c has none")
	}
}

// TestCircles ends though schemas refer to each other, two at a time.
func TestCircles(t *testing.T) {
	defs := make([]string, 40)
	for i := range defs {
		next := fmt.Sprintf(`{"$ref": "#/$defs/d%d"}`, (i+1)%len(defs))
		defs[i] = fmt.Sprintf(`"d%d": {"allOf": [%s, %s]}`, i, next, next)
	}
	s, err := Parse([]byte(`{"$ref": "#/$defs/d0", "$defs": {` + strings.Join(defs, ",") + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	if !s.Value(s.Root, nil) {
		t.Error("in doubt the answer is yes")
	}
}
