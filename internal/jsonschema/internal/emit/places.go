package emit

import "github.com/antigravity-go/antigravity/internal/grammar"

// places between the signs of an object or an array.
const (
	atBegin  = iota // before {
	atFirst         // after {
	atMember        // after a comma
	atEnd           // after a member
	places
)

// signs are the symbols around and between members or elements.
type signs struct{ open, comma, shut, end grammar.Symbol }

// signs returns the signs of arrays or objects.
func (c *emitter) signs(b brackets) signs {
	return signs{grammar.Text(b.open), grammar.Text(c.Language.Comma), grammar.Text(b.shut), grammar.Text(b.end)}
}

// close yields the end of an object or array that may end at a place.
func (s *signs) close(place int, yield func(...grammar.Symbol)) {
	switch place {
	case atFirst:
		yield(s.end)
	case atEnd:
		yield(s.shut)
	}
}
