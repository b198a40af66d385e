package infer

import (
	"encoding/json"
	"reflect"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// element is what the transforms of this package read and write. Its coder is JSON, for messages and schemas are JSON in every interface
// that programs know, and a Request from a file is the same text as one between two workers.
type element interface{ element() }

func (Failure) element() {}

func init() { beam.RegisterCoder(reflect.TypeFor[element](), encode, decode) }

// encode writes an element.
func encode(_ reflect.Type, e element) ([]byte, error) { return json.Marshal(e) }

// decode reads an element of a type.
func decode(t reflect.Type, data []byte) (element, error) {
	v := reflect.New(t)
	err := json.Unmarshal(data, v.Interface())
	return v.Elem().Interface().(element), err
}

// Failure is an element without a result.
type Failure struct {
	ID      string          `json:"id"`      // the element's
	Error   string          `json:"error"`   // the step that failed, and what would be right
	Element json.RawMessage `json:"element"` // the element, to be mended and tried again
}

// failureOf makes an element a Failure.
func failureOf(id string, e any, err error) Failure {
	data, _ := json.Marshal(e) // it was read from JSON, or else fails as nothing at all
	return Failure{ID: id, Error: err.Error(), Element: data}
}
