package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Parse reads a request's body, a JSON object, into a struct, strictly: see decode. Each member at the top level must have a field or one
// of the rules. A name that comes twice in one object, anywhere in the body, is an error. The result may share the body's memory.
func Parse(body []byte, rules Rules, into any) error {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return malformed("the request has no body: it must be a JSON object")
	case !utf8.Valid(body):
		return malformed("the request's body is not valid UTF-8")
	case trimmed[0] != '{':
		return malformed("the request's body must be a JSON object")
	}
	place, err := duplicateName(body)
	switch {
	case err == errDepth:
		return malformed("the request's JSON is nested deeper than %d", maxDepth)
	case err != nil:
		return syntax(body, err)
	case place != "":
		return Invalid(clipped(place), "%s is given twice", clipped(place))
	}
	return members("", trimmed, reflect.ValueOf(into).Elem(), rules, nil)
}

func malformed(format string, a ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_json", Message: fmt.Sprintf(format, a...)}
}

// syntax returns the error for a body that is no JSON, in the words of encoding/json, which more people know than ours, err.
func syntax(body []byte, err error) *Error {
	if known := json.Unmarshal(body, new(json.RawMessage)); known != nil {
		err = known
	}
	at := int64(len(body))
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(e.Offset, at)
	}
	return malformed("the request's body is not JSON, at byte %d: %s", at, clipped(strings.TrimPrefix(err.Error(), "json: ")))
}

// clipped returns a text of the client's as it may stand in an error: its beginning.
func clipped(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
