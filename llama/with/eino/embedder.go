package eino

import (
	"context"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/with"
)

// Embedder is an embedding.Embedder. It is safe for concurrent use.
type Embedder struct {
	model   *llama.Model
	options llama.EmbedOptions
}

var _ embedding.Embedder = (*Embedder)(nil)

// NewEmbedder makes an Embedder of a model. Options say for which task the vectors are: an index takes "document", a search "query".
func NewEmbedder(m *llama.Model, o llama.EmbedOptions) *Embedder { return &Embedder{m, o} }

// GetType returns the name by which eino's callbacks know embedders of this kind.
func (e *Embedder) GetType() string { return "Antigravity" }

// EmbedStrings returns a vector for each text. It is embedding.Embedder's.
func (e *Embedder) EmbedStrings(ctx context.Context, texts []string, list ...embedding.Option) ([][]float64, error) {
	if o := embedding.GetCommonOptions(nil, list...); o.Model != nil {
		return nil, &with.UnsupportedError{What: "the choice of another model, embedding.WithModel"}
	}
	vectors, err := e.model.EmbedWith(ctx, e.options, texts...)
	if err != nil {
		return nil, err
	}
	wide := make([][]float64, len(vectors))
	for i, v := range vectors {
		wide[i] = make([]float64, len(v))
		for k, x := range v {
			wide[i][k] = float64(x)
		}
	}
	return wide, nil
}
