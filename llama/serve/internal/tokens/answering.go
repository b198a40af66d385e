package tokens

import (
	"context"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// answering are the parameters that POST /completion and POST /infill share.
type answering struct {
	Model string `json:"model"`
	ask.Sampling
	LogitBias biases `json:"logit_bias"` // in place of Sampling's
	ask.TopForm
	Stream  bool     `json:"stream"`
	Length  *int     `json:"n_predict"`         // negative: no bound; 0: nothing is computed
	Most    *int     `json:"max_tokens"`        // Length, as OpenAI calls it
	Tokens  bool     `json:"return_tokens"`     // a whole answer has its tokens, as the parts of a stream always have
	Probs   int      `json:"n_probs"`           // how many alternatives of each token to send; 0: no probabilities
	Fields  []string `json:"response_fields"`   // all that the answer has, or the last part of a stream; see picked. Empty: everything
	Timings bool     `json:"timings_per_token"` // they come with the end of the answer in any case

	// What programs send, and the server does not have: the answer does not depend on the clock, nor on the samplers' order.
	Samplers []string `json:"samplers"`
	Indent   int      `json:"n_indent"`
	MaxRead  int      `json:"t_max_prompt_ms"`
	MaxWrite int      `json:"t_max_predict_ms"`
}

// answeringRules are those of the parameters that are not read.
var answeringRules = ask.SamplingRules.Without(append(ask.FormNames, "n_probs", "timings_per_token", "samplers", "n_indent", "t_max_prompt_ms",
	"t_max_predict_ms")...)

// leftOut returns what the request asks for and the server does not have.
func (in *answering) leftOut() (left []ask.LeftOut) {
	if len(in.Samplers) > 0 {
		left = append(left, ask.LeftOut{At: "samplers", Why: "the samplers have one order"})
	}
	if in.Indent > 0 {
		left = append(left, ask.LeftOut{At: "n_indent", Why: "an answer may be indented as it likes"})
	}
	if in.MaxRead > 0 || in.MaxWrite > 0 {
		left = append(left, ask.LeftOut{At: "t_max_predict_ms", Why: "no answer depends on the clock, n_predict bounds it"})
	}
	return left
}

// params judges the parameters as far as that is possible without the model.
func (in *answering) params(ctx context.Context, service *ask.Service) (p llama.Params, err error) {
	if err := service.LeaveOut(ctx, in.leftOut()); err != nil {
		return p, err
	}
	if in.Probs < 0 || in.Probs > ask.MaxTopLogprobs {
		return p, wire.Invalid("n_probs", "n_probs is %d; it must be 0 to %d", in.Probs, ask.MaxTopLogprobs)
	}
	switch {
	case in.Length == nil:
		in.Length = in.Most
	case in.Most != nil && *in.Most != *in.Length:
		return p, wire.Invalid("max_tokens", "max_tokens is %d, and n_predict is %d: give one of them", *in.Most, *in.Length)
	}
	if p, err = in.Sampling.Params(ctx); err != nil {
		return p, err
	}
	if in.Length != nil {
		p.MaxTokens = max(*in.Length, 0)
	}
	p.Logprobs = in.Probs
	return p, nil
}

// fit sets the parameters that need the model.
func (in *answering) fit(ctx context.Context, m *ask.Model, p *llama.Params, names ask.FieldNames) (err error) {
	if err := m.Recommend(p, &in.Sampling); err != nil {
		return err
	}
	if p.LogitBias, err = in.LogitBias.sums(ctx, m); err != nil {
		return err
	}
	var form ask.Form
	if form, names["schema"], err = in.Form(); err != nil {
		return err
	}
	return m.Constrain(ctx, p, ask.Tools{}, form, names)
}

// answer computes the answers to prompts, and writes them: a list of them if many, one otherwise.
func (in *answering) answer(ctx context.Context, w http.ResponseWriter, m *ask.Model, prompts [][]llama.Token, many bool, p llama.Params, names ask.FieldNames) error {
	choices := make([]ask.Choice, len(prompts))
	for i, prompt := range prompts {
		choices[i] = ask.Choice{Prompt: prompt, Params: p}
	}
	if in.Length != nil && *in.Length == 0 { // editors ask for that to have the prompt computed ahead
		out := in.encoder(m, choices)
		for i := range choices {
			out.add(ask.Event{Choice: i, Piece: llama.Piece{Stop: llama.MaxTokens}})
		}
		return out.write(w, many)
	}
	answers, err := m.Ask(ctx, choices, names)
	if err != nil {
		return err
	}
	defer answers.Close()
	out := in.encoder(m, choices)
	if in.Stream {
		return out.stream(w, answers)
	}
	if err := answers.Collect(func(e ask.Event) error { out.add(e); return nil }); err != nil {
		return err
	}
	if err := ask.RequestOf(ctx).Memory.Grow(out.size()); err != nil {
		return err
	}
	return out.write(w, many)
}
