package llama

import (
	"context"
	"fmt"
)

// Rerank returns how well each document answers a query, as the model's head scores the two: the higher the better, without a bound;
// 1/(1+e⁻ˢ) of most models' scores is a probability. Of Qwen3-Reranker, which has no such head, a score is the logit of yes less that of no, so
// that 1/(1+e⁻ˢ) is the probability of yes if nothing else is answered; other models of its family that chat are asked the same. So it is of all
// models with a module LogitScore, which names the two tokens; if it names one, the score is the token's logit. Of models that make vectors of tokens
// (ColBERT) a score is TokenVectors.MaxSim of those that Side.EmbedTokens returns. The documents are computed
// together, and together with those of other goroutines; no score depends on the company. Special tokens in the texts are inert.
//
// A query with a document that is longer than LongestText is a *ContextFullError; then nothing is computed. The error of other models wraps
// ErrUnsupported.
func (m *Model) Rerank(ctx context.Context, query string, documents ...string) ([]float32, error) {
	if j := m.judging.of(m); j != nil {
		return j.scores(ctx, query, documents)
	}
	if m.files.Pipeline.Late != nil {
		return compareTokens(ctx, m, query, documents)
	}
	query = m.files.Pipeline.Prompts[m.files.Pipeline.Default] + query
	if m.Kind() != Reranker {
		return nil, fmt.Errorf("%w: the model is no reranker: it has no head that makes one score of two texts", ErrUnsupported)
	}
	if err := m.tokenizer.hasTexts(); err != nil {
		return nil, err
	}
	l := labelling{model: m}
	for i, document := range documents {
		if err := l.addPair(query, document, func(n, most int) error { return tooLong(i, n, most) }); err != nil {
			return nil, err
		}
	}
	return scores(ctx, m, l.texts, l.types)
}

// scores is Rerank for texts that are tokens already.
func scores(ctx context.Context, m *Model, texts [][]Token, types [][]int32) (list []float32, err error) {
	l := labelling{m, texts, types}
	all, err := l.numbers(ctx)
	for _, numbers := range all {
		list = append(list, numbers...)
	}
	return list, err
}
