package constrain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/regular"
	"github.com/antigravity-go/antigravity/llama"
)

// Arguments between tags, as Qwen 3.5 writes them, come in the order of the schema's properties. A text stands as it is, up to its tag's end:
//
//	<parameter=city>
//	Rome
//	</parameter>
//	<parameter=days>
//	3
//	</parameter>
//
// So a schema must be that of an object, with a type for each property. A property that may be a text can have nothing but a list of values.

// taggedSchema is what a schema of arguments may say.
type taggedSchema struct {
	Properties json.RawMessage `json:"properties"`
	Required   []string        `json:"required"`
}

// plainKeys are the keys that promise nothing beyond taggedSchema, or say nothing about values.
var plainKeys = []string{"type", "properties", "required", "$defs", "definitions", "additionalProperties", "description", "title", "$schema", "$id", "strict", "examples", "default"}

// taggedArguments returns the symbols of a function's arguments between tags.
func (w *callWriter) taggedArguments(parameters []byte, o jsonschema.Options) ([]grammar.Symbol, error) {
	var s taggedSchema
	if err := json.Unmarshal(parameters, &s); err != nil && !w.options.Lossy {
		return nil, err
	}
	if err := w.onlyPlain(parameters, "", plainKeys); err != nil {
		return nil, err
	}
	properties, err := membersOf(s.Properties)
	if err != nil && !w.options.Lossy {
		return nil, fmt.Errorf("properties: %w", err)
	}
	for _, name := range s.Required {
		if !w.options.Lossy && !slices.ContainsFunc(properties, func(m member) bool { return m.name == name }) {
			return nil, fmt.Errorf("%w: %q is required and no property", llama.ErrUnsupported, name)
		}
	}
	var all []grammar.Symbol
	for _, p := range properties {
		if bytes.ContainsAny([]byte(p.name), "<>\n") || p.name == "" {
			return nil, fmt.Errorf("%w: the name of the property %q cannot be written in a tag", llama.ErrUnsupported, p.name)
		}
		o.At, o.Object = "/properties/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(p.name), false
		value, err := w.taggedValue(p.value, parameters, o)
		if err != nil {
			return nil, fmt.Errorf("properties[%q]: %w", p.name, err)
		}
		r := w.language.Arena
		parameter := []grammar.Symbol{
			grammar.Text(r.Literal(calls.BeforeParameter + p.name + calls.AfterName)), value, grammar.Text(r.Literal(calls.AfterParameter)),
		}
		if slices.Contains(s.Required, p.name) {
			all = append(all, parameter...)
			continue
		}
		all = append(all, grammar.Call(w.grammar.Add(grammar.Alternatives{parameter, {}}), 0))
	}
	return all, nil
}

// onlyPlain refuses a schema, at a place of the parameters, that promises more than some keys say. In lossy mode it notes the keys that are not kept.
func (w *callWriter) onlyPlain(schema []byte, at string, keys []string) error {
	members, err := membersOf(schema)
	if err != nil && !w.options.Lossy {
		return err
	}
	for _, m := range members {
		if slices.Contains(keys, m.name) || string(m.value) == "null" {
			continue
		}
		u := &UnsupportedError{Keyword: m.name, Path: at, Reason: "arguments between tags have no such conditions"}
		if !w.options.Lossy {
			return fmt.Errorf("%w: %w", llama.ErrUnsupported, u)
		}
		w.left = append(w.left, u)
	}
	return nil
}

// taggedValue returns the symbol of the value of a property, which has a schema within the parameters.
func (w *callWriter) taggedValue(schema, parameters json.RawMessage, o jsonschema.Options) (grammar.Symbol, error) {
	var s struct {
		Type  any   `json:"type"`
		Enum  []any `json:"enum"`
		Const any   `json:"const"`
	}
	if err := json.Unmarshal(schema, &s); err != nil && !w.options.Lossy {
		return grammar.Symbol{}, err
	}
	if s.Const != nil && s.Enum == nil {
		s.Enum = []any{s.Const}
	}
	switch kind, _ := s.Type.(string); {
	case kind == "string" || kind == "" && len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(v any) bool { _, text := v.(string); return !text }):
		if err := w.onlyPlain(schema, o.At, []string{"type", "enum", "const", "description", "title", "default", "examples"}); err != nil {
			return grammar.Symbol{}, err
		}
		return w.taggedText(s.Enum)
	case kind == "" && w.options.Lossy:
		return w.taggedText(nil)
	case kind == "":
		return grammar.Symbol{}, fmt.Errorf("%w: a value between tags must have one type", llama.ErrUnsupported)
	}
	return w.schema(parameters, w.language, o)
}

// taggedText returns the symbol of texts between tags: one of some, or any that has no end of a tag within.
func (w *callWriter) taggedText(some []any) (grammar.Symbol, error) {
	r := w.language.Arena
	if some == nil {
		end := r.Concat(r.Concat(regular.All, r.Literal("</parameter>")), regular.All)
		text := r.Minus(w.language.Text, end)
		r.Reach(text)
		return grammar.Text(text), nil
	}
	texts := regular.None
	for _, v := range some {
		text, ok := v.(string)
		if !ok {
			return grammar.Symbol{}, errors.New("a list of values has one that is no text")
		}
		if bytes.Contains([]byte(text), []byte("</parameter>")) {
			return grammar.Symbol{}, fmt.Errorf("%w: the value %q cannot stand between tags", llama.ErrUnsupported, text)
		}
		texts = r.Or(texts, r.Literal(text))
	}
	return grammar.Text(texts), nil
}

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// membersOf returns an object's members in their order; null has no members.
func membersOf(object []byte) (list []member, err error) {
	if len(object) == 0 || string(object) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errors.Join(err, fmt.Errorf("%.40s is no object", object))
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}
