package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxJSONDepth bounds the nesting of a tool's schema or a call's arguments.
const maxJSONDepth = 64

// The values that templates see: undefined is nil, None is [none], and the rest are bool, int, float64, string, list and
// object.
type (
	list   []any
	member struct {
		key   string
		value any
	}
	// object is a dictionary that keeps the order of its keys, as Python's do.
	object []member
	// bigInt is an integer that does not fit an int, as it was written.
	bigInt   string
	noneType struct{}
)

// none is Python's None. It is a nil pointer so that gonja, too, takes it for false.
var none = (*noneType)(nil)

// parseJSON decodes one JSON value, keeping the order of keys.
func parseJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decode(d, maxJSONDepth)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func decode(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		return nil, fmt.Errorf("JSON nested deeper than %d", maxJSONDepth)
	}
	switch t := t.(type) {
	case nil:
		return none, nil
	case json.Number:
		if i, err := strconv.Atoi(t.String()); err == nil {
			return i, nil
		}
		if !strings.ContainsAny(t.String(), ".eE") {
			return bigInt(t), nil
		}
		return t.Float64()
	case json.Delim:
		if t == '{' {
			return decodeObject(d, depth-1)
		}
		return decodeList(d, depth-1)
	default: // bool, string
		return t, nil
	}
}

func decodeObject(d *json.Decoder, depth int) (any, error) {
	o := object{}
	at := map[string]int{} // a repeated key keeps its place and takes the last value
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decode(d, depth)
		if err != nil {
			return nil, err
		}
		k := key.(string) // the decoder accepts nothing else here
		if i, ok := at[k]; ok {
			o[i].value = v
			continue
		}
		at[k] = len(o)
		o = append(o, member{k, v})
	}
	_, err := d.Token()
	return o, err
}

func decodeList(d *json.Decoder, depth int) (any, error) {
	l := list{}
	for d.More() {
		v, err := decode(d, depth)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	_, err := d.Token()
	return l, err
}

// jsonWriter prints values as Python's json.dumps(x, ensure_ascii=False, indent=indent) does. A string keeps its fences.
type jsonWriter struct {
	strings.Builder
	fence  fence
	indent string // "" prints everything on one line
	limit  int    // bytes
}

func (w *jsonWriter) value(v any, depth int) error {
	if w.Len() > w.limit {
		return errTooLong
	}
	if depth > 2*maxJSONDepth {
		return fmt.Errorf("tojson: nested deeper than %d", 2*maxJSONDepth)
	}
	switch v := v.(type) {
	case *noneType:
		w.WriteString("null")
	case bool:
		w.WriteString(strconv.FormatBool(v))
	case int:
		w.WriteString(strconv.Itoa(v))
	case bigInt:
		w.WriteString(string(v))
	case float64:
		w.WriteString(jsonFloat(v))
	case string:
		w.text(v)
	case list:
		return w.sequence('[', ']', len(v), depth, func(i int) error { return w.value(v[i], depth+1) })
	case object:
		return w.sequence('{', '}', len(v), depth, func(i int) error {
			w.text(v[i].key)
			w.WriteString(": ")
			return w.value(v[i].value, depth+1)
		})
	default:
		return fmt.Errorf("tojson: %s has no JSON form", typeName(v))
	}
	return nil
}

func (w *jsonWriter) sequence(open, end byte, n, depth int, item func(int) error) error {
	w.WriteByte(open)
	for i := range n {
		switch {
		case i > 0 && w.indent == "":
			w.WriteString(", ")
		case i > 0:
			w.WriteByte(',')
		}
		w.newline(depth + 1)
		if err := item(i); err != nil {
			return err
		}
	}
	if n > 0 {
		w.newline(depth)
	}
	w.WriteByte(end)
	return nil
}

func (w *jsonWriter) newline(depth int) {
	if w.indent != "" {
		w.WriteByte('\n')
		w.WriteString(strings.Repeat(w.indent, depth))
	}
}

func (w *jsonWriter) text(s string) {
	w.WriteByte('"')
	w.WriteString(w.fence.mapSpans(s, jsonEscaper.Replace))
	w.WriteByte('"')
}

// jsonEscaper escapes what Python's json module does, and nothing more.
var jsonEscaper = func() *strings.Replacer {
	pairs := []string{`"`, `\"`, `\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "\b", `\b`, "\f", `\f`}
	for c := range 0x20 {
		pairs = append(pairs, string(rune(c)), fmt.Sprintf(`\u%04x`, c)) // the first pair that matches wins
	}
	return strings.NewReplacer(pairs...)
}()

// jsonWords are the numbers that JSON lacks and Python prints nevertheless.
var jsonWords = map[string]string{"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}

// jsonFloat is a number as Python's json module prints it.
func jsonFloat(f float64) string {
	if s, ok := jsonWords[pythonFloat(f)]; ok {
		return s
	}
	return pythonFloat(f)
}

// pythonFloat is Python's repr of a float: the shortest digits that read back, with an exponent outside 1e-4 … 1e16.
func pythonFloat(f float64) string {
	switch a := math.Abs(f); {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+"))
	case a != 0 && (a < 1e-4 || a >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
