package pattern

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// Escapes and classes become sets of characters, or assertions. Outside of a class, escape comes first, since some escapes mean something
// else there. An escape of a letter without a meaning is an error. For example,
//
//	\d               the set 0-9
//	\u{1F600}        the character U+1F600, and so is \uD83D\uDE00 with its surrogates
//	\b               a boundary of a word; in a class, a backspace
//	\1               a back-reference, which is an error; if there is no group 1, the character U+0001
//	[\w-.]           the set of \w, a hyphen and a dot: the hyphen is itself next to a set
//	[^a-f]           all characters but a to f
//	\y               an error

// escape parses the rest of an escape, behind its backslash, outside of a class.
func (p *ecma) escape(begin int) *node {
	if !p.more() {
		p.fail(begin, `a \ with nothing behind it`, false)
		return nothing()
	}
	switch c := p.source[p.at]; c {
	case 'b', 'B':
		p.at++
		n := assertion(opBoundary, words())
		if p.fold {
			n.set = n.set.Fold()
		}
		n.negative = c == 'B'
		return n
	case 'A':
		p.at++
		return assertion(opBegin, nil)
	case 'z', 'Z':
		p.at++
		return assertion(opEnd, nil)
	case '1', '2', '3', '4', '5', '6', '7', '8', '9':
		digits := p.at
		if n, _ := p.number(); n <= p.groups {
			p.fail(begin, "a back-reference "+p.source[begin:p.at], true)
			return nothing()
		}
		p.at = digits
	case 'k':
		p.fail(begin, `a back-reference \k`, true)
		return nothing()
	}
	return character(p.escapedSet(begin))
}

// escapedSet parses an escape that stands for one character of a set, behind its backslash.
func (p *ecma) escapedSet(begin int) charset.Set {
	if !p.more() {
		p.fail(begin, `a \ with nothing behind it`, false)
		return nil
	}
	var set charset.Set
	switch p.source[p.at] {
	case 'd', 'D':
		set = digits()
	case 'w', 'W':
		set = words()
		if p.fold {
			set = set.Fold()
		}
	case 's', 'S':
		set = spaces()
	case 'p', 'P':
		negative := p.source[p.at] == 'P'
		p.at++
		set = p.property(begin)
		if p.fold {
			set = set.Fold()
		}
		if negative {
			set = set.Not()
		}
		return set
	default:
		c, ok := p.escapedRune(begin)
		if !ok {
			return nil
		}
		set = charset.Between(c, c)
		if p.fold {
			set = set.Fold()
		}
		return set
	}
	if unicode.IsUpper(rune(p.source[p.at])) {
		set = set.Not()
	}
	p.at++
	return set
}

// escapedRune parses an escape that stands for one character, behind its backslash. A surrogate without its other half is returned
// as such.
func (p *ecma) escapedRune(begin int) (rune, bool) {
	c := p.rune()
	switch c {
	case 't':
		return '\t', true
	case 'n':
		return '\n', true
	case 'v':
		return '\v', true
	case 'f':
		return '\f', true
	case 'r':
		return '\r', true
	case 'c':
		if p.more() && isLetter(p.source[p.at]) {
			return p.rune() % 32, true
		}
	case 'x':
		if n, ok := p.hex(2); ok {
			return n, true
		}
	case 'u':
		if n, ok := p.codePoint(); ok {
			return n, true
		}
	case '0', '1', '2', '3', '4', '5', '6', '7': // at most three octal digits, at most \377
		n := c - '0'
		for i := 0; i < 2 && p.more() && '0' <= p.source[p.at] && p.source[p.at] <= '7' && n*8+rune(p.source[p.at]-'0') <= 0o377; i++ {
			n = n*8 + p.rune() - '0'
		}
		return n, true
	default:
		if c >= utf8.RuneSelf || !isLetter(byte(c)) {
			return c, true // itself
		}
	}
	p.fail(begin, `an escape \`+string(c)+`, which ECMA-262 does not have,`, false)
	return 0, false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hex takes n hexadecimal digits, or nothing.
func (p *ecma) hex(n int) (value rune, ok bool) {
	if len(p.source)-p.at < n {
		return 0, false
	}
	for _, c := range []byte(p.source[p.at : p.at+n]) {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if digit < 0 {
			return 0, false
		}
		value = value<<4 | rune(digit)
	}
	p.at += n
	return value, true
}

// codePoint takes the rest of \uXXXX, \uXXXX\uXXXX (surrogates) or \u{…} behind the u, or nothing.
func (p *ecma) codePoint() (value rune, ok bool) {
	if p.peek("{") {
		end := strings.IndexByte(p.source[p.at:], '}')
		if end < 2 {
			return 0, false
		}
		begin := p.at
		p.at++
		for p.at < begin+end {
			digit, ok := p.hex(1)
			if value = value<<4 | digit; !ok || value > unicode.MaxRune {
				p.at = begin
				return 0, false
			}
		}
		p.at++
		return value, true
	}
	value, ok = p.hex(4)
	if ok && 0xD800 <= value && value < 0xDC00 && p.peek(`\u`) {
		begin := p.at
		p.at += 2
		if low, ok := p.hex(4); ok && 0xDC00 <= low && low < 0xE000 {
			return 0x10000 + (value-0xD800)<<10 + (low - 0xDC00), true
		}
		p.at = begin
	}
	return value, ok
}

// class parses a class behind its [.
func (p *ecma) class(begin int) charset.Set {
	negative := p.take("^")
	var spans []charset.Span
	for {
		if !p.more() {
			p.fail(begin, "a [ without its ]", false)
			return nil
		}
		if p.take("]") {
			break
		}
		at := p.at
		low, lowSet := p.classAtom()
		if p.err != nil {
			return nil
		}
		if p.peek("-") && !p.peek("-]") && p.at+1 < len(p.source) {
			p.at++
			high, highSet := p.classAtom()
			switch {
			case p.err != nil:
				return nil
			case lowSet != nil || highSet != nil: // [\w-.]: the hyphen is itself
				spans = append(spans, charset.Span{Low: '-', High: '-'})
				spans = p.put(spans, high, highSet)
			case low > high:
				p.fail(at, "a range "+p.source[at:p.at]+" from a character to one before it", false)
				return nil
			default:
				spans = append(spans, charset.Span{Low: low, High: high})
				continue
			}
		}
		spans = p.put(spans, low, lowSet)
	}
	set := charset.Of(spans...)
	if p.fold {
		set = set.Fold()
	}
	if negative {
		set = set.Not()
	}
	return set
}

// put appends set or, if set is nil, the character c.
func (p *ecma) put(spans []charset.Span, c rune, set charset.Set) []charset.Span {
	if set != nil {
		return append(spans, set...)
	}
	return append(spans, charset.Span{Low: c, High: c})
}

// classAtom parses a character, or an escape for a set of characters. The set is nil for a character.
func (p *ecma) classAtom() (rune, charset.Set) {
	begin := p.at
	c := p.rune()
	switch {
	case c == '[' && p.posix():
		p.fail(begin, "a POSIX class "+p.source[begin:p.at]+", which ECMA-262 does not have,", false)
		return 0, nil
	case c != '\\':
		return c, nil
	case !p.more():
		p.fail(begin, `a \ with nothing behind it`, false)
		return 0, nil
	}
	switch p.source[p.at] {
	case 'b':
		p.at++
		return '\b', nil
	case 'd', 'D', 's', 'S', 'w', 'W', 'p', 'P':
		if set := p.escapedSet(begin); set != nil {
			return 0, set
		}
		return 0, charset.Set{}
	}
	c, _ = p.escapedRune(begin)
	return c, nil
}

// posix takes the rest of a class such as [:alpha:] behind its [, or nothing.
func (p *ecma) posix() bool {
	rest := p.source[p.at:]
	if len(rest) < 2 || rest[0] != ':' && rest[0] != '.' && rest[0] != '=' {
		return false
	}
	end := strings.Index(rest[1:], rest[:1]+"]")
	if end <= 0 || strings.Trim(rest[1:1+end], "^abcdefghijklmnopqrstuvwxyz") != "" {
		return false
	}
	p.at += end + 3
	return true
}
