// Package openai is OpenAI's interface without its newer Responses: chat completions, completions, embeddings, models; and reranking, which
// OpenAI does not have, in the form of Jina and Cohere, or of Text Embeddings Inference (TEI). Each file has its parameters in structs and
// rules; any other parameter is an error. What a history has besides is left out: see ask.Past.
//
// Beyond what OpenAI documents there are top_k, min_p and repeat_penalty (llama.Params says what they do), a model's meta,
// stream_options.include_stats, return_progress, timings_per_token, continue_final_message, grammar, json_schema, and a form's schema
// without json_schema. What OpenAI leaves open, or does otherwise, is decided so:
//
//   - A stream and a whole answer say the same: see chatEncoder. A call that the end of the answer breaks off stays a call, with the arguments
//     that came until then, and finish_reason is "length".
//   - Log-probabilities are those of all tokens that the model chose, those of calls and of a stop string included.
//   - With tool_choice "none" the model is not shown the functions.
//   - A schema of response_format is kept as a whole or refused, unless its strict is false; one of a function if its strict is true.
//   - Of several choices the i-th is the one that the seed plus i gives alone; of several prompts each begins with the seed.
//   - In a completion's prompt that is a text, a text that looks like a special token is text, and the begin-of-text token comes first if the
//     model wants one. A prompt of tokens is taken as it is.
//   - With echo, a completion's log-probabilities begin with those of the prompt; max_tokens may then be 0.
//   - Refused by name are best_of that compares, suffix, and embeddings of tokens.
//   - An embedding's dimensions are the first ones of the vector, scaled to unit length again; input_type names a task of the model's.
//   - A document's relevance_score is the model's own, unless raw_scores is false, as it is in TEI's form if nothing is said. Then it is a
//     probability, by the logistic function.
package openai

import (
	"crypto/rand"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// API is the interface. Its methods are safe for concurrent use.
type API struct {
	Service *ask.Service
}

// Shape returns an error in OpenAI's form.
func Shape(e *wire.Error) any {
	type body struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    *string `json:"code"`
		Prompt  int     `json:"n_prompt_tokens,omitempty"` // this and Context are llama-server's, of a prompt that is too long
		Context int     `json:"n_ctx,omitempty"`
	}
	b := body{Message: e.Message, Type: kind(e.Status)}
	if e.Param != "" {
		b.Param = &e.Param
	}
	if e.Code != "" {
		b.Code = &e.Code
	}
	if e.Counts != nil {
		b.Prompt, b.Context = e.Counts.Prompt, e.Counts.Context
	}
	return map[string]body{"error": b}
}

// kind returns OpenAI's word for a status.
func kind(status int) string {
	switch {
	case status == 401:
		return "authentication_error"
	case status == 403:
		return "permission_error"
	case status == 429:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// usage is how many tokens a request took.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"` // of the thoughts
	} `json:"completion_tokens_details"`
}

// add counts an answer. The answers of a request that has one prompt share it: prompt is false for all but the first.
func (u *usage) add(s llama.Stats, prompt bool) {
	if prompt {
		u.Prompt += s.PromptTokens
		u.Details.Cached += s.ReusedTokens
	}
	u.Completion += s.GeneratedTokens
	u.CompletionDetails.Reasoning += s.ThoughtTokens
	u.Total = u.Prompt + u.Completion
}

// envelope is what the objects of an answer have in common.
type envelope struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	Model       string `json:"model"`
	Fingerprint string `json:"system_fingerprint"`
}

// newEnvelope returns an envelope with an id of its own, which begins with prefix.
func newEnvelope(prefix, object string, m *ask.Model) envelope {
	return envelope{ID: prefix + rand.Text(), Object: object, Created: time.Now().Unix(), Model: m.Name, Fingerprint: m.SystemFingerprint()}
}
