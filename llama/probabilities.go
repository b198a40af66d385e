package llama

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/selection"
)

// Where neither a temperature of 0 nor TopK says that a few logits decide, a token is drawn by the probabilities of the whole
// vocabulary: softmax(logits/Temperature). Nearly always the likeliest few tokens decide all the same, since together they
// reach TopP, or the draw falls among them. So a draw asks for the probabilities of a few tokens first, and for all only when
// the few do not decide. Either way the vocabulary is not sorted, which would take as long as computing a token.

// ranking gives the probabilities of the vocabulary's tokens. If the logits are not numbers, neither are the probabilities.
type ranking interface {
	likeliest(n int) (*choices, error) // the n likeliest tokens, the likeliest first; valid until the next call
	all() ([]float32, error)           // [vocab]: each token's probability; valid until the next call
}

// minTempered is the least temperature for which tokens are drawn from a ranking. Below it logits/Temperature become so large
// that rounding spoils their differences; pickAny, which subtracts before it divides, then has few tokens to order.
const minTempered = 0.01

// tempers tells whether tokens are drawn from a ranking.
func (s *sampler) tempers() bool { return s.Temperature >= minTempered }

// drawRanked draws a token of a vocabulary by its probabilities; ok is false, and no token drawn, where those are NaN.
func (s *sampler) drawRanked(r ranking, vocab int) (t Token, ok bool, err error) {
	u := s.uniform()
	if s.TopK == 0 { // TopK is above maxSearch otherwise: the few likeliest do not tell the sum of the TopK likeliest
		n := min(maxSearch, vocab)
		from, err := r.likeliest(n)
		if err != nil || from.values[0] != from.values[0] {
			return 0, false, err
		}
		if i, ok := s.among(from.values, 1, u, n == vocab); ok {
			return Token(from.tokens[i]), true, nil
		}
	}
	probabilities, err := r.all()
	if err != nil || probabilities[0] != probabilities[0] {
		return 0, false, err
	}
	return s.amongAll(probabilities, u), true, nil
}

// amongAll draws one of all tokens, given their probabilities [vocab]: it keeps the TopK likeliest, of those the likeliest that
// together have TopP of their sum, and of those the tokens that are as likely as MinP asks. u, from 0 to below 1, decides.
func (s *sampler) amongAll(probabilities []float32, u float64) Token {
	least := s.MinP * slices.Max(probabilities)
	o := selection.Heaviest{Indices: s.ordered[:0], Weights: probabilities}
	for t := range probabilities {
		o.Indices = append(o.Indices, int32(t))
	}
	s.ordered = o.Indices
	whole := 1.0
	if s.TopK > 0 && s.TopK < len(o.Indices) {
		o.Indices = o.Indices[:o.First(float64(s.TopK), selection.One)]
		whole = o.Sum()
	}
	if s.TopP > 0 && s.TopP < 1 {
		o.Indices = o.Indices[:o.First(float64(s.TopP)*whole, o.Weight)]
	}
	o.Indices = slices.DeleteFunc(o.Indices, func(t int32) bool { return probabilities[t] == 0 || probabilities[t] < least })
	n := o.First(u*o.Sum(), o.Weight)
	return Token(o.Indices[max(n, 1)-1])
}

// hostRanking is the ranking of logits on the host.
type hostRanking struct {
	probabilities []float32 // [vocab]
	memory        *choices  // for likeliest's result
}

// rank returns a ranking of logits, in the sampler's memory. The probabilities have the same bits as deviceRanking's, if the
// device gives the reference's bits.
func (s *sampler) rank(logits []float32) *hostRanking {
	r := &s.ranking
	r.probabilities, r.memory = append(r.probabilities[:0], logits...), &s.deciding
	kernels := asm.Best()
	kernels.Scale(r.probabilities, 1/s.Temperature)
	kernels.Softmax(r.probabilities)
	return r
}

func (r *hostRanking) likeliest(n int) (*choices, error) {
	c := r.memory.reserve(n)
	selection.Largest(r.probabilities, c.tokens, c.values)
	return c, nil
}

func (r *hostRanking) all() ([]float32, error) { return r.probabilities, nil }

// deviceRanking is the ranking of the logits that a session has on its device. Its methods want the sequence to be locked.
type deviceRanking Session

func (r *deviceRanking) likeliest(n int) (*choices, error) {
	c, found := &r.sequence, r.sampler.deciding.reserve(n)
	err := c.useLogits(func() error {
		p, err := c.logits.temper(c.model.device, r.sampler.allowed, r.sampler.Temperature)
		if err != nil {
			return err
		}
		return c.model.device.choose.Largest(p, found.tokens, found.values)
	})
	if err != nil {
		return nil, fmt.Errorf("the %d likeliest tokens after token %d: %w", n, len(c.tokens), err)
	}
	return found, nil
}

func (r *deviceRanking) all() ([]float32, error) {
	c, memory := &r.sequence, &r.sampler.ranking.probabilities
	*memory = slices.Grow((*memory)[:0], c.model.config.VocabSize)[:c.model.config.VocabSize]
	err := c.useLogits(func() error {
		p, err := c.logits.temper(c.model.device, r.sampler.allowed, r.sampler.Temperature)
		if err != nil {
			return err
		}
		return backend.ReadFloats(c.model.device, p, *memory)
	})
	if err != nil {
		return nil, fmt.Errorf("read the probabilities after token %d: %w", len(c.tokens), err)
	}
	return *memory, nil
}
