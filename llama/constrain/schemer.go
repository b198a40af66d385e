package constrain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
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
	// UnmarshalText it replaces the schema of the Go type, and must be right.
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

// option is how a jsonschema tag begins that is no description.
var option = regexp.MustCompile(`^[^ \t\n]*=`)
