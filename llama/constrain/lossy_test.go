package constrain_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/constrain"
)

// One schema among many that cannot be kept does not refuse the others, and the list says which function it is of, and where.
func TestLossyTools(t *testing.T) {
	tok := tokenizer(t)
	good := json.RawMessage(`{"name":"good","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}`)
	for parameters, want := range map[string]string{
		`{"type":"object","properties":{"f":{"$ref":"#/$defs/FilterType"}}}`:                `"$ref" at "/properties/f" of the function "bad"`,
		`{"properties":{"f":{"type":"float"}}}`:                                             `"type" at "/properties/f" of the function "bad"`,
		`{"type":"object","properties":{"f":{"type":"string","const":1}},"required":["f"]}`: `the schema at "/properties/f" of the function "bad"`,
		`{"$ref":"#"}`:     `the schema at "" of the function "bad"`,
		`{"type":"array"}`: `the schema at "" of the function "bad"`,
		`"none"`:           `the schema at "" of the function "bad"`,
		`{"type":"object","properties":{"f":{"type":"string","pattern":"` + strings.Repeat("(a|b|.){9}", 60) + `"}}}`: `the schema at "" of the function "bad"`,
		`{"type":"object","properties":null,"required":null}`:                                                         "",
		`{"type":"","properties":[]}`: "",
		`[]`:                          "",
	} {
		tools := []json.RawMessage{json.RawMessage(`{"name":"bad","inputSchema":` + parameters + `}`), good}
		c, left, err := constrain.ToolsContext(context.Background(), tok, tools, constrain.ToolOptions{Choice: constrain.ToolRequired, Lossy: true})
		if err != nil {
			t.Errorf("%.80s: %v", parameters, err)
			continue
		}
		for text, want := range map[string]bool{
			`{"name": "good", "parameters": {"city": "Rome"}}`: true, `{"name": "good", "parameters": {}}`: false,
			`{"name": "bad", "parameters": {}}`: !strings.Contains(parameters, "required\":["),
		} {
			if accepts(t, tok, c, text) != want {
				t.Errorf("%.80s: %s: accepted is %v", parameters, text, !want)
			}
		}
		said := ""
		for _, u := range left {
			said += u.Error() + "\n"
		}
		if !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("%.80s: left out is %swant %s", parameters, said, want)
		}
	}
}

// A refusal names the place in the caller's schema, and no place of our own around it.
func TestPlacesAreTheCallers(t *testing.T) {
	tok := tokenizer(t)
	for _, parameters := range []string{`{"properties":{"f":{"type":"float"}}}`, `{"properties":{"f":{"uniqueItems":true}}}`, `{"properties":{"f":{"enum":[]}},"required":["f"]}`} {
		tool := json.RawMessage(`{"type":"function","function":{"name":"bad","parameters":` + parameters + `}}`)
		_, err := constrain.Tools(tok, []json.RawMessage{tool}, constrain.ToolOptions{})
		if err == nil || !strings.Contains(err.Error(), "/properties/f") || strings.Contains(err.Error(), "allOf") || !strings.Contains(err.Error(), `"bad"`) {
			t.Errorf("%s: %v", parameters, err)
		}
	}
}
