// Package modeljson reads the JSON files of model folders. They are written by Python. Its json differs from encoding/json in ways that
// matter:
//
//   - keys match exactly: "Num_Hidden_Layers" is another key than "num_hidden_layers", and is not read;
//   - NaN, Infinity and -Infinity are numbers. Here they are texts, so that a key that nothing reads may have them, and one that wants a
//     number refuses them;
//   - in fields with the tag `whole:"4.0"` the number 4.0 is as good as 4. Keys that only some families of models read have it: a model
//     that does not read them must not be refused because of them;
//   - text that is not in UTF-8 is an error, and its bytes are not replaced by U+FFFD.
package modeljson

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Unmarshal is json.Unmarshal for such a file. Types with an UnmarshalJSON of their own get their part with the numbers changed, and match
// keys as they do.
func Unmarshal(data []byte, to any) error {
	if !utf8.Valid(data) {
		return errors.New("it is not in UTF-8")
	}
	data = numbers(data)
	if v := reflect.ValueOf(to); v.Kind() == reflect.Pointer {
		exact, err := exactly(data, v.Type().Elem())
		if err != nil {
			return err
		}
		data = exact
	}
	return json.Unmarshal(data, to)
}

// notNumbers are Python's words for what JSON has no numbers for.
var notNumbers = []string{"NaN", "Infinity", "-Infinity"}

// numbers returns data with Python's words in quotes. Text that is no JSON stays no JSON.
func numbers(data []byte) []byte {
	out := make([]byte, 0, len(data)+16)
next:
	for {
		n := bytes.IndexAny(data, `"NI-`) // other bytes are copied at once, such as megabytes of white space: they begin neither a string nor one of the words
		if n < 0 {
			return append(out, data...)
		}
		out, data = append(out, data[:n]...), data[n:]
		if data[0] == '"' {
			n := lenString(data)
			out, data = append(out, data[:n]...), data[n:]
			continue
		}
		for _, word := range notNumbers {
			if bytes.HasPrefix(data, []byte(word)) {
				out = append(append(append(out, '"'), word...), '"')
				data = data[len(word):]
				continue next
			}
		}
		out, data = append(out, data[0]), data[1:]
	}
}

// lenString returns the length of the string that data begins with, quotes included.
func lenString(data []byte) int {
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(data)
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// exactly returns data that is to become a value of type t. In objects for structs it leaves out the members with keys that are not exactly
// those of fields.
func exactly(data []byte, t reflect.Type) ([]byte, error) {
	for t.Kind() == reflect.Pointer {
		if t.Implements(unmarshaler) {
			return data, nil
		}
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return data, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return exactObject(data, t)
	case reflect.Slice:
		if !hasStruct(t) {
			return data, nil
		}
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || list == nil {
			return data, nil // the caller's Unmarshal has the error
		}
		for i := range list {
			var err error
			if list[i], err = exactly(list[i], t.Elem()); err != nil {
				return nil, err
			}
		}
		return json.Marshal(list)
	}
	return data, nil
}

// hasStruct reports whether a type's elements are structs, behind pointers and slices.
func hasStruct(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct
}

// exactObject is exactly for a struct.
func exactObject(data []byte, t reflect.Type) ([]byte, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil || members == nil {
		return data, nil // the caller's Unmarshal has the error
	}
	kept := map[string]json.RawMessage{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		value, there := members[name]
		if !there {
			continue
		}
		if _, ok := field.Tag.Lookup("whole"); ok {
			value = whole(value)
		}
		var err error
		if kept[name], err = exactly(value, field.Type); err != nil {
			return nil, err
		}
	}
	return json.Marshal(kept)
}

// whole returns a number without a fraction of zeros, and anything else as it is.
func whole(number []byte) []byte {
	digits, fraction, _ := bytes.Cut(number, []byte("."))
	if len(fraction) > 0 && len(bytes.Trim(fraction, "0")) == 0 {
		return digits
	}
	return number
}
