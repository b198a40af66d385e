package document

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/internal/strictjson"
)

// Bounds of a schema's text.
const (
	maxBytes = 4 << 20
	maxDepth = 500
)

// parser reads a text that is JSON.
type parser struct {
	*strictjson.Reader
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
	p := parser{Reader: strictjson.Lenient(src), values: map[string]*Value{}}
	root, err := p.value(0)
	return &Document{root, map[string]int32{}}, err
}

// value reads a value, which depth arrays and objects enclose.
func (p *parser) value(depth int) (*Value, error) {
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
		return p.intern(append(append(p.key[:0], 's'), s...), &Value{Kind: Text, Text: string(s)}), err
	}
	s, err := p.Value()
	if err != nil {
		return nil, err
	}
	v := &Value{Kind: Number, Text: string(s)}
	switch s[0] {
	case 't', 'f':
		v = &Value{Kind: Boolean, Truth: s[0] == 't'}
	case 'n':
		v = &Value{Kind: Null}
	}
	return p.intern(append(append(p.key[:0], '0'), s...), v), nil
}

func (p *parser) object(depth int) (*Value, error) {
	v := &Value{Kind: Object}
	places := map[string]int{}
	err := p.Object(func(text []byte) error {
		name := string(text)
		m, err := p.value(depth + 1)
		if i, ok := places[name]; ok {
			v.Members[i].Value = m
			return err
		}
		places[name] = len(v.Members)
		v.Members = append(v.Members, Member{name, m})
		return err
	})
	if err != nil {
		return nil, err
	}
	key := append(p.key[:0], 'o')
	for _, m := range v.Members {
		key = AppendInt32(key, int32(len(m.Name)))
		key = append(key, m.Name...)
		key = AppendInt32(key, m.Value.id)
	}
	return p.intern(key, v), nil
}

func (p *parser) array(depth int) (*Value, error) {
	v := &Value{Kind: Array}
	err := p.Array(func() error {
		item, err := p.value(depth + 1)
		v.Items = append(v.Items, item)
		return err
	})
	if err != nil {
		return nil, err
	}
	key := append(p.key[:0], 'a')
	for _, item := range v.Items {
		key = AppendInt32(key, item.id)
	}
	return p.intern(key, v), nil
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
