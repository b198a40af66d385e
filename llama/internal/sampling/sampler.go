package sampling

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/selection"
)

// Options say how to choose; see the fields of the same names of llama.Params.
type Options struct {
	TopK                                                                      int
	Temperature, TopP, MinP, RepeatPenalty, FrequencyPenalty, PresencePenalty float32
	Seed                                                                      uint64
	// Bias is added to the logits of tokens before each choice, and before Mask.
	Bias map[int32]float32
	// Mask, if it is not nil, changes the logits [vocab] before each choice, given the tokens generated so far.
	Mask func(generated []int32, logits []float32) error
}

// penaltyWindow is how many of the latest tokens RepeatPenalty looks at.
const penaltyWindow = 64

// Sampler chooses the tokens of one answer. Its memory is used again by the next answer. The zero value is ready for Start.
//
// Invariants during an answer: generated are the tokens accepted since Start; counts has how often each of them was generated, if a
// penalty needs that, and is empty otherwise. The other slices are memory for one choice and hold nothing between two.
//
// For example, the logits are [0 2 1 -50], with Temperature 1, TopK 3 and TopP 0.9:
//
//	Largest   the tokens 1 2 0, with the logits 2 1 0
//	pick      their weights, relative to the likeliest: 1, 0.368, 0.135
//	among     0.9 of their sum is 1.353: tokens 1 and 2 are kept, since 1 < 1.353 ≤ 1.368
//	          u = 0.8 of 1.368 is 1.094, which is beyond 1: token 2 is drawn
type Sampler struct {
	Options
	Allowed []uint64 // [⌈vocab/64⌉]: token t may be chosen if bit t%64 of word t/64 is 1; nil: all may

	random    *rand.PCG
	logits    []float32         // [vocab]: a copy of the model's logits, which mask, constraint and penalties change
	deciding  selection.Choices // the candidates for the choice, the likeliest first
	likely    selection.Choices // the tokens of the vocabulary that are likely enough to be drawn at all, by id
	weights   []float32         // [vocab]: the vocabulary's probabilities
	host      hostRanking       // of logits in memory
	ordered   []int32           // the vocabulary's tokens, put in order as far as a draw needs
	counts    map[int32]int     // for FrequencyPenalty and PresencePenalty
	generated []int32
}

// Start prepares for an answer.
func (s *Sampler) Start(o Options) {
	s.Options, s.Allowed = o, nil
	if s.random == nil {
		s.random = new(rand.PCG)
	}
	s.random.Seed(o.Seed, 0)
	s.generated = s.generated[:0]
	if s.counts == nil {
		s.counts = make(map[int32]int)
	}
	clear(s.counts)
}

// Accept notes a generated token.
func (s *Sampler) Accept(t int32) {
	s.generated = append(s.generated, t)
	if s.FrequencyPenalty != 0 || s.PresencePenalty != 0 {
		s.counts[t]++
	}
}

// maxSearch is the most candidates that a vocabulary is searched for, on the device if the logits are there. For a larger TopK
// all logits or probabilities are looked at on the host.
const maxSearch = 256

// Deciders returns how many of the largest logits decide the choice; 0: all logits of the vocabulary do.
func (s *Sampler) Deciders(vocab int) int {
	switch {
	case s.Temperature == 0:
		return 1
	case s.TopK <= maxSearch:
		return min(s.TopK, vocab)
	}
	return 0
}

// Wants returns how many of the largest logits a choice will ask a Ranking for first or, if the temperature that it returns is not 0, how
// many of the likeliest tokens at that temperature; 0: of neither.
func (s *Sampler) Wants(vocab int) (n int, temperature float32) {
	if n := s.Deciders(vocab); n > 0 {
		return n, 0
	}
	if s.TopK == 0 && s.tempers() && s.Allowed == nil {
		return min(maxSearch, vocab), s.Temperature
	}
	return 0, 0
}

// Changes reports whether a bias, a mask or penalties change the model's logits before the choice: then Choose has to see all of them.
func (s *Sampler) Changes() bool { return len(s.Bias) > 0 || s.Mask != nil || s.penalises() }

// Choose returns the next token given the model's logits [vocab], which are left as they are, and the tokens of the context so far.
func (s *Sampler) Choose(logits []float32, context []int32) (int32, error) {
	if s.Changes() || s.Allowed != nil {
		s.logits = append(s.logits[:0], logits...)
		logits = s.logits
		for t, v := range s.Bias {
			if int(t) < len(logits) { // a vocabulary may have more tokens
				logits[t] += v
			}
		}
		if s.Mask != nil {
			if err := s.Mask(s.generated, logits); err != nil {
				return 0, err
			}
		}
		if s.Allowed != nil {
			selection.Mask(logits, s.Allowed)
		}
		s.penalise(logits, context)
	}
	s.host = hostRanking{sampler: s, logits: logits}
	return s.ChooseFrom(&s.host, len(logits))
}

// ChooseFrom returns the next token of a vocabulary by a ranking of its logits, which nothing Changes.
func (s *Sampler) ChooseFrom(r Ranking, vocab int) (int32, error) {
	if n := s.Deciders(vocab); n > 0 {
		few := s.deciding.Reserve(n)
		if err := r.Largest(few); err != nil {
			return 0, err
		}
		return s.pick(few)
	}
	if s.tempers() {
		if t, ok, err := s.draw(r, vocab); ok || err != nil {
			return t, err
		}
	}
	logits, err := r.Logits()
	if err != nil {
		return 0, err
	}
	return s.pickAny(logits)
}

// Weights returns memory for the probabilities of a vocabulary's tokens, with what it held before: for a Ranking's Probabilities.
func (s *Sampler) Weights(vocab int) []float32 {
	s.weights = slices.Grow(s.weights[:0], vocab)[:vocab]
	return s.weights
}

// Masked returns a copy of logits with -Inf for tokens that are not allowed. It is valid until the next choice.
func (s *Sampler) Masked(logits []float32) []float32 {
	if s.Allowed == nil {
		return logits
	}
	s.logits = append(s.logits[:0], logits...)
	selection.Mask(s.logits, s.Allowed)
	return s.logits
}

// pick returns one of the candidates, given with their logits, the largest first. It replaces the logits by weights, relative to
// the likeliest candidate's.
func (s *Sampler) pick(from *selection.Choices) (int32, error) {
	highest := from.Values[0] // NaN if any logit is: selection.Largest puts NaN first
	switch {
	case math.IsNaN(float64(highest)):
		return 0, errors.New("llama: the model's logits are not numbers: its weights are damaged")
	case math.IsInf(float64(highest), -1):
		return 0, errors.New("llama: no token is left to choose: the logit of each is -Inf, be it the model's own, by Params.LogitBias, by Params.Mask or by Params.Constraint")
	case s.Temperature == 0:
		return from.Tokens[0], nil
	}
	for i, l := range from.Values {
		if l == highest { // without a difference, which would be NaN for infinite logits
			from.Values[i] = 1
		} else {
			from.Values[i] = exact.Exp((l - highest) / s.Temperature)
		}
	}
	i, _ := s.among(from.Values, 0, s.uniform(), true)
	return from.Tokens[i], nil
}

// negligible is a difference of logits divided by the temperature. Tokens that are further than that below the likeliest one
// are not considered: each has a weight below e⁻⁴⁰ of the likeliest's, so that all of a vocabulary's 2¹⁸ tokens together would be
// drawn once in 10¹¹ draws. Dropping them makes it unnecessary to order the whole vocabulary.
const negligible = -40

// pickAny returns one of all tokens of the vocabulary that are not negligibly likely.
func (s *Sampler) pickAny(logits []float32) (int32, error) {
	highest := slices.Max(logits)
	likely := &s.likely
	likely.Tokens, likely.Values = likely.Tokens[:0], likely.Values[:0]
	for t, l := range logits {
		if l == highest || !((l-highest)/s.Temperature < negligible) {
			likely.Tokens, likely.Values = append(likely.Tokens, int32(t)), append(likely.Values, l)
		}
	}
	n := len(likely.Values)
	if s.TopK > 0 {
		n = min(n, s.TopK)
	}
	from := s.deciding.Reserve(n)
	selection.Largest(likely.Values, from.Tokens, from.Values)
	for i, at := range from.Tokens {
		from.Tokens[i] = likely.Tokens[at]
	}
	return s.pick(from)
}

// among draws one of the likeliest tokens, given their weights in descending order, and returns its index. whole is the sum of
// the weights of all tokens, or 0 if these are all of them; all reports that there are no others; u, from 0 to below 1, decides
// the draw. TopP and MinP cut the list first. ok is false if tokens that are not in the list could have been drawn instead.
func (s *Sampler) among(weights []float32, whole, u float64, all bool) (i int, ok bool) {
	if whole == 0 {
		for _, w := range weights {
			whole += float64(w)
		}
	}
	enough := math.Inf(1)
	if s.TopP > 0 && s.TopP < 1 {
		enough = float64(s.TopP) * whole
	}
	kept, sum, cut := 0, 0.0, false
	for _, w := range weights {
		if cut = w == 0 || w < s.MinP*weights[0] || sum >= enough; cut { // of weight 0 are also those that are not allowed
			break
		}
		kept, sum = kept+1, sum+float64(w)
	}
	switch {
	case cut || sum >= enough || all:
		whole = sum
	case s.MinP > 0 || enough < whole:
		return 0, false
	}
	point := u * whole
	for i, w := range weights[:kept] {
		if point -= float64(w); point < 0 {
			return i, true
		}
	}
	return kept - 1, cut || all // if all are known, rounding has left a little over
}

// uniform returns a random multiple of 2⁻⁵³ from 0 to below 1.
func (s *Sampler) uniform() float64 { return float64(s.random.Uint64()>>11) / (1 << 53) }

// penalises reports whether any penalty changes logits.
func (s *Sampler) penalises() bool {
	return (s.RepeatPenalty != 0 && s.RepeatPenalty != 1) || s.FrequencyPenalty != 0 || s.PresencePenalty != 0
}

// penalise changes the logits of tokens that have occurred.
func (s *Sampler) penalise(logits []float32, context []int32) {
	if s.RepeatPenalty != 0 && s.RepeatPenalty != 1 {
		recent := context[max(0, len(context)-penaltyWindow):]
		for i, t := range recent {
			if slices.Contains(recent[:i], t) || int(t) >= len(logits) {
				continue
			}
			if logits[t] > 0 {
				logits[t] /= s.RepeatPenalty
			} else {
				logits[t] *= s.RepeatPenalty
			}
		}
	}
	for t, n := range s.counts {
		logits[t] -= float32(s.FrequencyPenalty*float32(n)) + s.PresencePenalty
	}
}

// LogSumExp returns ln Σ exp(x[i]), summed in order in float64.
func LogSumExp(x []float32) float64 {
	highest := slices.Max(x)
	sum := 0.0
	for _, v := range x {
		sum += float64(exact.Exp(v - highest))
	}
	return float64(highest) + math.Log(sum)
}
