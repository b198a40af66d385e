package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// MaxTools is how many functions a request to OpenAI's interfaces may offer. Other interfaces have no such bound: the work that they make is
// bounded, and so is the context.
const MaxTools = 128

// Tools are the functions that a request offers.
//
// Invariant: Names[i] is the name of List[i], and no two are equal.
type Tools struct {
	List    []json.RawMessage // each {"type":"function","function":{…}}
	Names   []string
	Options constrain.ToolOptions
	// Strict names the functions with schemas that are kept as a whole or refused, though Options.Lossy says otherwise for the rest.
	Strict []string
	// Allowed are the only functions that may be called, by name; nil: all. The model is shown the others, too.
	Allowed []string
	// LeftOut are the tools that are no functions.
	LeftOut []LeftOut

	known map[string]bool // the names
}

// Add puts a function on offer. raw is {"type":"function","function":{…}}, and at is the place of its name in the request.
func (t *Tools) Add(at, name string, raw json.RawMessage, strict bool) error {
	if t.known[name] {
		return wire.Invalid(at, "%s is %.80q, as that of another function is", at, name)
	}
	if t.known == nil {
		t.known = map[string]bool{}
	}
	t.known[name] = true
	t.List, t.Names = append(t.List, raw), append(t.Names, name)
	if strict {
		t.Strict = append(t.Strict, name)
	}
	return nil
}

// Choose notes which functions are to be called. Those that the request names must be on offer.
func (t *Tools) Choose(c ToolChoice) error {
	for _, r := range c.Named {
		if !slices.Contains(t.Names, r.Name) {
			return wire.Invalid(r.At, "%s is %.80q, and tools has no function of that name", r.At, r.Name)
		}
	}
	if c.Choice == constrain.ToolRequired && len(t.List) == 0 {
		return wire.Invalid("tool_choice", "tool_choice asks for a call, and tools has no function")
	}
	t.Options.Choice, t.Options.Function, t.Allowed = c.Choice, c.Function, c.Allowed
	return nil
}

// named returns those functions that have one of these names.
func (t *Tools) named(names []string) (list []json.RawMessage) {
	for i, name := range t.Names {
		if slices.Contains(names, name) {
			list = append(list, t.List[i])
		}
	}
	return list
}

// constraint returns what the tools allow an answer to be, and what of their schemas is not kept. The making ends when ctx does.
func (t *Tools) constraint(ctx context.Context, tokenizer *llama.Tokenizer) (llama.Constraint, []*constrain.UnsupportedError, error) {
	if t.Options.Lossy && len(t.Strict) > 0 {
		// A schema that passes here loses nothing below.
		if _, _, err := constrain.ToolsContext(ctx, tokenizer, t.named(t.Strict), constrain.ToolOptions{}); err != nil {
			return nil, nil, err
		}
	}
	list := t.List
	if t.Allowed != nil {
		list = t.named(t.Allowed)
	}
	return constrain.ToolsContext(ctx, tokenizer, list, t.Options)
}

// leftOut returns what of schemas is not kept, with its place in the request.
func (t *Tools) leftOut(left []*constrain.UnsupportedError, names FieldNames) (list []LeftOut) {
	for _, u := range left {
		at := names["schema"]
		if u.Tool != "" {
			at = fmt.Sprintf("%s[%d] (%q)", names["tools"], slices.Index(t.Names, u.Tool), u.Tool)
		}
		what := "the schema"
		if u.Keyword != "" {
			what = fmt.Sprintf("%q", u.Keyword)
		}
		list = append(list, LeftOut{At: fmt.Sprintf("%s at %q of %s", what, u.Path, at), Why: "left out of what is guaranteed: " + u.Reason, Read: true})
	}
	return list
}

// needsConstraint reports whether only a constraint can make the answer call functions as the request demands.
func (t *Tools) needsConstraint() bool {
	o := &t.Options
	return o.Choice != constrain.ToolAuto || o.Function != "" || o.Single || t.Allowed != nil
}

// Function returns a function as chat templates know it, {"type":"function","function":{…}}. parameters is a JSON Schema, or nil.
func Function(name, description string, parameters json.RawMessage, strict bool) (json.RawMessage, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	}
	return wire.Encode(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", function{name, description, Parameters(parameters, strict)}})
}

// Schema returns a JSON Schema that a request has. It reports whether there is one: an object, or an empty array, which is PHP's for an empty
// object.
func Schema(value json.RawMessage) (json.RawMessage, bool) {
	if len(value) > 1 && value[0] == '[' && wire.FirstByte(value) == 0 {
		return json.RawMessage("{}"), true
	}
	return value, len(value) > 0 && value[0] == '{'
}

// Parameters returns the schema of a function's parameters. Of one that is not strict, keywords that say nothing are left out: chat templates
// may stumble over "properties": null.
func Parameters(schema json.RawMessage, strict bool) json.RawMessage {
	if strict {
		return schema
	}
	return jsonschema.Tidy(schema)
}
