package openai

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// maxToolName is how long a function's name may be: OpenAI's bound.
const maxToolName = 64

// Tool is a function that a request offers, or a tool of another kind, which is left out.
type Tool struct {
	raw      json.RawMessage // as it came, for the chat template
	function function
	foreign  string // the kind of a tool that is no function; "": a function
}

type function struct {
	Name        string          `json:"name" wire:"required"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

// ReadJSON reads a function, and notes other tools.
func (t *Tool) ReadJSON(at string, value json.RawMessage) error {
	if kind := ask.ToolKind(value); kind != "" && kind != "function" {
		t.foreign = kind
		return nil
	}
	var in struct {
		Type     string   `json:"type" wire:"required"`
		Function function `json:"function" wire:"required"`
	}
	if err := wire.Object(at, value, wire.Rules{"custom": wire.Refused("tools are functions"), "cache_control": wire.Ignored()}, &in); err != nil {
		return err
	}
	name := in.Function.Name
	given, isSchema := ask.Schema(in.Function.Parameters)
	switch {
	case name == "" || len(name) > maxToolName || !calls.IsName(name):
		return wire.Invalid(at+".function.name", "%s.function.name is %.80q; it must be 1 to %d letters, digits, '_', '-' and '.'", at, name, maxToolName)
	case len(in.Function.Parameters) > 0 && !isSchema:
		return wire.Invalid(at+".function.parameters", "%s.function.parameters must be a JSON Schema, an object", at)
	}
	t.raw, t.function = slices.Clone(value), in.Function
	if tidy := ask.Parameters(given, in.Function.Strict); !bytes.Equal(tidy, in.Function.Parameters) {
		var err error
		t.raw, err = ask.Function(name, in.Function.Description, tidy, true)
		return err
	}
	return nil
}

// ReadTools returns the functions for the model; at is their place in the request: "tools". The schema of a strict function is kept as a
// whole or refused. Of the others' schemas, the keywords that cannot be kept are left out, since the model is shown all of the schema.
func ReadTools(at string, tools []Tool) (ask.Tools, error) {
	offer := ask.Tools{Options: constrain.ToolOptions{Lossy: true}}
	if len(tools) > ask.MaxTools {
		return offer, wire.Invalid(at, "%s has %d functions; it may have %d", at, len(tools), ask.MaxTools)
	}
	for i, t := range tools {
		if t.foreign != "" {
			offer.LeftOut = append(offer.LeftOut, ask.LeftOutTool(place(at, i), t.foreign, ""))
			continue
		}
		if err := offer.Add(place(at, i)+".function.name", t.function.Name, t.raw, t.function.Strict); err != nil {
			return offer, err
		}
	}
	return offer, nil
}
