package genkit

import (
	"context"
	"fmt"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/core/api"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
)

// NewEmbedder makes an embedder of Genkit's that is not registered yet. Its options are a llama.EmbedOptions or a pointer to one; without any
// it makes vectors of documents.
func NewEmbedder(name string, m *llama.Model) ai.Embedder {
	o := &ai.EmbedderOptions{Label: "Antigravity - " + name, Supports: &ai.EmbedderSupports{Input: []string{"text"}}}
	return ai.NewEmbedder(api.NewName(Name, name), o, func(ctx context.Context, r *ai.EmbedRequest) (*ai.EmbedResponse, error) {
		options := llama.EmbedOptions{Task: "document"}
		switch given := r.Options.(type) {
		case nil:
		case llama.EmbedOptions:
			options = given
		case *llama.EmbedOptions:
			options = *given
		default:
			return nil, &with.UnsupportedError{What: fmt.Sprintf("an option of the type %T", r.Options), Want: "a llama.EmbedOptions"}
		}
		texts := make([]string, len(r.Input))
		for i, d := range r.Input {
			var text strings.Builder
			for _, p := range d.Content {
				if !p.IsText() {
					return nil, &with.UnsupportedError{What: fmt.Sprintf("a part of the kind %d in document %d", p.Kind, i), Want: "a text"}
				}
				text.WriteString(p.Text)
			}
			texts[i] = text.String()
		}
		vectors, err := m.EmbedWith(ctx, options, texts...)
		if err != nil {
			return nil, fmt.Errorf("with: the embedder %s: %w", name, err)
		}
		response := &ai.EmbedResponse{}
		for _, v := range vectors {
			response.Embeddings = append(response.Embeddings, &ai.Embedding{Embedding: v})
		}
		return response, nil
	})
}
