package infer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode"
)

// decodeStrictly reads a JSON object over what v holds. A member that v has no field for is an error, since it would be passed over silently.
func decodeStrictly(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("read a line: %w", userError(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("read a line: there is something after the object: a line must be one JSON object")
	}
	return nil
}

// userError returns an error of package json without the types of this program, which whoever wrote the line does not know.
func userError(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s must be %s, and is %s", fieldPath(wrong.Field), kindOf(wrong.Type), valueOf(wrong.Value))
	case errors.As(err, &syntax):
		return fmt.Errorf("it is no JSON: %s at byte %d", syntax.Error(), syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it is no JSON: it ends within the object")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return fmt.Errorf("no field is called %s", name)
	}
	return err
}

// fieldPath returns what a user calls a field, given the path that package json has for it: the names in capitals are those of structs
// in one another, which a line does not have.
func fieldPath(path string) string {
	var names []string
	for name := range strings.SplitSeq(path, ".") {
		if name != "" && !unicode.IsUpper([]rune(name)[0]) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "the line"
	}
	return fmt.Sprintf("%q", strings.Join(names, "."))
}

// kindOf returns what JSON calls the values of a type.
func kindOf(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number"
	case k >= reflect.Uint && k <= reflect.Uint64:
		return "a whole number that is not negative, within the field's range"
	case k >= reflect.Int && k <= reflect.Int64:
		return "a whole number within the field's range"
	case k == reflect.Slice || k == reflect.Array:
		return "a list"
	}
	return "an object"
}

// valueOf returns what a user calls a value, given what package json calls it: a kind, or "number" and the number.
func valueOf(text string) string {
	if number, ok := strings.CutPrefix(text, "number "); ok {
		return number
	}
	switch text {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	}
	return "a " + text
}
