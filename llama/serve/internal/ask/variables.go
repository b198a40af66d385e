package ask

import (
	"encoding/json"
	"slices"

	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Variables are more variables of a model's chat template: chat_template_kwargs, as vLLM and llama-server call them. Those that turn
// thinking on or off do so even if the template has no such variable.
type Variables struct {
	Values map[string]any
	Thinking
}

// givenVariables are the variables that the conversation itself sets.
var givenVariables = []string{"messages", "tools", "add_generation_prompt", "bos_token", "eos_token", "raise_exception", "strftime_now"}

// ReadJSON reads an object.
func (v *Variables) ReadJSON(at string, value json.RawMessage) error {
	var members map[string]json.RawMessage
	if err := wire.Decode(at, value, &members); err != nil {
		return err
	}
	v.Values = make(map[string]any, len(members))
	for name, value := range members {
		if slices.Contains(givenVariables, name) {
			return wire.Invalid(at, "%s.%s: the conversation says what that is", at, name)
		}
		v.Values[name] = value
		if name == "enable_thinking" || name == "thinking" {
			var on bool
			if json.Unmarshal(value, &on) == nil && (v.Enabled == nil || name == "enable_thinking") {
				v.Enabled = &on
			}
		}
	}
	return nil
}

// Budget is a parameter that bounds thoughts, in tokens: 0 is no thought, -1 is no bound.
type Budget struct{ Thinking }

// ReadJSON reads the number.
func (b *Budget) ReadJSON(at string, value json.RawMessage) error {
	var n int
	if err := wire.Decode(at, value, &n); err != nil {
		return err
	}
	switch {
	case n < -1:
		return wire.Invalid(at, "%s is %d; it must be a number of tokens, 0 for no thought, or -1 for no bound", at, n)
	case n == 0:
		b.Enabled = new(false)
	case n > 0:
		b.Thinking.Budget = n
	}
	return nil
}
