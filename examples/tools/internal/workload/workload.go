// Package workload is the work of models when only the time counts that it takes: prompts of arbitrary tokens, and answers that do not end
// before they are long enough. Any model will do, one of random weights too.
package workload

import (
	"math"

	"github.com/antigravity-go/antigravity/llama"
)

// step is the difference of neighbouring tokens' ids: a prime, so that nearly every token occurs before one repeats.
const step = 7919

// Tokens returns the tokens from the first-th to before the last-th of an endless series.
func Tokens(model *llama.Model, first, last int) []llama.Token {
	vocabulary := int64(model.Config().VocabSize)
	tokens := make([]llama.Token, last-first)
	for i := range tokens {
		tokens[i] = llama.Token(int64(first+i) * step % vocabulary)
	}
	return tokens
}

// Endless returns a mask that forbids what ends an answer. It looks through the vocabulary once, and is safe for concurrent use.
func Endless(model *llama.Model) llama.LogitMask {
	var ends []llama.Token
	for t := range llama.Token(model.Config().VocabSize) {
		if model.IsEnd(t) {
			ends = append(ends, t)
		}
	}
	return llama.LogitMaskFunc(func(_ []llama.Token, logits []float32) error {
		for _, t := range ends {
			logits[t] = float32(math.Inf(-1))
		}
		return nil
	})
}
