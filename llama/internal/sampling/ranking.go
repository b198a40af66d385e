package sampling

import (
	"slices"

	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/selection"
)

// If neither a temperature of 0 nor TopK says that a few logits decide, a token is drawn by the probabilities of the whole
// vocabulary: softmax(logits/Temperature). Nearly always the likeliest few tokens decide all the same, since together they
// reach TopP, or the draw falls among them. So a draw asks for the probabilities of a few tokens first, and for all only when
// the few do not decide. Either way the vocabulary is not sorted, which would take as long as computing a token.

// Ranking gives the logits of the vocabulary's tokens, and the probabilities softmax(logits/Temperature), wherever they are. Tokens that are not
// allowed have the logit -Inf and the probability 0. If the logits are not numbers, neither are the probabilities.
type Ranking interface {
	Largest(c *selection.Choices) error   // fills c with the largest logits, the largest first
	Likeliest(c *selection.Choices) error // fills c with the likeliest tokens, the likeliest first
	Probabilities() ([]float32, error)    // [vocab]; valid until the next call
	Logits() ([]float32, error)           // [vocab]; valid until the next call
}

// minTempered is the least temperature for which tokens are drawn from a ranking. Below it logits/Temperature become so large
// that rounding spoils their differences; pickAny, which subtracts before it divides, then has few tokens to order.
const minTempered = 0.01

// tempers reports whether tokens are drawn from a ranking.
func (s *Sampler) tempers() bool { return s.Temperature >= minTempered }

// draw draws a token of a vocabulary by its probabilities; ok is false, and no token drawn, if those are NaN.
func (s *Sampler) draw(r Ranking, vocab int) (t int32, ok bool, err error) {
	u := s.uniform()
	if s.TopK == 0 { // TopK is above maxSearch otherwise: the few likeliest do not give the sum of the TopK likeliest
		n := min(maxSearch, vocab)
		from := s.deciding.Reserve(n)
		if err := r.Likeliest(from); err != nil || from.Values[0] != from.Values[0] {
			return 0, false, err
		}
		if i, ok := s.among(from.Values, 1, u, n == vocab); ok {
			return from.Tokens[i], true, nil
		}
	}
	probabilities, err := r.Probabilities()
	if err != nil || probabilities[0] != probabilities[0] {
		return 0, false, err
	}
	return s.amongAll(probabilities, u), true, nil
}

// amongAll draws one of all tokens, given their probabilities [vocab]: it keeps the TopK likeliest, of those the likeliest that
// together have TopP of their sum, and of those the tokens that are as likely as MinP asks. u, from 0 to below 1, decides.
func (s *Sampler) amongAll(probabilities []float32, u float64) int32 {
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
	return o.Indices[max(n, 1)-1]
}

// hostRanking is the ranking of logits in memory, which have -Inf already for tokens that are not allowed. The probabilities have the same bits
// as a device's, if the device gives the reference's bits.
type hostRanking struct {
	sampler  *Sampler
	logits   []float32
	tempered bool // the sampler's weights are the probabilities
}

func (r *hostRanking) Largest(c *selection.Choices) error {
	selection.Largest(r.logits, c.Tokens, c.Values)
	return nil
}

func (r *hostRanking) Likeliest(c *selection.Choices) error {
	probabilities, _ := r.Probabilities()
	selection.Largest(probabilities, c.Tokens, c.Values)
	return nil
}

func (r *hostRanking) Probabilities() ([]float32, error) {
	dst := r.sampler.Weights(len(r.logits))
	if !r.tempered {
		copy(dst, r.logits)
		host.Softmax(dst, 1/r.sampler.Temperature)
		r.tempered = true
	}
	return dst, nil
}

func (r *hostRanking) Logits() ([]float32, error) { return r.logits, nil }
