package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// tool is a function on offer, as this interface writes it, in requests and in responses.
type tool struct {
	Type        string          `json:"type" wire:"required"`
	Name        string          `json:"name" wire:"required"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`              // nil: no parameters
	Strict      *bool           `json:"strict"`                  // after reading not nil
	Deferred    bool            `json:"defer_loading,omitempty"` // left out
}

// tools are the functions on offer, and those left out.
type tools struct {
	functions []tool
	places    []string // of the functions, in the request
	leftOut   []ask.LeftOut
}

// ReadJSON reads a list of tools.
func (t *tools) ReadJSON(at string, value json.RawMessage) error {
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	t.functions = []tool{}
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		if kind := ask.ToolKind(raw); kind != "" && kind != "function" {
			var named struct{ Name any }
			_ = json.Unmarshal(raw, &named) // an object, since it has a type
			name, _ := named.Name.(string)
			t.leftOut = append(t.leftOut, ask.LeftOutTool(at, kind, name))
			continue
		}
		var f tool
		if err := f.ReadJSON(at, raw); err != nil {
			return err
		}
		if f.Deferred {
			t.leftOut = append(t.leftOut, ask.LeftOut{At: at + ".defer_loading", Why: "every function is shown to the model"})
		}
		t.functions, t.places = append(t.functions, f), append(t.places, at)
	}
	return nil
}

// ReadJSON reads a function.
func (t *tool) ReadJSON(at string, value json.RawMessage) error {
	if len(value) == 0 || value[0] != '{' {
		return mistyped(at, "a function, an object")
	}
	if _, err := typeOf(at, value); err != nil {
		return err
	}
	if err := wire.Object(at, value, wire.Rules{
		"output_schema":   wire.Refused("describe what the function returns in its description"),
		"allowed_callers": wire.Refused("calls are the model's"),
	}, t); err != nil {
		return err
	}
	schema, isSchema := ask.Schema(t.Parameters)
	switch {
	case t.Name == "":
		return wire.Invalid(at+".name", "%s.name is empty", at)
	case len(schema) > 0 && !isSchema:
		return mistyped(at+".parameters", "a JSON Schema, an object")
	}
	t.Type = "function" // which "" stands for
	t.Parameters = schema
	if t.Strict == nil {
		// OpenAI's default here is to keep the schema as a whole if that is possible, and else what can be kept of it.
		strict := false
		t.Strict = &strict
	}
	return nil
}

// toolChoice is which functions are to be called.
type toolChoice struct {
	ask.ToolChoice
	raw json.RawMessage // in this interface's form
}

// ReadJSON reads it.
func (t *toolChoice) ReadJSON(at string, value json.RawMessage) error {
	if err := t.ToolChoice.ReadJSON(at, value); err != nil {
		return err
	}
	var err error
	switch word := ask.ToolKind(value); {
	case t.Function != "":
		t.raw, err = wire.Encode(map[string]string{"type": "function", "name": t.Function})
	case word != "" && t.Allowed == nil: // {"type":"auto"}
		t.raw, err = wire.Encode(word)
	default:
		t.raw = slices.Clone(value)
	}
	return err
}

// readTools returns the functions on offer. The schema of a strict one is kept as a whole or refused. Of the others' schemas, the keywords
// that cannot be kept are left out, since the model is shown all of the schema.
func (in *request) readTools() (ask.Tools, error) {
	var t ask.Tools
	t.Options.Single = in.ParallelToolCalls != nil && !*in.ParallelToolCalls
	t.LeftOut = in.Tools.leftOut
	if n := len(in.Tools.functions); n > ask.MaxTools {
		return t, wire.Invalid("tools", "tools has %d functions; it may have %d", n, ask.MaxTools)
	}
	for i, f := range in.Tools.functions {
		function, err := ask.Function(f.Name, f.Description, f.Parameters, *f.Strict)
		if err != nil {
			return t, err
		}
		if err := t.Add(in.Tools.places[i]+".name", f.Name, function, *f.Strict); err != nil {
			return t, err
		}
	}
	t.Options.Lossy = len(t.Strict) < len(t.List)
	return t, t.Choose(in.ToolChoice.ToolChoice)
}
