package openai

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/neutral"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestNeutralValues adds values that ask for nothing to requests.
func TestNeutralValues(t *testing.T) {
	neutral.Check(t, `{"messages":[{"role":"user","content":"a"}]}`, wire.Names(new(chatRequest), chatRules), func(body []byte) error {
		var in chatRequest
		err := wire.Parse(body, chatRules, &in)
		if err == nil {
			_, err = in.read(t.Context(), 8)
		}
		return err
	})
	neutral.Check(t, `{"prompt":"a"}`, wire.Names(new(completionRequest), completionRules), func(body []byte) error {
		var in completionRequest
		err := wire.Parse(body, completionRules, &in)
		if err == nil {
			_, _, err = in.read(t.Context(), 8)
		}
		if err == nil {
			_, _, err = in.Form()
		}
		return err
	})
}
