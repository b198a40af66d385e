package jsonschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
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
	truth   bool   // of a boolean
	text    string // of a string: its characters; of a number: as it is written
	items   []*value
	members []member
}

// member is a member of an object. Members stand in the order in which they were written; of a name that comes twice, the first
// place and the last value count.
type member struct {
	name  string
	value *value
}

// get returns the value of a member, or nil.
func (v *value) get(name string) *value {
	if v.kind == object {
		for _, m := range v.members {
			if m.name == name {
				return m.value
			}
		}
	}
	return nil
}

// parser reads a text that is JSON.
type parser struct {
	src    []byte
	at     int
	values map[string]*value
	key    []byte
}

// parse reads a text.
func parse(src []byte) (*value, error) {
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
	p := parser{src: src, values: map[string]*value{}}
	return p.value(0)
}

// space skips white space and returns the byte behind it.
func (p *parser) space() byte {
	for p.at < len(p.src) && (p.src[p.at] == ' ' || p.src[p.at] == '\n' || p.src[p.at] == '\t' || p.src[p.at] == '\r') {
		p.at++
	}
	if p.at == len(p.src) {
		return 0
	}
	return p.src[p.at]
}

func (p *parser) value(depth int) (*value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is more than %d levels deep", maxDepth)
	}
	switch b := p.space(); b {
	case '{':
		v := &value{kind: object}
		places := map[string]int{}
		p.at++
		for p.space() != '}' {
			if p.src[p.at] == ',' {
				p.at++
				p.space()
			}
			name := p.string()
			p.space()
			p.at++ // the colon
			m, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			if i, ok := places[name]; ok {
				v.members[i].value = m
				continue
			}
			places[name] = len(v.members)
			v.members = append(v.members, member{name, m})
		}
		p.at++
		key := append(p.key[:0], 'o')
		for _, m := range v.members {
			key = number32(key, int32(len(m.name)))
			key = append(key, m.name...)
			key = number32(key, m.value.id)
		}
		return p.intern(key, v), nil
	case '[':
		v := &value{kind: array}
		p.at++
		for p.space() != ']' {
			if p.src[p.at] == ',' {
				p.at++
			}
			item, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			v.items = append(v.items, item)
		}
		p.at++
		key := append(p.key[:0], 'a')
		for _, item := range v.items {
			key = number32(key, item.id)
		}
		return p.intern(key, v), nil
	case '"':
		s := p.string()
		return p.intern(append(append(p.key[:0], 's'), s...), &value{kind: text, text: s}), nil
	case 't', 'f':
		p.at += 4
		if b == 'f' {
			p.at++
		}
		return p.intern(append(p.key[:0], b), &value{kind: boolean, truth: b == 't'}), nil
	case 'n':
		p.at += 4
		return p.intern(append(p.key[:0], 'n'), &value{kind: null}), nil
	}
	begin := p.at
	for p.at < len(p.src) && bytes.IndexByte([]byte("+-.eE0123456789"), p.src[p.at]) >= 0 {
		p.at++
	}
	s := string(p.src[begin:p.at])
	return p.intern(append(append(p.key[:0], '0'), s...), &value{kind: number, text: s}), nil
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

// string reads a string.
func (p *parser) string() string {
	begin := p.at
	escaped := false
	for p.at++; p.src[p.at] != '"'; p.at++ {
		if p.src[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	var s string
	if escaped {
		_ = json.Unmarshal(p.src[begin:p.at], &s) // the text is valid
	} else {
		s = string(p.src[begin+1 : p.at-1])
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

// number32 appends the bytes of n.
func number32(dst []byte, n int32) []byte {
	return append(dst, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
}

// equal tells whether two values are the same: numbers by what they stand for, objects in any order of members.
func equal(a, b *value) bool {
	if a == b {
		return true
	}
	if a.kind != b.kind {
		return false
	}
	switch a.kind {
	case number:
		return plainNumber(a.text) == plainNumber(b.text)
	case array:
		if len(a.items) != len(b.items) {
			return false
		}
		for i := range a.items {
			if !equal(a.items[i], b.items[i]) {
				return false
			}
		}
		return true
	case object:
		if len(a.members) != len(b.members) {
			return false
		}
		for _, m := range a.members {
			if other := b.get(m.name); other == nil || !equal(m.value, other) {
				return false
			}
		}
		return true
	}
	return false // the same text would be the same value
}
