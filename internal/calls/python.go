package calls

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// python reads a call as Python writes it, f(a=1, b=[True, None]), and writes its arguments as JSON while they come. Literals are Python's:
// strings in either quote with all escapes but \N, whole and decimal numbers, True, False, None (in JSON's spelling too), lists, tuples,
// which become lists, and dicts with strings as keys. Strings in triple quotes, prefixes and everything that would have to be computed are
// no literals.
//
// Invariant between bytes: open holds the open values, the arguments themselves first.
//
// For example, f(a=1, b=[True, None]) is read as
//
//	Python   JSON written   state after it
//	f(       {              pythonFirst
//	a=       "a":           pythonValue
//	1,       1              pythonNext
//	 b=      , "b":         pythonValue
//	[True    [              pythonWord
//	,        true           pythonNext
//	 None    ,              pythonWord
//	]        null]          pythonAfter
//	)        }              pythonEnd
type python struct {
	state pythonState
	lines bool // strings may hold line breaks
	alone bool // the bracket that ends a call's arguments ends the call: it stands in no list
	open  []container
	text  []byte // a name, a word or a number so far
	quote byte   // that which the string began with
	key   bool   // the string is a key
	// A numeric escape: its digits that have not come, its base, its value so far.
	digits, base int
	value        rune
}

// container is what a list of values stands in.
type container struct {
	opening byte // '(' of the arguments or a tuple, '[', '{'
	items   int  // values that have begun
	comma   bool // a comma stands behind the latest of them
}

// pythonState is what python expects or is within.
type pythonState uint8

const (
	pythonName     pythonState = iota // the function's name
	pythonFirst                       // the first item, or the end of the open value
	pythonNext                        // an item after a comma, or the end
	pythonArgument                    // within an argument's name
	pythonEquals                      // the = after it
	pythonColon                       // the : after a key
	pythonValue                       // an argument's or a key's value
	pythonString
	pythonEscape // in a string, after a backslash
	pythonDigits // in a string, within a numeric escape
	pythonWord   // within True, False, None
	pythonNumber
	pythonAfter // a comma or the end of the open value
	pythonEnd   // the call is complete, if what follows says so
)

func (p *python) start(alone, lines bool) {
	p.state, p.alone, p.lines, p.open, p.text = pythonName, alone, lines, p.open[:0], p.text[:0]
}

func (p *python) step(c byte, to *call, names functionNames) verdict {
	if p.state == pythonDigits && p.base == 8 && (c < '0' || c > '7') { // an octal escape has one to three digits
		to.writeRune(p.value)
		p.state = pythonString
	}
	if p.state == pythonWord && !isNameByte(c) || p.state == pythonNumber && !isNameByte(c) && c != '+' {
		if !p.endText(to) {
			return wrong
		}
	}
	switch p.state {
	case pythonName:
		if c == '(' {
			to.name, to.named = string(p.text), names.has(string(p.text))
			to.begun = to.named
			return verdictOf(to.named && p.push(c, to, '{'))
		}
		p.text = append(p.text, c)
		return verdictOf(isNameByte(c) && names.begins(p.text))
	case pythonArgument:
		switch {
		case isNameByte(c) && c != '-' && c != '.':
			p.text = append(p.text, c)
			return goOn
		case isSpace(c):
			p.endArgument(to)
			p.state = pythonEquals
			return goOn
		}
		p.endArgument(to)
		p.state = pythonValue
		return verdictOf(c == '=')
	case pythonString:
		return verdictOf(p.inString(c, to))
	case pythonEscape:
		return verdictOf(p.escape(c, to))
	case pythonDigits:
		return verdictOf(p.digit(c, to))
	case pythonWord, pythonNumber:
		p.text = append(p.text, c)
		return goOn
	}
	if isSpace(c) {
		return goOn
	}
	switch p.state {
	case pythonEquals:
		p.state = pythonValue
		return verdictOf(c == '=')
	case pythonColon:
		to.arguments = append(to.arguments, ": "...)
		p.state = pythonValue
		return verdictOf(c == ':')
	case pythonValue:
		return verdictOf(p.begin(c, to))
	case pythonEnd:
		if c == ',' || c == ']' {
			return before
		}
		return wrong
	}
	v := verdictOf(p.item(c, to))
	if v == goOn && p.alone && p.state == pythonEnd {
		return last
	}
	return v
}

// item reads the first byte of an item, a comma, or the end of the open value.
func (p *python) item(c byte, to *call) bool {
	in := &p.open[len(p.open)-1]
	arguments := len(p.open) == 1
	switch {
	case c == closing(in.opening):
		if in.opening == '(' && !arguments && in.items == 1 && !in.comma {
			return false // brackets around a value make no tuple
		}
		return p.pop(to)
	case p.state == pythonAfter:
		in.comma = true
		p.state = pythonNext
		return c == ','
	}
	if in.items > 0 {
		to.arguments = append(to.arguments, ", "...)
	}
	in.items++
	in.comma = false
	switch {
	case arguments:
		p.state, p.text = pythonArgument, append(p.text[:0], c)
		return isNameByte(c) && !isDigit(c) && c != '-' && c != '.'
	case in.opening == '{':
		p.key = true
		return p.beginString(c, to)
	}
	return p.begin(c, to)
}

// begin reads the first byte of a value.
func (p *python) begin(c byte, to *call) bool {
	switch {
	case c == '"' || c == '\'':
		p.key = false
		return p.beginString(c, to)
	case c == '{':
		return p.push(c, to, '{')
	case c == '[' || c == '(':
		return p.push(c, to, '[')
	}
	p.state, p.text = pythonWord, append(p.text[:0], c)
	if isDigit(c) || c == '-' || c == '+' || c == '.' {
		p.state = pythonNumber
		return true
	}
	return strings.IndexByte("TFNtfn", c) >= 0
}

func (p *python) beginString(c byte, to *call) bool {
	p.state, p.quote = pythonString, c
	to.arguments = append(to.arguments, '"')
	return c == '"' || c == '\''
}

// push opens what begins with c in Python and with opening in JSON.
func (p *python) push(c byte, to *call, opening byte) bool {
	p.open = append(p.open, container{opening: c})
	p.state = pythonFirst
	to.arguments = append(to.arguments, opening)
	return len(p.open) <= maxDepth
}

// pop closes the innermost list, tuple or dict, or the arguments.
func (p *python) pop(to *call) bool {
	opening := p.open[len(p.open)-1].opening
	p.open = p.open[:len(p.open)-1]
	p.state = pythonAfter
	if len(p.open) == 0 {
		p.state, opening = pythonEnd, '{'
	}
	if opening == '(' {
		opening = '['
	}
	to.arguments = append(to.arguments, closing(opening))
	return true
}

// closing returns the bracket that closes another.
func closing(opening byte) byte {
	switch opening {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

// endArgument writes the name of an argument.
func (p *python) endArgument(to *call) {
	to.arguments = append(to.arguments, '"')
	to.arguments = append(to.arguments, p.text...)
	to.arguments = append(to.arguments, `": `...)
}

// endText writes the word or the number that is complete.
func (p *python) endText(to *call) bool {
	value, ok := "", true
	if p.state == pythonNumber {
		value, ok = pythonNumeral(string(p.text))
	} else {
		switch string(p.text) {
		case "True", "true":
			value = "true"
		case "False", "false":
			value = "false"
		case "None", "null":
			value = "null"
		default:
			ok = false
		}
	}
	to.arguments = append(to.arguments, value...)
	p.state = pythonAfter
	return ok
}

func (p *python) inString(c byte, to *call) bool {
	switch {
	case c == p.quote && p.key:
		p.state = pythonColon
	case c == p.quote:
		p.state = pythonAfter
	case c == '\\':
		p.state = pythonEscape
		return true
	case (c == '\n' || c == '\r') && !p.lines:
		return false
	default:
		to.writeByte(c)
		return true
	}
	to.arguments = append(to.arguments, '"')
	return true
}

// escape reads the byte after a backslash.
func (p *python) escape(c byte, to *call) bool {
	p.state = pythonString
	digits := func(n, base int) bool {
		p.state, p.digits, p.base, p.value = pythonDigits, n, base, 0
		return true
	}
	switch c {
	case '\n': // the string goes on in the next line
		return true
	case '\\', '\'', '"':
		to.writeByte(c)
	case 'n', 't', 'r', 'b', 'f':
		to.arguments = append(to.arguments, '\\', c)
	case 'a':
		to.writeByte('\a')
	case 'v':
		to.writeByte('\v')
	case 'x':
		return digits(2, 16)
	case 'u':
		return digits(4, 16)
	case 'U':
		return digits(8, 16)
	case 'N', '\r':
		return false
	default:
		if '0' <= c && c <= '7' {
			digits(3, 8)
			return p.digit(c, to)
		}
		to.writeByte('\\') // no escape: Python keeps the backslash
		to.writeByte(c)
	}
	return true
}

// digit reads a digit of a numeric escape.
func (p *python) digit(c byte, to *call) bool {
	if !isHex(c) {
		return false
	}
	d := rune(c - '0')
	if !isDigit(c) {
		d = rune(c|0x20-'a') + 10
	}
	p.value = p.value*rune(p.base) + d
	if p.value < 0 || p.value > utf8.MaxRune {
		return false
	}
	if p.digits--; p.digits == 0 {
		to.writeRune(p.value)
		p.state = pythonString
	}
	return true
}

// writeByte writes a byte of a string's text as JSON has it: a control character, a quote and a backslash are escaped.
func (c *call) writeByte(b byte) {
	switch {
	case b == '"' || b == '\\':
		c.arguments = append(c.arguments, '\\', b)
	case b == '\n':
		c.arguments = append(c.arguments, `\n`...)
	case b < ' ':
		c.arguments = fmt.Appendf(c.arguments, `\u%04x`, b)
	default:
		c.arguments = append(c.arguments, b)
	}
}

// writeRune writes a character of a string that was written as a number. The half of a surrogate pair stays an escape: the other half
// may come next.
func (c *call) writeRune(r rune) {
	switch {
	case r < utf8.RuneSelf:
		c.writeByte(byte(r))
	case utf8.ValidRune(r):
		c.arguments = utf8.AppendRune(c.arguments, r)
	default:
		c.arguments = fmt.Appendf(c.arguments, `\u%04x`, r)
	}
}

// pythonNumeral returns a number of Python's as JSON writes it.
func pythonNumeral(s string) (string, bool) {
	sign := ""
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		s, sign = rest, "-"
	} else {
		s = strings.TrimPrefix(s, "+")
	}
	if len(s) > 1 && s[0] == '0' && strings.IndexByte("xXoObB", s[1]) >= 0 {
		n, err := strconv.ParseUint(s, 0, 64)
		return sign + strconv.FormatUint(n, 10), err == nil
	}
	mantissa, exponent := s, ""
	hasExponent := false
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent, hasExponent = s[:i], s[i+1:], true
	}
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	whole, wholeOK := pythonDigitsOf(whole)
	fraction, fractionOK := pythonDigitsOf(fraction)
	exponentSign := ""
	if exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
		exponentSign, exponent = exponent[:1], exponent[1:]
	}
	exponent, exponentOK := pythonDigitsOf(exponent)
	if !wholeOK || !fractionOK || !exponentOK || whole+fraction == "" || hasExponent != (exponent != "") {
		return "", false
	}
	trimmed := strings.TrimLeft(whole, "0")
	if trimmed != whole && trimmed != "" && !hasPoint && !hasExponent {
		return "", false // 012 is no number in Python
	}
	if trimmed == "" {
		trimmed = "0"
	}
	number := sign + trimmed
	if hasPoint {
		if fraction == "" {
			fraction = "0"
		}
		number += "." + fraction
	}
	if hasExponent {
		number += "e" + exponentSign + exponent
	}
	return number, true
}

// pythonDigitsOf returns digits without the underscores between them, and whether there is nothing else.
func pythonDigitsOf(s string) (string, bool) {
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || s[i-1] == '_') || s[i] != '_' && !isDigit(s[i]) {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), true
}
