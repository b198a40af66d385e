// Package tokenizers adds the kinds of tokenizer.json that package llama does not read itself: WordPiece, WordLevel and
// Unigram. Import it for its effect:
//
//	import _ "github.com/antigravity-go/antigravity/llama/tokenizers"
//
// No model that package llama runs needs it, and its tables make a program larger, which is why package llama does not import it.
package tokenizers

import (
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/hftok"
	"github.com/antigravity-go/antigravity/llama"
)

func init() { llama.RegisterTokenizer(parse) }

// parse reads a tokenizer.json.
func parse(data []byte) (llama.Vocabulary, error) {
	t, err := hftok.ParseJSON(data)
	if errors.Is(err, hftok.ErrUnsupported) {
		return nil, fmt.Errorf("%w: %w", llama.ErrUnsupported, err)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}
