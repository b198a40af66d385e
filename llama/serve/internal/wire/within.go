package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
)

// Object reads an object that lies within a request into a struct, as Read reads the whole. at is its place, "messages[2]", with which the
// names in errors begin; where it is "" they are told from the object on, for a type that reads itself: see Error.Within.
func Object(at string, value json.RawMessage, rules Rules, into any) error {
	return members(at, bytes.TrimSpace(value), reflect.ValueOf(into).Elem(), rules)
}

// List returns the elements of an array that lies within a request, at a place.
func List(at string, value json.RawMessage) (list []json.RawMessage, err error) {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '[' || json.Unmarshal(value, &list) != nil {
		return nil, mistyped(at, value, reflect.TypeFor[[]json.RawMessage]())
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

// Within returns the error of something at a place: its Param begins with the place, and its Message with its Param. Within("input[2]") of an
// error at "role" is one at "input[2].role".
func (e *Error) Within(place string) *Error {
	outer := *e
	outer.Param = place + e.Param
	if e.Param != "" && e.Param[0] != '[' {
		outer.Param = place + "." + e.Param
	}
	rest, told := strings.CutPrefix(e.Message, e.Param)
	if told = told && e.Param != "" && (strings.HasPrefix(rest, " ") || strings.HasPrefix(rest, ":")); !told {
		rest = ": " + e.Message
	}
	outer.Message = outer.Param + rest
	return &outer
}
