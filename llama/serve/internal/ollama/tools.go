package ollama

import (
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// tool is a function that a request offers. Its schema is kept as far as it can be: the model sees all of it.
type tool struct {
	Type     string   `json:"type"`
	Function function `json:"function" wire:"required"`
}

// Rules are those of what Ollama knows, and looks at nowhere.
func (tool) Rules() wire.Rules { return wire.Rules{"items": wire.Ignored()} }

type function struct {
	Name        string          `json:"name" wire:"required"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // OpenAI's: the schema is kept as a whole or refused
}

// Rules are those of what Ollama's own clients have in a function.
func (function) Rules() wire.Rules { return wire.Rules{"type": wire.Ignored()} }

// readTools returns the functions for the model.
func readTools(tools []tool) (ask.Tools, error) {
	offer := ask.Tools{Options: constrain.ToolOptions{Lossy: true}}
	for i := range tools {
		at, t := fmt.Sprintf("tools[%d]", i), &tools[i]
		name := t.Function.Name
		schema, isSchema := ask.Schema(t.Function.Parameters)
		switch {
		case t.Type != "" && t.Type != "function":
			return offer, wire.Unsupported(at+".type", `%s.type is %.40q; it must be "function"`, at, t.Type)
		case name == "" || !calls.IsName(name):
			return offer, wire.Invalid(at+".function.name", "%s.function.name is %.80q; it must be letters, digits, '_', '-' and '.'", at, name)
		case len(schema) > 0 && !isSchema:
			return offer, wire.Invalid(at+".function.parameters", "%s.function.parameters must be a JSON Schema, an object", at)
		}
		raw, err := ask.Function(name, t.Function.Description, schema, t.Function.Strict)
		if err != nil {
			return offer, err
		}
		if err := offer.Add(at+".function.name", name, raw, t.Function.Strict); err != nil {
			return offer, err
		}
	}
	return offer, nil
}
