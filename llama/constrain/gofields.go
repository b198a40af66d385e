package constrain

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// field is a field of a struct, or of a struct embedded in it, as encoding/json has it.
type field struct {
	reflect.StructField
	called   string // in JSON
	optional bool   // omitempty or omitzero
	quoted   bool   // the value is in a string
	tagged   bool   // the tag has the name
	depth    int    // how many structs it is embedded in
}

// fieldsOf returns the fields of a struct in their order. Of fields with the same name, as in Go, the one that is embedded least deep counts,
// or of several of these the one with a tag; if that leaves several, they all are left out.
func fieldsOf(t reflect.Type) ([]field, error) {
	var all []field
	if err := collectFields(t, 0, nil, &all); err != nil {
		return nil, err
	}
	byName := map[string][]field{}
	for _, f := range all {
		byName[f.called] = append(byName[f.called], f)
	}
	return slices.DeleteFunc(all, func(f field) bool {
		same := slices.Clone(byName[f.called])
		rank := func(f field) int {
			if f.tagged {
				return 2 * f.depth
			}
			return 2*f.depth + 1
		}
		slices.SortStableFunc(same, func(a, b field) int { return cmp.Compare(rank(a), rank(b)) })
		return rank(same[0]) != rank(f) || len(same) > 1 && rank(same[1]) == rank(f)
	}), nil
}

// collectFields appends the fields of a struct that is embedded in others.
func collectFields(t reflect.Type, depth int, within []reflect.Type, all *[]field) error {
	if slices.Contains(within, t) {
		return nil
	}
	within = append(slices.Clone(within), t)
	for i := range t.NumField() {
		f := field{StructField: t.Field(i), depth: depth}
		inner, pointer := f.Type, f.Type.Kind() == reflect.Pointer && f.Type.Name() == ""
		if pointer {
			inner = f.Type.Elem()
		}
		tag := f.Tag.Get("json")
		if tag == "-" || !f.IsExported() && (!f.Anonymous || inner.Kind() != reflect.Struct) {
			continue
		}
		name, options, _ := strings.Cut(tag, ",")
		if f.tagged = isFieldName(name); f.tagged {
			f.called = name
		}
		if f.Anonymous && !f.tagged && inner.Kind() == reflect.Struct {
			if pointer && !f.IsExported() {
				return unsettable(f, t)
			}
			if err := collectFields(inner, depth+1, within, all); err != nil {
				return err
			}
			continue
		}
		if pointer && !f.IsExported() { // an embedded one with a name in its tag
			return unsettable(f, t)
		}
		if !f.tagged {
			f.called = f.Name
		}
		for option := range strings.SplitSeq(options, ",") {
			switch option {
			case "omitempty", "omitzero":
				f.optional = true
			case "string":
				f.quoted = mayBeQuoted(inner)
			}
		}
		*all = append(*all, f)
	}
	return nil
}

// unsettable is the error about a field that encoding/json fails at.
func unsettable(f field, t reflect.Type) error {
	return fmt.Errorf("field %s of %v: encoding/json cannot set a pointer to a struct that is embedded and not exported", f.Name, t)
}

// mayBeQuoted reports whether the option string of encoding/json matters to a type.
func mayBeQuoted(t reflect.Type) bool {
	_, _, whole := integers(t)
	return whole || slices.Contains([]reflect.Kind{reflect.Bool, reflect.String, reflect.Float32, reflect.Float64}, t.Kind())
}

// isFieldName reports whether encoding/json takes a tag for a name.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
}
