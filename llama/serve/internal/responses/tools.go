package responses

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama/constrain"
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
	switch {
	case t.Name == "":
		return wire.Invalid(at+".name", "%s.name is empty", at)
	case len(t.Parameters) > 0 && t.Parameters[0] != '{':
		return mistyped(at+".parameters", "a JSON Schema, an object")
	}
	t.Type = "function" // which "" stands for
	if t.Strict == nil {
		strict := true // OpenAI's default here, other than in chat completions
		t.Strict = &strict
	}
	return nil
}

// toolChoice is which functions are to be called.
type toolChoice struct {
	ask.ToolChoice
	raw json.RawMessage // as it came
}

// ReadJSON reads "none", "auto", "required", {"type":"function","name":…} or {"type":"allowed_tools","mode":…,"tools":[…]}.
func (t *toolChoice) ReadJSON(at string, value json.RawMessage) error {
	t.raw = slices.Clone(value)
	switch value[0] {
	case '"':
		word, err := wire.String(at, value)
		if err != nil {
			return err
		}
		var known bool
		if t.Choice, known = ask.ParseToolChoice(word); !known {
			return wire.Invalid(at, `%s is %.40q; it must be "none", "auto", "required", or an object that names functions`, at, word)
		}
		return nil
	case '{':
	default:
		return mistyped(at, `"none", "auto", "required", or an object that names functions`)
	}
	kind, err := typeOf(at, value)
	if err != nil {
		return err
	}
	switch kind {
	case "function":
		var one reference
		err := one.ReadJSON(at, value)
		t.Choice, t.Function, t.Named = constrain.ToolRequired, one.Name, []ask.ToolName{ask.ToolName(one)}
		return err
	case "allowed_tools":
		return t.readAllowed(at, value)
	}
	return wire.Unsupported(at+".type", `%s.type is %.40q; it must be "function" or "allowed_tools"`, at, kind)
}

// readAllowed reads the functions that may be called, or from which one must be.
func (t *toolChoice) readAllowed(at string, value json.RawMessage) error {
	var in struct {
		Mode  string      `json:"mode" wire:"required"`
		Tools []reference `json:"tools" wire:"required"`
	}
	if err := wire.Object(at, value, wire.Rules{"type": wire.Ignored()}, &in); err != nil {
		return err
	}
	if in.Mode != "auto" && in.Mode != "required" {
		return wire.Invalid(at+".mode", `%s.mode is %.40q; it must be "auto" or "required"`, at, in.Mode)
	}
	t.Choice, _ = ask.ParseToolChoice(in.Mode)
	for _, f := range in.Tools {
		t.Allowed, t.Named = append(t.Allowed, f.Name), append(t.Named, ask.ToolName(f))
	}
	if len(t.Allowed) == 0 {
		return wire.Invalid(at+".tools", "%s.tools is empty; it must name at least one function", at)
	}
	return nil
}

// reference is a function's name, in {"type":"function","name":…}, and its place in the request.
type reference ask.ToolName

// ReadJSON reads it.
func (r *reference) ReadJSON(at string, value json.RawMessage) error {
	if value[0] != '{' {
		return mistyped(at, "an object that names a function")
	}
	if kind, err := typeOf(at, value); err != nil {
		return err
	} else if kind != "" && kind != "function" {
		return wire.Unsupported(at+".type", `%s.type is %.40q; it must be "function"`, at, kind)
	}
	var f struct {
		Type string `json:"type" wire:"required"`
		Name string `json:"name" wire:"required"`
	}
	if err := wire.Object(at, value, nil, &f); err != nil {
		return err
	}
	r.At, r.Name = at+".name", f.Name
	return nil
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
		function, err := ask.Function(f.Name, f.Description, f.Parameters)
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
