package ask

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
	"github.com/antigravity-go/antigravity/llama/serve/internal/queue"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// embedded loads Flint once for all tests.
var embedded = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })

// functionNamed is a function on offer, with a schema of its arguments.
func functionNamed(name, schema string) json.RawMessage {
	return json.RawMessage(`{"type":"function","function":{"name":"` + name + `","parameters":` + schema + `}}`)
}

const (
	plainSchema = `{"type":"object","properties":{"city":{"type":"string"}}}`
	hardSchema  = `{"type":"object","properties":{"cities":{"type":"array","uniqueItems":true,"items":{"type":"string"}}}}` // not all of it can be kept
)

// allows reports whether an answer may be this text, as far as it goes.
func allows(t *testing.T, model *llama.Model, c llama.Constraint, text string) bool {
	t.Helper()
	tokens := model.Tokenizer().Encode(text)
	m := c.Start()
	set := llama.NewTokenSet(model.Tokenizer().VocabSize())
	for _, token := range tokens {
		if err := m.Allowed(set); err != nil {
			t.Fatal(err)
		}
		if !set.Has(token) {
			return false
		}
		if err := m.Accept(token); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

// Functions may be on offer together with a form: the answer calls or has the form. Without a schema, the form is any object that is no
// call.
func TestToolsAndForm(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Lease: &models.Lease{Model: model}, service: &Service{}}
	names := FieldNames{"tools": "tools", "schema": "text.format.schema"}
	tools := Tools{List: []json.RawMessage{functionNamed("weather", plainSchema)}}
	person := Form{Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"],"additionalProperties":false}`)}
	const call = `{"name": "weather", "parameters": {"city": "Rome"}}`
	for _, c := range []struct {
		name  string
		tools Tools
		form  Form
		want  map[string]bool
	}{
		{"a schema", tools, person, map[string]bool{call: true, `{"name": "Ann"}`: true, `{"age": 7}`: false, "Hello": false}},
		{"any object", tools, AnyObject(), map[string]bool{call: true, `{"name": "Ann", "age": 7}`: true, `{"name": "weather", "parameters": {"city": 1`: false, "Hello": false}},
		{"no choice", Tools{List: tools.List, Options: constrain.ToolOptions{Choice: constrain.ToolNone}}, person, map[string]bool{call: false, `{"name": "Ann"}`: true}},
	} {
		var p llama.Params
		if err := m.Constrain(t.Context(), &p, c.tools, c.form, names); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for text, want := range c.want {
			if got := allows(t, model, p.Constraint, text); got != want {
				t.Errorf("%s: %s: %v, want %v", c.name, text, got, want)
			}
		}
	}
	for place, c := range map[string]struct {
		tools Tools
		form  Form
	}{
		"tools":              {Tools{List: []json.RawMessage{functionNamed("time", hardSchema)}}, person},
		"text.format.schema": {tools, Form{Schema: json.RawMessage(`{"properties":{"name":{}}}`)}},
	} {
		var p llama.Params
		if e, ok := errors.AsType[*wire.Error](m.Constrain(t.Context(), &p, c.tools, c.form, names)); !ok || e.Status != 400 || e.Param != place {
			t.Errorf("%s: %+v", place, e)
		}
	}
}

// TestConstraintsOfScopes sends the same forms again: what another scope made is made anew.
func TestConstraintsOfScopes(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Lease: &models.Lease{Model: model}, service: &Service{}}
	tools := Tools{List: []json.RawMessage{functionNamed("rain", plainSchema)}, Names: []string{"rain"}}
	for name, c := range map[string]struct {
		tools Tools
		form  Form
	}{
		"schema":  {form: Form{Schema: json.RawMessage(`{"type":"object","properties":{"scope":{"type":"string"}}}`)}},
		"grammar": {form: Form{Grammar: `root ::= "scope"`}},
		"tools":   {tools: tools},
		"both":    {tools: tools, form: Form{Schema: json.RawMessage(`{"type":"object","properties":{"scope":{"type":"integer"}},"additionalProperties":false}`)}},
	} {
		of := map[string]llama.Constraint{}
		for _, scope := range []string{"ann", "bob", "", "ann", "bob", ""} {
			var p llama.Params
			if err := m.Constrain(WithRequest(t.Context(), &Request{Scope: scope}), &p, c.tools, c.form, FieldNames{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if before := of[scope]; before != nil && before != p.Constraint {
				t.Errorf("%s: what the scope %q made is made again", name, scope)
			}
			for other, made := range of {
				if other != scope && made == p.Constraint {
					t.Errorf("%s: the scope %q has what %q made", name, scope, other)
				}
			}
			of[scope] = p.Constraint
		}
	}
}

func TestToolsConstraint(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	m := &Model{Lease: &models.Lease{Model: model}, service: &Service{}}
	names := FieldNames{"tools": "tools", "schema": "text.format.schema"}
	list := []json.RawMessage{functionNamed("weather", plainSchema), functionNamed("time", hardSchema)}
	lossy := constrain.ToolOptions{Lossy: true}
	for _, c := range []struct {
		name  string
		tools Tools
		code  string // of the error; "": no error
		calls map[string]bool
	}{
		{"a schema that cannot be kept", Tools{List: list, Names: []string{"weather", "time"}}, "unsupported_schema", nil},
		{"what can be kept of it", Tools{List: list, Names: []string{"weather", "time"}, Options: lossy}, "", map[string]bool{"weather": true, "time": true, "rain": false}},
		{"another one is strict", Tools{List: list, Names: []string{"weather", "time"}, Options: lossy, Strict: []string{"weather"}}, "", map[string]bool{"weather": true, "time": true}},
		{"it is strict itself", Tools{List: list, Names: []string{"weather", "time"}, Options: lossy, Strict: []string{"time"}}, "unsupported_schema", nil},
		{"one is allowed", Tools{List: list, Names: []string{"weather", "time"}, Options: lossy, Allowed: []string{"time"}}, "", map[string]bool{"weather": false, "time": true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var p llama.Params
			err := m.Constrain(t.Context(), &p, c.tools, Form{}, names)
			if c.code != "" {
				if e, ok := errors.AsType[*wire.Error](err); !ok || e.Code != c.code || e.Param != "tools" {
					t.Fatalf("the error is %+v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(p.Template.Tools) != len(list) {
				t.Errorf("the model is shown %d functions of %d", len(p.Template.Tools), len(list))
			}
			for name, want := range c.calls {
				if got := allows(t, model, p.Constraint, `{"name": "`+name+`", "parameters": {`); got != want {
					t.Errorf("a call of %s: %v, want %v", name, got, want)
				}
			}
		})
	}
}

// TestConstrainWaits checks that with one place constraints are made one after the other, whatever they are, and by clients in turn.
func TestConstrainWaits(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := models.New([]models.Spec{{Name: "flint", Loaded: model}}, models.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(t.Context())
	service := &Service{Models: registry, ConstraintQueue: queue.New(1, 1)}
	m, err := service.Open(t.Context(), "flint")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	held, err := service.ConstraintQueue.Join("another", 1)
	if err != nil {
		t.Fatal(err)
	}
	form, tools := Form{Schema: json.RawMessage(plainSchema)}, Tools{List: []json.RawMessage{functionNamed("f", plainSchema)}}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- m.Constrain(ctx, &llama.Params{}, Tools{}, form, nil) }()
	for service.ConstraintQueue.Stats().Waiting == 0 { // until it waits
		select {
		case err := <-left:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
	}
	var e *wire.Error
	if err := m.Constrain(t.Context(), &llama.Params{}, tools, Form{}, nil); !errors.As(err, &e) || e.Status != http.StatusTooManyRequests {
		t.Errorf("with a full line: %v", err)
	}
	if err := m.Constrain(t.Context(), &llama.Params{}, Tools{}, Form{}, nil); err != nil {
		t.Errorf("free text: %v", err)
	}
	leave()
	if err := <-left; !errors.As(err, &e) || e.Status != wire.StatusGone {
		t.Errorf("whose client left: %v", err)
	}
	held[0].Leave()
	if err := m.Constrain(t.Context(), &llama.Params{}, Tools{}, form, nil); err != nil {
		t.Error(err)
	}
	if s := service.ConstraintQueue.Stats(); s.InUse != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}
