package responses

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// text is the form that a request asks of a text. The zero value is a text of any form.
type text struct {
	Format    format    `json:"format"`
	Verbosity verbosity `json:"verbosity"` // left out
}

// verbosity is how much a text is to say: "low", "medium" or "high"; "": nothing is said.
type verbosity string

// ReadJSON reads one of the words.
func (v *verbosity) ReadJSON(at string, value json.RawMessage) error {
	word, err := wire.String(at, value)
	if err == nil && word != "low" && word != "medium" && word != "high" {
		err = wire.Invalid(at, `%s is %.40q; it must be "low", "medium" or "high"`, at, word)
	}
	*v = verbosity(word)
	return err
}

// format is a form, as this interface writes it, in requests and in responses. The zero value is that of any text.
type format struct {
	Type        string          `json:"type" wire:"required"`
	Name        string          `json:"name,omitempty"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      *bool           `json:"strict,omitempty"`
}

// ReadJSON reads it.
func (f *format) ReadJSON(at string, value json.RawMessage) error {
	if err := wire.Object(at, value, nil, f); err != nil {
		return err
	}
	schema := f.Type == "json_schema"
	switch {
	case f.Type != "text" && f.Type != "json_object" && !schema:
		return wire.Invalid(at+".type", `%s.type is %.40q; it must be "text", "json_object" or "json_schema"`, at, f.Type)
	case schema && f.Name == "":
		return wire.Missing(at+".name", "a string")
	case schema && f.Schema == nil:
		return wire.Missing(at+".schema", "a JSON Schema")
	case !schema && f.Schema != nil:
		return wire.Invalid(at+".schema", `%s.schema stands without "type": "json_schema"`, at)
	}
	return nil
}

// form returns the form of the request. A schema is kept as a whole or refused, unless strict is false: then the keywords that cannot be
// kept are left out.
func (t *text) form() ask.Form {
	switch t.Format.Type {
	case "json_object":
		return ask.AnyObject()
	case "json_schema":
		return ask.Form{Schema: t.Format.Schema, Lossy: t.Format.Strict != nil && !*t.Format.Strict}
	}
	return ask.Form{}
}
