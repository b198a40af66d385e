package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/internal/scope"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Form is the form that a request asks of an answer. The zero value is free text.
type Form struct {
	Schema  json.RawMessage // a JSON Schema; nil: no schema
	Lossy   bool            // leave out the parts of the schema that cannot be kept
	Grammar string          // in GBNF, if there is no Schema; "": no grammar
}

// Free reports whether the answer is free text.
func (f Form) Free() bool { return f.Schema == nil && f.Grammar == "" }

// spaces returns how much white space the answer has: the answer to a schema is written in one way, an object of any kind freely.
func (f Form) spaces() constrain.Spaces {
	if bytes.Equal(f.Schema, anyObject) {
		return constrain.Free
	}
	return constrain.Uniform
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
func (m *Model) Constrain(ctx context.Context, p *llama.Params, tools Tools, form Form, names FieldNames) error {
	if tools.Options.Choice == constrain.ToolNone {
		tools = Tools{} // a model that is shown functions and may not call them has little else to say
	}
	make := func() error { return m.constrain(ctx, p, tools, form, names) }
	if m.service.ConstraintQueue == nil || len(tools.List) == 0 && form.Free() {
		return make()
	}
	if err := runQueued(ctx, m.service.ConstraintQueue, m.request.Client, make); err != nil {
		return Explain(ctx, err, names)
	}
	return nil
}

// constrain is Constrain when it is the request's turn. What other scopes made is not found again: the time would show that somebody sent it.
func (m *Model) constrain(ctx context.Context, p *llama.Params, tools Tools, form Form, names FieldNames) error {
	ctx = scope.With(ctx, RequestOf(ctx).Scope)
	t, offered := m.Model.Tokenizer(), len(tools.List) > 0
	switch {
	case form.Grammar != "" && offered:
		return wire.Unsupported(names["schema"], "%s: an answer cannot both be of a grammar and call functions: leave tools out, or choose none of them", names["schema"])
	case form.Grammar != "":
		c, err := constrain.GrammarContext(ctx, t, form.Grammar)
		if err != nil {
			return constraintError(ctx, err, names, "schema")
		}
		p.Constraint = c
	case form.Schema != nil && !bytes.HasPrefix(bytes.TrimSpace(form.Schema), []byte("{")):
		return wire.Invalid(names["schema"], "%s must be a JSON Schema, an object", names["schema"])
	case form.Schema != nil:
		o := constrain.SchemaOptions{Lossy: form.Lossy, Spaces: form.spaces()}
		c, left, err := constrain.JSONSchemaContext(ctx, t, form.Schema, o)
		if err != nil {
			return constraintError(ctx, err, names, "schema")
		}
		p.Template.Tools = tools.List
		if offered { // the answer calls functions or has the form
			if _, _, err := tools.constraint(ctx, t); err != nil {
				return constraintError(ctx, err, names, "tools")
			}
			if string(form.Schema) == string(anyObject) {
				form.Schema = noCall
			}
			tools.Options.Answer = &constrain.Answer{Schema: form.Schema, Options: o}
			if c, left, err = tools.constraint(ctx, t); err != nil {
				return constraintError(ctx, err, names, "schema")
			}
		}
		p.Constraint = c
		return m.service.LeaveOut(ctx, tools.leftOut(left, names))
	case offered:
		p.Template.Tools = tools.List
		c, left, err := tools.constraint(ctx, t)
		switch {
		case err == nil:
			p.Constraint = c
			return m.service.LeaveOut(ctx, tools.leftOut(left, names))
		case errors.Is(err, llama.ErrUnsupported) && !tools.needsConstraint():
			// The model's way of writing calls cannot be constrained: they are looked for in its answer all the same.
		default:
			return constraintError(ctx, err, names, "tools")
		}
	}
	return nil
}

// constraintError returns the error of a constraint that cannot be made of a parameter: the request is wrong.
func constraintError(ctx context.Context, err error, names FieldNames, what string) error {
	if e := Explain(ctx, err, names); e.Status != http.StatusInternalServerError {
		if e.Code == "unsupported_schema" || e.Param == "" && e.Status == http.StatusBadRequest { // which schema it is is known here
			e.Param = names[what]
		}
		return e
	}
	return wire.Invalid(names[what], "%s: %s", names[what], strings.TrimPrefix(trim(err), what+": "))
}
