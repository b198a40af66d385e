package responses

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// The states of a response and of its items.
const (
	inProgress = "in_progress"
	completed  = "completed"
	incomplete = "incomplete"
	failed     = "failed"
)

// response is what a request is answered with: the answer, and what the request asked for.
type response struct {
	ID                string            `json:"id"`
	Object            string            `json:"object"`
	CreatedAt         int64             `json:"created_at"`
	CompletedAt       *int64            `json:"completed_at"`
	Status            string            `json:"status"`
	Error             *responseError    `json:"error"`
	IncompleteDetails *reason           `json:"incomplete_details"`
	Model             string            `json:"model"`
	Fingerprint       string            `json:"system_fingerprint"`    // ours: which weights the answer is of
	Output            []any             `json:"output"`                // *thought, *message and *call
	OutputText        *string           `json:"output_text,omitempty"` // the texts of the output together; nil until the answer is over
	Usage             *usage            `json:"usage,omitempty"`       // likewise
	Instructions      *string           `json:"instructions"`
	MaxOutputTokens   *int              `json:"max_output_tokens"`
	MaxToolCalls      *int              `json:"max_tool_calls"`
	Metadata          map[string]string `json:"metadata"`
	ParallelToolCalls bool              `json:"parallel_tool_calls"`
	Previous          *string           `json:"previous_response_id"`
	Background        bool              `json:"background"`
	Reasoning         noReasoning       `json:"reasoning"`
	ServiceTier       string            `json:"service_tier"`
	Store             bool              `json:"store"`
	Temperature       float32           `json:"temperature"`
	TopP              float32           `json:"top_p"`
	TopLogprobs       int               `json:"top_logprobs"`
	Text              textForm          `json:"text"`
	ToolChoice        json.RawMessage   `json:"tool_choice"`
	Tools             []tool            `json:"tools"`
	Truncation        string            `json:"truncation"`
	User              *string           `json:"user,omitempty"`
	SafetyIdentifier  *string           `json:"safety_identifier,omitempty"`
	PromptCacheKey    *string           `json:"prompt_cache_key,omitempty"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type reason struct {
	Reason string `json:"reason"`
}

type noReasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textForm struct {
	Format    format `json:"format"`
	Verbosity string `json:"verbosity"`
}

// usage is how many tokens a request took.
type usage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"` // that were computed, and are in the cache now
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

// newResponse returns the response to a request that is answered with p, before there is an answer.
func newResponse(in *request, m *ask.Model, p *llama.Params) *response {
	out := &response{
		ID: "resp_" + rand.Text(), Object: "response", CreatedAt: time.Now().Unix(), Status: inProgress, Model: m.Name,
		Fingerprint: m.SystemFingerprint(), Output: []any{}, Instructions: in.Instructions, MaxOutputTokens: in.MaxOutputTokens,
		Metadata: in.Metadata, ParallelToolCalls: in.ParallelToolCalls == nil || *in.ParallelToolCalls, ServiceTier: "default",
		Temperature: p.Temperature, TopP: cmp.Or(p.TopP, 1), TopLogprobs: in.TopLogprobs, ToolChoice: json.RawMessage(`"auto"`), Tools: in.Tools.functions,
		Text: textForm{in.Text.Format, "medium"},
		User: in.User, SafetyIdentifier: in.SafetyIdentifier, PromptCacheKey: in.PromptCacheKey,
	}
	out.Text.Format.Type = cmp.Or(out.Text.Format.Type, "text")
	if in.TopP != nil {
		out.TopP = *in.TopP
	}
	if in.ToolChoice.raw != nil {
		out.ToolChoice = in.ToolChoice.raw
	}
	if out.Tools == nil {
		out.Tools = []tool{}
	}
	if in.Metadata == nil {
		out.Metadata = map[string]string{}
	}
	return out
}

// end notes the answer, which has these items, and ends with this piece.
func (r *response) end(items []any, last llama.Piece) {
	r.Status = completed
	r.put(items)
	if isIncomplete(last.Stop) {
		r.Status, r.IncompleteDetails = incomplete, &reason{"max_output_tokens"}
	} else {
		now := time.Now().Unix()
		r.CompletedAt = &now
	}
	s := last.Stats
	r.Usage = &usage{Input: s.PromptTokens, Output: s.GeneratedTokens, Total: s.PromptTokens + s.GeneratedTokens}
	r.Usage.OutputDetails.Reasoning = s.ThoughtTokens
	r.Usage.InputDetails.Cached, r.Usage.InputDetails.Written = s.ReusedTokens, s.PromptTokens-s.ReusedTokens
}

// fail notes that the answer broke off with an error after these items.
func (r *response) fail(items []any, e *wire.Error) {
	code := "server_error" // of OpenAI's list of codes, the one for what the client cannot help
	if e.Status == http.StatusBadRequest {
		code = "invalid_prompt"
	}
	r.Status, r.Error = failed, &responseError{code, e.Message}
	r.put(items)
}

// put notes what the answer is.
func (r *response) put(items []any) {
	r.Output = items
	var text strings.Builder
	for _, item := range items {
		if m, ok := item.(*message); ok {
			text.WriteString(m.Content[0].Text)
		}
	}
	whole := text.String()
	r.OutputText = &whole
}

// isIncomplete reports whether an answer ended because it may not be longer.
func isIncomplete(stop llama.StopReason) bool {
	return stop == llama.MaxTokens || stop == llama.ContextFull
}
