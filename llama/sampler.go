package llama

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/largest"
)

// Params says how to generate. The zero value is greedy, until the end of the turn or a full context.
//
// A token is chosen in this order: Mask, the penalties, then, unless Temperature is 0, division by the temperature, TopK,
// TopP, MinP, and a draw. The generator is math/rand/v2's PCG seeded with (Seed, 0) at the start of each call, so the same
// model, tokens, parameters and seed give the same answer, on every machine.
type Params struct {
	// MaxTokens bounds the tokens generated; 0 means as many as the context holds.
	MaxTokens int
	// TopK keeps the k likeliest tokens; 0 keeps all. On another device a choice among up to 256, as a greedy one, is quicker
	// than one among all, whose logits must first come to the host; so must they for Mask, penalties and Logprobs.
	TopK int
	// Temperature divides the logits; 0 is greedy: the likeliest token, the lowest id among equals.
	Temperature float32
	// TopP keeps the likeliest tokens whose probabilities reach p together (arXiv 1904.09751); 0 and 1 keep all.
	TopP float32
	// MinP drops tokens less likely than p times the likeliest (arXiv 2407.01082); 0 keeps all.
	MinP float32
	// RepeatPenalty divides positive, and multiplies negative, logits of tokens that occur in the last penaltyWindow
	// tokens, prompt included (arXiv 1909.05858); 0 and 1 do nothing.
	RepeatPenalty float32
	// FrequencyPenalty is subtracted from a token's logit for each time it was generated in this call.
	FrequencyPenalty float32
	// PresencePenalty is subtracted once from the logit of each token generated in this call.
	PresencePenalty float32
	// Seed starts the generator. Zero is a seed like any other.
	Seed uint64
	// Stop ends the answer before any of these strings; none of them, nor a part of one, is ever part of the output.
	Stop []string
	// Logprobs asks for the log-probabilities of each token and of this many likeliest alternatives; see Piece.Logprobs.
	Logprobs int
	// Mask, when not nil, forbids tokens before each choice: constrained output.
	Mask LogitMask
}

// LogitMask constrains what may be generated.
type LogitMask interface {
	// Apply sets the logits of forbidden tokens to -Inf, given the tokens generated so far in this call. logits has one
	// element a vocabulary entry. An error ends the generation with it.
	Apply(generated []Token, logits []float32) error
}

// penaltyWindow is how many of the latest tokens RepeatPenalty looks at.
const penaltyWindow = 64

// validate refuses values that have no meaning.
func (p *Params) validate() error {
	finite := func(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
	for _, f := range []struct {
		name  string
		value float32
		ok    bool
		want  string
	}{
		{"MaxTokens", float32(p.MaxTokens), p.MaxTokens >= 0, "0 or more"},
		{"TopK", float32(p.TopK), p.TopK >= 0, "0 or more"},
		{"Temperature", p.Temperature, finite(p.Temperature) && p.Temperature >= 0, "0 or more"},
		{"TopP", p.TopP, p.TopP >= 0 && p.TopP <= 1, "between 0 and 1"},
		{"MinP", p.MinP, p.MinP >= 0 && p.MinP <= 1, "between 0 and 1"},
		{"RepeatPenalty", p.RepeatPenalty, finite(p.RepeatPenalty) && p.RepeatPenalty >= 0, "0 or more"},
		{"FrequencyPenalty", p.FrequencyPenalty, finite(p.FrequencyPenalty), "finite"},
		{"PresencePenalty", p.PresencePenalty, finite(p.PresencePenalty), "finite"},
		{"Logprobs", float32(p.Logprobs), p.Logprobs >= 0, "0 or more"},
	} {
		if !f.ok {
			return fmt.Errorf("llama: Params.%s is %g: it must be %s", f.name, f.value, f.want)
		}
	}
	if slices.Contains(p.Stop, "") {
		return fmt.Errorf("llama: Params.Stop has an empty string: it would stop before the first token")
	}
	return nil
}

// sampler chooses tokens for one call of Generate. Its memory is the session's and is used again by the next call.
type sampler struct {
	Params
	random     *rand.PCG
	logits     []float32 // the choice's own copy, which mask and penalties change
	deciding   choices   // memory for the largest logits
	candidates []candidate
	counts     map[Token]int // occurrences among the tokens generated
	generated  []Token
}

// candidate is a token that may be drawn, with its logit and later its probability.
type candidate struct {
	token  Token
	logit  float32
	weight float64
}

// choices are what a token is chosen from: the logits of these tokens, likeliest first, or of the vocabulary where tokens is nil.
type choices struct {
	tokens []int32
	logits []float32
}

// start prepares for a call.
func (s *sampler) start(p Params) {
	s.Params = p
	if s.random == nil {
		s.random = new(rand.PCG)
	}
	s.random.Seed(p.Seed, 0)
	s.generated = s.generated[:0]
	if s.counts == nil {
		s.counts = make(map[Token]int)
	}
	clear(s.counts)
}

// accept notes a generated token.
func (s *sampler) accept(t Token) {
	s.generated = append(s.generated, t)
	if s.FrequencyPenalty != 0 || s.PresencePenalty != 0 {
		s.counts[t]++
	}
}

// maxSearch is the largest TopK for which a vocabulary is searched for the largest logits, on the device, and not ordered.
const maxSearch = 256

// few returns room for the largest logits that decide the choice from a vocabulary; nil where all do.
func (s *sampler) few(vocab int) *choices {
	n := 0
	switch {
	case s.Temperature == 0:
		n = 1
	case s.TopK <= maxSearch:
		n = min(s.TopK, vocab)
	}
	if n == 0 {
		return nil
	}
	d := &s.deciding
	d.tokens, d.logits = slices.Grow(d.tokens[:0], n)[:n], slices.Grow(d.logits[:0], n)[:n]
	return d
}

// changes tells whether the choice is not from the model's own logits.
func (s *sampler) changes() bool { return s.Mask != nil || s.penalises() }

// choose returns the next token given the model's logits, which are left as they are, and the latest tokens of the context.
func (s *sampler) choose(logits []float32, context []Token) (Token, error) {
	if s.changes() {
		s.logits = append(s.logits[:0], logits...)
		logits = s.logits
		if s.Mask != nil {
			if err := s.Mask.Apply(s.generated, logits); err != nil {
				return 0, fmt.Errorf("llama: Params.Mask: %w", err)
			}
		}
		s.penalise(logits, context)
	}
	few := s.few(len(logits))
	if few == nil {
		return s.pick(&choices{logits: logits})
	}
	largest.Find(logits, few.tokens, few.logits)
	return s.pick(few)
}

// pick returns one of the tokens.
func (s *sampler) pick(from *choices) (Token, error) {
	highest := slices.Max(from.logits) // NaN where there is one
	switch {
	case math.IsNaN(float64(highest)):
		return 0, fmt.Errorf("llama: the model's logits are not numbers: its weights are damaged")
	case math.IsInf(float64(highest), -1):
		return 0, fmt.Errorf("llama: Params.Mask forbids every token")
	case s.Temperature == 0:
		return Token(from.tokens[0]), nil
	}
	s.collect(from, highest)
	return s.draw(), nil
}

func (s *sampler) penalises() bool {
	return (s.RepeatPenalty != 0 && s.RepeatPenalty != 1) || s.FrequencyPenalty != 0 || s.PresencePenalty != 0
}

// penalise changes the logits of tokens that have occurred.
func (s *sampler) penalise(logits []float32, context []Token) {
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

// draw picks a candidate at random by the tempered, truncated distribution. The candidates are ordered by logit and then by id,
// and summed in that order, so the outcome depends on nothing else.
func (s *sampler) draw() Token {
	if s.TopK > 0 && s.TopK < len(s.candidates) {
		s.candidates = s.candidates[:s.TopK]
	}
	total := 0.0
	for _, c := range s.candidates {
		total += c.weight
	}
	if s.TopP > 0 && s.TopP < 1 {
		reached, want := 0.0, float64(s.TopP)*total
		for i, c := range s.candidates {
			reached += c.weight
			if reached >= want {
				s.candidates, total = s.candidates[:i+1], reached
				break
			}
		}
	}
	point := float64(s.random.Uint64()>>11) / (1 << 53) * total
	for _, c := range s.candidates {
		if point -= c.weight; point < 0 {
			return c.token
		}
	}
	return s.candidates[len(s.candidates)-1].token // rounding left a little over
}

// negligible is the tempered logit, relative to the likeliest token's, below which a token's weight is so small that all
// of a vocabulary's could not be drawn in a lifetime: e⁻⁴⁰ · 2¹⁸ < 10⁻¹¹. Dropping them spares sorting a whole vocabulary.
const negligible = -40

// collect lists the tokens that can be drawn, likeliest first, with unnormalised probabilities; the likeliest has 1.
func (s *sampler) collect(from *choices, highest float32) {
	s.candidates = s.candidates[:0]
	floor := float32(negligible)
	if s.MinP > 0 {
		floor = max(floor, float32(math.Log(float64(s.MinP)))-0.01) // a little lower: the weight decides below
	}
	tokens := from.tokens
	for i, l := range from.logits {
		x := (l - highest) / s.Temperature
		if !(x >= floor) && l != highest {
			continue
		}
		if l == highest {
			x = 0
		}
		weight := float64(exact.Exp(x))
		if weight > 0 && weight >= float64(s.MinP) {
			token := Token(i)
			if tokens != nil {
				token = Token(tokens[i])
			}
			s.candidates = append(s.candidates, candidate{token, l, weight})
		}
	}
	slices.SortFunc(s.candidates, func(a, b candidate) int {
		switch {
		case a.logit > b.logit:
			return -1
		case a.logit < b.logit:
			return 1
		}
		return int(a.token - b.token)
	})
}

// TokenLogprob is a token with the natural logarithm of its probability.
type TokenLogprob struct {
	Token   Token
	Logprob float32
}

// Logprobs are the log-probabilities at one generated token, by the model's own distribution: before mask, penalties,
// temperature and truncation.
type Logprobs struct {
	Chosen TokenLogprob
	Top    []TokenLogprob // the likeliest tokens, likeliest first, as many as Params.Logprobs asked for
}

// logprobs computes the log-probabilities of the chosen and the n likeliest tokens.
func logprobs(logits []float32, chosen Token, n int) Logprobs {
	norm := logSumExp(logits)
	at := func(t Token) TokenLogprob { return TokenLogprob{t, float32(float64(logits[t]) - norm)} }
	result := Logprobs{Chosen: at(chosen)}
	n = min(n, len(logits))
	top := make([]int32, n)
	largest.Find(logits, top, make([]float32, n))
	for _, t := range top {
		result.Top = append(result.Top, at(Token(t)))
	}
	return result
}

// logSumExp returns ln Σ exp(x[i]), summed in order in float64.
func logSumExp(x []float32) float64 {
	highest := slices.Max(x)
	sum := 0.0
	for _, v := range x {
		sum += float64(exact.Exp(v - highest))
	}
	return float64(highest) + math.Log(sum)
}
