package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
)

// maxJSONDepth bounds the nesting of what is read or printed.
const maxJSONDepth = 64

// Decoder makes values of JSON.
type Decoder struct {
	Left int // values that may still come, dictionaries and lists included
}

// Decode reads one JSON value, whose texts are of the given origin. Dictionaries keep the order of keys.
func (d *Decoder) Decode(data []byte, o Origin) (Value, error) {
	r := jsonReader{json.NewDecoder(bytes.NewReader(data)), d, o}
	r.UseNumber()
	v, err := r.value(maxJSONDepth)
	if err != nil {
		return nil, err
	}
	if _, err := r.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// jsonReader reads one JSON value.
type jsonReader struct {
	*json.Decoder
	budget *Decoder // counts the values
	origin Origin   // of all texts
}

func (r *jsonReader) value(depth int) (Value, error) {
	t, err := r.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		return nil, fmt.Errorf("JSON nested deeper than %d", maxJSONDepth)
	}
	if r.budget.Left--; r.budget.Left < 0 {
		return nil, errors.New("too many values in JSON")
	}
	switch t := t.(type) {
	case json.Number:
		return decodeNumber(t.String())
	case string:
		return From(t, r.origin), nil
	case json.Delim:
		if t == '{' {
			return r.dict(depth - 1)
		}
		return r.list(depth - 1)
	}
	return t, nil // nil, bool
}

func decodeNumber(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		return strconv.ParseFloat(s, 64)
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	n, ok := new(big.Int), len(s) <= maxDigits
	if ok {
		n, ok = n.SetString(s, 10)
	}
	if !ok {
		return nil, fmt.Errorf("the integer %.20s… has more than %d digits", s, maxDigits)
	}
	return n, nil
}

func (r *jsonReader) dict(depth int) (Value, error) {
	d := NewDict()
	for r.More() {
		key, err := r.Token()
		if err != nil {
			return nil, err
		}
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		d.Set(From(key.(string), r.origin), v) // the decoder accepts nothing but strings here
	}
	_, err := r.Token()
	return d, err
}

func (r *jsonReader) list(depth int) (Value, error) {
	l := &List{}
	for r.More() {
		v, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	_, err := r.Token()
	return l, err
}

// jsonWriter prints values as Python's json.dumps does.
type jsonWriter struct {
	builder
	e      *evaluator
	lines  bool // each item on a line of its own
	indent Text // for each level
	comma  Text // between items
	colon  Text // between a key and its value
	ascii  bool // characters beyond ASCII are escaped
	sorted bool // the keys of dictionaries are put in order
}

// toJSON is tojson(ensure_ascii=False, indent=None, separators=None, sort_keys=False).
func toJSON(e *evaluator, v Value, a args) (Value, error) {
	w := &jsonWriter{builder: builder{m: &e.meter}, e: e, comma: Text{s: ", "}, colon: Text{s: ": "}}
	w.ascii, w.sorted = isTrue(a.or(0, false)), isTrue(a.or(3, false))
	switch indent := a.or(1, nil).(type) {
	case nil:
	case Text:
		w.lines, w.indent = true, indent
	default:
		n, ok := index(indent)
		if !ok || n > maxIndent {
			return nil, fmt.Errorf("an indentation by %s, or beyond %d", kindName(indent), maxIndent)
		}
		w.lines, w.indent = true, Text{s: strings.Repeat(" ", max(0, n))}
	}
	if w.lines {
		w.comma = Text{s: ","}
	}
	if separators := a.or(2, nil); separators != nil {
		l, _ := separators.(*List)
		if l == nil || len(l.Items) != 2 {
			return nil, errors.New("separators are two strings")
		}
		comma, okComma := l.Items[0].(Text)
		colon, okColon := l.Items[1].(Text)
		if !okComma || !okColon {
			return nil, errors.New("separators are two strings")
		}
		w.comma, w.colon = comma, colon
	}
	if err := w.value(v, 0); err != nil {
		return nil, err
	}
	return w.text()
}

// maxIndent bounds an indentation that is given as a number.
const maxIndent = 1000

func (w *jsonWriter) value(v Value, depth int) error {
	if depth > 2*maxJSONDepth {
		return fmt.Errorf("nested deeper than %d", 2*maxJSONDepth)
	}
	if err := w.e.spend(nodeWork); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64:
		w.own(jsonScalar(v))
		return w.err
	case Text:
		return w.string(v)
	case *List:
		if v.kind > aTuple {
			break
		}
		return w.sequence("[", "]", len(v.Items), depth, func(i int) error { return w.value(v.Items[i], depth+1) })
	case *Dict:
		entries := v.entries
		if w.sorted {
			var err error
			if entries, err = sortedBy(w.e, entries, func(x entry) Value { return x.key }, false); err != nil {
				return err
			}
		}
		return w.sequence("{", "}", len(entries), depth, func(i int) error { return w.member(entries[i], depth) })
	}
	return fmt.Errorf("%s has no JSON form", kindName(v))
}

func (w *jsonWriter) member(x entry, depth int) error {
	key, ok := x.key.(Text)
	if !ok {
		key = Text{s: jsonScalar(x.key)}
	}
	if err := w.string(key); err != nil {
		return err
	}
	w.add(w.colon)
	return w.value(x.value, depth+1)
}

// jsonScalar prints None, bools and numbers, also those that JSON lacks.
func jsonScalar(v Value) string {
	s, _ := scalar(v)
	if word, ok := jsonWords[s]; ok {
		return word
	}
	return s
}

var jsonWords = map[string]string{"None": "null", "True": "true", "False": "false", "nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

func (w *jsonWriter) sequence(open, end string, n, depth int, item func(int) error) error {
	w.own(open)
	for i := range n {
		if i > 0 {
			w.add(w.comma)
		}
		w.newline(depth + 1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newline(depth)
	}
	w.own(end)
	return w.err
}

func (w *jsonWriter) newline(depth int) {
	if !w.lines {
		return
	}
	w.own("\n")
	for range depth {
		w.add(w.indent)
	}
}

func (w *jsonWriter) string(t Text) error {
	w.own(`"`)
	if err := w.e.escape(&w.builder, t, w.escapeRune); err != nil {
		return err
	}
	w.own(`"`)
	return w.err
}

// jsonEscapes are the short ones.
var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func (w *jsonWriter) escapeRune(r rune) string {
	if s, ok := jsonEscapes[r]; ok {
		return s
	}
	switch {
	case r < 0x20 || w.ascii && 0x7e < r && r <= 0xffff:
		return fmt.Sprintf(`\u%04x`, r)
	case w.ascii && r > 0xffff:
		r -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
	}
	return ""
}
