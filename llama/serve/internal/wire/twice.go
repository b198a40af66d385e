package wire

import (
	"encoding/json"
	"fmt"
)

// twice returns the place of a name that comes twice in one object of a JSON text, which must be valid; "" where none does. Of two members
// with one name each reader takes another: the request would not say what it seems to say.
func twice(text []byte) string {
	s := scan{text: text}
	s.value()
	return s.found
}

// scan walks through a valid JSON text. Between two calls text begins where the next part of the text does, or with white space before it;
// path leads to the value that is next.
type scan struct {
	text  []byte
	path  []step
	found string // the place of the first name that comes twice
}

// step leads from an object to its member or, where the name is "", from an array to its element.
type step struct {
	name  string
	index int
}

// place returns the path in words.
func (s *scan) place() (place string) {
	for _, p := range s.path {
		if p.name == "" {
			place += fmt.Sprintf("[%d]", p.index)
		} else {
			place = within(place, p.name)
		}
	}
	return place
}

// next drops white space and returns the byte that the text then begins with.
func (s *scan) next() byte {
	for s.text[0] == ' ' || s.text[0] == '\t' || s.text[0] == '\n' || s.text[0] == '\r' {
		s.text = s.text[1:]
	}
	return s.text[0]
}

// value drops a value.
func (s *scan) value() {
	switch s.next() {
	case '{':
		names := map[string]bool{}
		s.list('}', func(at *step) {
			at.name = s.name()
			if names[at.name] && s.found == "" {
				s.found = s.place()
			}
			names[at.name] = true
			s.value()
		})
	case '[':
		s.list(']', func(*step) { s.value() })
	case '"':
		s.raw()
	default:
		s.word()
	}
}

// name drops a member's name with its colon, and returns it.
func (s *scan) name() string {
	s.next()
	name := s.string()
	s.next()
	s.text = s.text[1:] // the colon
	return name
}

// take drops a value and returns it as it is written.
func (s *scan) take() json.RawMessage {
	s.next()
	from := s.text
	s.skip()
	n := len(from) - len(s.text)
	return json.RawMessage(from[:n:n])
}

// skip drops a value, whatever is in it.
func (s *scan) skip() {
	depth := 0
	for {
		switch s.next() {
		case '"':
			s.raw()
		case '{', '[':
			depth++
			s.text = s.text[1:]
			continue
		case '}', ']':
			depth--
			s.text = s.text[1:]
		case ',', ':':
			s.text = s.text[1:]
			continue
		default:
			s.word()
		}
		if depth == 0 {
			return
		}
	}
}

// word drops a number or a word: to what comes after it.
func (s *scan) word() {
	i := 0
	for i < len(s.text) && s.text[i] != ',' && s.text[i] != '}' && s.text[i] != ']' && s.text[i] > ' ' {
		i++
	}
	s.text = s.text[i:]
}

// eachMember calls f for the members of a valid object, in their order, until it returns an error. The values share the object's memory.
func eachMember(object json.RawMessage, f func(name string, value json.RawMessage) error) error {
	s := scan{text: object[1:]}
	for s.next() != '}' {
		if s.text[0] == ',' {
			s.text = s.text[1:]
		}
		name := s.name()
		if err := f(name, s.take()); err != nil {
			return err
		}
	}
	return nil
}

// eachElement calls f for the elements of a valid array, in their order, until it returns an error. They share the array's memory.
func eachElement(array json.RawMessage, f func(value json.RawMessage) error) error {
	s := scan{text: array[1:]}
	for s.next() != ']' {
		if s.text[0] == ',' {
			s.text = s.text[1:]
		}
		if err := f(s.take()); err != nil {
			return err
		}
	}
	return nil
}

// list drops an object or an array; each drops one of its elements, which the last step leads to.
func (s *scan) list(end byte, each func(at *step)) {
	s.text = s.text[1:]
	s.path = append(s.path, step{})
	depth := len(s.path)
	for s.next() != end {
		if s.text[0] == ',' {
			s.text = s.text[1:]
		}
		each(&s.path[depth-1])
		s.path[depth-1].index++
	}
	s.path = s.path[:depth-1]
	s.text = s.text[1:]
}

// raw drops a string and returns it as it is written.
func (s *scan) raw() []byte {
	i := 1
	for ; s.text[i] != '"'; i++ {
		if s.text[i] == '\\' {
			i++
		}
	}
	raw := s.text[:i+1]
	s.text = s.text[i+1:]
	return raw
}

// string drops a string and returns what it says.
func (s *scan) string() (text string) {
	_ = json.Unmarshal(s.raw(), &text) // a string of a valid text is valid
	return text
}
