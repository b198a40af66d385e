package constrain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/antigravity-go/antigravity/llama"
)

// JSONFor allows the JSON values that encoding/json decodes into a T: an object with the fields of a struct, in their order. It keeps
// Schema's schema, and numbers fit their Go types.
func JSONFor[T any](t *llama.Tokenizer) (llama.Constraint, error) {
	s, err := reflected[T]()
	if err != nil {
		return nil, err
	}
	bound(s)
	schema, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	c, _, err := JSONSchemaWith(t, schema, SchemaOptions{Ordered: true})
	return c, err
}

// Schema returns the JSON Schema of a Go type, to be shown to the model in the system message. Tags of encoding/json are followed: a
// field that is marked omitempty or omitzero may be left out, the others are required. A `jsonschema:"…"` tag of a field tells the
// model what to put there.
//
// A type that JSON does not know (a channel, a function), or that holds itself, is an error. The schema is made by
// github.com/google/jsonschema-go, and written as chat templates write JSON, with a blank after each comma and colon.
func Schema[T any]() ([]byte, error) {
	s, err := reflected[T]()
	if err != nil {
		return nil, err
	}
	return written(s)
}

// Function returns what llama.TemplateOptions.Tools and Tools want to know of a function: its name, what it does, and its arguments,
// which are the fields of the struct A, as Schema has them.
func Function[A any](name, does string) (json.RawMessage, error) {
	s, err := reflected[A]()
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	s.AdditionalProperties = nil // a struct is closed, which goes without saying in a call
	return written(struct {
		Type     string `json:"type"`
		Function any    `json:"function"`
	}{"function", struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		Parameters  *jsonschema.Schema `json:"parameters"`
	}{name, does, s}})
}

// reflected returns the schema of a type, in which a list is not null.
func reflected[T any]() (*jsonschema.Schema, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	each(s, func(s *jsonschema.Schema) {
		if slices.Equal(s.Types, []string{"null", "array"}) {
			s.Type, s.Types = "array", nil
		}
	})
	return s, nil
}

// written returns a value as JSON with a blank after each comma and colon.
func written(v any) ([]byte, error) {
	var plain bytes.Buffer
	e := json.NewEncoder(&plain)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	var spaced []byte
	text := false
	for i, b := range bytes.TrimSpace(plain.Bytes()) {
		if b == '"' && !escaped(plain.Bytes()[:i]) {
			text = !text
		}
		if spaced = append(spaced, b); !text && (b == ',' || b == ':') {
			spaced = append(spaced, ' ')
		}
	}
	return spaced, nil
}

// escaped tells whether what follows before, in a string, is escaped: whether before ends in an odd number of backslashes.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

// bound limits the numbers of a schema to what an int64, a uint64 and a float32 hold, where it does not limit them further.
func bound(s *jsonschema.Schema) {
	each(s, func(s *jsonschema.Schema) {
		switch types := append(s.Types, s.Type); {
		case slices.Contains(types, "integer"):
			if s.Minimum == nil {
				s.Minimum = jsonschema.Ptr(-0x1p63)
			}
			if s.Maximum == nil && *s.Minimum < 0 {
				s.ExclusiveMaximum = jsonschema.Ptr(0x1p63)
			} else if s.Maximum == nil {
				s.ExclusiveMaximum = jsonschema.Ptr(0x1p64)
			}
		case slices.Contains(types, "number"):
			s.Minimum, s.Maximum = jsonschema.Ptr[float64](-math.MaxFloat32), jsonschema.Ptr[float64](math.MaxFloat32)
		}
	})
}

// each calls f with a schema that reflection made, and with those in it.
func each(s *jsonschema.Schema, f func(*jsonschema.Schema)) {
	if s == nil {
		return
	}
	f(s)
	each(s.Items, f)
	each(s.AdditionalProperties, f)
	for _, p := range s.Properties {
		each(p, f)
	}
}
