package document

import (
	"strconv"
	"strings"
)

// Place is the place of a schema in the text: a JSON pointer, nil for the whole text. A place shares the places around it, so that a deep
// schema with long names does not take memory that grows with the square of its depth.
type Place struct {
	up    *Place
	Token string // escaped
}

// At returns the place of a member of a keyword's value, of an element of it, or of the keyword itself.
func (p *Place) At(name string) *Place { return &Place{p, escape(name)} }

// String returns the pointer.
func (p *Place) String() string {
	var tokens []string
	for ; p != nil; p = p.up {
		tokens = append(tokens, p.Token)
	}
	var b strings.Builder
	for i := len(tokens) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(tokens[i])
	}
	return b.String()
}

// escape writes a name as part of a JSON pointer.
func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

// At returns the value at a JSON pointer within v, and its place if v is at the place of. It returns nil if there is no value.
func (v *Value) At(pointer string, of *Place) (*Value, *Place) {
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		name := strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		of = of.At(name)
		if v.Kind == Array {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.Items) {
				return nil, nil
			}
			v = v.Items[i]
			continue
		}
		if v = v.Get(name); v == nil {
			return nil, nil
		}
	}
	return v, of
}

// Demanded returns the JSON pointers of the parts of the schema at a pointer that a value of it must have, or must satisfy itself.
func Demanded(root *Value, at string) (pointers []string) {
	v, _ := root.At(at, nil)
	if v == nil || v.Kind != Object {
		return nil
	}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list := v.Get(keyword)
		if list == nil || list.Kind != Array || keyword != "allOf" && len(list.Items) != 1 {
			continue
		}
		for i := range list.Items {
			pointers = append(pointers, at+"/"+keyword+"/"+strconv.Itoa(i))
		}
	}
	properties, required := v.Get("properties"), v.Get("required")
	if properties != nil && required != nil && properties.Kind == Object && required.Kind == Array {
		for _, name := range required.Items {
			if name.Kind == Text && properties.Get(name.Text) != nil {
				pointers = append(pointers, at+"/properties/"+escape(name.Text))
			}
		}
	}
	if items, least := v.Get("items"), v.Get("minItems"); items != nil && items.Kind == Object && least != nil && least.Text != "0" {
		pointers = append(pointers, at+"/items")
	}
	if ref := v.Get("$ref"); ref != nil && strings.HasPrefix(ref.Text, "#/") {
		if target, _ := root.At(ref.Text[1:], nil); target != nil && target != v {
			pointers = append(pointers, ref.Text[1:])
		}
	}
	return pointers
}
