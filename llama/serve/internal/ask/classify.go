package ask

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Labelled is what a model says of a text: labels or, if it is a Tagger, entities.
type Labelled struct {
	Labels   []llama.Label
	Entities []llama.Entity
}

// Labelling says how texts are classified. The zero value: each as a whole, and not by a Tagger.
type Labelling struct {
	Tags bool           // a Tagger, too, serves the request
	Long *llama.Windows // how texts are classified that the model does not take as a whole; nil: not at all
	Join *llama.Joining // how a Tagger's tags are joined; nil: as usual for the model
}

// Classify returns what a model says of texts, as Embed returns vectors.
func (m *Model) Classify(ctx context.Context, in Compared, o Labelling) (list []Labelled, tokens int, err error) {
	const bytes = 64 // of a label or an entity
	kind := m.Model.Kind()
	switch {
	case kind == llama.Tagger && !o.Tags:
		return nil, 0, m.otherKind("it finds entities in texts, and has no labels for whole ones; ask POST /v1/classify")
	case kind != llama.Classifier && kind != llama.Reranker && kind != llama.Tagger:
		return nil, 0, m.otherKind("it puts no labels on texts; POST /v1/classify needs a classifier")
	case kind == llama.Tagger && o.Long != nil:
		return nil, 0, wire.Invalid("long", "long is for labels of whole texts; this model finds entities, in texts of any length")
	case kind != llama.Tagger && o.Join != nil:
		return nil, 0, wire.Invalid("aggregation_strategy", "aggregation_strategy joins tokens to entities; this model puts labels on whole texts")
	case in.Seconds != nil && o.Long != nil:
		return nil, 0, wire.Invalid("long", "long is for single texts; pairs are not cut into windows")
	}
	var long llama.Windows
	if o.Long != nil {
		long = *o.Long
	}
	labels := int64(len(m.Model.Config().Labels))
	switch {
	case kind == llama.Tagger: // a tag with its scores, and maybe an entity
		in.Long = 2*bytes + 4*labels
	case long != llama.NoWindows: // the token alone: windows come one after another
		in.Long = 16
	}
	var join llama.Joining
	if o.Join != nil {
		join = *o.Join
	}
	tokens, err = m.inGroups(ctx, in, bytes*labels, func(texts []string) error {
		if kind == llama.Tagger {
			for _, text := range texts {
				found, err := m.Lease.Entities(ctx, join, text)
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
		group, err := m.Lease.Classify(ctx, long, texts, seconds)
		for _, labels := range group {
			list = append(list, Labelled{Labels: labels})
		}
		return err
	})
	return list, tokens, err
}
