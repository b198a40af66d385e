package constrain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	properties, err := membersOf(s.Properties)
	if err != nil && !w.options.Lossy {
		return nil, fmt.Errorf("properties: %w", err)
	}
	for _, name := range s.Required {
		if !w.options.Lossy && !slices.ContainsFunc(properties, func(m member) bool { return m.name == name }) {
			return nil, fmt.Errorf("%w: %q is required and no property", llama.ErrUnsupported, name)
		}
	}
	list := make([]parameter, len(properties))
	for i, p := range properties {
		list[i] = parameter{p.name, "/properties/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(p.name), slices.Contains(s.Required, p.name)}
	}
	return list, nil
}

// onlyPlain refuses a schema of arguments that promises more than plainKeys say. In lossy mode it notes the keys that are not kept.
func (w *callWriter) onlyPlain(schema []byte) error {
	members, err := membersOf(schema)
	if err != nil && !w.options.Lossy {
		return err
	}
	for _, m := range members {
		if slices.Contains(plainKeys, m.name) || string(m.value) == "null" {
			continue
		}
		u := &UnsupportedError{Keyword: m.name, Reason: "arguments that are written one after another have no such conditions"}
		if !w.options.Lossy {
			return fmt.Errorf("%w: %w", llama.ErrUnsupported, u)
		}
		w.left = append(w.left, u)
	}
	return nil
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
