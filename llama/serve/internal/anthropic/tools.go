package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// tools are the functions that a request offers.
type tools struct {
	offer ask.Tools
	eager map[string]bool // whose calls are streamed while they come, by name; see message.add
}

// eagerFeature is the anthropic-beta that asks for calls to be streamed while they come, of all functions that do not say otherwise. What
// follows in its name is a date.
const eagerFeature = "fine-grained-tool-streaming"

// toolRules are the members of a function that are not read.
var toolRules = wire.Rules{
	"cache_control":   wire.Harmless(),
	"input_examples":  wire.Refused("the models know no place for examples: give them in the description", "[]"),
	"defer_loading":   wire.Refused("every function is told to the model", "false"),
	"allowed_callers": wire.Refused("the model alone calls functions", `["direct"]`),
}

// tools reads tools and tool_choice.
func (in *request) tools(h http.Header) (t tools, err error) {
	t.eager = map[string]bool{}
	eager := strings.Contains(strings.Join(h.Values("Anthropic-Beta"), ","), eagerFeature)
	var list []json.RawMessage
	if in.Tools != nil {
		if list, err = wire.List("tools", in.Tools); err != nil {
			return t, err
		}
	}
	var strict, loose bool
	for i, raw := range list {
		at := fmt.Sprintf("tools[%d]", i)
		var kind struct{ Type any }
		if json.Unmarshal(raw, &kind) == nil && kind.Type != nil && kind.Type != "custom" {
			return t, wire.Unsupported(at+".type", `%s.type is %.60q: the server has no tools of its own, only functions of the client's ("custom")`,
				at, fmt.Sprint(kind.Type))
		}
		var f struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Schema      json.RawMessage `json:"input_schema"`
			Strict      *bool           `json:"strict"`
			Eager       *bool           `json:"eager_input_streaming"`
		}
		if err := wire.Object(at, raw, toolRules, &f); err != nil {
			return t, err
		}
		_, known := t.eager[f.Name]
		switch {
		case f.Name == "":
			return t, wire.Bad(at+".name", "%s.name is missing", at)
		case known:
			return t, wire.Bad(at+".name", "%s.name is %.80q, as that of a function before it; each must have its own", at, f.Name)
		case f.Schema == nil || f.Schema[0] != '{':
			return t, wire.Bad(at+".input_schema", "%s.input_schema must be a JSON Schema, an object", at)
		}
		t.eager[f.Name] = eager
		if f.Eager != nil {
			t.eager[f.Name] = *f.Eager
		}
		if f.Strict != nil {
			strict, loose = strict || *f.Strict, loose || !*f.Strict
		}
		function, err := asOpenAI(f.Name, f.Description, f.Schema)
		if err != nil {
			return t, err
		}
		t.offer.List = append(t.offer.List, function)
	}
	t.offer.Options.Lossy = loose && !strict
	if in.ToolChoice != nil {
		err = t.choose(in.ToolChoice)
	}
	return t, err
}

// asOpenAI returns a function as llama.TemplateOptions has it, and chat templates.
func asOpenAI(name, description string, schema json.RawMessage) (json.RawMessage, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	return wire.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{name, description, schema}})
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
	choices := map[string]constrain.ToolChoice{
		"auto": constrain.ToolAuto, "any": constrain.ToolRequired, "tool": constrain.ToolRequired, "none": constrain.ToolNone,
	}
	choice, ok := choices[c.Type]
	_, known := t.eager[c.Name]
	switch {
	case !ok:
		return wire.Bad("tool_choice.type", "tool_choice.type is %.40q; it may be %s", c.Type, listed(choices))
	case c.Type != "tool" && c.Name != "":
		return wire.Bad("tool_choice.name", `tool_choice.name stands without the type "tool"`)
	case c.Type == "tool" && !known:
		return wire.Bad("tool_choice.name", "tool_choice.name is %.80q; it must be the name of one of tools", c.Name)
	case choice == constrain.ToolRequired && len(t.offer.List) == 0:
		return wire.Bad("tool_choice", "tool_choice asks for a call, and tools has no function")
	}
	t.offer.Options.Choice, t.offer.Options.Function, t.offer.Options.Single = choice, c.Name, c.Single
	return nil
}
