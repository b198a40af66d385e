package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// Bounds of a schema's text.
const (
	maxBytes = 4 << 20
	maxDepth = 500
)

// kind is what a JSON value is.
type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	array
	object
)

// value is a JSON value. Equal texts of values (without white space) are one value, so that what is said twice in a schema is read
// once.
type value struct {
	kind    kind
	id      int32  // different values have different ones
	same    int32  // of equal values: see source.same; 0: not asked for
	truth   bool   // of a boolean
	text    string // of a string: its characters; of a number: as it is written
	items   []*value
	members []member
	index   map[string]*value // of the members, if there are many and one was asked for
}

// source is the text of a schema that was read.
type source struct {
	root  *value
	sames map[string]int32 // the number of equal values, by what they are
}

// member is a member of an object. Members stand in the order in which they were written; of a name that comes twice, the first
// place and the last value count.
type member struct {
	name  string
	value *value
}

// get returns the value of a member, or nil.
func (v *value) get(name string) *value {
	if v.kind != object {
		return nil
	}
	if len(v.members) > fewMembers {
		if v.index == nil {
			v.index = make(map[string]*value, len(v.members))
			for _, m := range v.members {
				v.index[m.name] = m.value
			}
		}
		return v.index[name]
	}
	for _, m := range v.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// fewMembers is up to how many members are looked at one by one.
const fewMembers = 8

// parser reads a text that is JSON.
type parser struct {
	*strictjson.Reader
	values map[string]*value
	key    []byte
}

// parse reads a text.
func parse(src []byte) (*source, error) {
	if len(src) > maxBytes {
		return nil, fmt.Errorf("the schema has %d bytes: at most %d can be read", len(src), maxBytes)
	}
	if !utf8.Valid(src) { // a validator would read something else in its place
		return nil, errors.New("the schema is not UTF-8")
	}
	if !json.Valid(src) {
		var v any
		err := json.Unmarshal(src, &v)
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	p := parser{Reader: strictjson.Lenient(src), values: map[string]*value{}}
	root, err := p.value(0)
	return &source{root, map[string]int32{}}, err
}

// value reads a value, which depth arrays and objects enclose.
func (p *parser) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is more than %d levels deep", maxDepth)
	}
	switch p.Next() {
	case '{':
		return p.object(depth)
	case '[':
		return p.array(depth)
	case '"':
		s, err := p.Text()
		return p.intern(append(append(p.key[:0], 's'), s...), &value{kind: text, text: string(s)}), err
	}
	s, err := p.Value()
	if err != nil {
		return nil, err
	}
	v := &value{kind: number, text: string(s)}
	switch s[0] {
	case 't', 'f':
		v = &value{kind: boolean, truth: s[0] == 't'}
	case 'n':
		v = &value{kind: null}
	}
	return p.intern(append(append(p.key[:0], '0'), s...), v), nil
}

func (p *parser) object(depth int) (*value, error) {
	v := &value{kind: object}
	places := map[string]int{}
	err := p.Object(func(text []byte) error {
		name := string(text)
		m, err := p.value(depth + 1)
		if i, ok := places[name]; ok {
			v.members[i].value = m
			return err
		}
		places[name] = len(v.members)
		v.members = append(v.members, member{name, m})
		return err
	})
	if err != nil {
		return nil, err
	}
	key := append(p.key[:0], 'o')
	for _, m := range v.members {
		key = number32(key, int32(len(m.name)))
		key = append(key, m.name...)
		key = number32(key, m.value.id)
	}
	return p.intern(key, v), nil
}

func (p *parser) array(depth int) (*value, error) {
	v := &value{kind: array}
	err := p.Array(func() error {
		item, err := p.value(depth + 1)
		v.items = append(v.items, item)
		return err
	})
	if err != nil {
		return nil, err
	}
	key := append(p.key[:0], 'a')
	for _, item := range v.items {
		key = number32(key, item.id)
	}
	return p.intern(key, v), nil
}

// intern returns the value that was read before under the key, or else v.
func (p *parser) intern(key []byte, v *value) *value {
	p.key = key
	if old, ok := p.values[string(key)]; ok {
		return old
	}
	v.id = int32(len(p.values))
	p.values[string(key)] = v
	return v
}

// number32 appends the bytes of n.
func number32(dst []byte, n int32) []byte {
	return append(dst, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

// same returns a number that equal values have in common: numbers that stand for the same, and objects with the same members in any order.
func (s *source) same(v *value) int32 {
	if v.same != 0 {
		return v.same
	}
	var key []byte
	switch v.kind {
	case number:
		key = append(append(key, '0'), plainNumber(v.text)...)
	case text:
		key = append(append(key, 's'), v.text...)
	case array:
		key = append(key, 'a')
		for _, item := range v.items {
			key = number32(key, s.same(item))
		}
	case object:
		members := slices.SortedFunc(slices.Values(v.members), func(a, b member) int { return strings.Compare(a.name, b.name) })
		key = append(key, 'o')
		for _, m := range members {
			key = append(number32(key, int32(len(m.name))), m.name...)
			key = number32(key, s.same(m.value))
		}
	default:
		key = append(key, 'w', byte(wordOf(v)))
	}
	id, ok := s.sames[string(key)]
	if !ok {
		id = int32(len(s.sames) + 1)
		s.sames[string(key)] = id
	}
	v.same = id
	return id
}
