// Package strictjson reads JSON (RFC 8259) in one pass over its bytes, and strictly: nothing is repaired. It exists because a vocabulary of
// 128,256 tokens and 280,147 merges takes encoding/json most of a second, and because encoding/json takes the last of two members with one
// name, and a name that is written with other capital letters. Here a caller sees each name as it is.
//
// A caller says what should come, and gets it or an error. This reads [{"name": 7}, …]:
//
//	r := strictjson.New(data)
//	err := r.Array(func() error {
//		return r.Object(func(name []byte) error {
//			value, err := r.Value() // 7
//			…
//		})
//	})
//	if err == nil {
//		err = r.End()
//	}
package strictjson

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep arrays and objects that Value reads may lie in each other, and in those that enclose them.
const maxDepth = 128

// A Reader reads one text, which must be UTF-8: the caller has checked that. Its errors say at which byte of the text they are. After an
// error nothing may be read any more. One goroutine uses a Reader.
//
// Invariant: 0 ≤ pos ≤ len(data).
type Reader struct {
	data    []byte
	pos     int    // of the next byte to read
	depth   int    // how many arrays and objects enclose it
	scratch []byte // the latest string that had escapes, without them
	lenient bool   // half of a surrogate pair is read as U+FFFD, as encoding/json reads it
}

// New returns a reader of a text.
func New(data []byte) *Reader { return &Reader{data: data} }

// At is New for a value that begins at an offset of a text, in bytes. Errors count from the text's beginning.
func At(data []byte, offset int) *Reader { return &Reader{data: data, pos: offset} }

// Lenient is New for texts of programs that cut strings between the halves of a surrogate pair, as JavaScript's do: a half is read as U+FFFD.
func Lenient(data []byte) *Reader { return &Reader{data: data, lenient: true} }

// Offset returns how many bytes have been read.
func (r *Reader) Offset() int { return r.pos }

// Errorf returns an error that says at which byte the reader is. Its text and arguments are fmt.Errorf's.
func (r *Reader) Errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %w", r.pos, fmt.Errorf(format, args...))
}

// Next skips white space and returns the byte that follows, or 0 at the end.
func (r *Reader) Next() byte {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// Expect reads c, after white space.
func (r *Reader) Expect(c byte) error {
	if r.Next() != c {
		return r.unexpected(fmt.Sprintf("%q", c))
	}
	r.pos++
	return nil
}

// unexpected returns the error for the next byte, in the place of want.
func (r *Reader) unexpected(want string) error {
	if r.pos >= len(r.data) {
		return r.Errorf("the text ends where %s should come", want)
	}
	return r.Errorf("found %q where %s should come", r.data[r.pos], want)
}

// list reads items between open and end, with commas between them. It calls item at each; item must read it.
func (r *Reader) list(open, end byte, item func() error) error {
	if err := r.Expect(open); err != nil {
		return err
	}
	if r.Next() == end {
		r.pos++
		return nil
	}
	r.depth++
	for {
		if err := item(); err != nil {
			return err
		}
		switch r.Next() {
		case ',':
			r.pos++
		case end:
			r.pos++
			r.depth--
			return nil
		default:
			return r.unexpected(fmt.Sprintf("',' or %q", end))
		}
	}
}

// Array reads an array, calling element at each of its elements; element must read it.
func (r *Reader) Array(element func() error) error { return r.list('[', ']', element) }

// Object reads an object, calling member after each name; member must read the value. The name is valid until the next read.
func (r *Reader) Object(member func(name []byte) error) error {
	return r.list('{', '}', func() error {
		name, err := r.Text()
		if err != nil {
			return err
		}
		if err := r.Expect(':'); err != nil {
			return err
		}
		return member(name)
	})
}

// Value reads a value of any kind and returns it as it is written. The result shares the text's memory.
func (r *Reader) Value() ([]byte, error) {
	r.Next()
	start := r.pos
	err := r.skip()
	return r.data[start:r.pos:r.pos], err
}

// End returns an error if anything but white space is left.
func (r *Reader) End() error {
	if r.Next(); r.pos < len(r.data) {
		return r.unexpected("the end")
	}
	return nil
}

// skip reads a value of any kind.
func (r *Reader) skip() error {
	switch c := r.Next(); {
	case (c == '{' || c == '[') && r.depth >= maxDepth:
		return r.Errorf("nested deeper than %d levels", maxDepth)
	case c == '{':
		return r.Object(func([]byte) error { return r.skip() })
	case c == '[':
		return r.Array(r.skip)
	case c == '"':
		_, err := r.Text()
		return err
	case c == '-', '0' <= c && c <= '9':
		return r.number()
	default:
		return r.literal()
	}
}

// literal reads true, false or null.
func (r *Reader) literal() error {
	for _, word := range []string{"true", "false", "null"} {
		if len(r.data)-r.pos >= len(word) && string(r.data[r.pos:r.pos+len(word)]) == word {
			r.pos += len(word)
			return nil
		}
	}
	return r.unexpected("a value")
}

// number reads a number, and does not return it.
func (r *Reader) number() error {
	if r.peek() == '-' {
		r.pos++
	}
	if r.peek() == '0' {
		r.pos++
	} else if _, err := r.Digits(); err != nil {
		return err
	}
	if r.peek() == '.' {
		r.pos++
		if _, err := r.Digits(); err != nil {
			return err
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		_, err := r.Digits()
		return err
	}
	return nil
}

// peek returns the byte at the reader's place, or 0 at the end.
func (r *Reader) peek() byte {
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

// Digits reads one digit or more, without white space before them, and returns them. They share the text's memory.
func (r *Reader) Digits() ([]byte, error) {
	start := r.pos
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.pos++
	}
	if r.pos == start {
		return nil, r.unexpected("a digit")
	}
	return r.data[start:r.pos], nil
}

// Text reads a string and returns its characters, in UTF-8. The result is valid until the next string is read.
func (r *Reader) Text() ([]byte, error) {
	if r.Next() != '"' {
		return nil, r.unexpected("a string")
	}
	r.pos++
	start := r.pos
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; {
		case c == '"':
			r.pos++
			return r.data[start : r.pos-1], nil
		case c == '\\':
			r.scratch = append(r.scratch[:0], r.data[start:r.pos]...)
			return r.escaped()
		case c < ' ':
			return nil, r.Errorf("a control character in a string, %q", c)
		}
		r.pos++
	}
	return nil, r.unexpected("'\"'")
}

// escaped reads the rest of a string that has escapes; what came before them is in r.scratch.
func (r *Reader) escaped() ([]byte, error) {
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		switch {
		case c == '"':
			r.pos++
			return r.scratch, nil
		case c < ' ':
			return nil, r.Errorf("a control character in a string, %q", c)
		case c != '\\':
			r.scratch = append(r.scratch, c)
			r.pos++
			continue
		}
		r.pos++
		char, err := r.escape()
		if err != nil {
			return nil, err
		}
		r.scratch = utf8.AppendRune(r.scratch, char)
	}
	return nil, r.unexpected("'\"'")
}

// escape reads the rest of an escape, behind its backslash.
func (r *Reader) escape() (rune, error) {
	c := r.peek()
	r.pos++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return r.unicode()
	}
	r.pos--
	return 0, r.unexpected("an escape")
}

// unicode reads the rest of an escape behind \u: four hexadecimal digits, or a surrogate pair.
func (r *Reader) unicode() (rune, error) {
	char, err := r.hex4()
	if err != nil || !utf16.IsSurrogate(char) {
		return char, err
	}
	after := r.pos
	if len(r.data)-r.pos >= 2 && r.data[r.pos] == '\\' && r.data[r.pos+1] == 'u' {
		r.pos += 2
		low, err := r.hex4()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(char, low); pair != utf8.RuneError {
			return pair, nil
		}
	}
	if r.lenient {
		r.pos = after
		return utf8.RuneError, nil
	}
	return 0, r.Errorf("half of a surrogate pair, %U", char)
}

// hex4 reads four hexadecimal digits.
func (r *Reader) hex4() (rune, error) {
	var char rune
	for range 4 {
		c := r.peek()
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, r.unexpected("a hexadecimal digit")
		}
		char = char<<4 | rune(c)
		r.pos++
	}
	return char, nil
}
