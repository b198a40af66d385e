package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// request is what POST /v1/responses reads. Those of ask.Sampling that OpenAI's interface lacks, top_k and seed for example, are additions.
type request struct {
	Model        string  `json:"model"`
	Input        *input  `json:"input"`
	Instructions *string `json:"instructions"`
	ask.Sampling
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	Include           include           `json:"include"`
	TopLogprobs       int               `json:"top_logprobs"`
	Tools             tools             `json:"tools"`
	ToolChoice        toolChoice        `json:"tool_choice"`
	ParallelToolCalls *bool             `json:"parallel_tool_calls"`
	Text              text              `json:"text"`
	Reasoning         ask.Reasoning     `json:"reasoning"`
	ContextManagement []json.RawMessage `json:"context_management"` // left out
	Truncation        ask.Truncation    `json:"truncation"`
	Stream            bool              `json:"stream"`
	StreamOptions     streamOptions     `json:"stream_options"`
	Metadata          map[string]string `json:"metadata"` // this member and the following ones change nothing, and come back in the answer
	User              *string           `json:"user"`
	SafetyIdentifier  *string           `json:"safety_identifier"`
	PromptCacheKey    *string           `json:"prompt_cache_key"`
}

var rules = ask.SamplingRules.With(wire.Rules{
	"client_metadata": wire.Ignored(), "session_id": wire.Ignored(), "request_id": wire.Ignored(),
	"service_tier": wire.Ignored(), "prompt_cache_retention": wire.Ignored(), "prompt_cache_options": wire.Ignored(),
	"store":                wire.Refused("nothing is stored", "false"),
	"previous_response_id": wire.Refused("nothing is stored: send the whole conversation as input", `""`),
	"conversation":         wire.Refused("nothing is stored: send the whole conversation as input"),
	"prompt":               wire.Refused("nothing is stored: send the prompt as instructions and input"),
	"background":           wire.Refused("nothing is stored: read the answer while it comes, with stream", "false"),
	"max_tool_calls":       wire.Refused("it bounds calls of tools that a server runs, and there are none"),
	"moderation":           wire.Refused("the server has no moderation"),
})

// maxSafetyIdentifier is the length, in characters, that is published for it.
const maxSafetyIdentifier = 64

// params returns how the answer is to be chosen, without what needs the model.
func (in *request) params(ctx context.Context) (llama.Params, error) {
	p, err := in.Sampling.Params(ctx)
	if err != nil {
		return p, err
	}
	switch {
	case in.Input == nil:
		return p, wire.Missing("input", "a string or a list of items")
	case in.MaxOutputTokens != nil && *in.MaxOutputTokens < 1:
		return p, wire.Invalid("max_output_tokens", "max_output_tokens is %d; it must be 1 or more", *in.MaxOutputTokens)
	case in.TopLogprobs < 0 || in.TopLogprobs > ask.MaxTopLogprobs:
		return p, wire.Invalid("top_logprobs", "top_logprobs is %d; it must be 0 to %d", in.TopLogprobs, ask.MaxTopLogprobs)
	case in.TopLogprobs > 0 && !in.Include.logprobs:
		return p, wire.Invalid("top_logprobs", "top_logprobs stands without %q in include", includeLogprobs)
	case in.SafetyIdentifier != nil && utf8.RuneCountInString(*in.SafetyIdentifier) > maxSafetyIdentifier:
		return p, wire.Invalid("safety_identifier", "safety_identifier is longer than %d characters", maxSafetyIdentifier)
	}
	if in.MaxOutputTokens != nil {
		p.MaxTokens = *in.MaxOutputTokens
	}
	if in.Include.logprobs {
		p.Logprobs = max(1, in.TopLogprobs) // what the chosen token's own needs, too
	}
	return p, nil
}

// conversation returns the messages to answer, and the names for errors in them.
func (in *request) conversation() ([]llama.Message, ask.FieldNames) {
	n := ask.NewFieldNames("input", "max_output_tokens")
	n["schema"], n["truncation"] = "text.format.schema", "truncation"
	var history []llama.Message
	if in.Instructions != nil && *in.Instructions != "" {
		history = append(history, llama.Message{Role: llama.RoleSystem, Content: *in.Instructions})
		n["history[0]."] = "instructions."
	}
	for i, at := range in.Input.places {
		n[fmt.Sprintf("history[%d].", len(history)+i)] = at + "."
	}
	return append(history, in.Input.history...), n
}

// include says what an answer has besides its items.
type include struct{ logprobs bool }

const includeLogprobs = "message.output_text.logprobs"

// vacuous are OpenAI's other values. They ask for details of items that answers of this server never have.
var vacuous = map[string]bool{
	"file_search_call.results": true, "web_search_call.results": true, "web_search_call.action.sources": true,
	"message.input_image.image_url": true, "computer_call_output.output.image_url": true, "code_interpreter_call.outputs": true,
	"reasoning.encrypted_content": true,
}

// ReadJSON reads a list of OpenAI's values.
func (i *include) ReadJSON(at string, value json.RawMessage) error {
	var list []string
	if err := wire.Decode(at, value, &list); err != nil {
		return err
	}
	for n, value := range list {
		if value == includeLogprobs {
			i.logprobs = true
		} else if !vacuous[value] {
			in := fmt.Sprintf("%s[%d]", at, n)
			return wire.Invalid(in, "%s is %.60q; it must be %q, or one of OpenAI's other values, which change nothing", in, value, includeLogprobs)
		}
	}
	return nil
}

// leftOut returns what of the request is left out.
func (in *request) leftOut(tools ask.Tools) []ask.LeftOut {
	left := append(in.Input.LeftOut, tools.LeftOut...)
	if len(in.ContextManagement) > 0 {
		left = append(left, ask.LeftOut{At: "context_management", Why: "nothing of a conversation is summed up; truncation leaves its oldest turns out"})
	}
	if v := in.Text.Verbosity; v != "" && v != "medium" {
		left = append(left, ask.LeftOut{At: "text.verbosity", Why: "the models know no such word: say it in the instructions"})
	}
	return left
}

// streamOptions say how a stream is sent.
type streamOptions struct{}

// Rules are those of OpenAI's one option, which pads events so that their lengths reveal nothing of the text.
func (streamOptions) Rules() wire.Rules {
	return wire.Rules{"include_obfuscation": wire.Refused("events are not padded", "false")}
}
