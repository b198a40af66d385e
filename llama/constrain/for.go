package constrain

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/antigravity-go/antigravity/internal/spacedjson"
	"github.com/antigravity-go/antigravity/llama"
)

// JSONFor allows JSON values that encoding/json decodes into a T without an error: an object with the fields of a struct, in their
// order. Its schema is Schema's, but integers of 64 bits may have all of these.
//
// A type states its enumeration, range or pattern with a method JSONSchema: see Schemer. For a schema without a Go type, use JSONSchema.
func JSONFor[T any](t *llama.Tokenizer) (llama.Constraint, error) {
	return JSONForWith[T](t, SchemaOptions{})
}

// JSONForWith is JSONFor with options: with Compact, for example, the model writes JSON with the fewest bytes. The fields come in their
// order, whatever SchemaOptions.Ordered is, and nothing is left out.
func JSONForWith[T any](t *llama.Tokenizer, o SchemaOptions) (llama.Constraint, error) {
	s, err := goSchema(reflect.TypeFor[T](), true)
	if err != nil {
		return nil, err
	}
	schema, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	if o.Spaces == UsualSpaces {
		o.Spaces = Uniform
	}
	c, _, err := JSONSchemaWith(t, schema, SchemaOptions{Ordered: true, Spaces: o.Spaces})
	return c, err
}

// Schema returns the JSON Schema of the values that encoding/json decodes into a Go type, to be shown to the model in the system message. Tags of
// encoding/json are followed: a field that is marked omitempty or omitzero may be left out, the others are required, and there are no other
// fields. A `jsonschema:"…"` tag of a field describes the field to the model, and a type's method JSONSchema lists its values: see Schemer.
//
//   - A type that decodes itself from a text is a string: of an address, of a UUID, or of the values of an enumeration of whole numbers. Its
//     texts are found by trying small numbers. Of other types with UnmarshalText it is any string, which the type may refuse, unless the type
//     is a Schemer.
//   - []byte is a string in base64. A map may have whole numbers as its keys. A field with the option string is a string.
//   - A type that holds itself refers to its schema in $defs.
//   - A pointer may be null. A slice and a map are never null.
//
// These are errors, which name the field: a type with a method UnmarshalJSON that is neither a Schemer nor of the standard library's time,
// log/slog, math/big or encoding/json; an interface with methods; and a type that JSON does not know, such as a channel or a function. The
// schema is written as chat templates write JSON, with a blank after each comma and colon.
func Schema[T any]() ([]byte, error) {
	s, err := goSchema(reflect.TypeFor[T](), false)
	if err != nil {
		return nil, err
	}
	return written(s)
}

// Function returns what llama.TemplateOptions.Tools and Tools want to know of a function: its name, what it does, and its arguments,
// which are the fields of the struct A, as Schema has them.
func Function[A any](name, does string) (json.RawMessage, error) {
	s, err := goSchema(reflect.TypeFor[A](), false)
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", name, err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("function %s: its arguments are the fields of a struct, and %v is none", name, reflect.TypeFor[A]())
	}
	return written(struct {
		Type     string `json:"type"`
		Function any    `json:"function"`
	}{"function", struct {
		Name        string             `json:"name"`
		Description string             `json:"description"`
		Parameters  *jsonschema.Schema `json:"parameters"`
	}{name, does, s}})
}

// written returns a value as chat templates write JSON.
func written(v any) ([]byte, error) {
	text, err := spacedjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	return text, nil
}
