package tokens

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/neutral"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestNeutralValues adds values that ask for nothing to a request.
func TestNeutralValues(t *testing.T) {
	neutral.Check(t, `{"prompt":"a"}`, wire.Names(new(completionRequest), answeringRules), func(body []byte) error {
		var in completionRequest
		err := wire.Parse(body, answeringRules, &in)
		if err == nil {
			_, err = in.params(t.Context(), &ask.Service{MaxAnswers: 8})
		}
		return err
	})
}
