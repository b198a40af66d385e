package main

import (
	"context"
	"errors"
	"io"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/llama"
)

// The tasks that some models distinguish.
const (
	question = "query"
	document = "document"
)

// embedder makes vectors.
type embedder struct {
	model *llama.Model
	close func() error
}

// open loads the model.
func open(ctx context.Context, m *cli.Model, stderr io.Writer) (*embedder, error) {
	model, closeModel, err := m.Load(ctx, stderr)
	if err != nil {
		return nil, err
	}
	switch kind := model.Kind(); kind {
	case llama.Reranker:
		return nil, errors.Join(cli.Usagef("-model %s is a reranker: name it with -rerank, of embed search", m.Path), closeModel())
	case llama.Classifier, llama.Tagger:
		return nil, errors.Join(cli.Usagef("-model %s is a %v, which makes no vectors", m.Path, kind), closeModel())
	}
	return &embedder{model, closeModel}, nil
}

// embed returns the vectors of texts for a task, each of length 1.
func (e *embedder) embed(ctx context.Context, task string, texts []string) ([][]float32, error) {
	return e.model.EmbedWith(ctx, llama.EmbedOptions{Task: task}, texts...)
}

// hit is a vector that is near another one: its index, and the cosine of the angle between both.
type hit struct {
	at    int
	score float32
}

// nearest returns the n vectors that are most like one, the best first; of equal ones the earlier comes first.
func nearest(vectors [][]float32, to []float32, n int) []hit {
	hits := make([]hit, len(vectors))
	for i, v := range vectors {
		hits[i].at = i
		for j, x := range v {
			hits[i].score += to[j] * x
		}
	}
	return best(hits, n)
}
