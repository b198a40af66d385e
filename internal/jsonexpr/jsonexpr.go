// Package jsonexpr has regular expressions for the pieces of JSON texts (RFC 8259): strings, numbers, white space. It reads no JSON;
// package strictjson does.
//
// A character of a string can be written in several ways: "é", "\u00e9" and "\u00E9" are the same string. If any string may stand
// somewhere, all ways are allowed. If a string must have some form, only the canonical way is: each character is written as itself, except
// that the quote, the backslash and control characters are written \" \\ \b \f \n \r \t, or \u00XX with small digits. Set operations
// between languages of strings (a pattern, the complement of an enumeration) are right only among canonical ones.
//
// Gemma 4 writes the same values in another way ([Language.Marked]): names stand bare, and strings as they are between marks.
//
//	{"city": "Bonn \"am Rhein\"", "days": [1, 2]}
//	{city:<|"|>Bonn "am Rhein"<|"|>,days:[1,2]}
//
// Others write literals of Python ([Language.Python]).
package jsonexpr

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/numbers"
	"github.com/antigravity-go/antigravity/internal/regular"
)

// Language has the expressions in an arena.
type Language struct {
	Arena *regular.Arena

	// Space is the white space that may stand between two parts of a text: nothing, a blank or tab, or a line feed and up to MaxIndent
	// blanks or tabs.
	Space regular.Expr
	// Colon and Comma are the signs, with Space around them.
	Colon, Comma regular.Expr
	// Char is one character of a string, written in any way; Chars any number of these.
	Char, Chars regular.Expr
	// Canonical is one character of a string, written in the canonical way; Canonicals any number of these.
	Canonical, Canonicals regular.Expr
	// String is any string, with its quotes; CanonicalString is any string in the canonical way.
	String, CanonicalString regular.Expr
	// Number is any number.
	Number regular.Expr
	// Text is any text in UTF-8 around JSON.
	Text regular.Expr

	// Words are how null, true and false are written.
	Words [3]string
	// Quote is the sign before and after a string.
	Quote regular.Expr
	// Raw says that characters of strings stand as they are, and that names of members may stand without quotes.
	Raw bool

	textChar regular.Expr // one character of Text
	bare     regular.Expr // the names that need no quotes if Raw is set
}

// MaxIndent is how many blanks may stand at the beginning of a line.
const MaxIndent = 64

// base is built once; each language is a copy of it, so that the same expression has the same number everywhere.
var base = sync.OnceValue(func() *Language {
	r := regular.New()
	l := &Language{Arena: r}
	lit, class := r.Literal, r.Class
	blank := class(regular.ClassOf(' ', '\t'))
	l.Space = r.Optional(r.Or(blank, r.Concat(r.Optional(lit("\r")), lit("\n"), r.Repeat(blank, 0, MaxIndent))))
	l.Colon, l.Comma = r.Concat(l.Space, lit(":"), l.Space), r.Concat(l.Space, lit(","), l.Space)

	hex := class(regular.Range('0', '9').Or(regular.Range('a', 'f')).Or(regular.Range('A', 'F')))
	digits := func(firsts, seconds regular.Expr) regular.Expr { return r.Concat(firsts, seconds, hex, hex) }
	d := class(regular.ClassOf('d', 'D'))
	notD := class(regular.Range('0', '9').Or(regular.Range('a', 'f')).Or(regular.Range('A', 'F')).And(regular.ClassOf('d', 'D').Not()))
	low := class(regular.Range('c', 'f').Or(regular.Range('C', 'F')))
	high := class(regular.Range('8', '9').Or(regular.ClassOf('a', 'b', 'A', 'B')))
	escape := r.Concat(lit(`\`), r.Or(
		class(regular.ClassOf('"', '\\', '/', 'b', 'f', 'n', 'r', 't')),
		r.Concat(lit("u"), r.Or(
			digits(notD, hex),
			digits(d, class(regular.Range('0', '7'))),
			r.Concat(digits(d, high), lit(`\u`), digits(d, low))))))
	continuation := class(regular.Range(0x80, 0xBF))
	plain := r.Or(
		class(regular.Range(0x20, 0x7F).And(regular.ClassOf('"', '\\').Not())),
		r.Concat(class(regular.Range(0xC2, 0xDF)), continuation),
		r.Concat(lit("\xE0"), class(regular.Range(0xA0, 0xBF)), continuation),
		r.Concat(class(regular.Range(0xE1, 0xEC).Or(regular.ClassOf(0xEE, 0xEF))), continuation, continuation),
		r.Concat(lit("\xED"), class(regular.Range(0x80, 0x9F)), continuation),
		r.Concat(lit("\xF0"), class(regular.Range(0x90, 0xBF)), continuation, continuation),
		r.Concat(class(regular.Range(0xF1, 0xF3)), continuation, continuation, continuation),
		r.Concat(lit("\xF4"), class(regular.Range(0x80, 0x8F)), continuation, continuation))
	short := class(regular.ClassOf('"', '\\', 'b', 'f', 'n', 'r', 't'))
	var controls []regular.Expr
	for c := range rune(0x20) {
		if s := Spell(c); len(s) > 2 {
			controls = append(controls, lit(s[1:]))
		}
	}
	l.textChar = r.Or(plain, class(regular.Range(0, 0x1F).Or(regular.ClassOf('"', '\\'))))
	l.Text = r.Star(l.textChar)
	l.Quote, l.Words = lit(`"`), [...]string{"null", "true", "false"}
	l.Char = r.Or(plain, escape)
	l.Canonical = r.Or(plain, r.Concat(lit(`\`), r.Or(append(controls, short)...)))
	l.Chars, l.Canonicals = r.Star(l.Char), r.Star(l.Canonical)
	l.String = r.Concat(lit(`"`), l.Chars, lit(`"`))
	l.CanonicalString = r.Concat(lit(`"`), l.Canonicals, lit(`"`))

	l.Number = numbers.Any(r)
	for _, e := range []regular.Expr{l.Space, l.Colon, l.Comma, l.Char, l.Chars, l.Canonical, l.Canonicals, l.String, l.CanonicalString, l.Number, l.Text} {
		r.Reach(e)
	}
	return l
})

// New returns the languages in an arena of their own. Their expressions have the same numbers each time.
func New() *Language { return base().Clone() }

// Clone returns a copy, in which each expression has the same number.
func (l *Language) Clone() *Language {
	c := *l
	c.Arena = l.Arena.Clone()
	return &c
}

// Spaces is how much white space stands between the parts of a text.
type Spaces int

// The ways of writing.
const (
	Free     Spaces = iota // as Language.Space has it
	Compact                // no white space
	OneBlank               // a blank after each colon and comma, as Python writes JSON
)

// Spaced returns the same languages, in the same arena, with another white space.
func (l *Language) Spaced(s Spaces) *Language {
	if s == Free {
		return l
	}
	c, blank := *l, ""
	if s == OneBlank {
		blank = " "
	}
	c.Space, c.Colon, c.Comma = regular.Empty, l.Arena.Literal(":"+blank), l.Arena.Literal(","+blank)
	return &c
}

// OneLine returns the same languages, in the same arena, with no line feed between two parts of a text.
func (l *Language) OneLine() *Language {
	c, r := *l, l.Arena
	c.Space = r.Optional(r.Class(regular.ClassOf(' ', '\t')))
	c.Colon, c.Comma = r.Concat(c.Space, r.Literal(":"), c.Space), r.Concat(c.Space, r.Literal(","), c.Space)
	return &c
}

// Marked returns the languages of values as Gemma 4 writes them, in the same arena. mark is the sign before and after a string. If the mark
// is also looked for in texts, spelled is its text, which no string then has; otherwise spelled is empty.
func (l *Language) Marked(mark, spelled string) *Language {
	c, r := *l, l.Arena
	c.Raw, c.Space, c.Colon, c.Comma, c.Quote = true, regular.Empty, r.Literal(":"), r.Literal(","), r.Literal(mark)
	name := r.Class(regular.Range('a', 'z').Or(regular.Range('A', 'Z')).Or(regular.Range('0', '9')).Or(regular.ClassOf('_', '-', '.', '$')))
	c.Char, c.Chars, c.bare = l.textChar, l.Text, r.Repeat(name, 1, regular.Unbounded)
	if spelled != "" {
		c.Chars = r.Minus(l.Text, r.Concat(regular.All, r.Literal(spelled), regular.All))
	}
	c.Canonical, c.Canonicals = c.Char, c.Chars
	c.String = r.Concat(c.Quote, c.Chars, c.Quote)
	c.CanonicalString = c.String
	r.Reach(c.String)
	return &c
}

// Python returns the languages of values as literals of Python, in the same arena: strings are written in the canonical way, which means the
// same in Python, as \\/ and pairs of surrogates do not.
func (l *Language) Python() *Language {
	c := *l
	c.Words = [...]string{"None", "True", "False"}
	c.Char, c.Chars, c.String = l.Canonical, l.Canonicals, l.CanonicalString
	return &c
}

// Body returns how the characters of a string are written, in the canonical way.
func (l *Language) Body(s string) string {
	if l.Raw {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return Body(s)
}

// Name returns how the name of a member is written.
func (l *Language) Name(name string) regular.Expr {
	r, body := l.Arena, l.Body(name)
	if l.Raw && r.Matches(l.bare, body) {
		return r.Literal(body)
	}
	return r.Concat(l.Quote, r.Literal(body), l.Quote)
}

// Names returns how names of members are written. bodies has their characters, in the canonical way.
func (l *Language) Names(bodies regular.Expr) regular.Expr {
	r := l.Arena
	quoted := r.Concat(l.Quote, bodies, l.Quote)
	if !l.Raw {
		return quoted
	}
	return r.Or(quoted, r.And(bodies, l.bare))
}

// Spell returns how a character is written in a string, in the canonical way.
func Spell(c rune) string {
	switch c {
	case '"', '\\':
		return `\` + string(c)
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	if c < 0x20 {
		return fmt.Sprintf(`\u%04x`, c)
	}
	return string(c)
}

// Quote returns a string as JSON, with its quotes, in the canonical way. Bytes that are not UTF-8 become U+FFFD.
func Quote(s string) string { return `"` + Body(s) + `"` }

// Body is Quote without the quotes.
func Body(s string) string {
	var b strings.Builder
	for _, c := range s {
		if c >= 0x20 && c != '"' && c != '\\' && c < utf8.RuneSelf {
			b.WriteByte(byte(c))
			continue
		}
		b.WriteString(Spell(c))
	}
	return b.String()
}
