package values

import (
	"fmt"
	"math/big"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// JSONStyle says how JSON is written.
type JSONStyle struct {
	Lines  bool       // each item on a line of its own
	Indent texts.Text // for each level
	Comma  texts.Text // between items
	Colon  texts.Text // between a key and its value
	ASCII  bool       // characters beyond ASCII are escaped
	Sorted bool       // the keys of dictionaries are put in order
}

// JSON prints a value as Python's json.dumps does.
func (r *Runtime) JSON(v Value, style JSONStyle) (texts.Text, error) {
	w := &jsonWriter{r.Builder(), r, style}
	if err := w.value(v, 0); err != nil {
		return texts.Text{}, err
	}
	return w.Text()
}

type jsonWriter struct {
	*texts.Builder
	r *Runtime
	JSONStyle
}

func (w *jsonWriter) value(v Value, depth int) error {
	if depth > 2*maxJSONDepth {
		return fmt.Errorf("nested deeper than %d", 2*maxJSONDepth)
	}
	if err := w.r.Spend(texts.NodeWork); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil, bool, int64, *big.Int, float64:
		w.Own(jsonScalar(v))
		return w.Err
	case texts.Text:
		return w.string(v)
	case *List:
		if v.Kind > Tuple {
			break
		}
		return w.sequence("[", "]", len(v.Items), depth, func(i int) error { return w.value(v.Items[i], depth+1) })
	case *Dict:
		entries := v.Entries
		if w.Sorted {
			var err error
			if entries, err = sortedBy(w.r, entries, func(x Entry) Value { return x.Key }, false); err != nil {
				return err
			}
		}
		return w.sequence("{", "}", len(entries), depth, func(i int) error { return w.member(entries[i], depth) })
	}
	return fmt.Errorf("%s has no JSON form", KindName(v))
}

func (w *jsonWriter) member(x Entry, depth int) error {
	key, ok := x.Key.(texts.Text)
	if !ok {
		key = texts.Own(jsonScalar(x.Key))
	}
	if err := w.string(key); err != nil {
		return err
	}
	w.Add(w.Colon)
	return w.value(x.Value, depth+1)
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
	w.Own(open)
	for i := range n {
		if i > 0 {
			w.Add(w.Comma)
		}
		w.newline(depth + 1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newline(depth)
	}
	w.Own(end)
	return w.Err
}

func (w *jsonWriter) newline(depth int) {
	if !w.Lines {
		return
	}
	w.Own("\n")
	for range depth {
		w.Add(w.Indent)
	}
}

func (w *jsonWriter) string(t texts.Text) error {
	w.Own(`"`)
	if err := w.r.escape(w.Builder, t, w.escapeRune); err != nil {
		return err
	}
	w.Own(`"`)
	return w.Err
}

// jsonEscapes are the short ones.
var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func (w *jsonWriter) escapeRune(char rune) string {
	if s, ok := jsonEscapes[char]; ok {
		return s
	}
	switch {
	case char < 0x20 || w.ASCII && 0x7e < char && char <= 0xffff:
		return fmt.Sprintf(`\u%04x`, char)
	case w.ASCII && char > 0xffff:
		char -= 0x10000
		return fmt.Sprintf(`\u%04x\u%04x`, 0xd800+char>>10, 0xdc00+char&0x3ff)
	}
	return ""
}
