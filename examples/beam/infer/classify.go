package infer

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
)

// LongText is a text to put labels on. A pair, such as a premise and what may follow from it, has a second one.
type LongText struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Pair string `json:"pair,omitempty"`
	// Long is how a text is classified that the model does not take as a whole: mean or best of the scores of windows. Without it such a text is a Failure.
	Long string `json:"long,omitempty"`
}

// Label is a label with its score.
type Label struct {
	Label string  `json:"label"`
	Score float32 `json:"score"`
}

// Labels are all labels of a model with the scores that a text has, in the model's order. See llama.Model.Classify.
type Labels struct {
	ID     string  `json:"id"` // the text's
	Labels []Label `json:"labels"`
	Best   int     `json:"best"`  // which one has the largest score, the first among equals
	Model  string  `json:"model"` // llama.Model.Fingerprint of the model
}

// Passage is a text of any length to find entities in.
type Passage struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	// Join is how tokens become entities: simple, first, average and so on, see llama.Joining. Without it the way is that of the model.
	Join string `json:"join,omitempty"`
}

// Entity is a stretch of a text with a label.
type Entity struct {
	Label string  `json:"label"`
	Start int     `json:"start"` // the first byte
	End   int     `json:"end"`   // the byte after the last one
	Text  string  `json:"text"`
	Score float32 `json:"score"`
}

// Entities are those of a text, in its order.
type Entities struct {
	ID       string   `json:"id"` // the text's
	Entities []Entity `json:"entities"`
	Model    string   `json:"model"` // llama.Model.Fingerprint of the model
}

func (LongText) element()                {}
func (Labels) element()                  {}
func (t LongText) name() string          { return t.ID }
func (LongText) concurrency(m Model) int { return 2 * m.sessions() }

func (Passage) element()                {}
func (Entities) element()               {}
func (p Passage) name() string          { return p.ID }
func (Passage) concurrency(m Model) int { return 2 * m.sessions() }

// compute classifies the text.
func (t LongText) compute(ctx context.Context, l *loaded) (Labels, measured, error) {
	var long llama.Windows
	if t.Long != "" {
		if err := long.UnmarshalText([]byte(t.Long)); err != nil {
			return Labels{}, measured{}, err
		}
	}
	if t.Pair != "" && long != llama.NoWindows {
		return Labels{}, measured{}, &llama.ParamError{Field: "long", Value: t.Long, Want: "left out for a pair, which is not cut into windows"}
	}
	leave, err := l.reserve(ctx)
	if err != nil {
		return Labels{}, measured{}, err
	}
	defer leave()
	var all [][]llama.Label
	tokens := l.model.Tokenizer().EncodeWhole(t.Text)
	if t.Pair != "" {
		tokens, _ = l.model.Tokenizer().EncodePair(t.Text, t.Pair)
		all, err = l.model.ClassifyPairs(ctx, [2]string{t.Text, t.Pair})
	} else {
		all, err = long.Classify(ctx, l.model, t.Text)
	}
	if err != nil {
		return Labels{}, measured{}, err
	}
	made := Labels{ID: t.ID, Model: l.fingerprint}
	for i, label := range all[0] {
		made.Labels = append(made.Labels, Label{label.Name, label.Score})
		if label.Score > all[0][made.Best].Score {
			made.Best = i
		}
	}
	return made, measured{answers: []llama.Stats{{PromptTokens: len(tokens)}}}, nil
}

// compute finds the entities.
func (p Passage) compute(ctx context.Context, l *loaded) (Entities, measured, error) {
	var join llama.Joining
	if p.Join != "" {
		if err := join.UnmarshalText([]byte(p.Join)); err != nil {
			return Entities{}, measured{}, err
		}
	}
	leave, err := l.reserve(ctx)
	if err != nil {
		return Entities{}, measured{}, err
	}
	defer leave()
	found, err := join.Entities(ctx, l.model, p.Text)
	if err != nil {
		return Entities{}, measured{}, err
	}
	made := Entities{ID: p.ID, Model: l.fingerprint, Entities: []Entity{}}
	for _, e := range found {
		made.Entities = append(made.Entities, Entity{e.Label, e.Start, e.End, p.Text[e.Start:e.End], e.Score})
	}
	return made, measured{answers: []llama.Stats{{PromptTokens: len(l.model.Tokenizer().EncodeWhole(p.Text))}}}, nil
}
