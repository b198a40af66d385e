package ollama

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// asking are the parameters that chats and generated texts have in common.
type asking struct {
	Model       string    `json:"model"`
	Stream      *bool     `json:"stream"` // nil: true
	Format      format    `json:"format"`
	Think       think     `json:"think"`
	KeepAlive   keepAlive `json:"keep_alive"`
	Options     options   `json:"options"`
	Truncate    *bool     `json:"truncate"` // leaves the oldest turns out if they do not fit; nil: true
	Logprobs    bool      `json:"logprobs"`
	TopLogprobs int       `json:"top_logprobs"`
	misplaced
}

// misplaced are options that programs send outside of options, as @ai-sdk's provider does. They count unless options has them too.
type misplaced struct {
	Temperature     *float32 `json:"temperature"`
	TopP            *float32 `json:"top_p"`
	MaxOutputTokens *int     `json:"max_output_tokens"` // num_predict
}

// place moves the options to their place.
func (m *misplaced) place(o *options) {
	o.Temperature, o.TopP, o.NumPredict = cmp.Or(o.Temperature, m.Temperature), cmp.Or(o.TopP, m.TopP), cmp.Or(o.NumPredict, m.MaxOutputTokens)
}

// askingRules are those of the parameters that are not read.
var askingRules = wire.Rules{
	"shift":              wire.Refused("an answer ends where the context is full", "false"),
	"_debug_render_only": wire.Refused("POST /apply-template shows what a conversation becomes", "false"),
}

// question is a request, and the model that it asks, while it is answered.
type question struct {
	*asking
	model  *ask.Model
	params llama.Params
	names  ask.FieldNames
	began  time.Time
	loaded time.Duration // how long it took to get the model
}

// open judges the parameters and takes the model. prompt names the parameter with the text or messages to answer. The caller closes the
// question.
func (a *API) open(ctx context.Context, in *asking, prompt string) (*question, error) {
	q := &question{asking: in, names: fieldNames(prompt), began: precise.Now()}
	in.misplaced.place(&in.Options)
	var err error
	if q.params, err = in.Options.params(ctx); err != nil {
		return nil, err
	}
	switch top := in.TopLogprobs; {
	case top < 0 || top > ask.MaxTopLogprobs:
		return nil, wire.Invalid("top_logprobs", "top_logprobs is %d; it must be 0 to %d", top, ask.MaxTopLogprobs)
	case in.Logprobs:
		q.params.Logprobs = max(1, top) // one is what the chosen token's own needs
	}
	if q.model, err = a.Service.Open(ctx, a.name(in.Model)); err != nil {
		return nil, named(err, in.Model)
	}
	if err := in.Options.recommend(q.model, &q.params); err != nil {
		q.model.Close()
		return nil, err
	}
	q.model.Think(&q.params, in.Think.Thinking)
	q.loaded = precise.Since(q.began)
	return q, nil
}

// close gives the model back: at once to the memory, if the request says so.
func (a *API) close(q *question) {
	q.model.Close()
	if q.KeepAlive.unload {
		a.Service.Models.Unload(q.model.Name)
		q.KeepAlive.unload = false // once, however often close is called
	}
}

// fieldNames returns how the interface calls what llama's errors name.
func fieldNames(prompt string) ask.FieldNames {
	names := ask.NewFieldNames(prompt, "num_predict")
	for field, name := range names {
		if strings.HasPrefix(field, "Params.") && !strings.HasPrefix(field, "Params.Template") {
			names[field] = "options." + name
		}
	}
	names["Params.Logprobs"], names["schema"] = "top_logprobs", "format"
	return names
}

// truncation returns the rule for a conversation that does not fit.
func (in *asking) truncation() ask.Truncation {
	if in.Truncate != nil && !*in.Truncate {
		return "disabled"
	}
	return "auto"
}

// streams reports whether the answer is a stream.
func (in *asking) streams() bool { return in.Stream == nil || *in.Stream }

// prepare answers a request that asks for nothing: the model is loaded, or given back. line makes the answer from the result.
func (a *API) prepare(w http.ResponseWriter, r *http.Request, in *asking, line func(reason string) any) error {
	if in.KeepAlive.unload && a.Service.Models.Unload(a.name(in.Model)) {
		return wire.Write(w, http.StatusOK, line("unload"))
	}
	m, err := a.lease(r.Context(), in.Model)
	if err != nil {
		return err
	}
	m.Close()
	if in.KeepAlive.unload {
		return wire.Unsupported("keep_alive", "keep_alive is 0, and the model '%s' stays loaded as long as the server runs", clipped(a.name(in.Model)))
	}
	return wire.Write(w, http.StatusOK, line("load"))
}

// chat returns the choice that answers a conversation. begun, unless "", is the beginning of the answer.
func (q *question) chat(ctx context.Context, turns []llama.Message, tools ask.Tools, begun string) (ask.Choice, error) {
	choice := ask.Choice{Message: begun == ""}
	if err := q.model.Constrain(ctx, &q.params, tools, ask.Form(q.Format), q.names); err != nil {
		return choice, err
	}
	prompt, err := q.model.FitPrompt(ctx, turns, ask.Begun(begun), &q.params, q.truncation(), q.names)
	choice.Prompt, choice.Params = prompt, q.params
	return choice, err
}
