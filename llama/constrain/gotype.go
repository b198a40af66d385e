package constrain

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Go type becomes a JSON schema by reflection: the schema has only values that encoding/json decodes into the type. For example:
//
//	type                    schema
//	int8                    integer from -128 to 127
//	float32                 number, no larger than a float32 may be
//	time.Time               string of the format date-time that package time reads, too: no leap seconds
//	[]byte                  string in base64
//	map[uint8]bool          object with names that are numbers from 0 to 255
//	[]string                array of strings, never null
//	*string                 string or null
//	int, option string      string that is a whole number
//	netip.Addr              string: an address
//	a type with the method  string: of an enumeration, the texts of its values; otherwise any
//	  UnmarshalText
//	type node struct {      object; the schema of node is in $defs
//	  Next *node
//	}

// typeReader makes schemas of types.
type typeReader struct {
	wide    bool                          // 64-bit integers have their whole range; otherwise that of integers without bounds
	within  []reflect.Type                // the types around the one that is read
	names   map[reflect.Type]string       // of the types that hold themselves
	defs    map[string]*jsonschema.Schema // of these types
	schemas int                           // how many schemas were made
}

// maxTypeSchemas bounds the schemas of a type: one that is in many fields counts each time.
const maxTypeSchemas = 20_000

// goSchema returns the schema of a type.
func goSchema(t reflect.Type, wide bool) (*jsonschema.Schema, error) {
	r := typeReader{wide: wide, names: map[reflect.Type]string{}, defs: map[string]*jsonschema.Schema{}}
	s, err := r.read(t)
	if err != nil {
		return nil, fmt.Errorf("schema of a Go type: %w", err)
	}
	if name, ok := strings.CutPrefix(s.Ref, definitions); ok && s.Ref != "" { // the top is no reference: it says that it is an object
		top := *r.defs[name]
		s = &top
	}
	if len(r.defs) > 0 {
		s.Defs = r.defs
	}
	return s, nil
}

// definitions is the place of the schemas of types that hold themselves.
const definitions = "#/$defs/"

// read returns the schema of a type.
func (r *typeReader) read(t reflect.Type) (*jsonschema.Schema, error) {
	if r.schemas++; r.schemas > maxTypeSchemas {
		return nil, fmt.Errorf("%v has more than %d types in it", t, maxTypeSchemas)
	}
	if t.Kind() == reflect.Pointer {
		if slices.Contains(r.within, t) {
			return nil, fmt.Errorf("%v is a pointer to itself", t)
		}
		r.within = append(r.within, t)
		s, err := r.read(t.Elem())
		r.within = r.within[:len(r.within)-1]
		if err != nil {
			return nil, err
		}
		return orNull(s), nil
	}
	if slices.Contains(r.within, t) {
		return &jsonschema.Schema{Ref: definitions + r.name(t)}, nil
	}
	r.within = append(r.within, t)
	s, err := r.readNew(t)
	r.within = r.within[:len(r.within)-1]
	if err != nil {
		return nil, err
	}
	if name, ok := r.names[t]; ok {
		r.defs[name] = s
		return &jsonschema.Schema{Ref: definitions + name}, nil
	}
	return s, nil
}

// name returns what a type that holds itself is called.
func (r *typeReader) name(t reflect.Type) string {
	name, ok := r.names[t]
	if !ok {
		base := strings.Map(func(c rune) rune {
			if c == '_' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
				return c
			}
			return -1
		}, t.Name())
		name = base
		for n := 2; name == "" || slices.ContainsFunc(sortedValues(r.names), func(other string) bool { return other == name }); n++ {
			name = base + strconv.Itoa(n)
		}
		r.names[t] = name
	}
	return name
}

func sortedValues(m map[reflect.Type]string) (list []string) {
	for _, v := range m {
		list = append(list, v)
	}
	slices.Sort(list)
	return list
}

// orNull returns the schema that also allows null.
func orNull(s *jsonschema.Schema) *jsonschema.Schema {
	switch {
	case s.Types != nil || isAnything(s): // with null already
		return s
	case s.Type == "" || s.Enum != nil || s.AllOf != nil || s.AnyOf != nil:
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, s}}
	}
	null := *s
	null.Type, null.Types = "", []string{"null", s.Type}
	return &null
}

// isAnything reports whether s is the schema of any value.
func isAnything(s *jsonschema.Schema) bool { return reflect.DeepEqual(s, &jsonschema.Schema{}) }

// readNew is read for a type that is no pointer, and not around itself.
func (r *typeReader) readNew(t reflect.Type) (*jsonschema.Schema, error) {
	if form := ownForm(t); form != nil {
		return form, nil
	}
	own, err := ownSchema(t)
	if err != nil {
		return nil, err
	}
	switch {
	case implements[json.Unmarshaler](t) && own == nil:
		return nil, fmt.Errorf("%v decodes itself, and nothing says from what: a method JSONSchema would (see constrain.Schemer)", t)
	case decodesItself(t) && own != nil:
		s := &jsonschema.Schema{}
		return s, s.UnmarshalJSON(own)
	case decodesItself(t):
		return textForm(t), nil
	}
	s, err := r.ofKind(t)
	if err != nil || own == nil {
		return s, err
	}
	return narrowed(s, own, t)
}

// ofKind returns the schema of a type that has no method.
func (r *typeReader) ofKind(t reflect.Type) (*jsonschema.Schema, error) {
	switch t.Kind() {
	case reflect.Bool:
		return &jsonschema.Schema{Type: "boolean"}, nil
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}, nil
	case reflect.Float32:
		return &jsonschema.Schema{Type: "number", Minimum: jsonschema.Ptr[float64](-math.MaxFloat32), Maximum: jsonschema.Ptr[float64](math.MaxFloat32)}, nil
	case reflect.Float64:
		return &jsonschema.Schema{Type: "number"}, nil
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return nil, fmt.Errorf("%v is an interface with methods, which nothing can be decoded into", t)
		}
		return &jsonschema.Schema{}, nil
	case reflect.Map:
		return r.ofMap(t)
	case reflect.Slice:
		if own, err := ownSchema(t.Elem()); err != nil || t.Elem().Kind() == reflect.Uint8 && own == nil && !decodesItself(t.Elem()) {
			return &jsonschema.Schema{Type: "string", ContentEncoding: "base64", Pattern: base64}, err
		}
		items, err := r.read(t.Elem())
		return &jsonschema.Schema{Type: "array", Items: items}, err
	case reflect.Array:
		items, err := r.read(t.Elem())
		return &jsonschema.Schema{Type: "array", Items: items, MinItems: jsonschema.Ptr(t.Len()), MaxItems: jsonschema.Ptr(t.Len())}, err
	case reflect.Struct:
		return r.ofStruct(t)
	}
	if low, high, ok := integers(t); ok {
		s := &jsonschema.Schema{Type: "integer"}
		if t.Bits() < 64 {
			s.Minimum, s.Maximum = jsonschema.Ptr(float64(low)), jsonschema.Ptr(float64(high))
			return s, nil
		}
		// A schema writes a float64 with its shortest digits: the next one towards zero is never beyond the type's range.
		if low == 0 {
			s.Minimum = jsonschema.Ptr(0.0)
		} else if r.wide {
			s.Minimum = jsonschema.Ptr(math.Nextafter(float64(low), 0))
		}
		if r.wide {
			s.Maximum = jsonschema.Ptr(math.Nextafter(float64(high), 0))
		}
		return s, nil
	}
	return nil, fmt.Errorf("%v: JSON has no %v", t, t.Kind())
}

// base64 is the pattern of encoding/base64's standard encoding.
const base64 = `^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$`

// integers returns the range of a type of integers.
func integers(t reflect.Type) (low int64, high uint64, ok bool) {
	switch t.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return -1 << (t.Bits() - 1), 1<<(t.Bits()-1) - 1, true
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return 0, math.MaxUint64 >> (64 - t.Bits()), true
	}
	return 0, 0, false
}

// ofMap returns the schema of a map: its keys are strings, whole numbers in strings, or texts that they decode themselves.
func (r *typeReader) ofMap(t reflect.Type) (*jsonschema.Schema, error) {
	names, key := (*jsonschema.Schema)(nil), t.Key()
	own, err := ownSchema(key)
	low, high, whole := integers(key)
	switch {
	case err != nil:
	case ownForm(key) != nil && ownForm(key).Type == "string" && implements[encoding.TextUnmarshaler](key):
		names = ownForm(key)
	case own != nil && (key.Kind() == reflect.String || implements[encoding.TextUnmarshaler](key)):
		names = &jsonschema.Schema{}
		err = names.UnmarshalJSON(own)
	case implements[encoding.TextUnmarshaler](key):
		names = textForm(key)
	case key.Kind() == reflect.String:
	case whole:
		names = &jsonschema.Schema{Pattern: "^(" + wholeNumbers(low, high) + ")$"}
	default:
		err = fmt.Errorf("keys of %v: JSON has only strings there", t)
	}
	if err != nil {
		return nil, err
	}
	values, err := r.read(t.Elem())
	return &jsonschema.Schema{Type: "object", PropertyNames: names, AdditionalProperties: values}, err
}

// wholeNumbers returns a pattern of the whole numbers from low, which is 0 or less, to high.
func wholeNumbers(low int64, high uint64) string {
	pattern := upTo(strconv.FormatUint(high, 10)) + "|0"
	if low < 0 {
		pattern += "|-(" + upTo(strconv.FormatUint(uint64(-(low+1))+1, 10)) + ")"
	}
	return pattern
}

// upTo returns a pattern of the numbers from 1 to most. For 217 it is 21[0-7]|20[0-9]|1[0-9]{2}|[1-9][0-9]{0,1}.
func upTo(most string) string {
	var ways []string
	for i := len(most) - 1; i >= 0; i-- {
		least, digit := byte('0'), most[i]
		if i == 0 {
			least = '1'
		}
		if i < len(most)-1 {
			digit--
		}
		if digit >= least && digit >= '0' {
			ways = append(ways, fmt.Sprintf("%s[%c-%c][0-9]{%d}", most[:i], least, digit, len(most)-1-i))
		}
	}
	if len(most) > 1 {
		ways = append(ways, fmt.Sprintf("[1-9][0-9]{0,%d}", len(most)-2))
	}
	return strings.Join(ways, "|")
}

// ofStruct returns the schema of a struct: an object with its fields, and no others.
func (r *typeReader) ofStruct(t reflect.Type) (*jsonschema.Schema, error) {
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		value, err := r.ofField(f)
		if err != nil {
			return nil, fmt.Errorf("field %s of %v: %w", f.Name, t, err)
		}
		if s.Properties == nil {
			s.Properties = map[string]*jsonschema.Schema{}
		}
		s.Properties[f.called] = value
		s.PropertyOrder = append(s.PropertyOrder, f.called)
		if !f.optional {
			s.Required = append(s.Required, f.called)
		}
	}
	return s, nil
}

// ofField returns the schema of a field, with its description.
func (r *typeReader) ofField(f field) (*jsonschema.Schema, error) {
	about, described := f.Tag.Lookup("jsonschema")
	if word := option.FindString(about); described && (about == "" || word != "") {
		return nil, fmt.Errorf("the tag jsonschema:%q is no description of the field: it must not be empty or begin with a word and \"=\"; "+
			"enumerations, ranges and patterns are said by a method JSONSchema of the field's type: see constrain.Schemer", about)
	}
	var s *jsonschema.Schema
	var err error
	if f.quoted {
		s, err = r.ofQuoted(f.Type)
	} else {
		s, err = r.read(f.Type)
	}
	if err != nil || !described {
		return s, err
	}
	with := *s
	with.Description = about
	return &with, nil
}

// ofQuoted returns the schema of a field with the option string: a string that holds the value in JSON.
func (r *typeReader) ofQuoted(t reflect.Type) (*jsonschema.Schema, error) {
	inner := t
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		inner = t.Elem()
	}
	if own, err := ownSchema(inner); err != nil || own != nil || decodesItself(inner) {
		return nil, errors.Join(err, fmt.Errorf("the option string of encoding/json cannot stand with methods of %v", inner))
	}
	s := &jsonschema.Schema{Type: "string"}
	low, high, whole := integers(inner)
	switch {
	case whole:
		s.Pattern = "^(" + wholeNumbers(low, high) + ")$"
	case inner.Kind() == reflect.Bool:
		s.Enum = []any{"true", "false"}
	case inner.Kind() == reflect.Float32, inner.Kind() == reflect.Float64, inner == reflect.TypeFor[json.Number]():
		s.Pattern = `^-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,17})?$`
	default:
		s.Pattern = `^"[^"\\\x00-\x1f]*"$`
	}
	if inner != t {
		return orNull(s), nil
	}
	return s, nil
}

// narrowed returns s with the keywords of a type's own schema, which never widen it.
func narrowed(s *jsonschema.Schema, own []byte, t reflect.Type) (*jsonschema.Schema, error) {
	var said jsonschema.Schema
	if err := json.Unmarshal(own, &said); err != nil {
		return nil, fmt.Errorf("JSONSchema of %v: %w", t, err)
	}
	if s.Ref == "" && !isAnything(s) {
		data, err := json.Marshal(s)
		var has, more map[string]json.RawMessage
		if err = errors.Join(err, json.Unmarshal(data, &has), json.Unmarshal(own, &more)); err != nil {
			return nil, fmt.Errorf("JSONSchema of %v: %w", t, err)
		}
		apart := true
		for keyword, value := range more {
			if was, ok := has[keyword]; ok && string(was) != string(value) {
				apart = false
			}
		}
		if apart && more["additionalProperties"] == nil && more["properties"] == nil {
			order := s.PropertyOrder
			err := json.Unmarshal(own, s)
			s.PropertyOrder = order
			return s, err
		}
	}
	s.AllOf = append(s.AllOf, &said)
	return s, nil
}

// implements reports whether a type, or a pointer to it, has the methods of an interface.
func implements[I any](t reflect.Type) bool {
	return t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(reflect.TypeFor[I]())
}

// decodesItself reports whether a type has a way of its own to read JSON.
func decodesItself(t reflect.Type) bool {
	return implements[json.Unmarshaler](t) || implements[encoding.TextUnmarshaler](t)
}

// Patterns of texts that types of the standard library decode.
const (
	octet  = `(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4   = octet + `(\.` + octet + `){3}`
	ipv6   = `([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}`
	port   = `(6553[0-5]|655[0-2][0-9]|65[0-4][0-9]{2}|6[0-4][0-9]{3}|[1-5][0-9]{4}|[1-9][0-9]{0,3}|0)`
	level  = `^(DEBUG|INFO|WARN|ERROR)([+-][0-9]{1,3})?$`
	goTime = `^[^t]{17}[0-5][^z]+$` // of date-times, those that package time reads: no small letters, no leap seconds
)

// ownForm returns the schema of a type of the standard library that has a form of its own in JSON, or nil.
func ownForm(t reflect.Type) *jsonschema.Schema {
	if t.PkgPath() == "net" && t.Name() == "IP" { // package net is not linked for it
		t = reflect.TypeFor[netip.Addr]()
	}
	return ownForms()[t]
}

// ownForms are the types that ownForm knows.
func ownForms() map[reflect.Type]*jsonschema.Schema {
	text := func(pattern string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Pattern: pattern} }
	address := func() *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", AnyOf: []*jsonschema.Schema{{Format: "ipv4"}, {Format: "ipv6"}}}
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time", Pattern: goTime},
		reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "nanoseconds"},
		reflect.TypeFor[slog.Level]():      text(level),
		reflect.TypeFor[slog.LevelVar]():   text(level),
		reflect.TypeFor[big.Int]():         {Type: "integer"},
		reflect.TypeFor[big.Rat]():         text(`^-?[0-9]{1,40}(/[1-9][0-9]{0,39})?$`),
		reflect.TypeFor[big.Float]():       text(`^-?[0-9]{1,40}(\.[0-9]{1,40})?$`),
		reflect.TypeFor[json.Number]():     {Type: "number"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[netip.Addr]():      address(),
		reflect.TypeFor[netip.AddrPort]():  text(`^(` + ipv4 + `|\[` + ipv6 + `\]):` + port + `$`),
		reflect.TypeFor[netip.Prefix]():    text(`^(` + ipv4 + `/(3[0-2]|[12]?[0-9])|` + ipv6 + `/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))$`),
	}
}

// textForm returns the schema of a type that decodes itself from a text. Which texts these are is tried: those of the values of an enumeration,
// or a UUID. Otherwise it is any text.
func textForm(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	const uuid = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	switch _, _, whole := integers(t); {
	case whole:
		if texts := enumeration(t); len(texts) > 0 {
			for _, text := range texts {
				s.Enum = append(s.Enum, text)
			}
		}
	case t.Kind() == reflect.Array && t.Len() == 16 && t.Elem().Kind() == reflect.Uint8:
		if _, ok := decoded(t, uuid); ok {
			s.Format = "uuid"
		}
	}
	return s
}

// An enumeration is a type of whole numbers that writes itself as texts: the numbers that are tried for it.
const leastTried, mostTried = -16, 255

// enumeration returns the texts that the values of a type of whole numbers write themselves as, if they are read as the same values.
func enumeration(t reflect.Type) (texts []string) {
	low, high, _ := integers(t)
	for n := max(low, leastTried); n <= mostTried && (n < 0 || uint64(n) <= high); n++ {
		v := reflect.New(t).Elem()
		if v.CanInt() {
			v.SetInt(n)
		} else {
			v.SetUint(uint64(n))
		}
		text, ok := encoded(v)
		if back, read := decoded(t, text); ok && read && back.Equal(v) && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

// encoded returns the text that a value writes itself as.
func encoded(v reflect.Value) (text string, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	switch m := p.Interface().(type) {
	case encoding.TextMarshaler:
		b, err := m.MarshalText()
		return string(b), err == nil
	case fmt.Stringer:
		return m.String(), true
	}
	return "", false
}

// decoded returns the value that a type reads from a text.
func decoded(t reflect.Type, text string) (v reflect.Value, ok bool) {
	defer func() { ok = recover() == nil && ok }()
	p := reflect.New(t)
	m, is := p.Interface().(encoding.TextUnmarshaler)
	return p.Elem(), is && m.UnmarshalText([]byte(text)) == nil
}
