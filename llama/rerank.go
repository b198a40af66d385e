package llama

import (
	"context"
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// Rerank returns how well each document answers a query, as the model's head scores the two: the higher the better, without a bound;
// 1/(1+e⁻ˢ) of most models' scores is a probability. Of Qwen3-Reranker, which has no such head, a score is the logit of yes less that of no, so
// that 1/(1+e⁻ˢ) is the probability of yes if nothing else is answered; other models of its family that chat are asked the same. So it is of all
// models with a module LogitScore, which names the two tokens; if it names one, the score is the token's logit. The documents are computed
// together, and together with those of other goroutines; no score depends on the company. Special tokens in the texts are inert.
//
// A query with a document that is longer than LongestText is a *ContextFullError; then nothing is computed. The error of other models wraps
// ErrUnsupported.
func (m *Model) Rerank(ctx context.Context, query string, documents ...string) ([]float32, error) {
	if j := m.judging.of(m); j != nil {
		return j.scores(ctx, query, documents)
	}
	query = m.files.Pipeline.Prompts[m.files.Pipeline.Default] + query
	if !m.config.Scores {
		return nil, fmt.Errorf("%w: the model is no reranker: it has no head that scores texts", ErrUnsupported)
	}
	if err := m.tokenizer.hasTexts(); err != nil {
		return nil, err
	}
	texts, types := make([][]Token, len(documents)), make([][]int32, len(documents))
	for i, document := range documents {
		texts[i], types[i] = m.tokenizer.EncodePair(query, document)
		if most := m.LongestText(); len(texts[i]) > most {
			return nil, tooLong(i, len(texts[i]), most)
		}
		for _, t := range types[i] {
			if n := m.config.Types; n > 0 && int(t) >= n { // without a table the types do not count
				return nil, fmt.Errorf("%w: the tokenizer gives a token the type %d, the model has %d types", ErrUnsupported, t, m.config.Types)
			}
		}
	}
	return scores(ctx, m, texts, types)
}

// scores is Rerank for texts that are tokens already.
func scores(ctx context.Context, m *Model, texts [][]Token, types [][]int32) ([]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	w := whole{model: m, pooling: []checkpoint.Pooling{checkpoint.FirstPooling}, texts: texts, types: types, scale: 1}
	if m.config.ScoreMean {
		w.pooling[0] = checkpoint.MeanPooling
	}
	pooled, err := w.pooled(ctx)
	if err != nil {
		return nil, err
	}
	scores, err := m.weights.Scored(states(pooled), len(texts))
	if err != nil {
		return nil, fmt.Errorf("the head that scores texts: %w", err)
	}
	return scores, nil
}
