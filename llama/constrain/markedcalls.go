package constrain

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/grammar"
	"github.com/antigravity-go/antigravity/internal/jsonschema"
	"github.com/antigravity-go/antigravity/internal/tokenmask"
	"github.com/antigravity-go/antigravity/llama"
)

// markedArguments returns the symbols of a function's arguments as Gemma 4 writes them, with the strings between marks:
//
//	{city:<|"|>Rome<|"|>,days:3}
//
// Templates of the family sort the members by name, and so do models that were trained with them. So members may come in any order.
func (w *callWriter) markedArguments(schema []byte, o jsonschema.Options) ([]grammar.Symbol, error) {
	mark, spelled := calls.QuoteMark, calls.QuoteMark
	if id, ok := w.tokenizer.ID(mark); ok {
		if w.tokenizer.Special(id) { // no text is taken for it
			spelled = ""
		}
		mark = tokenmask.Mark(int32(id))
	}
	if has, err := hasText(schema, spelled); err != nil || has {
		if err == nil {
			err = fmt.Errorf("%w: its texts have the mark %s, which ends a string", llama.ErrUnsupported, spelled)
		}
		return nil, err
	}
	o.AnyOrder = true
	arguments, err := w.schema(schema, w.language.Marked(mark, spelled), o)
	return []grammar.Symbol{arguments}, err
}

// hasText reports whether a string of a JSON text, or a name, has a text within. No string has the empty text.
func hasText(data []byte, text string) (bool, error) {
	if text == "" {
		return false, nil
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return false, err
	}
	var plain, quoted bytes.Buffer
	for b, v := range map[*bytes.Buffer]any{&plain: value, &quoted: text} {
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err != nil {
			return false, err
		}
	}
	return bytes.Contains(plain.Bytes(), bytes.Trim(quoted.Bytes(), "\"\n")), nil
}
