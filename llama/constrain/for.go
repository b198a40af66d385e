package constrain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/antigravity-go/antigravity/llama"
)

// A Go type becomes a JSON schema in three steps: reflected makes the schema of a type by reflection, narrow adds what types say about
// themselves (see Schemer), and, for JSONFor alone, bound limits numbers and times to what encoding/json decodes. The schema then becomes
// a constraint as any other. For example:
//
//	type        reflected                       bound adds
//	int8        integer from -128 to 127        nothing
//	int64       integer                         from -2⁶³ to below 2⁶³
//	float64     number                          no larger than a float32 may be
//	time.Time   string, the format date-time    the pattern goTime: 2024-05-01T12:00:00Z, no leap seconds
//	[]string    array of strings, never null    nothing

// JSONFor allows JSON values that encoding/json decodes into a T without an error: an object with the fields of a struct, in their
// order. It keeps Schema's schema, numbers fit their Go types (floating-point ones are no larger than a float32 may be), and a time is
// one that package time knows, without leap seconds.
//
// A type states its enumeration, range or pattern with a method JSONSchema: see Schemer. For a schema without a Go type, use JSONSchema.
//
// JSONFor fails if Schema fails, and for types that decode JSON in a way that nothing describes: types with a method UnmarshalJSON or
// UnmarshalText that are neither a Schemer nor of the standard library's time, log/slog, math/big or encoding/json; interfaces with
// methods; and fields with the option string.
func JSONFor[T any](t *llama.Tokenizer) (llama.Constraint, error) {
	s, err := reflected[T]()
	if err != nil {
		return nil, err
	}
	if err := decodable(reflect.TypeFor[T]()); err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	bound(s)
	if err := narrow(s, reflect.TypeFor[T](), kept); err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	schema, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	c, _, err := JSONSchemaWith(t, schema, SchemaOptions{Ordered: true})
	return c, err
}

// Schema returns the JSON Schema of a Go type, to be shown to the model in the system message. Tags of encoding/json are followed: a field
// that is marked omitempty or omitzero may be left out, the others are required. A `jsonschema:"…"` tag of a field describes the field to
// the model, and a type's method JSONSchema lists its values: see Schemer.
//
// A type that JSON does not know (a channel, a function), or that holds itself, is an error. The schema is made by
// github.com/google/jsonschema-go, and written as chat templates write JSON, with a blank after each comma and colon.
func Schema[T any]() ([]byte, error) {
	s, err := toShow[T]()
	if err != nil {
		return nil, err
	}
	return written(s)
}

// Function returns what llama.TemplateOptions.Tools and Tools want to know of a function: its name, what it does, and its arguments,
// which are the fields of the struct A, as Schema has them.
func Function[A any](name, does string) (json.RawMessage, error) {
	s, err := toShow[A]()
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

// ownForms are the types of the standard library that have a form of their own in JSON.
func ownForms() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[slog.Level]():      {Type: "string", Pattern: `^(DEBUG|INFO|WARN|ERROR)([+-]\d{1,3})?$`},
		reflect.TypeFor[big.Int]():         {Type: "integer"},
		reflect.TypeFor[big.Rat]():         {Type: "string", Pattern: `^-?\d{1,40}(/[1-9]\d{0,39})?$`},
		reflect.TypeFor[big.Float]():       {Type: "string", Pattern: `^-?\d{1,40}(\.\d{1,40})?$`},
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[json.RawMessage](): {},
	}
}

// decodable returns an error for a type that encoding/json may not decode from what its schema allows. A type does not hold itself,
// which reflected sees to.
func decodable(t reflect.Type) error {
	if ownForms()[t] != nil {
		return nil
	}
	if decodesItself(t) {
		if own, err := ownSchema(t); err != nil || own != nil {
			return err
		}
		return fmt.Errorf("%v decodes itself, and nothing says from what: a method JSONSchema would (see constrain.Schemer)", t)
	}
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return fmt.Errorf("%v is an interface with methods, which nothing can be decoded into", t)
		}
	case reflect.Map:
		if err := decodable(t.Key()); err != nil {
			return fmt.Errorf("keys of %v: %w", t, err)
		}
		return decodable(t.Elem())
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return decodable(t.Elem())
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if _, ok := jsonName(f); !ok {
				continue
			}
			if slices.Contains(strings.Split(options, ","), "string") {
				return fmt.Errorf("field %s of %v: the option string of encoding/json is not supported", f.Name, t)
			}
			if err := decodable(f.Type); err != nil {
				return fmt.Errorf("field %s of %v: %w", f.Name, t, err)
			}
		}
	}
	return nil
}

// toShow returns the schema of a type for the model to read.
func toShow[T any]() (*jsonschema.Schema, error) {
	s, err := reflected[T]()
	if err != nil {
		return nil, err
	}
	if err := narrow(s, reflect.TypeFor[T](), shown); err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	return s, nil
}

// reflected returns the schema of a type, in which a list is not null, without what types say about themselves.
func reflected[T any]() (*jsonschema.Schema, error) {
	if err := checkTags(reflect.TypeFor[T](), nil); err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: ownForms()})
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

// escaped reports whether the character after before, in a string, is escaped: whether before ends in an odd number of backslashes.
func escaped(before []byte) bool {
	return (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1
}

// goTime are the times of RFC 3339 that package time reads: no small letters, no leap seconds, and at most nine digits of a second, since
// it would cut off more.
const goTime = `^[0-9-]{10}T[0-9]{2}:[0-9]{2}:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-][0-9:]{5})$`

// bound limits the numbers of a schema to the range of an int64, a uint64 or a float32, unless the schema has a smaller range, and its
// times to Go's.
func bound(root *jsonschema.Schema) {
	const bounded = "bounded"
	least, most := jsonschema.Ptr[float64](-math.MaxFloat32), jsonschema.Ptr[float64](math.MaxFloat32)
	value := &jsonschema.Schema{Ref: "#/$defs/" + bounded}
	anything := &jsonschema.Schema{Types: []string{"null", "boolean", "string", "number", "array", "object"},
		Minimum: least, Maximum: most, Items: value, AdditionalProperties: value}
	each(root, func(s *jsonschema.Schema) {
		if s.Format == "date-time" {
			s.Pattern = goTime
		}
		if s.Type == "" && s.Types == nil && s.Not == nil { // of an interface
			s.Ref = value.Ref
			root.Defs = map[string]*jsonschema.Schema{bounded: anything}
		}
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
			s.Minimum, s.Maximum = least, most
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
