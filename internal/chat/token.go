package chat

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// tokens reads a tag up to end and returns its tokens, with string literals as constants, and the white space control
// before end.
func (s *scanner) tokens(end string) (tokens []string, control byte, err error) {
	var brackets []string
	literal := -1 // index in constants of the literal just read: the next one is its continuation
	for {
		for s.take(" \t\n\v\f") != 0 {
		}
		rest := s.source[s.pos:]
		switch {
		case rest == "":
			return nil, 0, fmt.Errorf("tag without its %s", end)
		case len(tokens) > maxTokens:
			return nil, 0, fmt.Errorf("more than %d tokens in a tag", maxTokens)
		case len(brackets) == 0 && strings.HasPrefix(rest, end):
			s.pos += len(end)
			return tokens, 0, nil
		case len(brackets) == 0 && (rest[0] == '-' || rest[0] == '+') && strings.HasPrefix(rest[1:], end):
			s.pos += 1 + len(end)
			return tokens, rest[0], nil
		case rest[0] == '"' || rest[0] == '\'':
			text, err := s.literal()
			if err != nil {
				return nil, 0, err
			}
			if literal >= 0 {
				s.constants[literal] += text
				continue
			}
			tokens = append(tokens, s.constant(text))
			literal = len(s.constants) - 1
			continue
		}
		literal = -1
		t := lex(rest)
		if t == "" {
			r, _ := utf8.DecodeRuneInString(rest)
			return nil, 0, fmt.Errorf("unexpected %q in a tag", r)
		}
		s.pos += len(t)
		tokens = append(tokens, t)
		if partner := closing[t]; partner != "" {
			if brackets = append(brackets, partner); len(brackets) > maxNesting {
				return nil, 0, fmt.Errorf("brackets nested deeper than %d", maxNesting)
			}
		} else if t == ")" || t == "]" || t == "}" {
			if len(brackets) == 0 || brackets[len(brackets)-1] != t {
				return nil, 0, fmt.Errorf("unbalanced %q", t)
			}
			brackets = brackets[:len(brackets)-1]
		}
	}
}

// operators, the longer before their beginnings.
var operators = []string{"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "|", ".", ",", ":", "(", ")", "[", "]", "{", "}", "<", ">", "="}

// lex returns the name, number or operator that s begins with, or "".
func lex(s string) string {
	if isNameByte(s[0]) {
		n := 1
		for n < len(s) && (isNameByte(s[n]) || isDigit(s[0]) && s[n] == '.' && n+1 < len(s) && isDigit(s[n+1])) {
			n++
		}
		return s[:n]
	}
	for _, o := range operators {
		if strings.HasPrefix(s, o) {
			return o
		}
	}
	return ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isNameByte(c byte) bool { return c == '_' || isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }

// literal consumes a string literal and returns its value.
func (s *scanner) literal() (string, error) {
	quote := s.source[s.pos]
	var b strings.Builder
	for i := s.pos + 1; i < len(s.source); i++ {
		switch c := s.source[i]; {
		case c == quote:
			s.pos = i + 1
			return b.String(), nil
		case c == '\\' && i+1 < len(s.source):
			text, size := unescape(s.source[i:])
			b.WriteString(text)
			i += size - 1
		default:
			b.WriteByte(c)
		}
	}
	return "", fmt.Errorf("string literal without its closing %c", quote)
}

// escapes are Python's, except those that name a code point.
var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", '\\': `\`, '\'': "'", '"': `"`, 'a': "\a", 'b': "\b", 'f': "\f", 'v': "\v", '\n': "", '0': "\x00"}

// hexDigits counts the digits of the escapes that name a code point.
var hexDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape decodes the escape that s begins with and returns its length. An unknown one stands for itself.
func unescape(s string) (text string, size int) {
	if text, ok := escapes[s[1]]; ok {
		return text, 2
	}
	if n := hexDigits[s[1]]; n > 0 && len(s) >= 2+n {
		if r, err := strconv.ParseUint(s[2:2+n], 16, 32); err == nil && utf8.ValidRune(rune(r)) {
			return string(rune(r)), 2 + n
		}
	}
	return s[:2], 2
}
