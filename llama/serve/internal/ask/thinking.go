package ask

import (
	"encoding/json"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Thinking is how much a model is to think before it answers, whichever interface asks. A model that does not think keeps any of it: all of it
// is an upper bound. The zero value leaves it to the model's chat template.
type Thinking struct {
	Enabled *bool  // whether the model is to think; nil: nothing is said
	Budget  int    // the most tokens of a thought; 0: no bound
	Effort  string // the word of the request, one of efforts; "": no word
}

// efforts are the words for how much a model is to think, and the budgets that stand for them, in tokens. 0 is no bound.
var efforts = map[string]int{"none": 0, "minimal": 512, "low": 2048, "medium": 8192, "high": 0, "xhigh": 0, "max": 0}

// SetEffort notes a word for how much a model is to think, which a request has at a place. The budget that is asked for in tokens, if
// there is one, stays.
func (t *Thinking) SetEffort(at, word string) error {
	budget, ok := efforts[word]
	if !ok {
		return wire.Invalid(at, `%s is %.40q; it must be "none", "minimal", "low", "medium", "high", "xhigh" or "max"`, at, word)
	}
	if t.Effort = word; t.Budget == 0 {
		t.Budget = budget
	}
	if t.Enabled == nil {
		think := word != "none"
		t.Enabled = &think
	}
	return nil
}

// Effort is a parameter that is a word for how much a model is to think.
type Effort struct{ Thinking }

// ReadJSON reads the word.
func (e *Effort) ReadJSON(at string, value json.RawMessage) error {
	word, err := wire.String(at, value)
	if err != nil {
		return err
	}
	return e.SetEffort(at, word)
}

// Reasoning is a parameter in the form of OpenAI's Responses and of OpenRouter: how much to think, and how thoughts are shown.
type Reasoning struct{ Thinking }

// ReadJSON reads {"effort":…,"max_tokens":…,"enabled":…}, or true or false.
func (r *Reasoning) ReadJSON(at string, value json.RawMessage) error {
	if value[0] == 't' || value[0] == 'f' {
		r.Enabled = new(bool)
		return wire.Decode(at, value, r.Enabled)
	}
	var in struct {
		Effort  *string `json:"effort"`
		Budget  *int    `json:"max_tokens"`
		Enabled *bool   `json:"enabled"`
	}
	// The others say how thoughts are shown, which changes no answer.
	if err := wire.Object(at, value, wire.Rules{"summary": wire.Ignored(), "generate_summary": wire.Ignored(), "exclude": wire.Ignored(),
		"context": wire.Ignored(), "mode": wire.Ignored()}, &in); err != nil {
		return err
	}
	r.Enabled = in.Enabled
	if err := r.setBudget(at+".max_tokens", in.Budget); err != nil || in.Effort == nil {
		return err
	}
	return r.SetEffort(at+".effort", *in.Effort)
}

// setBudget sets a budget in tokens, which stands at a place of the request. A nil budget sets nothing.
func (t *Thinking) setBudget(at string, budget *int) error {
	if budget == nil {
		return nil
	}
	if *budget < 1 {
		return wire.Invalid(at, "%s is %d; it must be 1 or more", at, *budget)
	}
	t.Budget = *budget
	return nil
}

// ThinkingBlock is a parameter in the form of Anthropic's thinking: {"type":"enabled","budget_tokens":…}, "adaptive" or "disabled".
type ThinkingBlock struct{ Thinking }

// ReadJSON reads it.
func (b *ThinkingBlock) ReadJSON(at string, value json.RawMessage) error {
	var in struct {
		Type   string `json:"type" wire:"required"`
		Budget *int   `json:"budget_tokens"`
	}
	// display says how thoughts are shown; clear_thinking whether the template sees those of earlier turns, which is the template's affair.
	if err := wire.Object(at, value, wire.Rules{"display": wire.Ignored(), "clear_thinking": wire.Ignored()}, &in); err != nil {
		return err
	}
	switch in.Type {
	case "enabled", "adaptive", "auto":
		b.Enabled = new(true)
	case "disabled":
		b.Enabled = new(false)
	default:
		return wire.Invalid(at+".type", `%s.type is %.40q; it must be "enabled", "adaptive" or "disabled"`, at, in.Type)
	}
	if in.Type == "adaptive" || in.Type == "auto" {
		b.Enabled = nil // the model decides
	}
	return b.setBudget(at+".budget_tokens", in.Budget)
}

// Merge returns what two parameters of a request ask for together; what t says comes first.
func (t Thinking) Merge(other Thinking) Thinking {
	if t.Enabled == nil {
		t.Enabled = other.Enabled
	}
	if t.Budget == 0 || other.Budget > 0 && other.Budget < t.Budget {
		t.Budget = other.Budget
	}
	if t.Effort == "" {
		t.Effort = other.Effort
	}
	return t
}

// Think sets how much an answer may think. It comes before Constrain.
func (m *Model) Think(p *llama.Params, t Thinking) { p.Template.Thinking = llama.Thinking(t) }
