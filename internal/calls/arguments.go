package calls

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Arguments returns arguments, an object in JSON, as the family writes them: {"a": 1, "b": [true, null]} becomes a=1, b=[True, None] in
// Python. Other values stay as they are.
func (f *Family) Arguments(object json.RawMessage) string {
	if !f.Python && f.Tags == nil {
		return string(object)
	}
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return string(object)
	}
	var b strings.Builder
	for d.More() {
		key, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			return string(object)
		}
		name := key.(string) // the decoder gives no other keys
		if f.Python {
			if b.Len() > 0 {
				b.WriteString(", ")
			}
			b.WriteString(name + "=" + pythonLiteral(value))
			continue
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		for _, parts := range [][]Part{f.Tags.BeforeName, {{Text: name}}, f.Tags.AfterName, {{Text: text}}, f.Tags.AfterValue} {
			for _, p := range parts {
				b.WriteString(p.Text)
			}
		}
	}
	return b.String()
}

// pythonLiteral returns a value in JSON as Python writes it: outside strings true, false and null are True, False and None.
func pythonLiteral(value []byte) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case quoted && c == '\\' && i+1 < len(value):
			b.WriteByte(c)
			i++
			b.WriteByte(value[i])
			continue
		case c == '"':
			quoted = !quoted
		case !quoted && (c == 't' || c == 'f' || c == 'n'):
			for word, literal := range map[string]string{"true": "True", "false": "False", "null": "None"} {
				if bytes.HasPrefix(value[i:], []byte(word)) {
					b.WriteString(literal)
					i += len(word) - 1
				}
			}
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}
