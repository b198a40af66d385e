package openai

import (
	"context"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// POST /v1/chat/completions reads the request and judges it, takes the model, makes a Choice for each of n answers, and writes them whole
// or as a stream. For example:
//
//	the request   {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "n": 2, "seed": 7}
//	read          a history of one message, and n = 2
//	Open          the model m, which stays loaded until Close
//	choices       two choices with one prompt: the first with the seed 7, the second with 8
//	Ask           both answers at once
//	the answer    {"object": "chat.completion", "choices": [{"index": 0, …}, {"index": 1, …}], …}

// chatRequest is what POST /v1/chat/completions reads.
type chatRequest struct {
	Model    string       `json:"model"`
	Messages Conversation `json:"messages" wire:"required"`
	ask.Sampling
	ask.TopForm
	streaming
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	N                   *int            `json:"n"`
	Logprobs            bool            `json:"logprobs"`
	TopLogprobs         *int            `json:"top_logprobs"`
	Tools               []Tool          `json:"tools"`
	ToolChoice          ask.ToolChoice  `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	ResponseFormat      *responseFormat `json:"response_format"`
	Truncation          ask.Truncation  `json:"truncation"` // ours, as OpenAI's Responses have it
	NPredict            *int            `json:"n_predict"`  // MaxTokens, as llama-server calls it
	Verbosity           *string         `json:"verbosity"`
	Receipt             bool            `json:"receipt"` // ours: each choice has its receipt
	thinking
	continuing
}

// thinking are the parameters that say how much a model is to think: OpenAI's, and those of other servers. They are upper bounds.
type thinking struct {
	Effort    ask.Effort        `json:"reasoning_effort"`
	Reasoning ask.Reasoning     `json:"reasoning"`
	Thinking  ask.ThinkingBlock `json:"thinking"`
	Enable    *bool             `json:"enable_thinking"`
	Budget    ask.Budget        `json:"thinking_budget"`
	Tokens    ask.Budget        `json:"thinking_budget_tokens"` // Budget, as llama-server calls it
	Variables ask.Variables     `json:"chat_template_kwargs"`
	Include   *bool             `json:"include_reasoning"` // whether the client gets thoughts; nil: it does
}

// asked returns what the parameters ask for together.
func (t *thinking) asked() ask.Thinking {
	all := ask.Thinking{Enabled: t.Enable}
	for _, one := range []ask.Thinking{t.Budget.Thinking, t.Tokens.Thinking, t.Variables.Thinking, t.Thinking.Thinking, t.Reasoning.Thinking, t.Effort.Thinking} {
		all = all.Merge(one)
	}
	return all
}

// continuing are the parameters by which an answer goes on with a conversation's last message, as vLLM and Transformers call them.
type continuing struct {
	ContinueFinal       bool  `json:"continue_final_message"`
	AddGenerationPrompt *bool `json:"add_generation_prompt"` // ContinueFinal's opposite, if it is there
}

// split takes the message that the answer goes on with from the end of a conversation, which has messages at these places. It has a text, or a
// thought, or both.
func (c *continuing) split(places []string, history []llama.Message) (rest []llama.Message, begun llama.Message, err error) {
	switch add := c.AddGenerationPrompt; {
	case add != nil && *add == c.ContinueFinal:
		return nil, begun, wire.Invalid("add_generation_prompt", "add_generation_prompt is %v, and so is continue_final_message: an answer either goes on with the last message or is one of its own", *add)
	case !c.ContinueFinal:
		return history, begun, nil
	}
	last := len(history) - 1
	if m := &history[last]; m.Role != llama.RoleAssistant || len(m.ToolCalls) > 0 || m.Content == "" && m.Thinking == "" {
		return nil, begun, wire.Invalid(places[last], "%s must be a text of the role \"assistant\": continue_final_message asks to go on with it", places[last])
	}
	return history[:last], history[last], nil
}

// chatRules are those of the parameters that are not read.
var chatRules = ask.SamplingRules.Without(append(ask.FormNames, timingsName)...).With(wire.Rules{
	"client_metadata": wire.Ignored(), "session_id": wire.Ignored(), "request_id": wire.Ignored(), "conversation_id": wire.Ignored(),
	"user": wire.Ignored(), "metadata": wire.Ignored(), "safety_identifier": wire.Ignored(), "service_tier": wire.Ignored(),
	"prompt_cache_key": wire.Ignored(), "prompt_cache_retention": wire.Ignored(), "prompt_cache_options": wire.Ignored(),
	"prediction":         wire.Ignored(), // a draft, which never changes an answer
	"store":              wire.Refused("nothing is stored", "false"),
	"modalities":         wire.Refused("answers are text", `["text"]`),
	"audio":              wire.Refused("answers are text"),
	"web_search_options": wire.Refused("the server has no web search"),
	"functions":          wire.Refused("use tools", "[]"),
	"function_call":      wire.Refused("use tool_choice", `"none"`, `"auto"`),
	"reasoning_format":   wire.Refused("thoughts are told in reasoning_content", `"auto"`, `"deepseek"`),
	"moderation":         wire.Refused("the server has no moderation"),
})

// Chat serves POST /v1/chat/completions.
func (a *API) Chat(w http.ResponseWriter, r *http.Request) error {
	var in chatRequest
	if err := a.Service.Read(w, r, chatRules, &in); err != nil {
		return err
	}
	ctx := r.Context()
	in.Receipt = in.Receipt || ask.WantsReceipt(r)
	c, err := in.read(ctx, a.Service.MaxAnswers)
	if err != nil {
		return err
	}
	if err := a.Service.LeaveOut(ctx, c.tools.LeftOut); err != nil {
		return err
	}
	m, err := a.Service.Open(ctx, in.Model)
	if err != nil {
		return err
	}
	defer m.Close()
	names := ask.NewFieldNames("messages", "max_completion_tokens")
	in.Messages.AddNames(names)
	names["schema"], names["truncation"] = c.formAt, "truncation"
	if in.Receipt {
		ask.NameReceipt(names)
	}
	choices, err := c.choices(ctx, m, &in, names)
	if err != nil {
		return err
	}
	answers, err := m.Ask(ctx, choices, names)
	if err != nil {
		return err
	}
	defer answers.Close()
	t := newChatEncoder(m.Model.Tokenizer(), choices, in.Logprobs, in.TopLogprobs)
	t.silent = in.Include != nil && !*in.Include
	if in.Stream {
		in.dropped = ask.RequestOf(ctx).Dropped
		return in.send(w, newEnvelope("chatcmpl-", "chat.completion.chunk", m), answers, len(choices), t)
	}
	out := chatAnswer{envelope: newEnvelope("chatcmpl-", "chat.completion", m), Choices: make([]chatChoice, len(choices)), Timings: in.timings()}
	if err := answers.Collect(func(e ask.Event) error { out.add(t, e); return nil }); err != nil {
		return err
	}
	return wire.Write(w, http.StatusOK, out)
}

// chat is a request with parameters that are right, as far as that can be seen without the model.
type chat struct {
	history  []llama.Message
	begun    llama.Message // the last message, which the answer goes on with; its Role is "" if there is no such message
	params   llama.Params
	tools    ask.Tools
	form     ask.Form
	formAt   string // the parameter that asks for it
	thinking ask.Thinking
	n        int
}

// read judges the parameters; answers is how many answers a request may ask for.
func (in *chatRequest) read(ctx context.Context, answers int) (c chat, err error) {
	if c.params, err = in.Sampling.Params(ctx); err != nil {
		return c, err
	}
	if c.params.MaxTokens, err = lengthOf(length{"max_tokens", in.MaxTokens}, length{"max_completion_tokens", in.MaxCompletionTokens},
		length{"n_predict", in.NPredict}); err != nil {
		return c, err
	}
	if c.n, err = countOf(in.N, answers); err != nil {
		return c, err
	}
	if err := in.streaming.check(); err != nil {
		return c, err
	}
	switch top := in.TopLogprobs; {
	case top != nil && *top != 0 && !in.Logprobs:
		return c, wire.Invalid("top_logprobs", "top_logprobs stands without logprobs")
	case top != nil && (*top < 0 || *top > ask.MaxTopLogprobs):
		return c, wire.Invalid("top_logprobs", "top_logprobs is %d; it must be 0 to %d", *top, ask.MaxTopLogprobs)
	case in.Logprobs:
		c.params.Logprobs = 1 // what the chosen token's own needs, too
		if top != nil {
			c.params.Logprobs = max(1, *top)
		}
	}
	if c.history, c.begun, err = in.split(in.Messages.Places, in.Messages.History); err != nil {
		return c, err
	}
	if c.tools, err = ReadTools("tools", in.Tools); err != nil {
		return c, err
	}
	c.tools.LeftOut = append(in.Messages.LeftOut, c.tools.LeftOut...)
	if v := in.Verbosity; v != nil && *v != "medium" {
		if *v != "low" && *v != "high" {
			return c, wire.Invalid("verbosity", `verbosity is %.40q; it must be "low", "medium" or "high"`, *v)
		}
		c.tools.LeftOut = append(c.tools.LeftOut, ask.LeftOut{At: "verbosity", Why: "the models know no such word: say it in the system message"})
	}
	c.thinking = in.asked()
	if err := c.tools.Choose(in.ToolChoice); err != nil {
		return c, err
	}
	c.tools.Options.Single = in.ParallelToolCalls != nil && !*in.ParallelToolCalls
	if c.form, c.formAt, err = in.form(); err != nil {
		return c, err
	}
	if c.begun.Role != "" && !c.form.Free() {
		return c, wire.Unsupported("continue_final_message", "continue_final_message: an answer cannot both go on with a text and be of a form: leave it or %s out", c.formAt)
	}
	return c, nil
}

// choices returns the answers that a model is asked for.
func (c *chat) choices(ctx context.Context, m *ask.Model, in *chatRequest, names ask.FieldNames) ([]ask.Choice, error) {
	p := c.params
	err := m.Recommend(&p, &in.Sampling)
	if err != nil {
		return nil, err
	}
	if p.LogitBias, err = m.Bias(in.LogitBias, "logit_bias"); err != nil {
		return nil, err
	}
	if c.history, err = m.See(ctx, c.history, &in.Messages.Past, &p.Template); err != nil {
		return nil, err
	}
	m.Think(&p, c.thinking)
	p.Template.Vars = in.Variables.Values
	if err := m.Constrain(ctx, &p, c.tools, c.form, names); err != nil {
		return nil, err
	}
	prompt, err := m.FitPrompt(ctx, c.history, c.begun, &p, in.Truncation, names)
	if err != nil {
		return nil, err
	}
	return ask.Choice{Prompt: prompt, Message: c.begun.Content == "", Params: p, Progress: in.progress(), Receipt: in.Receipt}.Repeat(c.n), nil
}
