package document

import "strings"

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
