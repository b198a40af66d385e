// Package chromem lets chromem-go, a vector database in the same process, make its vectors with a model of package llama.
//
//	db := chromem.NewDB()
//	collection, err := db.CreateCollection("notes", nil, withchromem.Documents(model))
//	…
//	found, err := withchromem.Query(ctx, collection, model, "Who painted it?", 3, nil, nil)
//
// chromem has one EmbeddingFunc for both sides of a search. Models that put one prompt before documents and another before queries need both:
// Documents is for what a collection holds, and Query searches it with the vector of a query.
package chromem

import (
	"context"
	"errors"
	"fmt"

	"github.com/philippgille/chromem-go"

	"github.com/antigravity-go/antigravity/llama"
)

// Documents returns the function that makes vectors of documents. It is safe for concurrent use: documents that are added at once are computed
// together.
func Documents(m *llama.Model) chromem.EmbeddingFunc {
	return Func(m, llama.EmbedOptions{Task: "document"})
}

// Func returns a function that makes vectors with options.
func Func(m *llama.Model, o llama.EmbedOptions) chromem.EmbeddingFunc {
	return func(ctx context.Context, text string) ([]float32, error) {
		vectors, err := m.EmbedWith(ctx, o, text)
		if err != nil {
			return nil, fmt.Errorf("a vector of a text of %d bytes: %w", len(text), err)
		}
		return vectors[0], nil
	}
}

// Query returns the results nearest to a query, as chromem's Collection.Query does, with the vector that the model makes of a query.
func Query(ctx context.Context, c *chromem.Collection, m *llama.Model, query string, results int, where, whereDocument map[string]string) ([]chromem.Result, error) {
	if query == "" {
		return nil, errors.New("with: the query is empty: it must be a text")
	}
	vector, err := Func(m, llama.EmbedOptions{Task: "query"})(ctx, query)
	if err != nil {
		return nil, err
	}
	found, err := c.QueryEmbedding(ctx, vector, results, where, whereDocument)
	if err != nil {
		return nil, fmt.Errorf("search the collection %s: %w", c.Name, err)
	}
	return found, nil
}
