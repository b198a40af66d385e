// Package responses is OpenAI's Responses interface, POST /v1/responses, without storage: a request brings the whole conversation. A
// parameter that needs something stored is an error that names it, and so are pictures and files, which no model here reads. Searches and
// other tools than functions are left out; see ask.LeftOut.
//
// # Items
//
// An answer is a list of items: each stretch of text is a message, each call a function_call, in the order in which they came. As input
// they are one turn again. A text is a message even if it is empty, so that an answer always has an item.
//
// # A stream
//
// The events are OpenAI's, in its order; each has its name in the line "event:" too. The events of one item come
// before those of the next, and together they make the item in the final event. That event's response is, but for ids and times, the answer to
// the same request without a stream. While nothing else comes, response.in_progress comes again.
//
// A call that the answer's end cuts off is a function_call with the status "incomplete": its arguments are no JSON object yet. If a model's
// calls cannot be constrained, a call comes when it is complete.
package responses

import (
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// API is the interface. Its method is safe for concurrent use.
type API struct {
	Service *ask.Service
}

// Create serves POST /v1/responses.
func (a *API) Create(w http.ResponseWriter, r *http.Request) error {
	var in request
	if err := a.Service.Read(w, r, rules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	params, err := in.params(ctx)
	if err != nil {
		return err
	}
	tools, err := in.readTools()
	if err != nil {
		return err
	}
	if err := a.Service.LeaveOut(ctx, in.leftOut(tools)); err != nil {
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
	history, names := in.conversation()
	if history, err = m.See(ctx, history, &in.Input.Past, &params.Template); err != nil {
		return err
	}
	m.Think(&params, in.Reasoning.Thinking)
	if err := m.Constrain(ctx, &params, tools, in.Text.form(), names); err != nil {
		return err
	}
	prompt, err := m.FitPrompt(ctx, history, llama.Message{}, &params, in.Truncation, names)
	if err != nil {
		return err
	}
	answers, err := m.Ask(ctx, []ask.Choice{{Prompt: prompt, Message: true, Params: params}}, names)
	if err != nil {
		return err
	}
	defer answers.Close()
	out := newResponse(&in, m, &params)
	out.Truncation = string(in.Truncation.OrDefault(a.Service))
	logs := ask.Logprobs{Tokenizer: m.Model.Tokenizer(), Top: in.TopLogprobs}
	items := output{calls: ask.Calls{Sure: params.Constraint != nil}}
	if in.Stream {
		return writeStream(w, out, answers, logs, &items)
	}
	return writeResponse(w, out, answers, logs, &items)
}

// writeResponse answers without a stream.
func writeResponse(w http.ResponseWriter, out *response, answers *ask.Answers, logs ask.Logprobs, items *output) error {
	items.send = func(event) error { return nil }
	err := answers.Collect(func(e ask.Event) error {
		err := items.add(e.Piece, logs.Of(e.Piece))
		if e.Piece.Stop != 0 {
			out.end(items.items, e.Piece)
		}
		return err
	})
	if err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, out)
}
