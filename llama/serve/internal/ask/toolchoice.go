package ask

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// ToolChoice is which functions are to be called, as a parameter of OpenAI's interfaces and of Ollama's says it.
type ToolChoice struct {
	Choice   constrain.ToolChoice
	Function string     // the one that is to be called; "": any
	Allowed  []string   // the only ones that may be called; nil: all
	Named    []ToolName // what the request calls functions by
}

// ToolName is the name of a function, and its place in the request.
type ToolName struct{ At, Name string }

// choices are the words for a choice that names no function. "any" is Anthropic's and Mistral's word for "required".
var choices = map[string]constrain.ToolChoice{
	"none": constrain.ToolNone, "auto": constrain.ToolAuto, "required": constrain.ToolRequired, "any": constrain.ToolRequired,
}

// choiceWant says what a choice must be.
const choiceWant = `it must be "none", "auto", "required", a function, or allowed_tools`

// ReadJSON reads a word, or an object of one of these forms. Programs send those of one interface to the other.
//
//	"auto"                                            {"type":"auto"}
//	{"type":"function","function":{"name":"f"}}       {"type":"function","name":"f"}
//	{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[…]}}
//	{"type":"allowed_tools","mode":"auto","tools":[…]}
func (c *ToolChoice) ReadJSON(at string, value json.RawMessage) error {
	if value[0] == '"' {
		word, err := wire.String(at, value)
		if err != nil {
			return err
		}
		var ok bool
		if c.Choice, ok = choices[word]; !ok {
			return wire.Invalid(at, "%s is %.40q; %s", at, word, choiceWant)
		}
		return nil
	}
	if value[0] != '{' {
		return &wire.Error{Status: http.StatusBadRequest, Code: "invalid_type", Param: at, Message: fmt.Sprintf("%s is %.40s; %s", at, value, choiceWant)}
	}
	kind := ToolKind(value)
	var of struct{ Type, Function, Name json.RawMessage }
	if err := json.Unmarshal(value, &of); err == nil && of.Type == nil && (of.Function != nil || of.Name != nil) {
		kind = "function" // as a tool without a type is one
	}
	if choice, ok := choices[kind]; ok {
		c.Choice = choice
		return wire.Object(at, value, wire.Rules{"type": wire.Ignored()}, new(struct{}))
	}
	switch kind {
	case "function":
		name, err := functionName(at, value)
		c.Choice, c.Function, c.Named = constrain.ToolRequired, name.Name, []ToolName{name}
		return err
	case "allowed_tools":
		return c.readAllowed(at, value)
	case "":
		return wire.Missing(at+".type", `"function" or "allowed_tools"`)
	}
	return wire.Unsupported(at+".type", `%s.type is %.40q; %s`, at, kind, choiceWant)
}

// functionName reads the name of a function from an object that names one.
func functionName(at string, value json.RawMessage) (ToolName, error) {
	type named struct {
		Name string `json:"name" wire:"required"`
	}
	var flat struct {
		Type string `json:"type"`
		named
	}
	var nested struct {
		Type     string `json:"type"`
		Function *named `json:"function"`
	}
	if err := wire.Object(at, value, nil, &nested); err == nil && nested.Function != nil {
		return ToolName{at + ".function.name", nested.Function.Name}, nil
	}
	err := wire.Object(at, value, nil, &flat)
	return ToolName{at + ".name", flat.Name}, err
}

// readAllowed reads the functions that may be called, or from which one must be.
func (c *ToolChoice) readAllowed(at string, value json.RawMessage) error {
	type allowed struct {
		Mode  string            `json:"mode" wire:"required"`
		Tools []json.RawMessage `json:"tools" wire:"required"`
	}
	var in allowed
	var nested struct {
		Allowed json.RawMessage `json:"allowed_tools"`
	}
	rules := wire.Rules{"type": wire.Ignored()}
	if err := wire.Object(at, value, rules, &nested); err == nil && nested.Allowed != nil {
		at, value, rules = at+".allowed_tools", nested.Allowed, nil
	}
	if err := wire.Object(at, value, rules, &in); err != nil {
		return err
	}
	if in.Mode != "auto" && in.Mode != "required" {
		return wire.Invalid(at+".mode", `%s.mode is %.40q; it must be "auto" or "required"`, at, in.Mode)
	}
	c.Choice, c.Allowed = choices[in.Mode], []string{}
	for i, raw := range in.Tools {
		in := fmt.Sprintf("%s.tools[%d]", at, i)
		if kind := ToolKind(raw); kind != "" && kind != "function" {
			return wire.Unsupported(in+".type", `%s.type is %.40q; it must be "function"`, in, kind)
		}
		name, err := functionName(in, raw)
		if err != nil {
			return err
		}
		c.Allowed, c.Named = append(c.Allowed, name.Name), append(c.Named, name)
	}
	if len(c.Allowed) == 0 {
		return wire.Invalid(at+".tools", "%s.tools is empty; it must name at least one function", at)
	}
	return nil
}
