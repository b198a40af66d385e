package with

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/spacedjson"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// Request is a framework's request in the words of package llama. Model.Request begins one.
type Request struct {
	Messages []llama.Message // the conversation; see Conversation
	Tools    []Tool          // functions on offer
	// Choice says whether functions are called. With constrain.ToolNone the model is not shown any.
	Choice constrain.ToolChoice
	// Allowed are the only functions that may be called, by name; nil: all. The model is shown the others, too.
	Allowed []string
	// Schema is the JSON Schema of the answer; nil: a text, AnyObject: any JSON object. An answer that calls functions instead need not fit it.
	Schema json.RawMessage
	// Params are all other parameters.
	Params llama.Params
}

// Tool is a function that a model may call.
type Tool struct {
	Name, Description string
	Parameters        json.RawMessage // a JSON Schema; nil: it has no parameters
}

// AnyObject is the schema of any JSON object, for frameworks that ask for JSON and say no more.
var AnyObject = json.RawMessage(`{"type":"object"}`)

// notCalls is AnyObject without those objects that could be taken for calls of functions.
var notCalls = json.RawMessage(`{"type":"object","properties":{"parameters":{"type":["array","string","number","boolean","null"]},` +
	`"arguments":{"type":["array","string","number","boolean","null"]}}}`)

// noParameters is the schema of a function without parameters.
var noParameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)

// described returns the function as chat templates know it.
func (t *Tool) described() (json.RawMessage, error) {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	f := function{t.Name, t.Description, noParameters}
	if len(t.Parameters) > 0 && string(t.Parameters) != "null" {
		f.Parameters = jsonschema.Tidy(t.Parameters)
	}
	return spacedjson.Marshal(struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}{"function", f})
}

// JSON returns a framework's value, a schema for example, as JSON: a text as it is, anything else encoded without escapes for HTML. Nil stays nil.
func JSON(value any) (json.RawMessage, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return v, nil
	case []byte:
		return v, nil
	case string:
		return json.RawMessage(v), nil
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, fmt.Errorf("with: a value of the type %T as JSON: %w", value, err)
	}
	text.Truncate(text.Len() - 1) // the line feed
	if text.String() == "null" {
		return nil, nil
	}
	return text.Bytes(), nil
}

// prepare returns what the pool is asked.
func (m *Model) prepare(ctx context.Context, r *Request) (llama.Params, []llama.Message, error) {
	p, history := r.Params, r.Messages
	tools, names, err := r.tools()
	if err != nil {
		return p, nil, err
	}
	if tools == nil && r.Schema == nil {
		return p, history, nil
	}
	if p.Constraint != nil || p.Template.Tools != nil {
		return p, nil, errors.New("Request.Params has functions or a form of answers: they must be in Tools and Schema")
	}
	schema := r.Schema
	if schema != nil {
		if schema = bytes.TrimSpace(jsonschema.Tidy(schema)); len(schema) == 0 || schema[0] != '{' || !json.Valid(schema) {
			return p, nil, fmt.Errorf("the schema of the answer is %.100q: it must be a JSON Schema, an object", schema)
		}
		if !m.options.HideSchema {
			shown, err := spacedjson.Marshal(json.RawMessage(schema))
			if err != nil {
				return p, nil, err
			}
			history = showSchema(history, shown)
		}
	}
	p.Template.Tools = tools
	p.Constraint, err = m.constraint(ctx, r, tools, names, schema)
	return p, history, err
}

// tools returns the functions that the model is shown, with their names.
func (r *Request) tools() (tools []json.RawMessage, names []string, err error) {
	for _, t := range r.Tools {
		if slices.Contains(names, t.Name) {
			return nil, nil, fmt.Errorf("two functions have the name %.80q: names must differ", t.Name)
		}
		tool, err := t.described()
		if err != nil {
			return nil, nil, fmt.Errorf("the function %.80q: %w", t.Name, err)
		}
		tools, names = append(tools, tool), append(names, t.Name)
	}
	for _, name := range r.Allowed {
		if !slices.Contains(names, name) {
			return nil, nil, fmt.Errorf("the function %.80q is to be called, and is not on offer", name)
		}
	}
	switch {
	case r.Choice == constrain.ToolRequired && len(tools) == 0:
		return nil, nil, errors.New("a function is to be called, and none is on offer")
	case r.Choice == constrain.ToolNone:
		return nil, nil, nil
	}
	return tools, names, nil
}

// constraint returns the form of the answer.
func (m *Model) constraint(ctx context.Context, r *Request, tools []json.RawMessage, names []string, schema json.RawMessage) (llama.Constraint, error) {
	t := m.model.Tokenizer()
	form := constrain.SchemaOptions{Lossy: m.options.Lossy, Spaces: constrain.Uniform}
	if bytes.Equal(schema, AnyObject) {
		form.Spaces = constrain.Free
	}
	if len(tools) == 0 {
		c, _, err := constrain.JSONSchemaContext(ctx, t, schema, form)
		if err != nil {
			return nil, fmt.Errorf("the schema of the answer: %w", err)
		}
		return c, nil
	}
	callable := tools
	if r.Allowed != nil {
		callable = nil
		for i, name := range names {
			if slices.Contains(r.Allowed, name) {
				callable = append(callable, tools[i])
			}
		}
	}
	o := constrain.ToolOptions{Choice: r.Choice, Lossy: m.options.Lossy}
	if schema != nil {
		if bytes.Equal(schema, AnyObject) {
			schema = notCalls
		}
		o.Answer = &constrain.Answer{Schema: schema, Options: form}
	}
	c, _, err := constrain.ToolsContext(ctx, t, callable, o)
	switch {
	case err == nil:
		return c, nil
	case errors.Is(err, llama.ErrUnsupported) && m.options.Lossy && schema == nil && r.Choice == constrain.ToolAuto && r.Allowed == nil:
		return nil, nil // calls are looked for in the answer all the same
	case errors.Is(err, llama.ErrUnsupported):
		return nil, fmt.Errorf("calls of functions cannot be held to their schemas (Options.Lossy would do without): %w", err)
	}
	return nil, fmt.Errorf("the functions on offer: %w", err)
}

// Arguments returns the arguments of a call as a map, for frameworks that have them so. Numbers are float64s, or int64s if they are whole numbers
// that a float64 cannot hold.
func Arguments(call *llama.ToolCall) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(call.Arguments))
	d.UseNumber()
	arguments := map[string]any{}
	if err := d.Decode(&arguments); err != nil {
		return nil, fmt.Errorf("with: the arguments of a call of %.80q: %w", call.Name, err)
	}
	return plain(arguments).(map[string]any), nil
}

// plain returns a value of JSON with Go's numbers.
func plain(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			v[key] = plain(member)
		}
	case []any:
		for i, element := range v {
			v[i] = plain(element)
		}
	case json.Number:
		f, err := v.Float64()
		if whole, err := v.Int64(); err == nil && (f >= 1<<63 || int64(f) != whole) {
			return whole
		}
		if err != nil {
			return v
		}
		return f
	}
	return value
}
