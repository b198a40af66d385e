package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// POST /v1/messages does the steps that each interface does: it reads the request and judges it, takes the model, renders the prompt, asks
// for one answer, and writes it whole or as a stream. For example:
//
//	the request   {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
//	read          Params.MaxTokens 9, and a history of one message
//	Open          the model m, which stays loaded until Close
//	prompt        the history as the model's chat template has it, with the opening of the answer
//	Ask           one Choice
//	writeMessage  {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hello!"}], …}

// request is what POST /v1/messages and POST /v1/messages/count_tokens read. seed and min_p are this server's additions.
type request struct {
	Model             string            `json:"model"`
	MaxTokens         *int              `json:"max_tokens"`
	Messages          json.RawMessage   `json:"messages"`
	System            json.RawMessage   `json:"system"`
	StopSequences     []string          `json:"stop_sequences"`
	Temperature       *float32          `json:"temperature"`
	TopP              *float32          `json:"top_p"`
	TopK              *int              `json:"top_k"`
	MinP              *float32          `json:"min_p"`
	Seed              *int64            `json:"seed"`
	Stream            bool              `json:"stream"`
	Tools             json.RawMessage   `json:"tools"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	OutputConfig      json.RawMessage   `json:"output_config"`
	OutputFormat      json.RawMessage   `json:"output_format"` // the older place of output_config.format
	Thinking          ask.ThinkingBlock `json:"thinking"`
	ContextManagement contextManagement `json:"context_management"`
	MCPServers        []json.RawMessage `json:"mcp_servers"` // left out
}

// contextManagement says which parts may be taken out of a conversation that becomes long.
type contextManagement struct {
	left []ask.LeftOut
}

// ReadJSON reads the list of edits. To clear thoughts of earlier turns is the template's affair; other edits are left out.
func (c *contextManagement) ReadJSON(at string, value json.RawMessage) error {
	var in struct {
		Edits []edit `json:"edits"`
	}
	if err := wire.Object(at, value, nil, &in); err != nil {
		return err
	}
	for i, e := range in.Edits {
		if !strings.HasPrefix(string(e), "clear_thinking_") {
			c.left = append(c.left, ask.LeftOut{At: fmt.Sprintf("%s.edits[%d]", at, i), Why: fmt.Sprintf("the server knows no edit %+.40q, and takes prompts as they are", string(e))})
		}
	}
	return nil
}

// edit is the type of an edit.
type edit string

// ReadJSON reads it.
func (e *edit) ReadJSON(at string, value json.RawMessage) error {
	var kind struct{ Type any }
	if json.Unmarshal(value, &kind) != nil {
		return wire.Invalid(at, "%s must be an object with a type", at)
	}
	word, ok := kind.Type.(string)
	if !ok {
		return wire.Missing(at+".type", "a string")
	}
	*e = edit(word)
	return nil
}

var requestRules = ask.SamplingRules.With(wire.Rules{
	"client_metadata": wire.Ignored(), "session_id": wire.Ignored(),
	"metadata": wire.Ignored(), "service_tier": wire.Ignored(), "speed": wire.Ignored(), "cache_control": wire.Ignored(),
	"betas": wire.Ignored(), "user_profile_id": wire.Ignored(), "workspace_id": wire.Ignored(), "billing_policy": wire.Ignored(),
	"container":             wire.Refused("the server runs no code"),
	"compaction":            wire.Refused("prompts are taken as they are"),
	"diagnostics":           wire.Ignored(), // of earlier requests: nothing is kept of them
	"fallbacks":             wire.Refused("the model that is asked answers", "[]"),
	"fallback_credit_token": wire.Refused("the model that is asked answers"),
	"inference_geo":         wire.Refused("the server does not know where it is"),
	"thread":                wire.Refused("nothing is stored"),
})

// question is what a request asks, as far as it is known without the model.
type question struct {
	conversation
	params   llama.Params
	tools    tools
	form     ask.Form
	thinking ask.Thinking
	names    ask.FieldNames // of what llama's errors name
}

// read reads a request. Of one that only counts tokens, what says how to answer may be missing.
func (a *API) read(w http.ResponseWriter, r *http.Request, counts bool) (in request, q question, err error) {
	if err = a.Service.Read(w, r, requestRules, &in); err != nil {
		return in, q, err
	}
	if q.params, err = in.params(r.Context(), counts); err != nil {
		return in, q, err
	}
	if q.conversation, err = in.conversation(); err != nil {
		return in, q, err
	}
	if q.tools, err = in.tools(); err != nil {
		return in, q, err
	}
	form, effort, place, err := in.form()
	if err != nil {
		return in, q, err
	}
	q.thinking = in.Thinking.Merge(effort.Thinking)
	if err := a.Service.LeaveOut(r.Context(), append(q.LeftOut, in.leftOut(q.tools)...)); err != nil {
		return in, q, err
	}
	if form.Schema != nil && q.begun != "" {
		return in, q, wire.Unsupported(q.last,
			"%s: an answer cannot both go on with a text and be of a form: leave the assistant's last message out, or %s", q.last, place)
	}
	q.form = form
	q.names = ask.NewFieldNames("messages", "max_tokens")
	q.names["Params.Stop"], q.names["schema"] = "stop_sequences", place
	q.addNames(q.names)
	return in, q, nil
}

// maxTemperature is Anthropic's.
const maxTemperature = 1

// params returns how the answer is to be chosen, without what needs the model.
func (in *request) params(ctx context.Context, counts bool) (llama.Params, error) {
	if t := in.Temperature; t != nil && !(*t >= 0 && *t <= maxTemperature) {
		return llama.Params{}, wire.Invalid("temperature", "temperature is %v; it must be 0 to %d", *t, maxTemperature)
	}
	if err := ask.CheckStops("stop_sequences", in.StopSequences); err != nil {
		return llama.Params{}, err
	}
	p, err := in.sampling().Params(ctx)
	if err != nil {
		return p, err
	}
	p.Stop = in.StopSequences
	switch {
	case in.MaxTokens != nil && *in.MaxTokens < 1:
		return p, wire.Invalid("max_tokens", "max_tokens is %d; it must be at least 1", *in.MaxTokens)
	case in.MaxTokens != nil:
		p.MaxTokens = *in.MaxTokens
	case !counts:
		return p, wire.Invalid("max_tokens", "max_tokens is missing: it is the most tokens that the answer may have")
	}
	return p, nil
}

// sampling returns the parameters that choose tokens.
func (in *request) sampling() *ask.Sampling {
	return &ask.Sampling{Temperature: in.Temperature, TopP: in.TopP, TopK: in.TopK, MinP: in.MinP, Seed: in.Seed}
}

// leftOut returns what of the request is left out.
func (in *request) leftOut(t tools) []ask.LeftOut {
	left := append(t.offer.LeftOut, in.ContextManagement.left...)
	if len(in.MCPServers) > 0 {
		left = append(left, ask.LeftOut{At: "mcp_servers", Why: "the server calls no other servers"})
	}
	return left
}

// configRules are the members of output_config that are not read. A task's budget is what the client means to spend in many requests.
var configRules = wire.Rules{"task_budget": wire.Ignored()}

// form returns the form that is asked of the answer, and the name of the parameter that asks for it. A schema is kept as a whole or refused.
// effort is how much the model is to think if it does; it does not say whether.
func (in *request) form() (form ask.Form, effort ask.Effort, place string, err error) {
	place = "output_config.format"
	var format json.RawMessage
	if in.OutputConfig != nil {
		var config struct {
			Format json.RawMessage `json:"format"`
			Effort ask.Effort      `json:"effort"`
		}
		if err := wire.Object("output_config", in.OutputConfig, configRules, &config); err != nil {
			return form, effort, place, err
		}
		format, effort = config.Format, config.Effort
		effort.Enabled = nil
	}
	switch {
	case in.OutputFormat != nil && format != nil:
		return form, effort, place, wire.Invalid("output_format", "output_format stands beside %s, which is the newer name of the same", place)
	case in.OutputFormat != nil:
		place, format = "output_format", in.OutputFormat
	case format == nil:
		return form, effort, place, nil
	}
	var f struct {
		Type   string          `json:"type"`
		Schema json.RawMessage `json:"schema"`
	}
	if err := wire.Object(place, format, nil, &f); err != nil {
		return form, effort, place, err
	}
	switch {
	case f.Type != "json_schema":
		return form, effort, place, wire.Invalid(place+".type", `%s.type is %.40q; it must be "json_schema"`, place, f.Type)
	case f.Schema == nil:
		return form, effort, place, wire.Invalid(place+".schema", "%s.schema is missing", place)
	}
	return ask.Form{Schema: f.Schema}, effort, place, nil
}

// Messages serves POST /v1/messages.
func (a *API) Messages(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	in, q, err := a.read(w, r, false)
	if err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.Recommend(&q.params, in.sampling()); err != nil {
		return err
	}
	prompt, err := q.prompt(ctx, m, "")
	if err != nil {
		return err
	}
	progress := ask.NoProgress
	if in.Stream {
		progress = ask.AtBegin
	}
	answers, err := m.Ask(ctx, []ask.Choice{{Prompt: prompt, Message: q.begun == "", Params: q.params, Progress: progress}}, q.names)
	if err != nil {
		return err
	}
	defer answers.Close()
	out := newMessage(m)
	calls := ask.Calls{Sure: q.params.Constraint != nil, Whole: !q.tools.eager}
	if in.Stream {
		return writeStream(w, ask.RequestOf(ctx).ID, answers, out, calls)
	}
	return writeMessage(w, answers, out, calls)
}

// CountTokens serves POST /v1/messages/count_tokens: how many tokens the prompt of a request to /v1/messages has.
func (a *API) CountTokens(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	in, q, err := a.read(w, r, true)
	if err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	prompt, err := q.prompt(ctx, m, "disabled")
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, map[string]int{"input_tokens": len(prompt)})
}

// prompt sets what the answer's parameters lack without the model, and returns the tokens that the answer comes after.
func (q *question) prompt(ctx context.Context, m *ask.Model, t ask.Truncation) ([]llama.Token, error) {
	var err error
	if q.history, err = m.See(ctx, q.history, &q.Past, &q.params.Template); err != nil {
		return nil, err
	}
	m.Think(&q.params, q.thinking)
	if err := m.Constrain(ctx, &q.params, q.tools.offer, q.form, q.names); err != nil {
		return nil, err
	}
	return m.FitPrompt(ctx, q.history, ask.Begun(q.begun), &q.params, t, q.names)
}
