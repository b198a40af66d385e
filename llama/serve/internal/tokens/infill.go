package tokens

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openai"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// infillRequest is what POST /infill reads: two texts, of which the model writes what stands between them.
type infillRequest struct {
	Model  string  `json:"model"`
	Before string  `json:"input_prefix"`
	After  string  `json:"input_suffix"`
	Extra  []extra `json:"input_extra"` // other texts that the model sees; the first ones are left out if they do not fit
	Prompt string  `json:"prompt"`      // what the answer begins with
	ask.Sampling
	Stream bool `json:"stream"`
	Length *int `json:"n_predict"` // negative: no bound; 0: nothing is computed

	// What editors send, and the server does not have: the answer does not depend on the clock, nor on the samplers' order.
	Samplers []string `json:"samplers"`
	Indent   int      `json:"n_indent"`
	MaxRead  int      `json:"t_max_prompt_ms"`
	MaxWrite int      `json:"t_max_predict_ms"`
}

// infillRules are those of the parameters that are not read.
var infillRules = func() wire.Rules {
	rules := maps.Clone(ask.SamplingRules)
	for _, read := range []string{"samplers", "n_indent", "t_max_prompt_ms", "t_max_predict_ms"} {
		delete(rules, read)
	}
	return rules
}()

// extra is a text of another place or file.
type extra struct {
	Name string `json:"filename"`
	Text string `json:"text"`
}

// Rules are those of what editors note beside a text.
func (extra) Rules() wire.Rules { return wire.Rules{"time": wire.Ignored()} }

// leftOut returns what the request asks for and the server does not have.
func (in *infillRequest) leftOut() (left []ask.LeftOut) {
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

// infilled is a part of an answer, or all of it, as llama-server has it.
type infilled struct {
	Content string `json:"content"`
	Stop    bool   `json:"stop"`
	*infillEnd
}

// infillEnd is what the last part says beyond the others.
type infillEnd struct {
	Model        string       `json:"model"`
	StopType     string       `json:"stop_type"` // "eos", "word" or "limit"
	StoppingWord string       `json:"stopping_word"`
	Predicted    int          `json:"tokens_predicted"`
	Evaluated    int          `json:"tokens_evaluated"`
	Cached       int          `json:"tokens_cached"`
	Truncated    bool         `json:"truncated"`
	Timings      infillTiming `json:"timings"`
}

type infillTiming struct {
	PromptN       int     `json:"prompt_n"`
	PromptMS      float64 `json:"prompt_ms"`
	PromptRate    float64 `json:"prompt_per_second"`
	PredictedN    int     `json:"predicted_n"`
	PredictedMS   float64 `json:"predicted_ms"`
	PredictedRate float64 `json:"predicted_per_second"`
}

// newInfillEnd returns what the last part says.
func newInfillEnd(model string, p llama.Piece) *infillEnd {
	s := p.Stats
	e := &infillEnd{Model: model, StopType: "eos", StoppingWord: p.StopString, Predicted: s.GeneratedTokens, Evaluated: s.PromptTokens, Cached: s.ReusedTokens}
	switch p.Stop {
	case llama.MaxTokens, llama.ContextFull:
		e.StopType = "limit"
	case llama.StopString:
		e.StopType = "word"
	}
	e.Timings = infillTiming{s.PromptTokens - s.ReusedTokens, 1e3 * s.PrefillTime.Seconds(), s.PrefillRate(), s.GeneratedTokens, 1e3 * s.DecodeTime.Seconds(), s.DecodeRate()}
	return e
}

// Infill serves POST /infill.
func (a *API) Infill(w http.ResponseWriter, r *http.Request) error {
	var in infillRequest
	if err := a.Service.Read(w, r, infillRules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	if err := a.Service.LeaveOut(ctx, in.leftOut()); err != nil {
		return err
	}
	params, err := in.Sampling.Params(ctx)
	if err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, a.name(in.Model))
	if err != nil {
		return err
	}
	defer m.Close()
	if in.Length != nil && *in.Length == 0 { // editors ask for that to have the prompt computed ahead
		return wire.Write(w, http.StatusOK, infilled{"", true, &infillEnd{Model: m.Name, StopType: "limit"}})
	}
	if in.Length != nil {
		params.MaxTokens = max(*in.Length, 0)
	}
	if params.Mask, err = m.NewBias(in.LogitBias, "logit_bias"); err != nil {
		return err
	}
	prompt, err := in.prompt(ctx, a.Service, m, params.MaxTokens)
	if err != nil {
		return err
	}
	answers, err := m.Ask(ctx, []ask.Choice{{Prompt: prompt, Params: params}}, ask.NewFieldNames("input_prefix", "n_predict"))
	if err != nil {
		return err
	}
	defer answers.Close()
	if in.Stream {
		return streamInfill(w, m.Name, answers)
	}
	var text strings.Builder
	out := infilled{Stop: true}
	err = answers.Collect(func(e ask.Event) error {
		text.WriteString(e.Piece.Text)
		if e.Piece.Stop != 0 {
			out.infillEnd = newInfillEnd(m.Name, e.Piece)
		}
		return nil
	})
	if err != nil {
		return err
	}
	out.Content = text.String()
	return wire.Write(w, http.StatusOK, out)
}

// streamInfill answers with a stream.
func streamInfill(w http.ResponseWriter, model string, answers *ask.Answers) error {
	events := wire.NewEvents(w)
	return answers.Stream(events, events.Comment, func(e ask.Event) error {
		part := infilled{Content: e.Piece.Text}
		switch {
		case e.Err != nil:
			_ = events.Send("", openai.Shape(e.Err)) // a client that is gone reads no error either
			_ = events.Flush()
			return e.Err
		case e.Piece.Stop != 0:
			part.Stop, part.infillEnd = true, newInfillEnd(model, e.Piece)
		case part.Content == "":
			return nil
		}
		return events.Send("", part)
	})
}

// prompt returns the tokens of the request: as many of the other texts as fit beside the answer, the last ones, and the two texts.
func (in *infillRequest) prompt(ctx context.Context, service *ask.Service, m *ask.Model, length int) ([]llama.Token, error) {
	prompt, err := m.Infill(ctx, in.Before, in.After, "input_suffix")
	if err != nil {
		return nil, err
	}
	t := m.Model.Tokenizer()
	begin := len(t.EncodeSpecial("", true))
	others, err := service.Encode(ctx, func() (others []llama.Token, err error) {
		prompt = append(prompt, t.EncodeContinuation(in.Prompt)...)
		for _, e := range slices.Backward(in.Extra) {
			tokens := t.EncodeContinuation(e.Name + "\n" + e.Text + "\n")
			if m.Context > 0 && len(tokens)+len(others)+len(prompt)+length >= m.Context {
				break
			}
			others = append(tokens, others...)
		}
		return others, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.Insert(prompt, begin, others...), nil
}
