package tokenmask

import (
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/regular"
)

// kinds is a set of kinds of characters: bit k is the kind of number k. Characters are of one kind if patterns seldom treat them differently:
// small letters, digits, a blank, the characters of an alphabet. A text of several kinds has the bits of all.
type kinds uint32

// odd is the kind of bytes that are no character, such as the second half of one.
const odd kinds = 1 << 31

// kindTable lists the kinds: the bytes that their characters begin with, from first to last, in pairs.
var kindTable = [...]string{
	"09", "af", "gz", "AF", "GZ", "  ", "__", "--", "..", "//", "::", ",,", "@@", `""`, `\\`, "\t\n\r\r",
	"\x00\x08\x0b\x0c\x0e\x1f\x7f\x7f", "!!#'*+==??^^``{~", "();;<<>>[[]]",
	"\xc2\xc2", "\xc3\xdf", "\xe0\xe0", "\xe1\xe1", "\xe2\xe2", "\xe3\xe3", "\xe4\xec", "\xed\xed", "\xee\xef", "\xf0\xf0", "\xf1\xf3", "\xf4\xf4",
}

// firstBeyondASCII is the number of the first kind that is not ASCII.
const firstBeyondASCII = 19

// begins has the bytes that characters of a kind begin with; kindBegun has the kind of the characters that a byte begins, or odd.
var begins, kindBegun = func() (classes [len(kindTable)]regular.Class, kind [256]kinds) {
	for b := range kind {
		kind[b] = odd
	}
	for k, ranges := range kindTable {
		for i := 0; i < len(ranges); i += 2 {
			c := regular.Range(ranges[i], ranges[i+1])
			classes[k] = classes[k].Or(c)
			for _, b := range c.Bytes(nil) {
				kind[b] = 1 << k
			}
		}
	}
	return classes, kind
}()

// anyText has all kinds of characters; insideString those that stand in a JSON string as they are; mostText those that
// most strings with a pattern have, too; inWords letters, digits and their like.
var (
	anyText      = kinds(1)<<len(kindTable) - 1
	insideString = anyText &^ (kindBegun['"'] | kindBegun['\\'] | kindBegun['\n'] | kindBegun[0])
	inWords      = mostText &^ (kindBegun[' '] | kindBegun['.'] | kindBegun['/'] | kindBegun[':'] | kindBegun[','] | kindBegun['@'] |
		kindBegun['!'] | kindBegun['('] | kindBegun[0xC2] | kindBegun[0xE1] | kindBegun[0xE3] | kindBegun[0xEF])
	mostText = insideString &^ kindBegun[0xE2] // a dot of ECMAScript's patterns excludes U+2028 and U+2029
)

// kindsOf sets below[i] to the kinds of text[i:].
func kindsOf(text []byte, below []kinds) {
	below[len(text)] = 0
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] < utf8.RuneSelf {
			below[i] = below[i+1] | kindBegun[text[i]]
			continue
		}
		next := len(text)
		kind := kindBegun[text[i]]
		if utf8.FullRune(text[i:]) { // a text may end in the midst of a character
			r, n := utf8.DecodeRune(text[i:])
			if next = i + n; r == utf8.RuneError && n == 1 {
				kind = odd
			}
		}
		below[i] = below[next] | kind
	}
}

// place says what must follow in a character: the number of bytes, and the first of them.
type place struct {
	more      uint8
	low, high byte
}

// start is the place between two characters.
var start place

// after returns the place after a byte that may stand at p.
func (p place) after(b byte) place {
	next := place{p.more - 1, 0x80, 0xBF}
	if p.more == 0 {
		switch {
		case b < utf8.RuneSelf:
			return start
		case b < 0xE0:
			next.more = 1
		case b < 0xF0:
			next.more = 2
		default:
			next.more = 3
		}
		switch b {
		case 0xE0:
			next.low = 0xA0
		case 0xED:
			next.high = 0x9F
		case 0xF0:
			next.low = 0x90
		case 0xF4:
			next.high = 0x8F
		}
	}
	if next.more == 0 {
		return start
	}
	return next
}
