// Package anthropic is Anthropic's interface: messages, counting their tokens, and the list of models. What each parameter does is in the
// structs and rules of its file; a parameter that is in neither is an error. What a history has besides is left out: see ask.Past.
//
// Any anthropic-version is taken, since all of them have had the same form of requests. Of anthropic-beta, only the features that this
// package names are heeded: the others would be asked for by parameters too, and these say no.
package anthropic

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// API is the interface. Its methods are safe for concurrent use.
type API struct {
	Service *ask.Service
}

// failure is an error in Anthropic's form.
type failure struct {
	Type  string `json:"type"`
	Error struct {
		Type    string   `json:"type"`
		Message string   `json:"message"`
		Details *details `json:"details,omitempty"`
	} `json:"error"`
	Request string `json:"request_id,omitempty"`
}

// details give programs more about some errors.
type details struct {
	Code string `json:"error_code"`
}

// codes are Anthropic's words for parameters that are not supported and that clients know a way without. A client that gets this one for a
// thread, which the server would have to store, sends whole conversations from then on.
var codes = map[string]string{"thread": "thread_unsupported_request"}

// Shape returns an error in Anthropic's form. It has no member for the parameter that is wrong: the message begins with its name, unless
// it has it anyway.
func Shape(e *wire.Error) any {
	f := failure{Type: "error", Request: e.Request}
	f.Error.Type, f.Error.Message = kind(e.Status), e.Message
	if !strings.Contains(e.Message, e.Param) {
		f.Error.Message = e.Param + ": " + e.Message
	}
	if c := e.Counts; c != nil { // in the words by which clients know that they are to make the conversation shorter
		f.Error.Message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", c.Prompt, c.Context)
	}
	if code, ok := codes[e.Param]; ok {
		f.Error.Details = &details{code}
	}
	return f
}

// kinds are Anthropic's words for statuses.
var kinds = map[int]string{
	http.StatusUnauthorized:          "authentication_error",
	http.StatusForbidden:             "permission_error",
	http.StatusNotFound:              "not_found_error",
	http.StatusRequestEntityTooLarge: "request_too_large",
	http.StatusTooManyRequests:       "rate_limit_error",
	http.StatusServiceUnavailable:    "overloaded_error",
	http.StatusGatewayTimeout:        "timeout_error",
}

// kind returns Anthropic's word for a status.
func kind(status int) string {
	if word, ok := kinds[status]; ok {
		return word
	}
	if status >= http.StatusInternalServerError {
		return "api_error"
	}
	return "invalid_request_error"
}

// usage is how many tokens a request took. Those of the prompt are the first three together.
type usage struct {
	Input    int `json:"input_tokens"` // that were not in the cache
	Creation int `json:"cache_creation_input_tokens"`
	Cached   int `json:"cache_read_input_tokens"`
	Output   int `json:"output_tokens"`
}

func usageOf(s llama.Stats) usage {
	return usage{Input: s.PromptTokens - s.ReusedTokens, Cached: s.ReusedTokens, Output: s.GeneratedTokens}
}

// stops are Anthropic's words for why an answer ended.
var stops = map[llama.StopReason]string{
	llama.EndOfTurn: "end_turn", llama.ToolCalled: "tool_use", llama.StopString: "stop_sequence",
	llama.MaxTokens: "max_tokens", llama.ContextFull: "model_context_window_exceeded",
}

// stopInfo is how an answer ended. Both are null before it has.
type stopInfo struct {
	Reason   *string `json:"stop_reason"`
	Sequence *string `json:"stop_sequence"` // which of stop_sequences came up, or null
}

func stopInfoOf(p llama.Piece) (e stopInfo) {
	if reason, ok := stops[p.Stop]; ok {
		e.Reason = &reason
	}
	if p.Stop == llama.StopString {
		e.Sequence = &p.StopString
	}
	return e
}
