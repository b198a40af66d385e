package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Tools are the functions that a request offers.
type Tools struct {
	List    []json.RawMessage // each {"type":"function","function":{…}}
	Options constrain.ToolOptions
	// Strict are the functions whose schemas are kept as a whole, or refused, though Options.Lossy says otherwise for the rest; by name.
	Strict []string
	// Allowed are the only functions that may be called, by name; nil: all. The model is shown the others, too.
	Allowed []string
}

// named returns those functions that have one of these names.
func (t *Tools) named(names []string) []json.RawMessage {
	return slices.DeleteFunc(slices.Clone(t.List), func(tool json.RawMessage) bool {
		var f struct{ Function struct{ Name string } }
		return json.Unmarshal(tool, &f) == nil && !slices.Contains(names, f.Function.Name)
	})
}

// constraint returns what the tools allow an answer to be.
func (t *Tools) constraint(tokenizer *llama.Tokenizer) (llama.Constraint, error) {
	if t.Options.Lossy && len(t.Strict) > 0 {
		// A schema that passes here loses nothing below.
		if _, err := constrain.Tools(tokenizer, t.named(t.Strict), constrain.ToolOptions{}); err != nil {
			return nil, err
		}
	}
	list := t.List
	if t.Allowed != nil {
		list = t.named(t.Allowed)
	}
	return constrain.Tools(tokenizer, list, t.Options)
}

// Form is the form that a request asks of an answer. The zero value is free text.
type Form struct {
	Schema json.RawMessage // a JSON Schema; nil: none
	Lossy  bool            // keep what can be kept of the schema
}

// anyObject is the schema of all JSON objects; noCall leaves out those that could be taken for a call of a function.
var (
	anyObject = json.RawMessage(`{"type":"object"}`)
	noCall    = json.RawMessage(`{"type":"object","properties":{"parameters":{"type":["array","string","number","boolean","null"]},` +
		`"arguments":{"type":["array","string","number","boolean","null"]}}}`)
)

// AnyObject is the form of any JSON object.
func AnyObject() Form { return Form{Schema: anyObject} }

// Constrain sets the tools and the constraint of an answer's parameters.
func (m *Model) Constrain(ctx context.Context, p *llama.Params, tools Tools, form Form, names Names) error {
	t := m.Model.Tokenizer()
	if tools.Options.Choice == constrain.ToolNone {
		tools = Tools{} // a model that is shown functions and may not call them has little else to say
	}
	offered := len(tools.List) > 0
	if m.desk.Forms != nil && (offered || form.Schema != nil) {
		places, err := m.desk.Forms.Join(m.request.Client, 1)
		if err != nil {
			return explain(ctx, err, names)
		}
		defer places[0].Leave()
		if err := places[0].Wait(ctx); err != nil {
			return explain(ctx, err, names)
		}
	}
	switch {
	case form.Schema != nil:
		o := constrain.SchemaOptions{Lossy: form.Lossy}
		c, _, err := constrain.JSONSchemaWith(t, form.Schema, o)
		if err != nil {
			return bad(ctx, err, names, "schema")
		}
		p.Template.Tools = tools.List
		if offered { // the answer calls functions or has the form
			if _, err := tools.constraint(t); err != nil {
				return bad(ctx, err, names, "tools")
			}
			if string(form.Schema) == string(anyObject) {
				form.Schema = noCall
			}
			tools.Options.Answer = &constrain.Answer{Schema: form.Schema, Options: o}
			if c, err = tools.constraint(t); err != nil {
				return bad(ctx, err, names, "schema")
			}
		}
		p.Constraint = c
	case offered:
		p.Template.Tools = tools.List
		c, err := tools.constraint(t)
		switch {
		case err == nil:
			p.Constraint = c
		case errors.Is(err, llama.ErrUnsupported) && !tools.must():
			// The model's way of writing calls cannot be constrained: they are looked for in its answer all the same.
		default:
			return bad(ctx, err, names, "tools")
		}
	}
	return nil
}

// must tells whether what is said of calls has to be kept by a constraint.
func (t *Tools) must() bool {
	o := &t.Options
	return o.Choice != constrain.ToolAuto || o.Function != "" || o.Single || t.Allowed != nil
}

// bad says that a constraint cannot be made of what a request has under a name: that is the request's fault.
func bad(ctx context.Context, err error, names Names, what string) error {
	if e := explain(ctx, err, names); e.Status != http.StatusInternalServerError {
		if e.Param == "" || e.Code == "unsupported_schema" { // which schema it is is known here
			e.Param = names[what]
		}
		return e
	}
	return wire.Bad(names[what], "%s: %s", names[what], strings.TrimPrefix(trim(err), what+": "))
}

// Prompt renders a conversation with the model's chat template.
func (m *Model) Prompt(ctx context.Context, history []llama.Message, o llama.TemplateOptions, names Names) ([]llama.Token, error) {
	tokens, err := m.Model.Tokenizer().Template(history, o)
	if err == nil {
		return tokens, nil
	}
	e := explain(ctx, err, names)
	if e.Status == http.StatusInternalServerError { // the template refuses the conversation, in its own words
		e = wire.Bad(names["history["[:7]], "the model's chat template: %s", trim(err))
	}
	return nil, e
}

// Bias is a mask that adds to the logits of some tokens.
type Bias map[llama.Token]float32

// maxBias bounds what is added: OpenAI's bound, at which a token is as good as forbidden, or certain.
const maxBias = 100

// NewBias returns the mask for values by token numbers, nil for none.
func (m *Model) NewBias(values map[string]float32, param string) (llama.LogitMask, error) {
	if len(values) == 0 {
		return nil, nil
	}
	size := m.Model.Tokenizer().VocabSize()
	b := Bias{}
	for text, value := range values {
		var id int
		if _, err := fmt.Sscanf(text, "%d", &id); err != nil || fmt.Sprint(id) != text || id < 0 || id >= size {
			return nil, wire.Bad(param, "%s has the key %.40q; it must be a token's number, 0 to %d", param, text, size-1)
		}
		if !(value >= -maxBias && value <= maxBias) {
			return nil, wire.Bad(param, "%s is %v for token %d; it must be -%d to %d", param, value, id, maxBias, maxBias)
		}
		b[llama.Token(id)] = value
	}
	return b, nil
}

// Apply adds the values.
func (b Bias) Apply(_ []llama.Token, logits []float32) error {
	for t, value := range b {
		logits[t] += value
	}
	return nil
}
