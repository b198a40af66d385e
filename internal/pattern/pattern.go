// Package pattern makes regular expressions over bytes of patterns that people write: ECMA-262's, as JSON Schema has them, and
// those of Go's package regexp. It also has the formats of JSON Schema.
//
// A pattern is parsed to a tree, which is the same for all syntaxes, and the tree is compiled from its end to its beginning: what
// a part is compiled to is the language of all that may follow from there to the end of the text. A look-ahead is an intersection
// then. What a part says about the character before it (^, \b, a look-behind for one character) is settled by compiling it once for
// each kind of character that the pattern tells apart there.
package pattern

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Error says what is wrong with a pattern, or what about it is not supported.
type Error struct {
	Pattern     string
	Construct   string // what, in words; of a pattern in Go's syntax that package regexp/syntax refuses, where the mistake is
	Offset      int    // where, in bytes
	Unsupported bool   // the pattern is valid, but its language is not regular, or too hard to find
	Mistake     string // what package regexp/syntax says is wrong; "" otherwise
}

func (e *Error) Error() string {
	const long = 200
	shown := e.Pattern
	if len(shown) > long {
		shown = shown[:long] + "…"
	}
	what := "is not valid there"
	switch {
	case e.Mistake != "":
		return fmt.Sprintf("pattern %q: at byte %d: %s: %q", shown, e.Offset, e.Mistake, e.Construct)
	case e.Unsupported:
		what = "is not supported"
	}
	return fmt.Sprintf("pattern %q: %s, at byte %d, %s", shown, e.Construct, e.Offset, what)
}

// Bounds of patterns.
const (
	maxLength = 1 << 17 // bytes
	maxDepth  = 500     // groups inside of groups
	maxSteps  = 50_000  // nodes that are compiled, counting those that are compiled several times
	maxCount  = 1 << 30 // in a repetition; larger numbers are as good as this one
)

// tooComplex says that a pattern needs more than there is room for.
func tooComplex(source string) error {
	const long = 200
	if len(source) > long {
		source = source[:long] + "…"
	}
	return fmt.Errorf("pattern %q: %w", source, regular.ErrTooComplex)
}
