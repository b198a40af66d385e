// Package pattern compiles the patterns that people write to regular expressions over bytes: ECMA-262's, as JSON Schema has them, and those
// of Go's package regexp. It also has the formats of JSON Schema.
//
// A pattern is parsed to a tree, which is the same for all syntaxes. The tree is compiled from its end to its beginning: a part becomes the
// language of all texts that may follow from there to the end. So a look-ahead is an intersection. An assertion about the character before
// a part (^, \b, a look-behind for one character) is resolved by compiling the part once for each kind of character that the pattern
// distinguishes there.
package pattern

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// Error is a mistake in a pattern, or a construct of it that is not supported.
type Error struct {
	Pattern     string
	Construct   string // what, in words; the place of the mistake, if package regexp/syntax refuses a pattern in Go's syntax
	Offset      int    // its place, in bytes
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
