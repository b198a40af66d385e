package anthropic

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/neutral"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestNeutralValues adds values that ask for nothing to a request.
func TestNeutralValues(t *testing.T) {
	neutral.Check(t, `{`+hello+`}`, wire.Names(new(request), requestRules), func(body []byte) error {
		_, err := read(string(body))
		return err
	})
}
