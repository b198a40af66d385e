package receipt

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
)

// Parameters are the fields of llama.Params that an answer depends on. A field that is left out is 0.
type Parameters struct {
	FrequencyPenalty Number   `json:"frequency_penalty,omitempty"`
	LogitBias        []Bias   `json:"logit_bias,omitempty"` // in the order of their tokens
	MaxTokens        int      `json:"max_tokens,omitempty"`
	MinP             Number   `json:"min_p,omitempty"`
	PresencePenalty  Number   `json:"presence_penalty,omitempty"`
	RepeatPenalty    Number   `json:"repeat_penalty,omitempty"`
	Seed             uint64   `json:"seed,string"`
	Stop             []string `json:"stop,omitempty"`
	Temperature      Number   `json:"temperature,omitempty"`
	Thinking         Thinking `json:"thinking,omitzero"`
	Tools            []string `json:"tools,omitempty"` // the JSON of each function on offer: calls of them are looked for in the answer
	TopK             int      `json:"top_k,omitempty"`
	TopP             Number   `json:"top_p,omitempty"`
}

// Bias is an element of llama.Params.LogitBias.
type Bias struct {
	Add   Number      `json:"add"` // "-Inf" forbids the token
	Token llama.Token `json:"token"`
}

// Thinking is llama.Thinking.
type Thinking struct {
	Budget  int    `json:"budget,omitempty"`
	Effort  string `json:"effort,omitempty"`
	Enabled *bool  `json:"enabled,omitempty"`
}

// Number is a float32, which JSON has as a string: the shortest decimal number that is nearest to it.
type Number float32

// MarshalJSON writes the number.
func (n Number) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatFloat(float64(n), 'g', -1, 32))
}

// UnmarshalJSON reads the number.
func (n *Number) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("a number is %.40s: it must be a string", text)
	}
	v, err := strconv.ParseFloat(s, 32)
	if err != nil || math.IsNaN(v) {
		return fmt.Errorf("a number is %.40q", s)
	}
	*n = Number(v)
	return nil
}

// parametersOf returns the parameters of an answer, and refuses those that a receipt cannot have.
func parametersOf(p *llama.Params) (Parameters, error) {
	r := Parameters{
		FrequencyPenalty: Number(p.FrequencyPenalty), MaxTokens: p.MaxTokens, MinP: Number(p.MinP), PresencePenalty: Number(p.PresencePenalty),
		RepeatPenalty: Number(p.RepeatPenalty), Seed: p.Seed, Stop: slices.Clone(p.Stop), Temperature: Number(p.Temperature),
		Thinking: Thinking{p.Template.Thinking.Budget, p.Template.Thinking.Effort, p.Template.Thinking.Enabled}, TopK: p.TopK, TopP: Number(p.TopP),
	}
	switch {
	case p.Mask != nil:
		return r, refused("Params.Mask", "nil: it is code, which the receipt cannot have")
	case p.Constraint != nil:
		return r, refused("Params.Constraint", "nil: it is code, which the receipt cannot have")
	}
	for token, add := range p.LogitBias {
		r.LogitBias = append(r.LogitBias, Bias{Number(add), token})
	}
	slices.SortFunc(r.LogitBias, func(a, b Bias) int { return int(a.Token) - int(b.Token) })
	for _, tool := range p.Template.Tools {
		r.Tools = append(r.Tools, string(tool))
	}
	for _, text := range slices.Concat(r.Stop, r.Tools, []string{r.Thinking.Effort}) {
		if !utf8.ValidString(text) {
			return r, refused("a text of Params", "UTF-8, which JSON has to be")
		}
	}
	return r, nil
}

// refused is the error for a field that a receipt cannot have.
func refused(field, want string) error {
	return fmt.Errorf("receipt: %w", &llama.ParamError{Field: field, Value: "given", Want: want})
}

// params returns the parameters for an answer that is computed again.
func (r *Parameters) params() (llama.Params, error) {
	p := llama.Params{
		FrequencyPenalty: float32(r.FrequencyPenalty), MaxTokens: r.MaxTokens, MinP: float32(r.MinP), PresencePenalty: float32(r.PresencePenalty),
		RepeatPenalty: float32(r.RepeatPenalty), Seed: r.Seed, Stop: r.Stop, Temperature: float32(r.Temperature), TopK: r.TopK, TopP: float32(r.TopP),
	}
	p.Template.Thinking = llama.Thinking{Budget: r.Thinking.Budget, Effort: r.Thinking.Effort, Enabled: r.Thinking.Enabled}
	for i, b := range r.LogitBias {
		if i > 0 && b.Token <= r.LogitBias[i-1].Token {
			return p, fmt.Errorf("receipt: logit_bias has token %d after token %d: each has one place, in ascending order", b.Token, r.LogitBias[i-1].Token)
		}
		if p.LogitBias == nil {
			p.LogitBias = map[llama.Token]float32{}
		}
		p.LogitBias[b.Token] = float32(b.Add)
	}
	for _, tool := range r.Tools {
		p.Template.Tools = append(p.Template.Tools, json.RawMessage(tool))
	}
	return p, nil
}
