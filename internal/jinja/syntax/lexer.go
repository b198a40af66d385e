package syntax

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// The lexer cuts a template into tokens. Outside of tags it looks for the next "{{", "{%" or "{#": the text before it is one token, and the
// opening of the tag is the next. Within a tag it reads names, literals and operators, until the closing that is in no bracket. For example
//
//	Hi {{ users[0] }}!
//
// becomes data "Hi ", variableBegin, name "users", operator "[", integerLiteral "0", operator "]", variableEnd, data "!", endOfTemplate.

type tokenKind uint8

const (
	endOfTemplate  tokenKind = iota
	data                     // text between tags, in value
	variableBegin            // {{
	variableEnd              // }}
	blockBegin               // {%
	blockEnd                 // %}
	name                     // in value
	operator                 // in value
	stringLiteral            // its meaning in value; neighbouring literals are one token
	integerLiteral           // in value, without underscores
	floatLiteral
)

type token struct {
	kind  tokenKind
	value string
	line  int
}

// describe is the token for error messages.
func (t token) describe() string {
	switch t.kind {
	case endOfTemplate:
		return "the end of the template"
	case variableEnd:
		return "}}"
	case blockEnd:
		return "%}"
	case stringLiteral:
		return fmt.Sprintf("%.40q", t.value)
	}
	return fmt.Sprintf("%.40s", t.value)
}

// syntaxError is a mistake in the template.
type syntaxError struct {
	line int
	text string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// A lexer cuts a template into tokens, with white space around tags treated as in Hugging Face's environment: trim_blocks
// and lstrip_blocks are on.
//
// Invariants: line is the line of source[pos], and source[:pos] has become tokens.
type lexer struct {
	source    string
	pos       int
	line      int
	lineStart bool   // the bytes that were consumed last end in a line break, or nothing was consumed
	inTag     bool   // pos is between the beginning and the end of a tag
	closers   []byte // of the brackets that are open within the tag
	begun     int    // the line on which the tag begins
	begin     tokenKind
}

func newLexer(source string) *lexer {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	return &lexer{source: strings.TrimSuffix(source, "\n"), line: 1, lineStart: true}
}

func (l *lexer) fail(format string, args ...any) error {
	return &syntaxError{l.line, fmt.Sprintf(format, args...)}
}

// advance consumes n bytes.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.source[l.pos:l.pos+n], "\n")
	l.pos += n
	if n > 0 {
		l.lineStart = l.source[l.pos-1] == '\n'
	}
}

// next returns the next token.
func (l *lexer) next() (token, error) {
	for !l.inTag {
		if l.begin != 0 {
			t := token{l.begin, "", l.line}
			l.inTag, l.begun = true, l.line
			return t, nil
		}
		t, err := l.text()
		if err != nil || t.value != "" || t.kind == endOfTemplate {
			return t, err
		}
	}
	return l.tagToken()
}

// text consumes the text up to the next tag and the beginning of that tag, or a comment, or a raw block.
func (l *lexer) text() (token, error) {
	rest := l.source[l.pos:]
	at := 0
	for {
		i := strings.IndexByte(rest[at:], '{')
		if i < 0 || at+i+1 >= len(rest) {
			at = len(rest)
			break
		}
		at += i
		if strings.IndexByte("{%#", rest[at+1]) >= 0 {
			break
		}
		at++
	}
	t := token{data, rest[:at], l.line}
	if at == len(rest) {
		if t.value == "" {
			t.kind = endOfTemplate
		}
		l.advance(at)
		return t, nil
	}
	kind := rest[at+1]
	t.value = l.stripped(rest[:at], rest[at+2:], kind != '{')
	l.advance(at + 2)
	if c := l.peek(0); c == '-' || c == '+' && kind != '{' {
		l.advance(1)
	}
	switch kind {
	case '#':
		return t, l.comment()
	case '{':
		l.begin = variableBegin
	default:
		if n := rawBegin(l.source[l.pos:]); n > 0 {
			l.advance(n)
			return l.raw(t)
		}
		l.begin = blockBegin
	}
	return t, nil
}

func (l *lexer) peek(ahead int) byte {
	if l.pos+ahead < len(l.source) {
		return l.source[l.pos+ahead]
	}
	return 0
}

// stripped is text without the white space that the tag after it, which begins with after, takes away.
func (l *lexer) stripped(text, after string, indent bool) string {
	switch {
	case strings.HasPrefix(after, "-"):
		return strings.TrimRightFunc(text, texts.IsSpace)
	case strings.HasPrefix(after, "+") || !indent:
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(text[line:], texts.IsSpace) == "" {
		return text[:line]
	}
	return text
}

// skipSpace consumes white space.
func (l *lexer) skipSpace() {
	l.advance(len(l.source) - l.pos - len(strings.TrimLeftFunc(l.source[l.pos:], texts.IsSpace)))
}

// trimLine consumes the line break after a block or a comment.
func (l *lexer) trimLine() {
	if l.peek(0) == '\n' {
		l.advance(1)
	}
}

func (l *lexer) comment() error {
	n := strings.Index(l.source[l.pos:], "#}")
	if n < 0 {
		return l.fail("comment without its #}")
	}
	var control byte
	if n > 0 {
		control = l.source[l.pos+n-1]
	}
	l.advance(n + 2)
	switch control {
	case '-':
		l.skipSpace()
	case '+':
	default:
		l.trimLine()
	}
	return nil
}

// word returns the length of white space, a word and white space at the start of s, or 0.
func word(s, w string) int {
	rest := strings.TrimLeftFunc(s, texts.IsSpace)
	if !strings.HasPrefix(rest, w) {
		return 0
	}
	return len(s) - len(strings.TrimLeftFunc(rest[len(w):], texts.IsSpace))
}

// rawBegin returns the length of " raw %}" at the start of s, with the white space that it takes away, or 0.
func rawBegin(s string) int {
	n := word(s, "raw")
	switch {
	case n == 0:
		return 0
	case strings.HasPrefix(s[n:], "%}"):
		return n + 2
	case strings.HasPrefix(s[n:], "-%}"):
		return len(s) - len(strings.TrimLeftFunc(s[n+3:], texts.IsSpace))
	}
	return 0
}

// raw consumes a raw block; before is the text in front of it.
func (l *lexer) raw(before token) (token, error) {
	rest := l.source[l.pos:]
	for at := 0; ; at += 2 {
		i := strings.Index(rest[at:], "{%")
		if i < 0 {
			return token{}, l.fail("{%% raw %%} without its {%% endraw %%}")
		}
		at += i
		tag := at + 2
		if c := rest[tag:]; c != "" && (c[0] == '-' || c[0] == '+') {
			tag++
		}
		n := word(rest[tag:], "endraw")
		if n == 0 {
			continue
		}
		end, control := tag+n, byte(0)
		if end < len(rest) && (rest[end] == '-' || rest[end] == '+') {
			control = rest[end]
			end++
		}
		if !strings.HasPrefix(rest[end:], "%}") {
			continue
		}
		before.value += l.stripped(rest[:at], rest[at+2:], true)
		l.advance(end + 2)
		l.closed(control)
		return before, nil
	}
}

// closed consumes the white space that the end of a block takes away.
func (l *lexer) closed(control byte) {
	switch control {
	case '-':
		l.skipSpace()
	case 0:
		l.trimLine()
	}
}

// operators are the operators of two bytes, then those of one.
const twoBytes, oneByte = "// ** == != >= <=", "+-/*%~[](){}<>=.:|,;"

var closerOf = map[byte]byte{'(': ')', '[': ']', '{': '}'}

// tagToken returns the next token within a tag.
func (l *lexer) tagToken() (token, error) {
	l.skipSpace()
	rest := l.source[l.pos:]
	if rest == "" {
		l.line = l.begun
		return token{}, l.fail("tag without its end")
	}
	if len(l.closers) == 0 {
		if t, ok := l.tagEnd(rest); ok {
			return t, nil
		}
	}
	t := token{line: l.line}
	c := rest[0]
	switch {
	case c == '\'' || c == '"':
		return l.literal(t)
	case '0' <= c && c <= '9':
		return l.number(t)
	case isNameStart(rest):
		n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(rest)
		}
		if n > MaxName {
			return t, l.fail("a name of more than %d bytes", MaxName)
		}
		t.kind, t.value = name, rest[:n]
	case len(rest) > 1 && rest[1] != ' ' && strings.Contains(twoBytes, rest[:2]):
		t.kind, t.value = operator, rest[:2]
	case strings.IndexByte(oneByte, c) >= 0:
		t.kind, t.value = operator, rest[:1]
	default:
		r, _ := utf8.DecodeRuneInString(rest)
		return t, l.fail("unexpected character %q", r)
	}
	l.advance(len(t.value))
	return t, l.balance(c)
}

func isNameStart(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return r == '_' || unicode.IsLetter(r)
}

// balance follows the brackets of a tag. Within them, the tag does not end.
func (l *lexer) balance(c byte) error {
	if closer := closerOf[c]; closer != 0 {
		if l.closers = append(l.closers, closer); len(l.closers) > MaxNesting {
			return l.fail("brackets nested deeper than %d", MaxNesting)
		}
	} else if c == ')' || c == ']' || c == '}' {
		n := len(l.closers)
		if n == 0 {
			return l.fail("unbalanced %q", c)
		}
		if l.closers[n-1] != c {
			return l.fail("unbalanced %q: expected %q", c, l.closers[n-1])
		}
		l.closers = l.closers[:n-1]
	}
	return nil
}

func (l *lexer) tagEnd(rest string) (token, bool) {
	control, n := byte(0), 0
	if rest[0] == '-' || rest[0] == '+' && l.begin == blockBegin {
		control, n = rest[0], 1
	}
	t := token{kind: blockEnd, line: l.line}
	end := "%}"
	if l.begin == variableBegin {
		t.kind, end = variableEnd, "}}"
	}
	if !strings.HasPrefix(rest[n:], end) {
		return t, false
	}
	l.advance(n + 2)
	if control != 0 || t.kind == blockEnd {
		l.closed(control)
	}
	l.inTag, l.begin = false, 0
	return t, true
}
