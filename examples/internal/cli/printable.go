package cli

import (
	"strings"
	"unicode"
)

// Printable returns a text as a terminal may get it, whoever wrote it: what moves the cursor, changes colours or turns the direction of
// writing becomes the replacement character. Ends of lines and tabs stay.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' || r == '\t' {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
