package responses

import (
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/neutral"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// TestNeutralValues adds values that ask for nothing to a request.
func TestNeutralValues(t *testing.T) {
	neutral.Check(t, `{"input":"a"}`, wire.Names(new(request), rules), func(body []byte) error {
		_, _, err := read(string(body))
		return err
	})
}
