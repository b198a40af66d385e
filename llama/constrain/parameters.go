package constrain

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/llama"
)

// Some families write arguments one after another, and not as one JSON object: between tags, or as Python's keyword arguments. Then each
// property has a grammar of its own, and the properties come in the order of the schema. So the schema must be that of an object, and say no
// more of it than its properties, and which of them are required.

// parameter is a property of a function's arguments.
type parameter struct {
	name     string
	at       string // the JSON pointer of its schema
	required bool
}

// plainKeys are the keys of a schema of arguments that parameters reads, or that say nothing about values.
var plainKeys = []string{"type", "properties", "required", "$defs", "definitions", "additionalProperties", "description", "title", "$schema", "$id", "strict", "examples", "default"}

// parameters reads a schema of arguments. In lossy mode it notes the keywords that are not kept.
func (w *callWriter) parameters(schema []byte) ([]parameter, error) {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil && !w.options.Lossy {
		return nil, err
	}
	if err := w.onlyPlain(schema); err != nil {
		return nil, err
	}
	var properties calls.Members
	if len(s.Properties) > 0 && string(s.Properties) != "null" {
		var err error
		if properties, err = calls.MembersOf(s.Properties); err != nil && !w.options.Lossy {
			return nil, fmt.Errorf("properties: %w", err)
		}
	}
	for _, name := range s.Required {
		if !w.options.Lossy && !slices.ContainsFunc(properties, func(m calls.Member) bool { return m.Name == name }) {
			return nil, fmt.Errorf("%w: %q is required and no property", llama.ErrUnsupported, name)
		}
	}
	list := make([]parameter, len(properties))
	for i, p := range properties {
		list[i] = parameter{p.Name, jsonschema.Pointer("properties", p.Name), slices.Contains(s.Required, p.Name)}
	}
	return list, nil
}

// onlyPlain refuses a schema of arguments that promises more than plainKeys say. In lossy mode it notes the keys that are not kept.
func (w *callWriter) onlyPlain(schema []byte) error {
	members, err := calls.MembersOf(schema)
	if err != nil && !w.options.Lossy {
		return err
	}
	for _, m := range members {
		if slices.Contains(plainKeys, m.Name) || string(m.Value) == "null" {
			continue
		}
		u := &UnsupportedError{Keyword: m.Name, Reason: "arguments that are written one after another have no such conditions"}
		if !w.options.Lossy {
			return fmt.Errorf("%w: %w", llama.ErrUnsupported, u)
		}
		w.left = append(w.left, u)
	}
	return nil
}
