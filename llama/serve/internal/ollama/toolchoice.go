package ollama

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// toolChoice is which functions are to be called. Ollama has no such parameter, but programs send OpenAI's.
type toolChoice ask.ToolChoice

// ReadJSON reads a word, as ask.ParseToolChoice does, or {"type":"function","name":…}.
func (t *toolChoice) ReadJSON(at string, value json.RawMessage) error {
	if value[0] == '"' {
		word, err := wire.String(at, value)
		if err != nil {
			return err
		}
		var ok bool
		if t.Choice, ok = ask.ParseToolChoice(word); !ok {
			return wire.Invalid(at, `%s is %.40q; it must be "none", "auto", "required" or a function`, at, word)
		}
		return nil
	}
	var in struct {
		Type string `json:"type" wire:"required"`
		Name string `json:"name" wire:"required"`
	}
	if err := wire.Object(at, value, nil, &in); err != nil {
		return err
	}
	if in.Type != "function" {
		return wire.Unsupported(at+".type", `%s.type is %.40q; it must be "function"`, at, in.Type)
	}
	t.Choice, t.Function, t.Named = constrain.ToolRequired, in.Name, []ask.ToolName{{At: at + ".name", Name: in.Name}}
	return nil
}
