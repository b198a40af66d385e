package calls

// jsonScanner takes an object of JSON byte by byte. It keeps one state and the open brackets, and no values. For example, in {"a":[1]}
//
//	byte   state after it    open
//	{      jsonFirstKey      {
//	"      jsonString        {     the string is a key
//	a      jsonString        {
//	"      jsonColon         {
//	:      jsonValue         {
//	[      jsonFirstValue    {[
//	1      jsonInteger       {[
//	]      jsonAfter         {
//	}      jsonEnd
//
// The byte after a number, here ], ends the number first, and then means what it means after a value.

// maxDepth bounds how deep arguments nest, so that a chat template can write them again: its JSON has the same bound.
const maxDepth = 63

// jsonState is what a jsonScanner expects or is within.
type jsonState uint8

const (
	jsonValue      jsonState = iota // a value
	jsonFirstValue                  // a list's first value, or its end
	jsonKey                         // a key
	jsonFirstKey                    // an object's first key, or its end
	jsonColon
	jsonAfter // a comma or the end of the open value
	jsonEnd   // nothing: the value is complete
	jsonString
	jsonEscape  // in a string, after a backslash
	jsonHex     // in a string, within \u and its four digits
	jsonLiteral // within true, false or null
	jsonMinus   // a number, by its last character
	jsonZero
	jsonInteger
	jsonPoint
	jsonFraction
	jsonE
	jsonESign
	jsonExponent
)

// jsonScanner checks byte by byte that a text is an object of JSON (RFC 8259).
//
// Invariant between bytes: open holds '{' or '[' for each object and list that is open, the outermost first.
type jsonScanner struct {
	state   jsonState
	open    []byte
	key     bool   // the string that is being read is a key
	hex     int    // digits of \u that have not come
	literal string // the rest of a literal
}

// start expects an object.
func (s *jsonScanner) start() {
	s.state, s.open = jsonValue, s.open[:0]
}

// done reports whether the object is complete.
func (s *jsonScanner) done() bool { return s.state == jsonEnd }

// step reads a byte. It reports whether the text may still become an object; once it may not, the scanner is of no use.
func (s *jsonScanner) step(c byte) bool {
	switch s.state {
	case jsonString:
		return s.inString(c)
	case jsonEscape:
		return s.escape(c)
	case jsonHex:
		if s.hex--; s.hex == 0 {
			s.state = jsonString
		}
		return isHex(c)
	case jsonLiteral:
		if c != s.literal[0] {
			return false
		}
		if s.literal = s.literal[1:]; s.literal == "" {
			s.state = jsonAfter
		}
		return true
	}
	if s.state >= jsonMinus {
		next, goesOn := inNumber(s.state, c)
		switch {
		case goesOn:
			s.state = next
			return true
		case s.state != jsonZero && s.state != jsonInteger && s.state != jsonFraction && s.state != jsonExponent:
			return false
		}
		s.state = jsonAfter
	}
	if isSpace(c) {
		return s.state != jsonEnd
	}
	switch s.state {
	case jsonFirstValue:
		if c == ']' {
			return s.pop('[')
		}
		return s.value(c)
	case jsonValue:
		return s.value(c)
	case jsonFirstKey:
		if c == '}' {
			return s.pop('{')
		}
		fallthrough
	case jsonKey:
		s.state, s.key = jsonString, true
		return c == '"'
	case jsonColon:
		s.state = jsonValue
		return c == ':'
	case jsonAfter:
		switch c {
		case '}':
			return s.pop('{')
		case ']':
			return s.pop('[')
		}
		s.state = jsonValue
		if s.open[len(s.open)-1] == '{' {
			s.state = jsonKey
		}
		return c == ','
	}
	return false
}

// value reads the first byte of a value.
func (s *jsonScanner) value(c byte) bool {
	if len(s.open) == 0 && c != '{' {
		return false
	}
	switch {
	case c == '{' || c == '[':
		s.open = append(s.open, c)
		s.state = jsonFirstKey
		if c == '[' {
			s.state = jsonFirstValue
		}
		return len(s.open) <= maxDepth+1 // one more than arguments have: they lie in the object that is the call
	case c == '"':
		s.state, s.key = jsonString, false
	case c == '-':
		s.state = jsonMinus
	case c == '0':
		s.state = jsonZero
	case isDigit(c):
		s.state = jsonInteger
	case c == 't':
		s.state, s.literal = jsonLiteral, "rue"
	case c == 'f':
		s.state, s.literal = jsonLiteral, "alse"
	case c == 'n':
		s.state, s.literal = jsonLiteral, "ull"
	default:
		return false
	}
	return true
}

// pop closes the innermost object or list, which has to be one that begins with opening.
func (s *jsonScanner) pop(opening byte) bool {
	last := len(s.open) - 1
	if s.open[last] != opening {
		return false
	}
	s.open = s.open[:last]
	s.state = jsonAfter
	if last == 0 {
		s.state = jsonEnd
	}
	return true
}

func (s *jsonScanner) inString(c byte) bool {
	switch {
	case c == '\\':
		s.state = jsonEscape
	case c == '"' && s.key:
		s.state = jsonColon
	case c == '"':
		s.state = jsonAfter
	}
	return c >= ' '
}

func (s *jsonScanner) escape(c byte) bool {
	s.state = jsonString
	switch c {
	case 'u':
		s.state, s.hex = jsonHex, 4
		return true
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// inNumber returns the state after c in a number, and whether c belongs to the number.
func inNumber(s jsonState, c byte) (jsonState, bool) {
	digit := isDigit(c)
	switch s {
	case jsonMinus:
		if c == '0' {
			return jsonZero, true
		}
		return jsonInteger, digit
	case jsonInteger, jsonZero:
		switch {
		case digit:
			return s, s == jsonInteger
		case c == '.':
			return jsonPoint, true
		}
		return jsonE, c|0x20 == 'e'
	case jsonPoint:
		return jsonFraction, digit
	case jsonFraction:
		if digit {
			return s, true
		}
		return jsonE, c|0x20 == 'e'
	case jsonE:
		if c == '+' || c == '-' {
			return jsonESign, true
		}
	}
	return jsonExponent, digit
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// IsName reports whether all bytes of a name satisfy isNameByte.
func IsName(name string) bool {
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}

// isNameByte reports whether c may be in a name that is not quoted, or in any name if the names on offer are unknown.
func isNameByte(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-' || c == '.'
}
