package llama

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/selection"
)

// Params says how to generate. The zero value is greedy, until the end of the turn or a full context. A model's files change nothing
// about that: a temperature or top_p that its generation_config.json recommends is not applied. (The tokens that end a turn are read from
// there; see Model.IsEnd.)
//
// A token is chosen in this order: Mask, Constraint, the penalties, then, unless Temperature is 0, division by the temperature, TopK,
// TopP, MinP, and a draw. Tokens that Constraint leaves no alternative to are not chosen, and nothing is drawn for them. The generator is math/rand/v2's PCG seeded with (Seed, 0) at the start of each call, so the same
// model, tokens, parameters and seed give the same answer, on every machine.
type Params struct {
	// MaxTokens bounds the tokens generated; 0 means as many as the context holds.
	MaxTokens int
	// TopK keeps the k likeliest tokens; 0 keeps all. On a GPU a greedy choice and one with a TopK of up to 256 are the quickest,
	// since only the candidates are copied to the host; Mask, penalties and Logprobs need all logits there.
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
	// Stop ends the answer where the first of these strings is complete; it is not part of the output.
	Stop []string
	// Logprobs asks for the log-probabilities of each token and of this many likeliest alternatives; see Piece.Logprobs.
	Logprobs int
	// Mask, when not nil, changes the logits before each choice.
	Mask LogitMask
	// Constraint, when not nil, says what may come next: no other token is chosen, and the answer ends where Constraint says that it may.
	// Where the model chooses to end it there, or nothing else is allowed, the answer stops with EndOfTurn; MaxTokens, Stop and a full
	// context end it anywhere. What has no alternative becomes part of the answer without being chosen, and is computed several tokens at
	// a time. Of the vocabulary's entries those without a token are never allowed. The error of a Matcher ends the answer.
	//
	// A Matcher is asked while the step before is computed, on another goroutine, where steps are long enough for that to be quicker;
	// never while the loop's body runs.
	Constraint Constraint
	// Draft, when not nil, proposes tokens so that several are computed in one step; see Drafter. It never changes the answer.
	Draft Drafter
	// Scope says whose cached conversations a Pool may use for the answer: those of answers with the same Scope, and no others. So nobody
	// finds out from Stats.ReusedTokens, or from how soon an answer comes, what is said in another scope. It never changes the answer,
	// and a Session does not look at it.
	Scope string
	// Template says how Chat renders the conversation: tools, the date, variables. Complete must be false where a message is wanted.
	// Where it has tools, calls of them are looked for in the answer, in Generate's too; see Piece.
	Template TemplateOptions
}

// LogitMask constrains what may be generated.
type LogitMask interface {
	// Apply sets the logits of forbidden tokens to -Inf, given the tokens generated so far in this call. logits has one
	// element a vocabulary entry. An error ends the generation with it.
	Apply(generated []Token, logits []float32) error
}

// LogitMaskFunc makes a function a LogitMask.
type LogitMaskFunc func(generated []Token, logits []float32) error

// Apply calls the function.
func (f LogitMaskFunc) Apply(generated []Token, logits []float32) error { return f(generated, logits) }

// penaltyWindow is how many of the latest tokens RepeatPenalty looks at.
const penaltyWindow = 64

// validate refuses values that have no meaning, at all or for a model with tokenizer t.
func (p *Params) validate(t *Tokenizer) error {
	finite := func(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
	for _, f := range []struct {
		name  string
		value any
		ok    bool
		want  string
	}{
		{"MaxTokens", p.MaxTokens, p.MaxTokens >= 0, "0 or more"},
		{"TopK", p.TopK, p.TopK >= 0, "0 or more"},
		{"Temperature", p.Temperature, finite(p.Temperature) && p.Temperature >= 0, "0 or more"},
		{"TopP", p.TopP, p.TopP >= 0 && p.TopP <= 1, "between 0 and 1"},
		{"MinP", p.MinP, p.MinP >= 0 && p.MinP <= 1, "between 0 and 1"},
		{"RepeatPenalty", p.RepeatPenalty, finite(p.RepeatPenalty) && p.RepeatPenalty >= 0, "0 or more"},
		{"FrequencyPenalty", p.FrequencyPenalty, finite(p.FrequencyPenalty), "finite"},
		{"PresencePenalty", p.PresencePenalty, finite(p.PresencePenalty), "finite"},
		{"Logprobs", p.Logprobs, p.Logprobs >= 0, "0 or more"},
	} {
		if !f.ok {
			return &ParamError{Field: "Params." + f.name, Value: f.value, Want: f.want}
		}
	}
	if _, err := p.Template.toolNames(); err != nil {
		return err
	}
	if err := checkConstraint(p.Constraint, t); err != nil {
		return err
	}
	return checkStops(p.Stop)
}

// sampler chooses tokens for one call of Generate. Its memory is the session's and is used again by the next call.
//
// Invariants during a call: generated are the tokens accepted since start; counts has how often each of them was generated, if a
// penalty needs that, and is empty otherwise. The other slices are memory for one choice and hold nothing between two.
type sampler struct {
	Params
	random    *rand.PCG
	allowed   []uint64      // [⌈vocab/64⌉]: token t may be chosen where bit t%64 of word t/64 is 1; nil: all may
	logits    []float32     // [vocab]: a copy of the model's logits, which mask, constraint and penalties change
	deciding  choices       // the candidates for the choice, the likeliest first
	likely    choices       // the tokens of the vocabulary that are likely enough to be drawn at all, by id
	ranking   hostRanking   // the vocabulary's probabilities
	ordered   []int32       // the vocabulary's tokens, put in order as far as a draw needs
	counts    map[Token]int // for FrequencyPenalty and PresencePenalty
	generated []Token
}

// choices are tokens that one is chosen from. Both slices have the same length.
type choices struct {
	tokens []int32
	values []float32 // values[i] is the logit, the weight or the probability of tokens[i]
}

// reserve makes the choices n tokens long, of any content, and returns them.
func (c *choices) reserve(n int) *choices {
	c.tokens, c.values = slices.Grow(c.tokens[:0], n)[:n], slices.Grow(c.values[:0], n)[:n]
	return c
}

// start prepares for a call.
func (s *sampler) start(p Params) {
	s.Params, s.allowed = p, nil
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

// maxSearch is the most candidates that a vocabulary is searched for, on the device where the logits are there. For a larger TopK
// all logits or probabilities are looked at on the host.
const maxSearch = 256

// few returns room for the largest logits where a few of them decide the choice, and nil where all logits of the vocabulary do.
func (s *sampler) few(vocab int) *choices {
	if n := s.deciders(vocab); n > 0 {
		return s.deciding.reserve(n)
	}
	return nil
}

// deciders returns how many of the largest logits decide the choice, 0 where all logits of the vocabulary do.
func (s *sampler) deciders(vocab int) int {
	switch {
	case s.Temperature == 0:
		return 1
	case s.TopK <= maxSearch:
		return min(s.TopK, vocab)
	}
	return 0
}

// changes tells whether a mask or penalties change the model's logits before the choice, which the host does.
func (s *sampler) changes() bool { return s.Mask != nil || s.penalises() }

// copied returns a copy of logits, which may be changed.
func (s *sampler) copied(logits []float32) []float32 {
	s.logits = append(s.logits[:0], logits...)
	return s.logits
}

// choose returns the next token given the model's logits, which are left as they are, and the latest tokens of the context.
func (s *sampler) choose(logits []float32, context []Token) (Token, error) {
	if s.changes() || s.allowed != nil {
		logits = s.copied(logits)
		if s.Mask != nil {
			if err := s.Mask.Apply(s.generated, logits); err != nil {
				return 0, fmt.Errorf("Params.Mask: %w", err)
			}
		}
		if s.allowed != nil {
			selection.Mask(logits, s.allowed)
		}
		s.penalise(logits, context)
	}
	if few := s.few(len(logits)); few != nil {
		selection.Largest(logits, few.tokens, few.values)
		return s.pick(few)
	}
	if s.tempers() {
		if t, ok, err := s.drawRanked(s.rank(logits), len(logits)); ok || err != nil {
			return t, err
		}
	}
	return s.pickAny(logits)
}

// pick returns one of the candidates, given with their logits, the largest first. It replaces the logits by weights, relative to
// the likeliest candidate's.
func (s *sampler) pick(from *choices) (Token, error) {
	highest := from.values[0] // NaN if any logit is: selection.Largest puts NaN first
	switch {
	case math.IsNaN(float64(highest)):
		return 0, errors.New("llama: the model's logits are not numbers: its weights are damaged")
	case math.IsInf(float64(highest), -1):
		return 0, errors.New("llama: no token is left to choose: the logit of each is -Inf, be it the model's own, by Params.Mask or by Params.Constraint")
	case s.Temperature == 0:
		return Token(from.tokens[0]), nil
	}
	for i, l := range from.values {
		if l == highest { // without a difference, which would be NaN for infinite logits
			from.values[i] = 1
		} else {
			from.values[i] = exact.Exp((l - highest) / s.Temperature)
		}
	}
	i, _ := s.among(from.values, 0, s.uniform(), true)
	return Token(from.tokens[i]), nil
}

// negligible is a difference of logits divided by the temperature. Tokens that are further than that below the likeliest one
// are not considered: each has a weight below e⁻⁴⁰ of the likeliest's, so that all of a vocabulary's 2¹⁸ tokens together would be
// drawn once in 10¹¹ draws. Dropping them makes it unnecessary to order the whole vocabulary.
const negligible = -40

// pickAny returns one of all tokens of the vocabulary that are not negligibly likely.
func (s *sampler) pickAny(logits []float32) (Token, error) {
	highest := slices.Max(logits)
	likely := &s.likely
	likely.tokens, likely.values = likely.tokens[:0], likely.values[:0]
	for t, l := range logits {
		if l == highest || !((l-highest)/s.Temperature < negligible) {
			likely.tokens, likely.values = append(likely.tokens, int32(t)), append(likely.values, l)
		}
	}
	n := len(likely.values)
	if s.TopK > 0 {
		n = min(n, s.TopK)
	}
	from := s.deciding.reserve(n)
	selection.Largest(likely.values, from.tokens, from.values)
	for i, at := range from.tokens {
		from.tokens[i] = likely.tokens[at]
	}
	return s.pick(from)
}

// among draws one of the likeliest tokens, given their weights in descending order, and returns its index. whole is the sum of
// the weights of all tokens, or 0 if these are all of them; all tells whether there are no others; u, from 0 to below 1, decides
// the draw. TopP and MinP cut the list first. ok is false where tokens that are not in the list could have been drawn instead.
func (s *sampler) among(weights []float32, whole, u float64, all bool) (i int, ok bool) {
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
	return kept - 1, cut || all // where all are known, rounding has left a little over
}

// uniform returns a random multiple of 2⁻⁵³ from 0 to below 1.
func (s *sampler) uniform() float64 { return float64(s.random.Uint64()>>11) / (1 << 53) }

// penalises tells whether any penalty changes logits.
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

// TokenLogprob is a token with the natural logarithm of its probability.
type TokenLogprob struct {
	Token   Token
	Text    string // the token's bytes, as AppendBytes gives them: perhaps a part of a character
	Logprob float32
}

// Logprobs are the log-probabilities at one generated token, by the model's own distribution: before mask, constraint, penalties,
// temperature and truncation.
type Logprobs struct {
	Chosen TokenLogprob
	Top    []TokenLogprob // the likeliest tokens, likeliest first, as many as Params.Logprobs asked for
}

// logprobs computes the log-probabilities of the chosen and the n likeliest tokens, whose texts the tokenizer has.
func logprobs(logits []float32, chosen Token, n int, tokenizer *Tokenizer) Logprobs {
	norm := logSumExp(logits)
	at := func(t Token) TokenLogprob {
		return TokenLogprob{t, string(tokenizer.AppendBytes(nil, t)), float32(float64(logits[t]) - norm)}
	}
	result := Logprobs{Chosen: at(chosen)}
	n = min(n, len(logits))
	top := make([]int32, n)
	selection.Largest(logits, top, make([]float32, n))
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
