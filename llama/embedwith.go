package llama

import (
	"context"
	"fmt"
)

// EmbedOptions say how texts become vectors. The zero value is what Model.Embed does.
type EmbedOptions struct {
	Task       string
	Dimensions int
}

// EmbedWith is Embed with options.
func (m *Model) EmbedWith(ctx context.Context, o EmbedOptions, texts ...string) ([][]float32, error) {
	if o.Task != "" {
		return nil, &ParamError{"EmbedOptions.Task", o.Task, "empty: the model knows no tasks"}
	}
	if o.Dimensions < 0 || o.Dimensions > m.config.HiddenSize {
		return nil, &ParamError{"EmbedOptions.Dimensions", o.Dimensions, fmt.Sprintf("1 to %d, or 0 for all", m.config.HiddenSize)}
	}
	vectors, err := m.Embed(ctx, texts...)
	for i, v := range vectors {
		if o.Dimensions > 0 && o.Dimensions < len(v) {
			wide := make([]float64, o.Dimensions)
			for j := range wide {
				wide[j] = float64(v[j])
			}
			vectors[i] = unit(wide)
		}
	}
	return vectors, err
}

// Rerank returns scores.
func (m *Model) Rerank(ctx context.Context, query string, documents ...string) ([]float32, error) {
	return nil, fmt.Errorf("%w: the model is no reranker", ErrUnsupported)
}
