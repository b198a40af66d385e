package jsonschema_test

import (
	"testing"

	"github.com/antigravity-go/antigravity/internal/jsonschema"
)

// TestTidy leaves out what says nothing, wherever a schema may stand, and no value.
func TestTidy(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object"}`:                `{"type":"object"}`,
		`true`:                             `true`,
		`null`:                             `{}`,
		`{"type": "", "properties": null}`: `{}`,
		`{"type": [], "required": null, "properties": []}`:                             `{"properties":{}}`,
		`{"properties": {"a": null, "type": {"type": ""}}}`:                            `{"properties":{"a":{},"type":{}}}`,
		`{"properties": {"required": {"required": null}}}`:                             `{"properties":{"required":{}}}`,
		`{"items": {"enum": null}, "anyOf": [{"not": null}]}`:                          `{"items":{},"anyOf":[{}]}`,
		`{"enum": [], "required": []}`:                                                 `{"required":[]}`,
		`{"const": null, "enum": [null, ""], "default": null}`:                         `{"const":null,"enum":[null, ""],"default":null}`,
		`{"$defs": {"x": {"minimum": null}}, "if": {"maxLength": null, "then": null}}`: `{"$defs":{"x":{}},"if":{}}`,
		`{"type": "", `: `{"type": "", `,
		`[null`:         `[null`,
	} {
		if got := string(jsonschema.Tidy([]byte(schema))); got != want {
			t.Errorf("%s becomes %s, want %s", schema, got, want)
		}
	}
}
