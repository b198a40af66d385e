package openai

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// responseFormat is the form of an answer.
type responseFormat struct {
	Type       string          `json:"type" wire:"required"`
	Schema     json.RawMessage `json:"schema"` // ours, as other servers have it: in place of JSONSchema
	JSONSchema *struct {
		Name        string          `json:"name"`        // for people
		Description string          `json:"description"` // for people: what the model is to know stands in the messages
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// form returns the form of the request. A schema is kept as a whole or refused, unless strict is false: then the keywords that cannot be
// kept are left out.
func (f *responseFormat) form() (ask.Form, error) {
	switch {
	case f == nil:
		return ask.Form{}, nil
	case f.Type != "text" && f.Type != "json_object" && f.Type != "json_schema":
		return ask.Form{}, wire.Invalid("response_format.type", `response_format.type is %.40q; it must be "text", "json_object" or "json_schema"`, f.Type)
	case f.Type != "json_schema" && f.JSONSchema != nil:
		return ask.Form{}, wire.Invalid("response_format.json_schema", "response_format.json_schema stands beside the type %q", f.Type)
	case f.Schema != nil && (f.Type == "text" || f.JSONSchema != nil):
		return ask.Form{}, wire.Invalid("response_format.schema", "response_format.schema stands without \"type\": \"json_object\", or next to json_schema")
	case f.Type == "text":
		return ask.Form{}, nil
	case f.Schema != nil:
		return ask.Form{Schema: f.Schema}, nil
	case f.Type == "json_object":
		return ask.AnyObject(), nil
	case f.JSONSchema == nil:
		return ask.Form{}, wire.Missing("response_format.json_schema", `an object with a "schema"`)
	case len(f.JSONSchema.Schema) == 0:
		return ask.AnyObject(), nil // as at OpenAI, a schema may be missing
	}
	return ask.Form{Schema: f.JSONSchema.Schema, Lossy: f.JSONSchema.Strict != nil && !*f.JSONSchema.Strict}, nil
}

// form returns the form of a chat's answer, and the parameter that asks for it.
func (in *chatRequest) form() (form ask.Form, param string, err error) {
	if form, param, err = in.TopForm.Form(); err != nil {
		return form, param, err
	}
	asked, err := in.ResponseFormat.form()
	switch {
	case err != nil:
		return asked, param, err
	case asked.Free() && param != "":
		return form, param, nil
	case param != "":
		return form, param, wire.Invalid(param, "%s stands next to response_format; a request has one of them", param)
	}
	return asked, in.ResponseFormat.place(), nil
}

// place names the form's place in the request.
func (f *responseFormat) place() string {
	switch {
	case f != nil && f.JSONSchema != nil:
		return "response_format.json_schema.schema"
	case f != nil && f.Schema != nil:
		return "response_format.schema"
	}
	return "response_format"
}
