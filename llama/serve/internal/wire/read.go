package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects of a request may lie in each other.
const maxDepth = 100

// Read reads the body of a request, a JSON object of at most limit bytes, into a struct. Each member is a field's, by the name in its tag
// and with its letters' case, or has a rule; anything else is an error that names it, as is a member that comes twice. null stands for a
// member that is not there.
func Read(w http.ResponseWriter, r *http.Request, limit int64, rules Rules, into any) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return &Error{Status: http.StatusRequestEntityTooLarge, Code: "request_too_large",
				Message: fmt.Sprintf("the request is larger than %d bytes", large.Limit)}
		}
		return &Error{Status: http.StatusBadRequest, Code: "invalid_body", Message: "the request's body ended early", Err: err}
	}
	return parse(body, rules, into)
}

// parse is Read for a body that is there.
func parse(body []byte, rules Rules, into any) error {
	switch trimmed := bytes.TrimSpace(body); {
	case len(trimmed) == 0:
		return malformed("the request has no body: it must be a JSON object")
	case !utf8.Valid(body):
		return malformed("the request's body is not valid UTF-8")
	case trimmed[0] != '{':
		return malformed("the request's body must be a JSON object")
	case depth(body) > maxDepth:
		return malformed("the request's JSON is nested deeper than %d", maxDepth)
	}
	fields := fieldsOf(reflect.ValueOf(into).Elem())
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return syntax(err, body)
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return syntax(err, body)
		}
		name := key.(string) // the decoder accepts nothing else here
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return syntax(err, body)
		}
		if seen[name] {
			return Bad(name, "%s is given twice", quoted(name))
		}
		seen[name] = true
		if string(value) == "null" {
			continue
		}
		if rule, ok := rules[name]; ok {
			if err := rule.judge(name, value); err != nil {
				return err
			}
			continue
		}
		field, ok := fields[name]
		if !ok {
			return &Error{Status: http.StatusBadRequest, Code: "unknown_parameter", Param: clipped(name),
				Message: fmt.Sprintf("there is no parameter %s", quoted(name))}
		}
		if err := decode(name, value, field.Addr().Interface()); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return syntax(err, body)
	}
	if _, err := d.Token(); err != io.EOF {
		return malformed("the request's body goes on after its JSON object")
	}
	return nil
}

// decode reads a parameter's value. Members of objects in it that nothing reads are errors too. A type that reads itself returns an *Error
// whose Param is the place in it, "[2].role", and whose Message goes on after a colon.
func decode(name string, value json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(value))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		inner := *e
		if e.Param != "" && e.Param[0] != '[' {
			name += "."
		}
		inner.Param = name + e.Param
		inner.Message = inner.Param + ": " + e.Message
		return &inner
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field != "" {
			name += "." + e.Field
		}
		return &Error{Status: http.StatusBadRequest, Code: "invalid_type", Param: clipped(name),
			Message: fmt.Sprintf("%s must be %s, not %s", clipped(name), kind(e.Type), article(e.Value))}
	}
	if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return &Error{Status: http.StatusBadRequest, Code: "unknown_parameter", Param: name,
			Message: fmt.Sprintf("%s has no member %s", name, clipped(unknown))}
	}
	return Bad(name, "%s: %s", name, strings.TrimPrefix(err.Error(), "json: "))
}

// kind names in words what JSON a Go type is read from.
func kind(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		return "a whole number, not below 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	}
	return "an object"
}

// article puts an article before what encoding/json calls a value: "string", "number 1.5", "object".
func article(value string) string {
	if strings.HasPrefix(value, "a") || strings.HasPrefix(value, "o") {
		return "an " + clipped(value)
	}
	return "a " + clipped(value)
}

// fieldsOf returns the fields of a struct by their names in JSON, those of embedded structs included.
func fieldsOf(v reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for _, f := range reflect.VisibleFields(v.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = v.FieldByIndex(f.Index)
		}
	}
	return fields
}

// Names returns the names of the parameters that a struct and rules know, in no order.
func Names(into any, rules Rules) (names []string) {
	for name := range fieldsOf(reflect.ValueOf(into).Elem()) {
		names = append(names, name)
	}
	for name := range rules {
		names = append(names, name)
	}
	return names
}

// depth returns how deep arrays and objects lie in each other in a JSON text; for other texts any number.
func depth(text []byte) (deepest int) {
	now, inString := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

func malformed(format string, a ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_json", Message: fmt.Sprintf(format, a...)}
}

// syntax says where a body is no JSON.
func syntax(err error, body []byte) *Error {
	at := int64(len(body))
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = min(e.Offset, at)
	} else if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("it ends early")
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

func quoted(name string) string { return fmt.Sprintf("%q", clipped(name)) }
