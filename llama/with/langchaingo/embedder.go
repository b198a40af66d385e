package langchaingo

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/embeddings"

	"github.com/antigravity-go/antigravity/llama"
)

// Embedder is an embeddings.Embedder: documents and queries get the prompts that the model's files have for each. It is also an
// embeddings.EmbedderClient, of documents. It is safe for concurrent use.
type Embedder struct {
	model      *llama.Model
	dimensions int
}

var (
	_ embeddings.Embedder       = (*Embedder)(nil)
	_ embeddings.EmbedderClient = (*Embedder)(nil)
)

// NewEmbedder makes an Embedder of a model. dimensions is how many elements vectors have, see llama.EmbedOptions; 0: all.
func NewEmbedder(m *llama.Model, dimensions int) *Embedder { return &Embedder{m, dimensions} }

// EmbedDocuments returns a vector for each text. It is embeddings.Embedder's.
func (e *Embedder) EmbedDocuments(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := e.model.EmbedWith(ctx, llama.EmbedOptions{Task: "document", Dimensions: e.dimensions}, texts...)
	if err != nil {
		return nil, fmt.Errorf("embed documents: %w", err)
	}
	return vectors, nil
}

// EmbedQuery returns the vector of a query. It is embeddings.Embedder's.
func (e *Embedder) EmbedQuery(ctx context.Context, text string) ([]float32, error) {
	vectors, err := e.model.EmbedWith(ctx, llama.EmbedOptions{Task: "query", Dimensions: e.dimensions}, text)
	if err != nil {
		return nil, fmt.Errorf("embed a query: %w", err)
	}
	return vectors[0], nil
}

// CreateEmbedding is EmbedDocuments, by the name that embeddings.EmbedderClient has for it.
func (e *Embedder) CreateEmbedding(ctx context.Context, texts []string) ([][]float32, error) {
	return e.EmbedDocuments(ctx, texts)
}
