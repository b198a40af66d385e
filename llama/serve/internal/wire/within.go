package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// Object reads an object that lies within a request into a struct, as Read reads the whole. at is its place, "messages[2]", with which the
// names in errors begin.
func Object(at string, value json.RawMessage, rules Rules, into any) error {
	if trimmed := bytes.TrimSpace(value); len(trimmed) == 0 || trimmed[0] != '{' {
		return wrongType(at, "an object", value)
	}
	return members(at+".", value, rules, into)
}

// List returns the elements of an array that lies within a request, at a place.
func List(at string, value json.RawMessage) (elements []json.RawMessage, err error) {
	if json.Unmarshal(value, &elements) != nil || elements == nil {
		return nil, wrongType(at, "an array", value)
	}
	return elements, nil
}

// String returns a string that lies within a request, at a place.
func String(at string, value json.RawMessage) (text string, err error) {
	if json.Unmarshal(value, &text) != nil {
		return "", wrongType(at, "a string", value)
	}
	return text, nil
}

// wrongType says that something else than a value was to stand at a place.
func wrongType(at, want string, value json.RawMessage) *Error {
	trimmed := bytes.TrimSpace(value)
	have := "a number"
	if len(trimmed) == 0 {
		have = "nothing"
	} else if word, ok := kinds[trimmed[0]]; ok {
		have = word
	}
	return &Error{Status: http.StatusBadRequest, Code: "invalid_type", Param: at, Message: fmt.Sprintf("%s must be %s, not %s", at, want, have)}
}

// kinds names in words what JSON values are that begin with a byte; all others are numbers.
var kinds = map[byte]string{'"': "a string", '{': "an object", '[': "an array", 't': "true", 'f': "false", 'n': "null"}
