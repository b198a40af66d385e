package syntax

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// literal consumes string literals up to something else.
func (l *lexer) literal(t token) (token, error) {
	t.kind = stringLiteral
	var b strings.Builder
	for {
		quote := l.peek(0)
		if quote != '\'' && quote != '"' {
			t.value = b.String()
			return t, nil
		}
		end := l.pos + 1
		for end < len(l.source) && l.source[end] != quote {
			if l.source[end] == '\\' {
				end++
			}
			end++
		}
		if end >= len(l.source) {
			return t, l.fail("string without its closing %c", quote)
		}
		if !unescape(&b, l.source[l.pos+1:end]) {
			return t, l.fail("a \\x, \\u, \\U or \\N escape in a string that means no character")
		}
		l.advance(end + 1 - l.pos)
		l.skipSpace()
	}
}

// escapes are Python's, of one letter.
var escapes = map[byte]string{
	'\n': "", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v",
}

// hexDigits is how many follow an escape.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape appends what a string literal means.
func unescape(b *strings.Builder, s string) bool {
	for {
		i := strings.IndexByte(s, '\\')
		if i < 0 {
			b.WriteString(s)
			return true
		}
		b.WriteString(s[:i])
		c := s[i+1] // the literal does not end in a backslash of its own
		s = s[i+2:]
		text, known := escapes[c]
		n := hexDigits[c]
		switch {
		case known:
			b.WriteString(text)
		case n > 0:
			r, ok := hex(s, n)
			if !ok {
				return false
			}
			s = s[n:]
			if utf16.IsSurrogate(r) && strings.HasPrefix(s, `\u`) {
				if low, ok := hex(s[2:], 4); ok && utf16.DecodeRune(r, low) != utf8.RuneError {
					r, s = utf16.DecodeRune(r, low), s[6:]
				}
			}
			b.WriteRune(r)
		case '0' <= c && c <= '7':
			digits := 0
			for digits < 2 && digits < len(s) && '0' <= s[digits] && s[digits] <= '7' {
				digits++
			}
			r, _ := strconv.ParseUint(string(c)+s[:digits], 8, 16)
			b.WriteRune(rune(r))
			s = s[digits:]
		case c == 'N':
			return false
		default: // as it stands
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
}

func hex(s string, n int) (rune, bool) {
	if len(s) < n {
		return 0, false
	}
	v, err := strconv.ParseUint(s[:n], 16, 32)
	return rune(v), err == nil && v <= utf8.MaxRune
}

// number consumes an integer or a float.
func (l *lexer) number(t token) (token, error) {
	rest := l.source[l.pos:]
	t.kind = integerLiteral
	n := 0
	if base := strings.IndexByte("xXoObB", texts.At(rest, 1)); rest[0] == '0' && texts.At(rest, 1) != 0 && base >= 0 {
		n = 2 + texts.Digits(rest[2:], "0123456789abcdefABCDEF")
	} else {
		n = texts.Digits(rest, "0123456789")
		if texts.At(rest, n) == '.' && texts.Digits(rest[n+1:], "0123456789") > 0 {
			t.kind = floatLiteral
			n += 1 + texts.Digits(rest[n+1:], "0123456789")
		}
		if texts.At(rest, n) == 'e' || texts.At(rest, n) == 'E' {
			sign := 0
			if c := texts.At(rest, n+1); c == '+' || c == '-' {
				sign = 1
			}
			if exponent := texts.Digits(rest[n+1+sign:], "0123456789"); exponent > 0 {
				t.kind = floatLiteral
				n += 1 + sign + exponent
			}
		}
	}
	t.value = strings.ReplaceAll(rest[:n], "_", "")
	l.advance(n)
	return t, nil
}
