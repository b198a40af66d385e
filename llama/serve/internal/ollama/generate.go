package ollama

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// generateRequest is what POST /api/generate reads.
type generateRequest struct {
	asking
	Prompt  string          `json:"prompt"`
	Images  json.RawMessage `json:"images"` // of the prompt
	Suffix  string          `json:"suffix"` // the text that comes after the answer
	System  string          `json:"system"`
	Context []int           `json:"context"` // the conversation so far: an answer's
	Raw     bool            `json:"raw"`     // the prompt is continued as it is, without the chat template
}

// generateRules are those of the parameters that are not read.
var generateRules = askingRules.With(wire.Rules{
	"template": wire.Refused("the model's own chat template is used", `""`),
	"width":    wire.Refused("answers are text", "0"), "height": wire.Refused("answers are text", "0"), "steps": wire.Refused("answers are text", "0"),
})

// generateLine is a line of an answer.
type generateLine struct {
	head
	Response string             `json:"response"`
	Thinking string             `json:"thinking,omitempty"`
	Context  []llama.Token      `json:"context,omitempty"`
	Logprobs []ask.TokenLogprob `json:"logprobs,omitempty"`
	*ending
}

// Generate serves POST /api/generate.
func (a *API) Generate(w http.ResponseWriter, r *http.Request) error {
	var in generateRequest
	if err := a.Service.Read(w, r, generateRules, &in); err != nil {
		return err
	}
	if in.Prompt == "" && in.Suffix == "" {
		return a.prepare(w, r, &in.asking, func(reason string) any {
			return generateLine{head: newHead(in.Model, true), ending: &ending{Reason: reason}}
		})
	}
	if err := in.check(); err != nil {
		return err
	}
	q, err := a.open(r.Context(), &in.asking, "prompt")
	if err != nil {
		return err
	}
	defer a.close(q)
	choice, err := in.choice(r.Context(), a.Service, q)
	if err != nil {
		return err
	}
	images := in.hasImages()
	return q.answer(w, r, choice, func(p *part) any {
		line := generateLine{head: newHead(in.Model, p.end != nil), Response: p.text, Thinking: p.thinking, Logprobs: p.logprobs, ending: p.end}
		if p.end != nil && choice.Message && !images { // which have no tokens that could come back
			line.Context = slices.Concat(choice.Prompt, p.tokens)
		}
		return line
	})
}

// check refuses parameters that exclude each other.
func (in *generateRequest) check() error {
	switch {
	case in.hasImages() && (in.Raw || in.Suffix != "" || len(in.Context) > 0):
		return wire.Invalid("images", "images stand beside raw, suffix or context: they need a message of a conversation, so use /api/chat")
	case in.Raw && in.System != "":
		return wire.Invalid("system", "system stands beside raw, which takes the prompt as it is")
	case in.Raw && len(in.Context) > 0:
		return wire.Invalid("context", "context stands beside raw, which takes the prompt as it is")
	case in.Raw && in.Suffix != "":
		return wire.Invalid("suffix", "suffix stands beside raw, which takes the prompt as it is")
	case in.Suffix != "" && in.System != "":
		return wire.Invalid("system", "system stands beside suffix: what comes between two texts is no conversation")
	case in.Suffix != "" && len(in.Context) > 0:
		return wire.Invalid("context", "context stands beside suffix: what comes between two texts is no conversation")
	case in.System != "" && len(in.Context) > 0:
		return wire.Invalid("system", "system stands beside context, which has begun the conversation: send the system message with the first request, or use /api/chat")
	}
	return nil
}

// hasImages reports whether the prompt has images.
func (in *generateRequest) hasImages() bool { return len(in.Images) > 0 && string(in.Images) != "[]" }

// choice returns the answer that the model is asked for.
func (in *generateRequest) choice(ctx context.Context, service *ask.Service, q *question) (ask.Choice, error) {
	if !in.Raw && in.Suffix == "" && len(in.Context) == 0 {
		history, err := in.history(ctx, q)
		if err != nil {
			return ask.Choice{}, err
		}
		return q.chat(ctx, history, ask.Tools{}, "")
	}
	if err := q.model.Constrain(ctx, &q.params, ask.Tools{}, ask.Form(in.Format), q.names); err != nil {
		return ask.Choice{}, err
	}
	var prompt []llama.Token
	var err error
	switch {
	case in.Raw:
		prompt, err = service.Encode(ctx, func() ([]llama.Token, error) {
			t := q.model.Model.Tokenizer()
			return append(t.EncodeSpecial("", true), t.Encode(in.Prompt)...), nil
		})
	case in.Suffix != "":
		prompt, err = q.model.Infill(ctx, in.Prompt, in.Suffix, "suffix")
	default:
		prompt, err = q.continued(ctx, in.Context, in.Prompt)
	}
	return ask.Choice{Prompt: prompt, Message: len(in.Context) > 0, Params: q.params}, err
}

// history returns the conversation that the request is.
func (in *generateRequest) history(ctx context.Context, q *question) (history []llama.Message, err error) {
	if in.System != "" {
		history = append(history, llama.Message{Role: llama.RoleSystem, Content: in.System})
	}
	var c conversation
	turn := llama.Message{Role: llama.RoleUser}
	if err := c.readContent("", in.Prompt, in.Images, &turn); err != nil {
		return nil, err
	}
	return q.model.See(ctx, append(history, turn), &c.Past, &q.params.Template)
}
