package ollama

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// think says whether a model is to think before it answers, and how much. It is an upper bound, which a model that does not think keeps.
type think struct{ ask.Thinking }

// ReadJSON reads true, false or a word: "low", "medium", "high" or "max".
func (t *think) ReadJSON(at string, value json.RawMessage) error {
	if value[0] == '"' {
		word, err := wire.String(at, value)
		if err != nil {
			return err
		}
		return t.SetEffort(at, word)
	}
	t.Enabled = new(bool)
	if err := wire.Decode(at, value, t.Enabled); err != nil {
		return wire.Invalid(at, `%s must be true, false, "low", "medium", "high" or "max"`, at)
	}
	return nil
}
