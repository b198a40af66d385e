package wire

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// maxDepth is how deep arrays and objects of a request may lie in each other.
const maxDepth = 100

// errDepth is the error of duplicateName for arrays and objects that lie deeper.
var errDepth = errors.New("nested deeper")

// duplicateName returns the place of the first name that comes twice in one object of a text; "" if no name does. Of two members with one name each
// reader takes another: the request would not say what it seems to say. The error is errDepth, or says that the text is no JSON.
func duplicateName(text []byte) (place string, err error) {
	s := search{Reader: strictjson.Lenient(text)}
	if err := s.value(); err != nil {
		return "", err
	}
	return s.found, s.End()
}

// search walks through a text.
type search struct {
	*strictjson.Reader
	path  []step // to the value that is next
	found string // the place of the first name that comes twice
}

// step leads from an object to its member or, if the name is "", from an array to its element.
type step struct {
	name  string
	index int
}

// place returns the path in words.
func (s *search) place() (place string) {
	for _, p := range s.path {
		if p.name == "" {
			place += fmt.Sprintf("[%d]", p.index)
		} else {
			place = within(place, p.name)
		}
	}
	return place
}

// value reads a value.
func (s *search) value() (err error) {
	kind, depth := s.Next(), len(s.path)
	if kind != '{' && kind != '[' {
		_, err = s.Value()
		return err
	}
	if depth == maxDepth {
		return errDepth
	}
	s.path = append(s.path, step{})
	if kind == '[' {
		err = s.Array(func() error {
			err := s.value()
			s.path[depth].index++
			return err
		})
	} else {
		names := map[string]bool{}
		err = s.Object(func(name []byte) error {
			at := &s.path[depth]
			at.name = string(name)
			if names[at.name] && s.found == "" {
				s.found = s.place()
			}
			names[at.name] = true
			err := s.value()
			s.path[depth].index++
			return err
		})
	}
	s.path = s.path[:depth]
	return err
}
