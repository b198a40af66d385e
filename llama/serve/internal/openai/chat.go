package openai

import (
	"encoding/json"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// chatRequest is what POST /v1/chat/completions reads.
type chatRequest struct {
	Model    string   `json:"model"`
	Messages messages `json:"messages"`
	ask.Sampling
	MaxTokens           int               `json:"max_tokens"`
	MaxCompletionTokens int               `json:"max_completion_tokens"`
	N                   *int              `json:"n"`
	Logprobs            bool              `json:"logprobs"`
	TopLogprobs         *int              `json:"top_logprobs"`
	Tools               []json.RawMessage `json:"tools"`
	ToolChoice          *toolChoice       `json:"tool_choice"`
	ParallelToolCalls   *bool             `json:"parallel_tool_calls"`
	ResponseFormat      *responseFormat   `json:"response_format"`
	Stream              bool              `json:"stream"`
	StreamOptions       *streamOptions    `json:"stream_options"`
}

// streamOptions say what a stream tells beside the answer.
type streamOptions struct {
	IncludeUsage bool  `json:"include_usage"`
	IncludeStats bool  `json:"include_stats"` // ours: how the answer was computed; see stats
	Obfuscation  *bool `json:"include_obfuscation"`
}

var chatRules = wire.Rules{
	"user": wire.Harmless(), "metadata": wire.Harmless(), "safety_identifier": wire.Harmless(), "service_tier": wire.Harmless(),
	"prompt_cache_key": wire.Harmless(), "prompt_cache_retention": wire.Harmless(), "prompt_cache_options": wire.Harmless(),
	"store":              wire.Refused("nothing is stored", "false"),
	"modalities":         wire.Refused("answers are text", `["text"]`),
	"audio":              wire.Refused("answers are text"),
	"prediction":         wire.Refused("drafts are the server's affair"),
	"reasoning_effort":   wire.Refused("the models do not think aside", `"none"`),
	"verbosity":          wire.Refused("say it in the system message", `"medium"`),
	"web_search_options": wire.Refused("the server has no web search"),
	"functions":          wire.Refused("use tools", "[]"),
	"function_call":      wire.Refused("use tool_choice", `"none"`),
	"moderation":         wire.Refused("the server has no moderation"),
}

// chatNames say what llama's errors are about.
func chatNames() ask.Names {
	n := ask.SamplingNames()
	n["Params.MaxTokens"], n["Params.Logprobs"] = "max_completion_tokens", "top_logprobs"
	n["history"], n["history["], n["prompt"] = "messages", "messages[", "messages"
	n["Params.Template.Tools["], n["tools"] = "tools[", "tools"
	n["schema"] = "response_format"
	return n
}

// Chat serves POST /v1/chat/completions.
func (a *API) Chat(w http.ResponseWriter, r *http.Request) error {
	var in chatRequest
	if err := wire.Read(w, r, a.Desk.MaxBody, chatRules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	params, err := in.params(r)
	if err != nil {
		return err
	}
	m, err := a.Desk.Open(ctx, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	if params.Mask, err = m.NewBias(in.LogitBias, "logit_bias"); err != nil {
		return err
	}
	tools, err := in.tools()
	if err != nil {
		return err
	}
	form, err := in.ResponseFormat.form()
	if err != nil {
		return err
	}
	names := chatNames()
	if err := m.Constrain(ctx, &params, tools, form, names); err != nil {
		return err
	}
	prompt, err := m.Prompt(ctx, in.Messages, params.Template, names)
	if err != nil {
		return err
	}
	choices := make([]ask.Choice, 1)
	if in.N != nil {
		if *in.N < 1 || *in.N > a.Desk.Answers {
			return wire.Bad("n", "n is %d; it must be 1 to %d", *in.N, a.Desk.Answers)
		}
		choices = make([]ask.Choice, *in.N)
	}
	for i := range choices {
		choices[i] = ask.Choice{Prompt: prompt, Message: true, Params: params}
		choices[i].Params.Seed += uint64(i) // the i-th answer is the one that this seed gives alone
	}
	answers, err := m.Ask(ctx, choices, names)
	if err != nil {
		return err
	}
	defer answers.Close()
	if in.Stream {
		return in.stream(w, m, answers)
	}
	return in.whole(w, m, answers)
}

// params returns how the answers are to be chosen, without what needs the model.
func (in *chatRequest) params(r *http.Request) (llama.Params, error) {
	p, err := in.Sampling.Params(r.Context())
	if err != nil {
		return p, err
	}
	if p.MaxTokens = in.MaxTokens; in.MaxCompletionTokens != 0 {
		p.MaxTokens = in.MaxCompletionTokens
	}
	if len(in.Messages) == 0 {
		return p, wire.Bad("messages", "messages is empty; it must be a list of at least one message")
	}
	if in.StreamOptions != nil && !in.Stream {
		return p, wire.Bad("stream_options", "stream_options stands without stream")
	}
	switch {
	case in.TopLogprobs != nil && !in.Logprobs:
		return p, wire.Bad("top_logprobs", "top_logprobs stands without logprobs")
	case in.TopLogprobs != nil && (*in.TopLogprobs < 0 || *in.TopLogprobs > maxTopLogprobs):
		return p, wire.Bad("top_logprobs", "top_logprobs is %d; it must be 0 to %d", *in.TopLogprobs, maxTopLogprobs)
	case in.Logprobs:
		p.Logprobs = 1 // what the chosen token's own needs, too
		if in.TopLogprobs != nil {
			p.Logprobs = max(1, *in.TopLogprobs)
		}
	}
	return p, nil
}

// maxTopLogprobs is the most alternatives that are told of a token.
const maxTopLogprobs = 20

// tools returns the functions on offer.
func (in *chatRequest) tools() (ask.Tools, error) {
	t := ask.Tools{List: in.Tools}
	t.Options.Single = in.ParallelToolCalls != nil && !*in.ParallelToolCalls
	if in.ToolChoice != nil {
		t.Options.Choice, t.Options.Function = in.ToolChoice.choice, in.ToolChoice.function
	}
	if len(in.Tools) == 0 && (t.Options.Function != "" || t.Options.Choice == constrain.ToolRequired) {
		return t, wire.Bad("tool_choice", "tool_choice asks for a call, and tools has no function")
	}
	return t, nil
}

// chatAnswer is a whole answer.
type chatAnswer struct {
	envelope
	Choices []chatChoice `json:"choices"`
	Usage   usage        `json:"usage"`
}

type chatChoice struct {
	Index    int           `json:"index"`
	Message  chatMessage   `json:"message"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   string        `json:"finish_reason"`
}

type chatMessage struct {
	Role      string           `json:"role"`
	Content   *string          `json:"content"`
	Refusal   *string          `json:"refusal"`
	ToolCalls []llama.ToolCall `json:"tool_calls,omitempty"`
}

// whole answers without a stream.
func (in *chatRequest) whole(w http.ResponseWriter, m *ask.Model, answers *ask.Answers) error {
	pieces, err := answers.Collect()
	if err != nil {
		return err
	}
	out := chatAnswer{envelope: newEnvelope("chatcmpl-", "chat.completion", m)}
	for i, p := range pieces {
		c := chatChoice{Index: i, Finish: finish(p.Stop)}
		c.Message = chatMessage{Role: llama.RoleAssistant, ToolCalls: p.Message.ToolCalls}
		if p.Message.Content != "" || len(p.Message.ToolCalls) == 0 {
			c.Message.Content = &p.Message.Content
		}
		if in.Logprobs {
			c.Logprobs = in.logprobs(m, p)
		}
		out.Choices = append(out.Choices, c)
		out.Usage.add(p.Stats, i == 0)
	}
	return wire.Write(w, http.StatusOK, out)
}

// chatChunk is a part of an answer, in a stream.
type chatChunk struct {
	envelope
	Choices []chatDelta `json:"choices"`
	Usage   *usage      `json:"usage,omitempty"`
	Stats   *stats      `json:"stats,omitempty"`
}

type chatDelta struct {
	Index    int           `json:"index"`
	Delta    delta         `json:"delta"`
	Logprobs *chatLogprobs `json:"logprobs"`
	Finish   *string       `json:"finish_reason"`
}

type delta struct {
	Role      string      `json:"role,omitempty"`
	Content   *string     `json:"content,omitempty"`
	ToolCalls []callDelta `json:"tool_calls,omitempty"`
}

type callDelta struct {
	Index    int    `json:"index"`
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// stream answers with a stream. The status is decided by the first event: an error that comes before any piece of an answer is no stream.
func (in *chatRequest) stream(w http.ResponseWriter, m *ask.Model, answers *ask.Answers) error {
	e, ok, err := answers.Next(nil)
	if err != nil {
		return err
	}
	if e.Err != nil {
		return e.Err
	}
	out := chatChunk{envelope: newEnvelope("chatcmpl-", "chat.completion.chunk", m)}
	events := wire.NewEvents(w)
	begun := map[int]bool{}
	var used usage
	var how stats
	for ; ok; e, ok, err = answers.Next(events.Flush) {
		if e.Err != nil {
			_ = events.Send("", Shape(e.Err))
			_ = events.Flush()
			return e.Err
		}
		d := chatDelta{Index: e.Choice}
		if !begun[e.Choice] {
			begun[e.Choice] = true
			d.Delta.Role = llama.RoleAssistant
		}
		p := e.Piece
		if p.Text != "" || d.Delta.Role != "" && len(p.Calls) == 0 {
			d.Delta.Content = &p.Text
		}
		d.Delta.ToolCalls = callDeltas(p.Calls)
		if in.Logprobs {
			d.Logprobs = in.logprobs(m, p)
		}
		if p.Stop != 0 {
			reason := finish(p.Stop)
			d.Finish = &reason
			used.add(p.Stats, used.Total == 0)
			how.add(p.Stats)
		}
		if d.empty() {
			continue
		}
		out.Choices = []chatDelta{d}
		if err := events.Send("", out); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if o := in.StreamOptions; o != nil && (o.IncludeUsage || o.IncludeStats) {
		out.Choices, out.Usage = []chatDelta{}, &used
		if o.IncludeStats {
			out.Stats = &how
		}
		if err := events.Send("", out); err != nil {
			return err
		}
	}
	if err := events.SendText("[DONE]"); err != nil {
		return err
	}
	return events.Flush()
}

// empty tells whether a part says nothing.
func (d *chatDelta) empty() bool {
	return d.Delta.Role == "" && d.Delta.Content == nil && len(d.Delta.ToolCalls) == 0 && d.Logprobs == nil && d.Finish == nil
}

// callDeltas returns the parts of calls. What is broken off is not taken back: the reason for which the answer ended says so.
func callDeltas(pieces []llama.CallPiece) (deltas []callDelta) {
	for _, p := range pieces {
		if p.Broken && p.Arguments == "" && p.Name == "" {
			continue
		}
		d := callDelta{Index: p.Index}
		if d.Function.Arguments = p.Arguments; p.Name != "" {
			d.ID, d.Type, d.Function.Name = p.ID, "function", p.Name
		}
		deltas = append(deltas, d)
	}
	return deltas
}
