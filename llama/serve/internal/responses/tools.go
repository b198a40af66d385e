package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// tools are the functions on offer.
type tools []tool

// UnmarshalJSON reads a list of functions.
func (t *tools) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := unmarshal(data, &list, "it must be a list of functions"); err != nil {
		return err
	}
	*t = make(tools, len(list))
	for i, each := range list {
		if err := (*t)[i].UnmarshalJSON(each); err != nil {
			return within(fmt.Sprintf("[%d]", i), err)
		}
	}
	return nil
}

// tool is a function on offer, as this interface writes it, in requests and in responses.
type tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"` // nil: it has none
	Strict      *bool           `json:"strict"`     // after reading not nil
}

// UnmarshalJSON reads a function. Other tools are errors.
func (t *tool) UnmarshalJSON(data []byte) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := unmarshal(data, &head, "it must be an object with a type"); err != nil {
		return err
	}
	if head.Type != "function" {
		return wire.Unsupported("type", `it is %.40q; it must be "function": the server has no tools of its own`, head.Type)
	}
	type plain tool
	if err := wire.Object("", data, wire.Rules{
		"output_schema":   wire.Refused("describe what the function returns in its description"),
		"allowed_callers": wire.Refused("calls are the model's"),
		"defer_loading":   wire.Refused("all functions are shown to the model", "false"),
	}, (*plain)(t)); err != nil {
		return err
	}
	if t.Name == "" {
		return wire.Bad("name", "it is missing")
	}
	if t.Strict == nil {
		strict := true // OpenAI's default here, other than in chat completions
		t.Strict = &strict
	}
	return nil
}

// nested returns the function as chat completions write it, which is the form that chat templates know.
func (t *tool) nested() (json.RawMessage, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	return wire.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{t.Name, t.Description, t.Parameters}})
}

// toolChoice is which functions are to be called.
type toolChoice struct {
	choice   constrain.ToolChoice
	function string
	allowed  []string        // the only functions that may be called; nil: all
	raw      json.RawMessage // as it came
}

// choices are those that are a word.
var choices = map[string]constrain.ToolChoice{"none": constrain.ToolNone, "auto": constrain.ToolAuto, "required": constrain.ToolRequired}

// UnmarshalJSON reads "none", "auto", "required", {"type":"function","name":…} or {"type":"allowed_tools","mode":…,"tools":[…]}.
func (t *toolChoice) UnmarshalJSON(data []byte) error {
	t.raw = slices.Clone(data)
	if data[0] == '"' {
		return t.word(data, `it must be "none", "auto", "required", or an object that names functions`)
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := unmarshal(data, &head, "it must be a string, or an object with a type"); err != nil {
		return err
	}
	switch head.Type {
	case "function":
		t.choice = constrain.ToolRequired
		name, err := functionName(data)
		t.function = name
		return err
	case "allowed_tools":
		return t.readAllowed(data)
	}
	return wire.Unsupported("type", `it is %.40q; it must be "function" or "allowed_tools"`, head.Type)
}

// word reads a choice that is a word; want says what it must be.
func (t *toolChoice) word(data []byte, want string) error {
	var word string
	if err := json.Unmarshal(data, &word); err != nil {
		return err
	}
	var known bool
	if t.choice, known = choices[word]; !known {
		return wire.Bad("", "it is %.40q; %s", word, want)
	}
	return nil
}

func (t *toolChoice) readAllowed(data []byte) error {
	var in struct {
		Mode  json.RawMessage   `json:"mode"`
		Tools []json.RawMessage `json:"tools"`
	}
	if err := wire.Object("", data, wire.Rules{"type": wire.Harmless()}, &in); err != nil {
		return err
	}
	const want = `it must be "auto" or "required"`
	if len(in.Mode) == 0 || in.Mode[0] != '"' {
		return wire.Bad("mode", want)
	}
	if err := t.word(in.Mode, want); err != nil {
		return within("mode", err)
	}
	if t.choice == constrain.ToolNone {
		return wire.Bad("mode", `it is "none"; %s`, want)
	}
	t.allowed = []string{}
	for i, tool := range in.Tools {
		name, err := functionName(tool)
		if err != nil {
			return within(fmt.Sprintf("tools[%d]", i), err)
		}
		t.allowed = append(t.allowed, name)
	}
	if len(t.allowed) == 0 {
		return wire.Bad("tools", "it is empty; it must name the functions that may be called")
	}
	return nil
}

// functionName returns the name in {"type":"function","name":…}.
func functionName(data []byte) (string, error) {
	var f struct {
		Type string `json:"type"`
		Name string `json:"name"`
	}
	if err := wire.Object("", data, nil, &f); err != nil {
		return "", err
	}
	switch {
	case f.Type != "function":
		return "", wire.Unsupported("type", `it is %.40q; it must be "function"`, f.Type)
	case f.Name == "":
		return "", wire.Bad("name", "it is missing")
	}
	return f.Name, nil
}

// offer returns the functions on offer.
func (in *request) offer() (ask.Tools, error) {
	var t ask.Tools
	t.Options.Single = in.ParallelToolCalls != nil && !*in.ParallelToolCalls
	var known []string
	for i, f := range in.Tools {
		if slices.Contains(known, f.Name) {
			return t, wire.Bad(fmt.Sprintf("tools[%d].name", i), "tools[%d].name is %.80q, which is another function's, too", i, f.Name)
		}
		known = append(known, f.Name)
		nested, err := f.nested()
		if err != nil {
			return t, err
		}
		t.List = append(t.List, nested)
		if *f.Strict {
			t.Strict = append(t.Strict, f.Name)
		}
	}
	t.Options.Lossy = len(t.Strict) < len(t.List)
	c := in.ToolChoice
	if c == nil {
		return t, nil
	}
	t.Options.Choice, t.Options.Function, t.Allowed = c.choice, c.function, c.allowed
	for _, name := range append(slices.Clone(c.allowed), c.function) {
		if name != "" && !slices.Contains(known, name) {
			return t, wire.Bad("tool_choice", "tool_choice names the function %.80q, and tools does not have it", name)
		}
	}
	if len(in.Tools) == 0 && c.choice == constrain.ToolRequired {
		return t, wire.Bad("tool_choice", "tool_choice asks for a call, and tools has no function")
	}
	return t, nil
}

// unmarshal reads JSON, and says what it must be where it is something else.
func unmarshal(data []byte, into any, want string) error {
	if err := json.Unmarshal(data, into); err != nil {
		return &wire.Error{Status: 400, Code: "invalid_type", Message: want}
	}
	return nil
}

// within returns an error of something at a place.
func within(place string, err error) error {
	if e, ok := errors.AsType[*wire.Error](err); ok {
		return e.Within(place)
	}
	return err
}
