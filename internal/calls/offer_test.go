package calls

import (
	"encoding/json"
	"strings"
	"testing"
)

// Every way of describing a function leads to the same one.
func TestReadOffer(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
	const want = `{"type":"function","function":{"name":"f","description":"a <b>","parameters":` + schema + `}}`
	for _, data := range []string{
		want,
		`{"type":"function","name":"f","description":"a <b>","parameters":` + schema + `,"strict":true}`,
		`{"name":"f","description":"a <b>","parameters":` + schema + `}`,
		`{"name":"f","title":"F","description":"a <b>","inputSchema":` + schema + `,"outputSchema":{"type":"object"},"annotations":{"title":"F","type":"x"}}`,
		`{"name":"f","description":"a <b>","input_schema":` + schema + `,"cache_control":{"type":"ephemeral"}}`,
		`{"type":"custom","name":"f","description":"a <b>","input_schema":` + schema + `,"parameters":null}`,
		`{"type":"function","function":{"name":"f","description":"a <b>","inputSchema":` + schema + `}}`,
		`{"name":"f","description":"a <b>","parametersJsonSchema":` + schema + `,"response":{"type":"string"}}`,
	} {
		o, err := ReadOffer([]byte(data))
		if err != nil || o.Name != "f" || o.Description != "a <b>" || string(o.Parameters) != schema || string(o.Wrapped) != want {
			t.Errorf("%s: %+v, %v", data, o, err)
		}
	}
	for _, data := range []string{`{"name":"f"}`, `{"type":"function","function":{"name":"f","parameters":null}}`, `{"name":"f","strict":false,"return":{"type":"string"}}`} {
		if o, err := ReadOffer([]byte(data)); err != nil || o.Parameters != nil || !json.Valid(o.Wrapped) {
			t.Errorf("%s: %+v, %v", data, o, err)
		}
	}
}

// What would silently have no arguments, or others than meant, is an error that names the key.
func TestReadOfferErrors(t *testing.T) {
	const schema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	for data, want := range map[string]string{
		`[]`:                                    "no JSON object",
		`{"description":"x"}`:                   `no "name"`,
		`{"name":1}`:                            `"name"`,
		`{"name":"f","args":` + schema + `}`:    `"args"`,
		`{"name":"f","schema":{"$ref":"#/x"}}`:  `"schema"`,
		`{"name":"f","InputSchema":{"type":1}}`: `"InputSchema"`,
		`{"type":"function","function":{"name":"f"},"parameters":` + schema + `}`:                         `"parameters"`,
		`{"type":"function","function":{"name":"f","parameters":{}},"input_schema":` + schema + `}`:       `"input_schema"`,
		`{"type":"function","function":{"name":"f","arguments_schema":` + schema + `}}`:                   `"arguments_schema"`,
		`{"name":"f","parameters":` + schema + `,"inputSchema":` + schema + `}`:                           `"inputSchema"`,
		`{"type":"web_search_20250305","name":"web_search"}`:                                              "web_search_20250305",
		`{"type":"custom","name":"grammar","format":{"type":"grammar","syntax":"lark","definition":"x"}}`: `"format"`,
		`{"type":7,"name":"f"}`: `"type"`,
	} {
		if o, err := ReadOffer([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s in the error", data, o, err, want)
		}
	}
}
