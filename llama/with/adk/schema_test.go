package adk

import (
	"errors"
	"testing"

	"google.golang.org/genai"

	"github.com/antigravity-go/antigravity/llama"
)

func TestSchemas(t *testing.T) {
	got, err := schemaOf(&genai.Schema{Type: genai.TypeObject, Title: "T", Required: []string{"b"}, PropertyOrdering: []string{"b", "none", "b"}, MinProperties: new(int64(1)),
		Properties: map[string]*genai.Schema{
			"c": {Type: genai.TypeString, Nullable: new(true), Format: "date", MaxLength: new(int64(3)), Pattern: "a"},
			"b": {Type: genai.TypeNumber, Format: "double", Minimum: new(0.5), Default: 1, Example: 2, Description: "<d>"},
			"a": {AnyOf: []*genai.Schema{{Type: genai.TypeInteger, Format: "int32", Enum: []string{"1"}}, {Type: genai.TypeArray, Items: &genai.Schema{Type: genai.TypeNULL}}}},
		}})
	const want = `{"type":"object","title":"T","minProperties":1,"properties":{` +
		`"b":{"type":"number","description":"\u003cd\u003e","default":1,"examples":[2],"minimum":0.5},` +
		`"a":{"anyOf":[{"type":"integer","enum":[1],"minimum":-2147483648,"maximum":2147483647},{"type":"array","items":{"type":"null"}}]},` +
		`"c":{"type":["string","null"],"pattern":"a","format":"date","maxLength":3}},"required":["b"],"additionalProperties":false}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	if _, err := schemaOf(&genai.Schema{Type: genai.TypeString, Nullable: new(true), Enum: []string{"a"}}); !errors.Is(err, llama.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := schemaOf(&genai.Schema{Type: genai.TypeInteger, Enum: []string{"x"}}); err == nil {
		t.Error("a number that is none was taken")
	}
}
