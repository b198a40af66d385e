package openai

import (
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
	switch {
	case name == "" || len(name) > maxToolName || !calls.IsName(name):
		return wire.Invalid(at+".function.name", "%s.function.name is %.80q; it must be 1 to %d letters, digits, '_', '-' and '.'", at, name, maxToolName)
	case len(in.Function.Parameters) > 0 && in.Function.Parameters[0] != '{':
		return wire.Invalid(at+".function.parameters", "%s.function.parameters must be a JSON Schema, an object", at)
	}
	t.raw, t.function = slices.Clone(value), in.Function
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

// toolChoice is which functions are to be called.
type toolChoice ask.ToolChoice

// ReadJSON reads "none", "auto", "required", {"type":"function",…} or {"type":"allowed_tools",…}.
func (t *toolChoice) ReadJSON(at string, value json.RawMessage) error {
	const want = `it must be "none", "auto", "required", a function, or allowed_tools`
	if value[0] == '"' {
		var word string
		if err := wire.Decode(at, value, &word); err != nil {
			return err
		}
		var ok bool
		if t.Choice, ok = ask.ParseToolChoice(word); !ok {
			return wire.Invalid(at, "%s is %.40q; %s", at, word, want)
		}
		return nil
	}
	type named struct {
		Name string `json:"name" wire:"required"`
	}
	var in struct {
		Type     string `json:"type" wire:"required"`
		Function *named `json:"function"`
		Allowed  *struct {
			Mode  string `json:"mode" wire:"required"`
			Tools []struct {
				Type     string `json:"type" wire:"required"`
				Function named  `json:"function" wire:"required"`
			} `json:"tools" wire:"required"`
		} `json:"allowed_tools"`
	}
	if value[0] != '{' {
		return wire.Invalid(at, "%s is %.40s; %s", at, value, want)
	}
	if err := wire.Object(at, value, wire.Rules{"custom": wire.Refused("tools are functions")}, &in); err != nil {
		return err
	}
	switch {
	case in.Type == "function" && in.Function != nil && in.Allowed == nil:
		t.Choice, t.Function = constrain.ToolRequired, in.Function.Name
		t.Named = []ask.ToolName{{At: at + ".function.name", Name: in.Function.Name}}
	case in.Type == "allowed_tools" && in.Allowed != nil && in.Function == nil:
		at += ".allowed_tools"
		if in.Allowed.Mode != "auto" && in.Allowed.Mode != "required" {
			return wire.Invalid(at+".mode", `%s.mode is %.40q; it must be "auto" or "required"`, at, in.Allowed.Mode)
		}
		t.Choice, _ = ask.ParseToolChoice(in.Allowed.Mode)
		t.Allowed = []string{}
		for i, tool := range in.Allowed.Tools {
			in := place(at+".tools", i)
			if tool.Type != "function" {
				return wire.Unsupported(in+".type", `%s.type is %.40q; it must be "function"`, in, tool.Type)
			}
			t.Allowed = append(t.Allowed, tool.Function.Name)
			t.Named = append(t.Named, ask.ToolName{At: in + ".function.name", Name: tool.Function.Name})
		}
		if len(t.Allowed) == 0 {
			return wire.Invalid(at+".tools", "%s.tools is empty; it must name at least one function", at)
		}
	default:
		return wire.Invalid(at+".type", `%s.type is %.40q; %s, with a member of that name`, at, in.Type, want)
	}
	return nil
}
