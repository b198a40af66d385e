package document

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

// parser reads a text that is JSON.
type parser struct {
	src    []byte
	at     int
	values map[string]*Value
	key    []byte
}

// Parse reads a text.
func Parse(src []byte) (*Document, error) {
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
	p := parser{src: src, values: map[string]*Value{}}
	root, err := p.value(0)
	return &Document{root, map[string]int32{}}, err
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

func (p *parser) value(depth int) (*Value, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("the schema is more than %d levels deep", maxDepth)
	}
	switch b := p.space(); b {
	case '{':
		v := &Value{Kind: Object}
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
				v.Members[i].Value = m
				continue
			}
			places[name] = len(v.Members)
			v.Members = append(v.Members, Member{name, m})
		}
		p.at++
		key := append(p.key[:0], 'o')
		for _, m := range v.Members {
			key = AppendInt32(key, int32(len(m.Name)))
			key = append(key, m.Name...)
			key = AppendInt32(key, m.Value.id)
		}
		return p.intern(key, v), nil
	case '[':
		v := &Value{Kind: Array}
		p.at++
		for p.space() != ']' {
			if p.src[p.at] == ',' {
				p.at++
			}
			item, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, item)
		}
		p.at++
		key := append(p.key[:0], 'a')
		for _, item := range v.Items {
			key = AppendInt32(key, item.id)
		}
		return p.intern(key, v), nil
	case '"':
		s := p.string()
		return p.intern(append(append(p.key[:0], 's'), s...), &Value{Kind: Text, Text: s}), nil
	case 't', 'f':
		p.at += 4
		if b == 'f' {
			p.at++
		}
		return p.intern(append(p.key[:0], b), &Value{Kind: Boolean, Truth: b == 't'}), nil
	case 'n':
		p.at += 4
		return p.intern(append(p.key[:0], 'n'), &Value{Kind: Null}), nil
	}
	begin := p.at
	for p.at < len(p.src) && bytes.IndexByte([]byte("+-.eE0123456789"), p.src[p.at]) >= 0 {
		p.at++
	}
	s := string(p.src[begin:p.at])
	return p.intern(append(append(p.key[:0], '0'), s...), &Value{Kind: Number, Text: s}), nil
}

// intern returns the value that was read before under the key, or else v.
func (p *parser) intern(key []byte, v *Value) *Value {
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
