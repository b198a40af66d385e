package constrain

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schemer is implemented by types that restrict their JSON further than their Go type does: the values of an enumeration, the range of a
// number, the pattern of a string. JSONFor, Schema and Function use it wherever such a type occurs.
//
//	type Mood string
//
//	func (Mood) JSONSchema() []byte { return []byte(`{"enum": ["happy", "sad"]}`) }
//
// The method may have a value or a pointer as its receiver, and is called with the zero value.
type Schemer interface {
	// JSONSchema returns a JSON Schema, an object, that refers to nothing outside of itself. It is added to the schema of the Go type, so a
	// Mood is a string without saying so, and cannot allow values that the Go type does not hold. For a type with a method UnmarshalJSON or
	// UnmarshalText it is the only description of the values that the type decodes, and must be right.
	JSONSchema() []byte
}

// ownSchema returns the schema that a type's own method returns, or nil. A method that a struct only has from an embedded struct does not
// count: that schema describes the inner struct.
func ownSchema(t reflect.Type) ([]byte, error) {
	s, ok := reflect.New(t).Interface().(Schemer)
	if !ok || t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil, nil
	}
	own := s.JSONSchema()
	if t.Kind() == reflect.Struct && !decodesItself(t) {
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.Anonymous || f.Type.Kind() == reflect.Pointer {
				continue
			}
			if inner, ok := reflect.New(f.Type).Interface().(Schemer); ok && bytes.Equal(inner.JSONSchema(), own) {
				return nil, nil
			}
		}
	}
	var kind map[string]json.RawMessage
	if err := json.Unmarshal(own, &kind); err != nil {
		return nil, fmt.Errorf("JSONSchema of %v returns no JSON object: %w", t, err)
	}
	return own, nil
}

// decodesItself reports whether a type has a way of its own to read JSON.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// narrow adds to s, which reflection made of t, the schemas that t and the types in it give themselves. apply adds one.
func narrow(s *jsonschema.Schema, t reflect.Type, apply func(s, own *jsonschema.Schema, pointer, whole bool)) error {
	pointer := t.Kind() == reflect.Pointer
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s == nil || ownForms()[t] != nil {
		return nil
	}
	if !decodesItself(t) {
		if err := narrowInside(s, t, apply); err != nil {
			return err
		}
	}
	data, err := ownSchema(t)
	if err != nil || data == nil {
		return err
	}
	var own jsonschema.Schema
	if err := json.Unmarshal(data, &own); err != nil {
		return fmt.Errorf("JSONSchema of %v: %w", t, err)
	}
	apply(s, &own, pointer, decodesItself(t))
	return nil
}

// narrowInside is narrow for the types in t.
func narrowInside(s *jsonschema.Schema, t reflect.Type, apply func(s, own *jsonschema.Schema, pointer, whole bool)) error {
	switch t.Kind() {
	case reflect.Map:
		names, err := ownSchema(t.Key())
		if err != nil {
			return err
		}
		if names != nil {
			s.PropertyNames = &jsonschema.Schema{}
			if err := json.Unmarshal(names, s.PropertyNames); err != nil {
				return fmt.Errorf("JSONSchema of %v: %w", t.Key(), err)
			}
		}
		return narrow(s.AdditionalProperties, t.Elem(), apply)
	case reflect.Slice, reflect.Array:
		return narrow(s.Items, t.Elem(), apply)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			name, ok := jsonName(f)
			if !ok {
				continue
			}
			if err := narrow(s.Properties[name], f.Type, apply); err != nil {
				return fmt.Errorf("field %s of %v: %w", f.Name, t, err)
			}
		}
	}
	return nil
}

// jsonName returns what a field is called in JSON; ok is false for one that is not there.
func jsonName(f reflect.StructField) (name string, ok bool) {
	tag := f.Tag.Get("json")
	if tag == "-" || !f.IsExported() || f.Anonymous {
		return "", false
	}
	if name, _, _ = strings.Cut(tag, ","); name == "" {
		name = f.Name
	}
	return name, true
}

// shown puts the keywords of a type's own schema into s, for the model to read.
func shown(s, own *jsonschema.Schema, pointer, whole bool) {
	if whole || pointer {
		kept(s, own, pointer, whole)
		return
	}
	data, err := json.Marshal(own)
	if err == nil {
		_ = json.Unmarshal(data, s) // it was read before
	}
}

// kept adds a type's own schema to s. If whole is true, the own schema replaces s.
func kept(s, own *jsonschema.Schema, pointer, whole bool) {
	if pointer {
		own = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, own}}
	}
	if whole {
		own.Description = s.Description
		*s = *own
		return
	}
	s.AllOf = append(s.AllOf, own)
}

// option is how a jsonschema tag begins that is no description.
var option = regexp.MustCompile(`^[^ \t\n]*=`)

// checkTags refuses a tag jsonschema:"…" of a field in t that cannot be a description. seen are the types around t.
func checkTags(t reflect.Type, seen []reflect.Type) error {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return checkTags(t.Elem(), seen)
	case reflect.Struct:
	default:
		return nil
	}
	if slices.Contains(seen, t) || ownForms()[t] != nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(t) {
		if _, ok := jsonName(f); !ok {
			continue
		}
		tag, ok := f.Tag.Lookup("jsonschema")
		if word := option.FindString(tag); ok && (tag == "" || word != "") {
			return fmt.Errorf("field %s of %v: the tag jsonschema:%q is no description of the field: it must not be empty or begin with a word and \"=\"; "+
				"enumerations, ranges and patterns are said by a method JSONSchema of the field's type: see constrain.Schemer", f.Name, t, tag)
		}
		if err := checkTags(f.Type, append(seen, t)); err != nil {
			return fmt.Errorf("field %s of %v: %w", f.Name, t, err)
		}
	}
	return nil
}
