package llama

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Rank returns how likely the model finds each of several continuations of the prompt: the natural logarithm of each one's probability, the
// sum of its tokens'. Of labels for a text, the likeliest is the classification. A longer continuation is less likely for its length alone;
// divide by the number of its tokens if that matters.
//
// Afterwards the conversation is the prompt. A beginning that the cache held already is not computed again. The options are computed
// together. An option without tokens is a *ParamError.
func (s *Session) Rank(ctx context.Context, prompt []Token, options ...string) ([]float64, error) {
	t := s.sequence.model.tokenizer
	if err := t.hasTexts(); err != nil {
		return nil, err
	}
	continuations := make([][]Token, len(options))
	for i, option := range options {
		continuations[i] = t.EncodeContinuation(option)
		if len(continuations[i]) == 0 {
			return nil, &ParamError{fmt.Sprintf("option %d", i), fmt.Sprintf("%q", option), "a text that has tokens"}
		}
	}
	if _, err := s.Sync(ctx, prompt); err != nil {
		return nil, err
	}
	result := make([]float64, len(options))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(s.sequence.model.batch.Most())
	for i, tokens := range continuations {
		g.Go(func() error {
			f, err := s.guarded.fork()
			if err != nil {
				return err
			}
			defer f.Close()
			scores, err := f.Score(ctx, tokens)
			for _, v := range scores {
				result[i] += float64(v)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("rank %d options: %w", len(options), err)
	}
	return result, nil
}
