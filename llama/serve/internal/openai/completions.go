package openai

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// POST /v1/completions continues texts: each of several prompts has n answers, numbered on. A prompt is a text or a list of tokens. With
// echo, an answer's text begins with its prompt. For example:
//
//	{"prompt": "a"}                     choice 0
//	{"prompt": ["a", "b"], "n": 2}      choices 0 and 1 continue a, and choices 2 and 3 continue b
//	{"prompt": [64, 65]}                choice 0 continues two tokens
//	{"prompt": [[64], [65]]}            choice 0 continues the first token, choice 1 the second
//	{"prompt": "a", "echo": true, "logprobs": 1, "max_tokens": 0}   the log-probabilities of the prompt's tokens, and no answer

// completionRequest is what POST /v1/completions reads.
type completionRequest struct {
	Model  string  `json:"model"`
	Prompt prompts `json:"prompt" wire:"required"`
	ask.Sampling
	ask.TopForm
	streaming
	MaxTokens *int `json:"max_tokens"` // nil: defaultTokens
	N         *int `json:"n"`
	NPredict  *int `json:"n_predict"` // MaxTokens, as llama-server calls it
	BestOf    *int `json:"best_of"`
	Echo      bool `json:"echo"`     // the text begins with the prompt
	Logprobs  *int `json:"logprobs"` // how many alternatives of a token to send, with Echo of the prompt's too; nil: no probabilities
}

// completionRules are those of the parameters that are not read.
var completionRules = ask.SamplingRules.Without(append(ask.FormNames, timingsName)...).With(wire.Rules{
	"user": wire.Ignored(), "client_metadata": wire.Ignored(), "session_id": wire.Ignored(), "request_id": wire.Ignored(),
	"suffix": wire.Refused("the models only continue a text", `""`),
})

// The defaults and bounds of OpenAI's.
const (
	defaultTokens         = 16
	maxCompletionLogprobs = 5
)

// prompts are texts to be continued: a string, a list of strings, a list of tokens, or a list of lists of tokens.
type prompts []prompt

// prompt is a text or its tokens. What looks like a special token in a text is text; a list of tokens is taken as it is.
type prompt struct {
	text   string
	tokens []int
}

// ReadJSON reads either form.
func (p *prompts) ReadJSON(at string, value json.RawMessage) error {
	first := value[0]
	if first == '[' {
		first = wire.FirstByte(value)
	}
	switch {
	case first == 0 || first != '"' && value[0] != '[':
		return wire.Invalid(at, "%s must be a string, or a list of strings, of tokens or of lists of tokens", at)
	case value[0] == '"' || first != '"' && first != '[':
		*p = make(prompts, 1)
		return (*p)[0].ReadJSON(at, value)
	}
	return wire.Decode(at, value, (*[]prompt)(p))
}

// ReadJSON reads a text or a list of tokens.
func (p *prompt) ReadJSON(at string, value json.RawMessage) error {
	switch value[0] {
	case '"':
		return wire.Decode(at, value, &p.text)
	case '[':
		if err := wire.Decode(at, value, &p.tokens); err != nil {
			return err
		}
		if len(p.tokens) == 0 {
			return wire.Invalid(at, "%s is an empty list; it must have at least one token", at)
		}
		return nil
	}
	return wire.Invalid(at, "%s must be a string or a list of tokens", at)
}

// in returns the prompt's tokens. A text's begin with the begin-of-text token if the model wants one.
func (p *prompt) in(t *llama.Tokenizer, at string) ([]llama.Token, error) {
	if p.tokens == nil {
		return append(t.EncodeSpecial("", true), t.Encode(p.text)...), nil
	}
	return tokensOf(t, at, p.tokens)
}

// tokensOf returns tokens that a request has at a place.
func tokensOf(t *llama.Tokenizer, at string, numbers []int) ([]llama.Token, error) {
	tokens := make([]llama.Token, len(numbers))
	for i, n := range numbers {
		if n < 0 || n >= t.VocabSize() {
			return nil, wire.Invalid(place(at, i), "%s is %d; it must be a token's number, 0 to %d", place(at, i), n, t.VocabSize()-1)
		}
		tokens[i] = llama.Token(n)
	}
	return tokens, nil
}

// Completions serves POST /v1/completions.
func (a *API) Completions(w http.ResponseWriter, r *http.Request) error {
	var in completionRequest
	if err := a.Service.Read(w, r, completionRules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	params, n, err := in.read(ctx, a.Service.MaxAnswers)
	if err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.Recommend(&params, &in.Sampling); err != nil {
		return err
	}
	if params.LogitBias, err = m.Bias(in.LogitBias, "logit_bias"); err != nil {
		return err
	}
	names := ask.NewFieldNames("prompt", "max_tokens")
	names["Params.Logprobs"] = "logprobs"
	var form ask.Form
	if form, names["schema"], err = in.Form(); err != nil {
		return err
	}
	if err := m.Constrain(ctx, &params, ask.Tools{}, form, names); err != nil {
		return err
	}
	choices, err := in.choices(ctx, a.Service, m, params, n)
	if err != nil {
		return err
	}
	answers, err := m.Ask(ctx, choices, names)
	if err != nil {
		return err
	}
	defer answers.Close()
	t := in.encoder(m.Model.Tokenizer(), choices, n)
	if in.Stream {
		return in.send(w, newEnvelope("cmpl-", "text_completion", m), answers, len(choices), t)
	}
	out := completionAnswer{envelope: newEnvelope("cmpl-", "text_completion", m), Choices: make([]completionChoice, len(choices)), Timings: in.timings()}
	if err := answers.Collect(func(e ask.Event) error { out.add(t, e); return nil }); err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, out)
}

// read judges the parameters; most is how many answers a request may ask for. n is how many of each prompt are.
func (in *completionRequest) read(ctx context.Context, most int) (p llama.Params, n int, err error) {
	if p, err = in.Sampling.Params(ctx); err != nil {
		return p, 0, err
	}
	if in.scoresOnly() { // 0 is no length otherwise
		p.MaxTokens = 1
	} else if p.MaxTokens, err = lengthOf(length{"max_tokens", in.MaxTokens}, length{"n_predict", in.NPredict}); err != nil {
		return p, 0, err
	}
	if in.MaxTokens == nil && in.NPredict == nil {
		p.MaxTokens = defaultTokens
	}
	if n, err = countOf(in.N, most); err != nil {
		return p, 0, err
	}
	if err := in.streaming.check(); err != nil {
		return p, 0, err
	}
	switch all := n * len(in.Prompt); {
	case all > most && n == 1:
		return p, 0, wire.Invalid("prompt", "prompt has %d texts; a request may have %d", all, most)
	case all > most:
		return p, 0, wire.Invalid("n", "n is %d for each of %d prompts; a request may ask for %d answers in all", n, len(in.Prompt), most)
	case in.BestOf != nil && *in.BestOf != 1 && *in.BestOf != n:
		return p, 0, wire.Unsupported("best_of", "best_of is %d, and answers are not compared: leave it out, or ask for as many with n", *in.BestOf)
	case in.Logprobs != nil && (*in.Logprobs < 0 || *in.Logprobs > maxCompletionLogprobs):
		return p, 0, wire.Invalid("logprobs", "logprobs is %d; it must be 0 to %d", *in.Logprobs, maxCompletionLogprobs)
	case in.Logprobs != nil:
		p.Logprobs = max(1, *in.Logprobs) // one is what the chosen token's own needs
	}
	return p, n, nil
}

// scoresOnly reports whether the request asks for the log-probabilities of its prompts alone.
func (in *completionRequest) scoresOnly() bool {
	return in.Echo && in.Logprobs != nil && in.MaxTokens != nil && *in.MaxTokens == 0
}

// choices returns the answers that a model is asked for: n of the first prompt, then n of the next.
func (in *completionRequest) choices(ctx context.Context, service *ask.Service, m *ask.Model, p llama.Params, n int) (choices []ask.Choice, err error) {
	for i := range in.Prompt {
		at := "prompt"
		if len(in.Prompt) > 1 {
			at = place(at, i)
		}
		tokens, err := service.Encode(ctx, func() ([]llama.Token, error) { return in.Prompt[i].in(m.Model.Tokenizer(), at) })
		if err != nil {
			return nil, err
		}
		choice := ask.Choice{Prompt: tokens, Params: p, Progress: in.progress()}
		if in.Echo {
			choice.PromptLogprobs, choice.PromptOnly = p.Logprobs, in.scoresOnly()
		}
		choices = append(choices, choice.Repeat(n)...)
	}
	return choices, nil
}
