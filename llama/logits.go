package llama

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// Logits returns the logits after the last token, [VocabSize], or nil before the first token and after Truncate. The slice is valid until
// the next call. It may be called inside the loop of an answer, too, and brings the logits from the device the first time that it is called
// after a token.
func (s *Session) Logits() ([]float32, error) { return s.logits() }

// deviceRanking ranks the logits that a sequence has on its device. Its methods want the sequence to be locked.
type deviceRanking struct {
	c       *sequence
	sampler *sampling.Sampler
}

// Largest finds the largest logits. If the largest of all are allowed, the step may have found them already.
func (r *deviceRanking) Largest(few *selection.Choices) error {
	c := r.c
	if c.logits.Found(few, r.sampler.Allowed) {
		return nil
	}
	err := c.useLogits(func() error { return c.logits.Largest(c.model.weights, few, r.sampler.Allowed) })
	if err != nil {
		return fmt.Errorf("the %d largest logits after token %d: %w", len(few.Tokens), len(c.tokens), err)
	}
	return nil
}

// Likeliest finds the likeliest tokens. The step may have found them already.
func (r *deviceRanking) Likeliest(few *selection.Choices) error {
	c := r.c
	if r.sampler.Allowed == nil && c.logits.FoundLikeliest(few, r.sampler.Temperature) {
		return nil
	}
	err := c.useLogits(func() error {
		return c.logits.Likeliest(c.model.weights, few, r.sampler.Allowed, r.sampler.Temperature)
	})
	if err != nil {
		return fmt.Errorf("the %d likeliest tokens after token %d: %w", len(few.Tokens), len(c.tokens), err)
	}
	return nil
}

// Probabilities reads all probabilities.
func (r *deviceRanking) Probabilities() ([]float32, error) {
	c, all := r.c, r.sampler.Weights(r.c.config.VocabSize)
	err := c.useLogits(func() error {
		return c.logits.Probabilities(c.model.weights, all, r.sampler.Allowed, r.sampler.Temperature)
	})
	if err != nil {
		return nil, fmt.Errorf("read the probabilities after token %d: %w", len(c.tokens), err)
	}
	return all, nil
}

// Logits reads all logits.
func (r *deviceRanking) Logits() ([]float32, error) {
	if err := r.c.fetchLogits(); err != nil {
		return nil, err
	}
	return r.sampler.Masked(r.c.logits.Host), nil
}
