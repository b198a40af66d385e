package anthropic

import (
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// tools are the functions that a request offers.
type tools struct {
	offer ask.Tools
	eager bool // no function says that the arguments of its calls are not to be streamed while they come
}

// toolRules are the members of a function that are not read.
var toolRules = wire.Rules{
	"cache_control":   wire.Ignored(),
	"allowed_callers": wire.Refused("the model alone calls functions", `["direct"]`),
}

// tools reads tools and tool_choice.
func (in *request) tools() (t tools, err error) {
	var list []json.RawMessage
	if in.Tools != nil {
		if list, err = wire.List("tools", in.Tools); err != nil {
			return t, err
		}
	}
	t.eager, t.offer.Options.Lossy = true, true // the model sees the schemas, kept or not
	for i, raw := range list {
		at := fmt.Sprintf("tools[%d]", i)
		if kind := ask.ToolKind(raw); kind == "function" {
			return t, wire.Unsupported(at+".type", `%s.type is "function"; functions have no type here, or "custom", and an input_schema`, at)
		} else if kind != "" && kind != "custom" {
			t.offer.LeftOut = append(t.offer.LeftOut, ask.LeftOutTool(at, kind, ""))
			continue
		}
		var f struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
			Strict      bool            `json:"strict"`
			Eager       *bool           `json:"eager_input_streaming"`
			Deferred    bool            `json:"defer_loading"`  // left out
			Examples    []any           `json:"input_examples"` // left out
		}
		if err := wire.Object(at, raw, toolRules, &f); err != nil {
			return t, err
		}
		schema, isSchema := ask.Schema(f.Schema)
		switch {
		case f.Name == "":
			return t, wire.Invalid(at+".name", "%s.name is missing", at)
		case !isSchema:
			return t, wire.Invalid(at+".input_schema", "%s.input_schema must be a JSON Schema, an object", at)
		}
		if f.Deferred {
			t.offer.LeftOut = append(t.offer.LeftOut, ask.LeftOut{At: at + ".defer_loading", Why: "every function is shown to the model"})
		}
		if len(f.Examples) > 0 {
			t.offer.LeftOut = append(t.offer.LeftOut, ask.LeftOut{At: at + ".input_examples", Why: "the models know no place for examples: give them in the description"})
		}
		if f.Eager != nil && !*f.Eager {
			t.eager = false // one stream cannot have both ways
		}
		function, err := ask.Function(f.Name, f.Description, schema, f.Strict)
		if err != nil {
			return t, err
		}
		if err := t.offer.Add(at+".name", f.Name, function, f.Strict); err != nil {
			return t, err
		}
	}
	if in.ToolChoice != nil {
		err = t.choose(in.ToolChoice)
	}
	return t, err
}

// choices are Anthropic's words for which functions are to be called.
var choices = map[string]constrain.ToolChoice{
	"auto": constrain.ToolAuto, "any": constrain.ToolRequired, "tool": constrain.ToolRequired, "none": constrain.ToolNone,
}

// choose reads tool_choice.
func (t *tools) choose(raw json.RawMessage) error {
	var c struct {
		Type   string `json:"type"`
		Name   string `json:"name"`
		Single bool   `json:"disable_parallel_tool_use"`
	}
	if err := wire.Object("tool_choice", raw, nil, &c); err != nil {
		return err
	}
	choice, ok := choices[c.Type]
	switch {
	case !ok:
		return wire.Invalid("tool_choice.type", "tool_choice.type is %.40q; it may be %s", c.Type, listKeys(choices))
	case c.Type != "tool" && c.Name != "":
		return wire.Invalid("tool_choice.name", `tool_choice.name stands without the type "tool"`)
	case c.Type == "tool" && c.Name == "":
		return wire.Invalid("tool_choice.name", "tool_choice.name is missing; it must be the name of one of tools")
	}
	named := ask.ToolChoice{Choice: choice, Function: c.Name}
	if c.Name != "" {
		named.Named = []ask.ToolName{{At: "tool_choice.name", Name: c.Name}}
	}
	t.offer.Options.Single = c.Single
	return t.offer.Choose(named)
}
