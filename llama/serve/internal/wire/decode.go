package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decoding walks over a JSON value and a Go value at once, and keeps the place in the request for errors. It is stricter than
// encoding/json: unknown members, other capitals and null in a list are errors. For example, a struct has the fields model, which is
// required, n, a whole number, and messages, a list of structs with the field role:
//
//	{"model": "m", "n": 2.0}                        n is 2
//	{"model": "m", "n": null}                       as without n
//	{"n": 2}                                        an error at model, which is missing
//	{"model": "m", "Messages": []}                  there is no parameter "Messages"
//	{"model": "m", "messages": [{"role": 7}]}       messages[0].role must be a string, not a number

// Reader is a type that reads itself from a valid JSON value. place is the value's place in the request, for errors.
type Reader interface {
	ReadJSON(place string, value json.RawMessage) error
}

// Decode reads a valid JSON value into the target of a pointer, as strictly as Read reads a request. place is the value's place in the
// request.
func Decode(place string, value json.RawMessage, into any) error {
	return decode(place, bytes.TrimSpace(value), reflect.ValueOf(into).Elem())
}

// decode reads a JSON value into a Go value, strictly. place is its place in the request, such as "messages[2].role".
//
//   - A member of an object is a struct's field by the name in the field's tag, letters' case included, or the struct has a rule for it
//     (see Ruled). Anything else is an error. A field with the tag `wire:"required"` has to be there.
//   - null stands for a missing member. In lists, and among the values of a map, it is an error.
//   - A number without a fraction is a whole one, however it is written.
//   - A Reader reads itself.
//   - A type with a method UnmarshalJSON reads itself, too. It returns an *Error with the place in it as Param, "[2].role" (see
//     Error.Within); other errors are taken to be the value's fault.
//
// Errors name the place.
func decode(place string, value json.RawMessage, into reflect.Value) error {
	switch r := into.Addr().Interface().(type) {
	case Reader:
		return r.ReadJSON(place, value)
	case json.Unmarshaler:
		return readerError(place, r.UnmarshalJSON(value))
	}
	switch into.Kind() {
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		return decode(place, value, into.Elem())
	case reflect.Struct:
		var rules Rules
		if r, ok := into.Interface().(Ruled); ok {
			rules = r.Rules()
		}
		return members(place, value, into, rules, nil)
	case reflect.Slice:
		return elements(place, value, into)
	case reflect.Map:
		return entries(place, value, into)
	case reflect.Int, reflect.Int32, reflect.Int64:
		if n, err := strconv.ParseFloat(string(value), 64); err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			value = strconv.AppendInt(nil, int64(n), 10)
		}
	}
	if err := json.Unmarshal(value, into.Addr().Interface()); err != nil {
		return mistyped(place, value, into.Type())
	}
	return nil
}

// readerError returns the error of a value with a type that reads itself.
func readerError(place string, err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return Invalid(place, "%s: %s", place, clipped(strings.TrimPrefix(err.Error(), "json: ")))
	}
	return e.Within(place)
}

// members reads an object into a struct. A member that nothing reads, or that a rule refuses, is an error or, unless leave is nil, is handed to
// leave.
func members(place string, value json.RawMessage, into reflect.Value, rules Rules, leave Leave) error {
	fields := fieldsOf(into.Type())
	given := make([]bool, len(fields))
	err := each(place, value, into.Type(), func(name string, value json.RawMessage) error {
		within := within(place, name)
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		rule, ruled := rules[name]
		switch {
		case string(value) == "null" && (i >= 0 || ruled || leave != nil):
			return nil
		case i < 0 && !ruled && leave != nil:
			leave(clipped(within), "nothing here reads it")
			return nil
		case i < 0 && !ruled:
			return &Error{Status: http.StatusBadRequest, Code: "unknown_parameter", Param: clipped(within),
				Message: fmt.Sprintf("there is no parameter %q", clipped(within))}
		case ruled && leave != nil:
			if !rule.passes(value) {
				leave(within, rule.why)
			}
			return nil
		case ruled:
			return rule.check(within, value)
		}
		given[i] = true
		return decode(within, value, into.FieldByIndex(fields[i].index))
	})
	if err != nil {
		return err
	}
	for i, f := range fields {
		if f.required && !given[i] {
			return Missing(within(place, f.name), kindOfType(into.FieldByIndex(f.index).Type()))
		}
	}
	return nil
}

// maxElements is how many elements an array may have, but for one of whole numbers. Chat templates take as many messages. Without a bound a
// small body could keep a processor busy for seconds.
const maxElements = 16384

func tooMany(place string) error {
	return Invalid(place, "%s has more than %d elements", place, maxElements)
}

// elements reads an array into a slice.
func elements(place string, value json.RawMessage, into reflect.Value) error {
	if value[0] != '[' {
		return mistyped(place, value, into.Type())
	}
	// Long lists of tokens come, and encoding/json reads them quickly. It takes null for 0, though, and names no place.
	if into.Type().Elem().Kind() == reflect.Int && !bytes.Contains(value, []byte("null")) && json.Unmarshal(value, into.Addr().Interface()) == nil {
		return nil
	}
	into.Set(reflect.MakeSlice(into.Type(), 0, 0))
	return eachElement(value, func(one json.RawMessage) error {
		within := fmt.Sprintf("%s[%d]", place, into.Len())
		if string(one) == "null" {
			return mistyped(within, one, into.Type().Elem())
		}
		if into.Len() == maxElements && into.Type().Elem().Kind() != reflect.Int {
			return tooMany(place)
		}
		into.Set(reflect.Append(into, reflect.Zero(into.Type().Elem())))
		return decode(within, one, into.Index(into.Len()-1))
	})
}

// FirstByte returns the first byte of the first element of a valid JSON array, or 0 if the array is empty.
func FirstByte(array json.RawMessage) byte {
	rest := bytes.TrimLeft(array[1:], " \t\r\n")
	if rest[0] == ']' {
		return 0
	}
	return rest[0]
}

// entries reads an object into a map with strings for keys.
func entries(place string, value json.RawMessage, into reflect.Value) error {
	into.Set(reflect.MakeMap(into.Type()))
	return each(place, value, into.Type(), func(name string, value json.RawMessage) error {
		within := within(place, name)
		if string(value) == "null" {
			return mistyped(within, value, into.Type().Elem())
		}
		one := reflect.New(into.Type().Elem()).Elem()
		if err := decode(within, value, one); err != nil {
			return err
		}
		into.SetMapIndex(reflect.ValueOf(name), one)
		return nil
	})
}

// each calls f for the members of a value, an object, in their order, until it returns an error; to is the type that the object is read into.
func each(place string, value json.RawMessage, to reflect.Type, f func(name string, value json.RawMessage) error) error {
	if len(value) == 0 || value[0] != '{' {
		return mistyped(place, value, to)
	}
	return eachMember(value, f)
}

// within returns the place of an object's member.
func within(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// mistyped returns the error for a value that is not what a Go type is read from.
func mistyped(place string, value json.RawMessage, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	e := &Error{Status: http.StatusBadRequest, Code: "invalid_type", Param: clipped(place)}
	subject := e.Param
	if subject == "" {
		subject = "it"
	}
	if kindOfValue(value) == "a number" && strings.Contains(kindOfType(t), "number") {
		e.Message = fmt.Sprintf("%s is %s; it must be %s, of %d bits", subject, clipped(string(value)), kindOfType(t), t.Bits())
	} else {
		e.Message = fmt.Sprintf("%s must be %s, not %s", subject, kindOfType(t), kindOfValue(value))
	}
	return e
}

// kindOfType names in words what JSON a Go type is read from.
func kindOfType(t reflect.Type) string {
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
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// kindOfValue names in words what a JSON value is.
func kindOfValue(value json.RawMessage) string {
	if len(value) == 0 {
		return "nothing"
	}
	if word, ok := kinds[value[0]]; ok {
		return word
	}
	return "a number"
}

// kinds are the words for JSON values by their first bytes; all others are numbers.
var kinds = map[byte]string{'"': "a string", '{': "an object", '[': "an array", 't': "true", 'f': "false", 'n': "null"}

// field is a struct's field that is read from JSON.
type field struct {
	name     string // in JSON
	index    []int  // reflect.Value.FieldByIndex's
	required bool
}

// fieldsOf returns the fields of a struct that have a name in JSON, those of embedded structs included.
func fieldsOf(t reflect.Type) []field {
	fields := make([]field, 0, t.NumField())
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields = append(fields, field{name, f.Index, f.Tag.Get("wire") == "required"})
		}
	}
	return fields
}

// Names returns the names of the parameters that a struct and rules know, in no order.
func Names(into any, rules Rules) (names []string) {
	for _, f := range fieldsOf(reflect.TypeOf(into).Elem()) {
		names = append(names, f.name)
	}
	return slices.AppendSeq(names, maps.Keys(rules))
}
