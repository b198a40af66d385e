package ask

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
)

// Labelled is what a model says of a text: labels or, if it is a Tagger, entities.
type Labelled struct {
	Labels   []llama.Label
	Entities []llama.Entity
}

// Classify returns what a model says of texts, as Embed returns vectors. tags reports whether a Tagger, too, serves the request.
func (m *Model) Classify(ctx context.Context, in Compared, tags bool) (list []Labelled, tokens int, err error) {
	kind := m.Model.Kind()
	switch {
	case kind == llama.Tagger && !tags:
		return nil, 0, m.otherKind("it finds entities in texts, and has no labels for whole ones; ask POST /v1/classify")
	case kind != llama.Classifier && kind != llama.Reranker && kind != llama.Tagger:
		return nil, 0, m.otherKind("it puts no labels on texts; POST /v1/classify needs a classifier")
	}
	const bytes = 64 // of a label or an entity
	tokens, err = m.inGroups(ctx, in, bytes*int64(len(m.Model.Config().Labels)), func(texts []string) error {
		if kind == llama.Tagger {
			for _, text := range texts {
				found, err := m.Lease.Entities(ctx, text)
				if err != nil {
					return err
				}
				list = append(list, Labelled{Entities: found})
			}
			return nil
		}
		var seconds []string
		if in.Seconds != nil {
			seconds = in.Seconds[len(list):][:len(texts)]
		}
		group, err := m.Lease.Classify(ctx, texts, seconds)
		for _, labels := range group {
			list = append(list, Labelled{Labels: labels})
		}
		return err
	})
	return list, tokens, err
}
