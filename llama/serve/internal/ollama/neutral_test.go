package ollama

import (
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/neutral"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestNeutralValues adds values that ask for nothing to requests, and to their options.
func TestNeutralValues(t *testing.T) {
	chat := func(body []byte) error {
		var in chatRequest
		err := wire.Parse(body, askingRules, &in)
		var tools ask.Tools
		if err == nil {
			tools, err = readTools(in.Tools)
		}
		if err == nil {
			err = tools.Choose(in.ToolChoice)
		}
		if err == nil {
			in.misplaced.place(&in.Options)
			_, err = in.Options.params(t.Context())
		}
		return err
	}
	neutral.Check(t, `{"messages":[{"role":"user","content":"a"}]}`, wire.Names(new(chatRequest), askingRules), chat)
	neutral.Check(t, `{"prompt":"a"}`, wire.Names(new(generateRequest), generateRules), func(body []byte) error {
		var in generateRequest
		err := wire.Parse(body, generateRules, &in)
		if err == nil {
			err = in.check()
		}
		return err
	})
	neutral.Check(t, `{"num_ctx":512}`, wire.Names(new(options), optionRules), func(body []byte) error {
		return chat([]byte(`{"options":` + strings.TrimSpace(string(body)) + `}`))
	})
}
