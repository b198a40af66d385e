package bpe

import (
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is how deep JSON may nest.
const maxDepth = 128

// A reader reads JSON (RFC 8259) in one pass over its bytes, and strictly: nothing is repaired. It exists because a
// vocabulary of 128,256 tokens and 280,147 merges takes encoding/json most of a second.
//
// The bytes must be UTF-8 throughout, which the caller has checked. Invariant: 0 ≤ pos ≤ len(data).
type reader struct {
	data    []byte
	pos     int    // of the next byte to read
	scratch []byte // the latest string that had escapes, without them
}

// errorf returns an error that says at which byte the reader is.
func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %w", r.pos, fmt.Errorf(format, args...))
}

// next skips white space and returns the byte that follows, or 0 at the end.
func (r *reader) next() byte {
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

// expect consumes c, after white space.
func (r *reader) expect(c byte) error {
	if r.next() != c {
		return r.unexpected(fmt.Sprintf("%q", c))
	}
	r.pos++
	return nil
}

// unexpected returns the error for what comes next, where want should come.
func (r *reader) unexpected(want string) error {
	if r.pos >= len(r.data) {
		return r.errorf("the text ends where %s should come", want)
	}
	return r.errorf("found %q where %s should come", r.data[r.pos], want)
}

// list reads items between open and end, with commas between them. It calls item at each, which must read the item.
func (r *reader) list(open, end byte, item func() error) error {
	if err := r.expect(open); err != nil {
		return err
	}
	if r.next() == end {
		r.pos++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch r.next() {
		case ',':
			r.pos++
		case end:
			r.pos++
			return nil
		default:
			return r.unexpected(fmt.Sprintf("',' or %q", end))
		}
	}
}

// array reads an array, calling item at each element, which item must read.
func (r *reader) array(item func() error) error { return r.list('[', ']', item) }

// object reads an object, calling member after each name; member must read the value. The name is valid until the next read.
func (r *reader) object(member func(name []byte) error) error {
	return r.list('{', '}', func() error {
		name, err := r.str()
		if err != nil {
			return err
		}
		if err := r.expect(':'); err != nil {
			return err
		}
		return member(name)
	})
}

// members reads an object, at a depth, and returns where each of its values lies.
func (r *reader) members(depth int) (map[string]span, error) {
	values := map[string]span{}
	err := r.object(func(name []byte) error {
		key := string(name)
		if _, ok := values[key]; ok {
			return r.errorf("%.40q comes twice", key)
		}
		if len(values) == maxMembers {
			return r.errorf("more than %d members", maxMembers)
		}
		value, err := r.raw(depth)
		values[key] = value
		return err
	})
	return values, err
}

// raw reads a value of any kind, at a depth, and returns where it lies.
func (r *reader) raw(depth int) (span, error) {
	r.next()
	start := r.pos
	err := r.skip(depth)
	return span{uint32(start), uint32(r.pos)}, err
}

// skip reads a value of any kind, which depth arrays and objects enclose.
func (r *reader) skip(depth int) error {
	if depth >= maxDepth {
		return r.errorf("nested deeper than %d levels", maxDepth)
	}
	switch c := r.next(); {
	case c == '{':
		return r.object(func([]byte) error { return r.skip(depth + 1) })
	case c == '[':
		return r.array(func() error { return r.skip(depth + 1) })
	case c == '"':
		_, err := r.str()
		return err
	case c == '-', '0' <= c && c <= '9':
		return r.number()
	default:
		return r.literal()
	}
}

// literal reads true, false or null.
func (r *reader) literal() error {
	for _, word := range []string{"true", "false", "null"} {
		if len(r.data)-r.pos >= len(word) && string(r.data[r.pos:r.pos+len(word)]) == word {
			r.pos += len(word)
			return nil
		}
	}
	return r.unexpected("a value")
}

// number reads a number, and does not return it.
func (r *reader) number() error {
	if r.peek() == '-' {
		r.pos++
	}
	if r.peek() == '0' {
		r.pos++
	} else if err := r.digits(); err != nil {
		return err
	}
	if r.peek() == '.' {
		r.pos++
		if err := r.digits(); err != nil {
			return err
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.pos++
		if c := r.peek(); c == '+' || c == '-' {
			r.pos++
		}
		return r.digits()
	}
	return nil
}

// peek returns the byte at the reader's place, or 0 at the end.
func (r *reader) peek() byte {
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

// digits reads one digit or more.
func (r *reader) digits() error {
	start := r.pos
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.pos++
	}
	if r.pos == start {
		return r.unexpected("a digit")
	}
	return nil
}

// id reads a token id: an integer without sign, fraction or exponent, below maxID.
func (r *reader) id() (int32, error) {
	r.next()
	start := r.pos
	if err := r.digits(); err != nil {
		return 0, err
	}
	digits := r.data[start:r.pos]
	id := 0
	for _, c := range digits {
		if id = id*10 + int(c-'0'); id >= maxID {
			break
		}
	}
	if id >= maxID || len(digits) > 1 && digits[0] == '0' {
		r.pos = start
		return 0, r.errorf("%.20s is no id; ids go from 0 to %d", digits, maxID-1)
	}
	return int32(id), nil
}

// str reads a string. The result is valid until the next string is read.
func (r *reader) str() ([]byte, error) {
	if r.next() != '"' {
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
			return nil, r.errorf("a control character in a string, %q", c)
		}
		r.pos++
	}
	return nil, r.unexpected("'\"'")
}

// escaped reads the rest of a string that has escapes; what came before them is in r.scratch.
func (r *reader) escaped() ([]byte, error) {
	for r.pos < len(r.data) {
		c := r.data[r.pos]
		switch {
		case c == '"':
			r.pos++
			return r.scratch, nil
		case c < ' ':
			return nil, r.errorf("a control character in a string, %q", c)
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

// escape reads what follows a backslash.
func (r *reader) escape() (rune, error) {
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

// unicode reads what follows \u: four hexadecimal digits, or a surrogate pair.
func (r *reader) unicode() (rune, error) {
	char, err := r.hex4()
	if err != nil || !utf16.IsSurrogate(char) {
		return char, err
	}
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
	return 0, r.errorf("half of a surrogate pair, %U", char)
}

// hex4 reads four hexadecimal digits.
func (r *reader) hex4() (rune, error) {
	var char rune
	for range 4 {
		d := hexDigit(r.peek())
		if d < 0 {
			return 0, r.unexpected("a hexadecimal digit")
		}
		char = char<<4 | rune(d)
		r.pos++
	}
	return char, nil
}
