package calls_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/internal/admits"
	"github.com/antigravity-go/antigravity/internal/calls"
)

// TestParameters reads values between tags by the schema: a text stays a text if the schema takes nothing else of its kind.
func TestParameters(t *testing.T) {
	schemas := admits.Functions{}
	schemas.Add("f", []byte(`{"type": "object", "properties": {
		"text": {"type": "string"}, "null": {"type": ["string", "null"]}, "any of": {"anyOf": [{"type": "string"}, {"type": "null"}]},
		"one of": {"oneOf": [{"type": "string", "maxLength": 9}, {"type": "null"}]}, "all of": {"allOf": [{"type": "string"}]},
		"ref": {"$ref": "#/$defs/S"}, "number": {"type": ["integer", "string"]}, "small": {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "string"}]},
		"list": {"type": ["array", "string"]}, "enum": {"enum": ["1", "two", 3]}, "const": {"const": "5"}, "int": {"type": "integer"}, "bool": {"type": "boolean"}
		}, "$defs": {"S": {"type": "string"}}}`))
	for _, c := range []struct{ parameter, written, want string }{
		{"text", "123", `"123"`}, {"text", "true", `"true"`}, {"text", `"q"`, `"\"q\""`}, {"text", "", `""`}, {"text", "null", `"null"`},
		{"null", "123", `"123"`}, {"null", "null", `null`}, {"null", "None", `null`}, {"null", "nothing", `"nothing"`},
		{"any of", "12345", `"12345"`}, {"any of", `{"x": 1}`, `"{\"x\": 1}"`}, {"any of", "null", `null`}, {"any of", "True", `"True"`},
		{"one of", "1e5", `"1e5"`}, {"all of", "42", `"42"`}, {"ref", "5", `"5"`},
		{"number", "5", `5`}, {"number", "x5", `"x5"`}, {"number", "5.5", `"5.5"`}, {"number", "5.0", `5.0`},
		{"small", "5", `5`}, {"small", "12345", `"12345"`}, {"list", "[1, 2]", `[1, 2]`}, {"list", "[1, 2", `"[1, 2"`}, {"list", "7", `"7"`},
		{"enum", "1", `"1"`}, {"enum", "3", `3`}, {"enum", "two", `"two"`}, {"const", "5", `"5"`},
		{"int", "5", `5`}, {"int", "5.5", `5.5`}, {"int", "five", `"five"`}, {"bool", "False", `false`}, {"bool", "0", `0`},
		{"unknown", "7", `7`}, {"unknown", "x", `"x"`}, {"unknown", `"x"`, `"\"x\""`},
	} {
		for format, text := range map[calls.Format]string{
			calls.Tagged: "<tool_call>\n<function=f>\n<parameter=" + c.parameter + ">\n" + c.written + "\n</parameter>\n</function>\n</tool_call>",
			calls.GLM:    "<tool_call>f\n<arg_key>" + c.parameter + "</arg_key>\n<arg_value>" + c.written + "</arg_value>\n</tool_call>",
		} {
			var p calls.Parser
			p.Start(format, []string{"f"}, func(string) bool { return false })
			p.Schemas(schemas)
			p.Write(text)
			p.Finish()
			if want := `{"` + c.parameter + `": ` + c.want + `}`; len(p.Calls()) != 1 || p.Calls()[0].Arguments != want {
				t.Errorf("%v: %q is read as %+v, want %s", format, text, p.Calls(), want)
			}
		}
	}
}
