package ollama

import (
	"encoding/json"
	"slices"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// format is the form of an answer: "json" for any object, or a JSON Schema, which is kept as a whole or refused.
type format ask.Form

// ReadJSON reads either; "" asks for nothing.
func (f *format) ReadJSON(at string, value json.RawMessage) error {
	switch {
	case string(value) == `""`:
	case string(value) == `"json"`:
		*f = format(ask.AnyObject())
	case value[0] == '{':
		f.Schema = slices.Clone(value)
	default:
		return wire.Invalid(at, `%s is %s; it must be "json" or a JSON Schema, an object`, at, clipped(string(value)))
	}
	return nil
}
