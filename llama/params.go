package llama

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama/internal/sampling"
)

// Params says how to generate. The zero value is greedy, until the end of the turn or a full context. A model's files change nothing
// about that: the temperature or top_p that its authors recommend comes from Model.Sampling, if the program asks.
//
// A token is chosen in this order: LogitBias, Mask, Constraint, the penalties, then, unless Temperature is 0, division by the temperature, TopK,
// TopP, MinP, and a draw. Tokens that Constraint leaves no alternative to are not chosen, and nothing is drawn for them. The generator is math/rand/v2's PCG seeded with
// (Seed, 0) at the start of each call, so the same model, tokens, parameters and seed give the same answer, on every machine.
type Params struct {
	// MaxTokens bounds the tokens generated, those of a thought included; 0 means as many as the context holds.
	MaxTokens int
	// TopK keeps the k likeliest tokens; 0 keeps all. On a GPU a greedy choice and one with a TopK of up to 256 are the quickest,
	// since only the candidates are copied to the host; LogitBias, Mask, penalties and Logprobs need all logits there.
	TopK int
	// Temperature divides the logits; 0 is greedy: the likeliest token, the lowest id among equals.
	Temperature float32
	// TopP keeps the fewest likeliest tokens with probabilities that add up to TopP (arXiv 1904.09751); 0 and 1 keep all.
	TopP float32
	// MinP drops tokens less likely than p times the likeliest (arXiv 2407.01082); 0 keeps all.
	MinP float32
	// RepeatPenalty divides positive, and multiplies negative, logits of tokens that occur in the last 64
	// tokens, prompt included (arXiv 1909.05858); 0 and 1 do nothing.
	RepeatPenalty float32
	// FrequencyPenalty is subtracted from a token's logit for each time it was generated in this call.
	FrequencyPenalty float32
	// PresencePenalty is subtracted once from the logit of each token generated in this call.
	PresencePenalty float32
	// Seed starts the generator. Zero is a seed like any other.
	Seed uint64
	// Stop ends the answer as soon as one of these strings is complete. The string is not part of the output. It is not looked for in a
	// thought.
	Stop []string
	// Logprobs asks for the log-probabilities of each token and of this many likeliest alternatives; see Piece.Logprobs.
	Logprobs int
	// LogitBias is added to the logits of these tokens before each choice: -Inf forbids a token, and a number of 100 or more makes it all but
	// certain. A token must be in the vocabulary, and a number not NaN or +Inf.
	LogitBias map[Token]float32
	// Mask, when not nil, changes the logits before each choice, after LogitBias.
	Mask LogitMask
	// Constraint, when not nil, says which tokens may come next: no other token is chosen, and the answer ends only where Constraint says
	// that it may. If the model chooses to end it there, or nothing else is allowed, the answer stops with EndOfTurn; MaxTokens, Stop and a
	// full context end it anywhere. Text without an alternative becomes part of the answer without being chosen, and is computed several
	// tokens at a time. An answer may begin with a thought that is separated from it (see Piece). Constraint then holds from the thought's
	// end on, and the answer does not end within the thought. Of the vocabulary's entries those without a token are never allowed. The
	// error of a Matcher ends the answer.
	//
	// A Matcher is asked on another goroutine while the step before is computed, if steps are long enough for that to be quicker. It is
	// never asked while the loop's body runs.
	Constraint Constraint
	// Draft, when not nil, proposes tokens so that several are computed in one step; see Drafter. It never changes the answer.
	Draft Drafter
	// Progress, when not nil, is called when the computing of the prompt begins, and after each step of it, on the goroutine of the answer, which
	// waits for it. It must not call methods of the session or the model.
	Progress func(PromptProgress)
	// Scope limits the cached conversations that a Pool may use for the answer to those of answers with the same Scope. So nobody finds out
	// from Stats.ReusedTokens, or from how soon an answer comes, about conversations in another scope. It never changes the answer, and a
	// Session does not look at it.
	Scope string
	// Adapter changes what the model's linear layers compute for the answer of a Pool, in place of the adapter in the pool's
	// PoolOptions.Session; nil: that one counts. AdapterScale is as SessionOptions.AdapterScale. Answers with different adapters are computed
	// together, and use nothing of each other's cached conversations. A Session's own adapter is in its SessionOptions: there Adapter must be nil
	// or the same.
	Adapter      *Adapter
	AdapterScale float32
	// Template says how Chat renders the conversation: tools, the date, variables, whether the answer goes on with the last message. If it has
	// tools, calls of them are looked for in the answer, in Generate's too; see Piece. Its Thinking bounds the thoughts of Chat's answers.
	Template TemplateOptions
}

// PromptProgress says how much of a prompt is computed.
//
// Invariant: 0 ≤ Reused ≤ Done ≤ Total.
type PromptProgress struct {
	Total  int // tokens of the prompt
	Reused int // those of them that were in the cache
	Done   int // those of them that are in the cache now
}

// LogitMask constrains the tokens that may be generated.
type LogitMask interface {
	// Apply sets the logits of forbidden tokens to -Inf, given the tokens generated so far in this call. logits has one
	// element a vocabulary entry. An error ends the generation with it.
	Apply(generated []Token, logits []float32) error
}

// LogitMaskFunc makes a function a LogitMask.
type LogitMaskFunc func(generated []Token, logits []float32) error

// Apply calls the function.
func (f LogitMaskFunc) Apply(generated []Token, logits []float32) error { return f(generated, logits) }

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
		{"Template.ImageTokens", p.Template.ImageTokens, p.Template.ImageTokens >= 0, "0 or more"},
		{"Template.Thinking.Budget", p.Template.Thinking.Budget, p.Template.Thinking.Budget >= 0, "0 or more"},
	} {
		if !f.ok {
			return &ParamError{Field: "Params." + f.name, Value: f.value, Want: f.want}
		}
	}
	switch {
	case p.Adapter == nil && p.AdapterScale != 0:
		return &ParamError{"Params.AdapterScale", p.AdapterScale, "0 if there is no Params.Adapter"}
	case !isAdapterScale(p.AdapterScale):
		return &ParamError{"Params.AdapterScale", p.AdapterScale, wantAdapterScale}
	}
	if _, err := p.Template.toolNames(); err != nil {
		return err
	}
	for token, v := range p.LogitBias {
		field := fmt.Sprintf("Params.LogitBias[%d]", token)
		switch size := t.VocabSize(); {
		case token < 0 || int(token) >= size:
			return &ParamError{field, v, fmt.Sprintf("of a token of the vocabulary, 0 to %d", size-1)}
		case math.IsNaN(float64(v)) || math.IsInf(float64(v), 1):
			return &ParamError{field, v, "a finite number, or -Inf to forbid the token"}
		}
	}
	if err := checkConstraint(p.Constraint, t); err != nil {
		return err
	}
	return checkStops(p.Stop)
}

// samplingOf is sampling for a model with this tokenizer, which may have tokens that no answer has.
func (p *Params) samplingOf(t *Tokenizer) sampling.Options {
	o := p.sampling()
	if len(t.suppressed) > 0 && o.Bias == nil {
		o.Bias = make(map[int32]float32, len(t.suppressed))
	}
	for _, id := range t.suppressed {
		o.Bias[id] = float32(math.Inf(-1))
	}
	return o
}

// sampling returns what the sampler needs of the parameters.
func (p *Params) sampling() sampling.Options {
	o := sampling.Options{
		TopK: p.TopK, Temperature: p.Temperature, TopP: p.TopP, MinP: p.MinP, RepeatPenalty: p.RepeatPenalty,
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, Seed: p.Seed,
	}
	if len(p.LogitBias) > 0 {
		o.Bias = make(map[int32]float32, len(p.LogitBias))
		for token, v := range p.LogitBias {
			o.Bias[int32(token)] = v
		}
	}
	if mask := p.Mask; mask != nil {
		o.Mask = func(generated []int32, logits []float32) error {
			if err := mask.Apply(fromInt32(generated), logits); err != nil {
				return fmt.Errorf("Params.Mask: %w", err)
			}
			return nil
		}
	}
	return o
}

// checkStops refuses stop strings that no text can contain, and one that every text does.
func checkStops(stops []string) error {
	if slices.Contains(stops, "") {
		return &ParamError{Field: "Params.Stop", Value: `""`, Want: "strings that are not empty: an empty one would stop before the first token"}
	}
	for _, stop := range stops {
		if !utf8.ValidString(stop) {
			return &ParamError{Field: "Params.Stop", Value: stop, Want: "UTF-8"}
		}
	}
	return nil
}
