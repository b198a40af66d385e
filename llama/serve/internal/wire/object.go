package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Object reads an object that lies within a request into a struct, as Read reads the whole. at is its place, "messages[2]": names in errors
// begin with it. If at is "", they begin within the object, for a type that reads itself: see Error.Within.
func Object(at string, value json.RawMessage, rules Rules, into any) error {
	return members(at, bytes.TrimSpace(value), reflect.ValueOf(into).Elem(), rules, nil)
}

// Leave is called for a part of a history that nothing reads: its place in the request, and why it is left out.
type Leave func(at, why string)

// Past reads an object of a conversation that was had into a struct, as Object does. But a history is data, which other programs and other
// servers wrote: a member that the struct has no field for, or that the rules refuse, is no error. It is handed to leave. Members of the
// struct's own fields are read strictly, unless these fields read themselves.
func Past(at string, value json.RawMessage, rules Rules, into any, leave Leave) error {
	return members(at, bytes.TrimSpace(value), reflect.ValueOf(into).Elem(), rules, leave)
}

// List returns the elements of an array that lies within a request, at a place.
func List(at string, value json.RawMessage) (list []json.RawMessage, err error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &list) != nil {
		return nil, mistyped(at, value, reflect.TypeFor[[]json.RawMessage]())
	}
	if len(list) > maxElements {
		return nil, tooMany(at)
	}
	return list, nil
}

// String returns a string that lies within a request, at a place.
func String(at string, value json.RawMessage) (text string, err error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '"' || json.Unmarshal(value, &text) != nil {
		return "", mistyped(at, value, reflect.TypeFor[string]())
	}
	return text, nil
}
