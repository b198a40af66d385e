package values

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/antigravity-go/antigravity/internal/jinja/texts"
)

// maxJSONDepth bounds the nesting of JSON that is read or printed.
const maxJSONDepth = 64

// Decoder makes values of JSON.
type Decoder struct {
	Left int // values that may still come, dictionaries and lists included
}

// Decode reads one JSON value. Its texts get origin o. Dictionaries keep the order of keys.
func (d *Decoder) Decode(data []byte, o texts.Origin) (Value, error) {
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
	budget *Decoder     // counts the values
	origin texts.Origin // of all texts
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
		return texts.From(t, r.origin), nil
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
	n, ok := new(big.Int), len(s) <= MaxDigits
	if ok {
		n, ok = n.SetString(s, 10)
	}
	if !ok {
		return nil, fmt.Errorf("the integer %.20s… has more than %d digits", s, MaxDigits)
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
		d.Set(texts.From(key.(string), r.origin), v) // the decoder accepts nothing but strings here
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
