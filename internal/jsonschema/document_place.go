package jsonschema

import "strings"

// place is where a schema stands in the text: a JSON pointer, nil for the whole text. A place shares the places around it, so that a deep
// schema with long names does not take memory that grows with the square of its depth.
type place struct {
	up    *place
	token string // escaped
}

// at returns the place of a member of a keyword's value, of an element of it, or of the keyword itself.
func (p *place) at(name string) *place { return &place{p, escape(name)} }

// String returns the pointer.
func (p *place) String() string {
	var tokens []string
	for ; p != nil; p = p.up {
		tokens = append(tokens, p.token)
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
