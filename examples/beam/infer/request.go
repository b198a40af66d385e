package infer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
)

// Input is what a model is given: a text or a conversation. One of Prompt and Messages is set.
type Input struct {
	// Prompt is a user's message if the model has a chat template and Raw is false; otherwise the model continues it as text. In a text to
	// continue, special tokens, such as <|eot_id|>, are recognised; in messages they are ordinary characters.
	Prompt string `json:"prompt,omitempty"`
	System string `json:"system,omitempty"` // the system message before Prompt
	Raw    bool   `json:"raw,omitempty"`
	// Messages are a conversation, as OpenAI's chat completions write it.
	Messages []llama.Message `json:"messages,omitempty"`
}

// Request asks for an answer. In JSON its fields have the names that OpenAI's chat completions and this module's server give them.
type Request struct {
	ID string `json:"id"`
	Input
	// MaxTokens bounds the answer; 0: as many tokens as the context holds.
	MaxTokens int `json:"max_tokens,omitempty"`
	// The fields from Temperature to Stop are llama.Params'. Temperature 0 is greedy; otherwise the same Seed gives the same answer.
	Temperature      float32  `json:"temperature,omitempty"`
	TopK             int      `json:"top_k,omitempty"`
	TopP             float32  `json:"top_p,omitempty"`
	MinP             float32  `json:"min_p,omitempty"`
	RepeatPenalty    float32  `json:"repeat_penalty,omitempty"`
	FrequencyPenalty float32  `json:"frequency_penalty,omitempty"`
	PresencePenalty  float32  `json:"presence_penalty,omitempty"`
	Seed             uint64   `json:"seed,omitempty"`
	Stop             []string `json:"stop,omitempty"`
	// At most one of Schema, Regexp, Grammar and Choices is set; the answer then has this form. See package constrain.
	Schema  json.RawMessage `json:"schema,omitempty"`  // a JSON Schema
	Regexp  string          `json:"regexp,omitempty"`  // the whole answer matches it, in Go's syntax
	Grammar string          `json:"grammar,omitempty"` // GBNF, llama.cpp's notation
	Choices []string        `json:"choices,omitempty"` // the answer is one of them
	// Tools are functions that the answer may call, each {"type":"function","function":{…}}; with a Schema the answer calls functions or
	// fits the schema.
	Tools []json.RawMessage `json:"tools,omitempty"`
}

// Answer is the answer to a Request. It has nothing that is measured, so that it is the same each time that it is computed.
type Answer struct {
	ID    string           `json:"id"`                   // the request's
	Text  string           `json:"text"`                 // without the calls
	Calls []llama.ToolCall `json:"tool_calls,omitempty"` // the functions that it calls
	// Finish is, in OpenAI's words, "stop" (the model ended its turn, or a stop string came up), "tool_calls" (it calls functions) or
	// "length" (MaxTokens, or the end of the context: an answer of a form is then not complete).
	Finish       string `json:"finish_reason"`
	PromptTokens int    `json:"prompt_tokens"`
	Tokens       int    `json:"tokens"` // of the answer
	Model        string `json:"model"`  // llama.Model.Fingerprint of the model: which weights answered
}

func (Request) element()                {}
func (Answer) element()                 {}
func (r Request) name() string          { return r.ID }
func (Request) concurrency(m Model) int { return 2 * m.sessions() }

// compute answers the request.
func (r Request) compute(ctx context.Context, l *loaded) (Answer, measured, error) {
	if l.pool == nil {
		return Answer{}, measured{}, fmt.Errorf("the model gives no answers: it is made for something else (%v)", l.model.Kind())
	}
	params, err := l.params(r)
	if err != nil {
		return Answer{}, measured{}, err
	}
	tokens, chat, err := l.tokens(r.Input, params.Template)
	if err != nil {
		return Answer{}, measured{}, err
	}
	ask := l.pool.Generate
	if chat {
		ask = l.pool.Answer
	}
	piece, err := llama.Collect(ask(ctx, tokens, params))
	m := measured{answers: []llama.Stats{piece.Stats}}
	if err != nil {
		return Answer{}, m, err
	}
	return Answer{
		ID: r.ID, Text: piece.Message.Content, Calls: piece.Message.ToolCalls, Finish: piece.Stop.FinishReason(),
		PromptTokens: piece.Stats.PromptTokens, Tokens: piece.Stats.GeneratedTokens, Model: l.fingerprint,
	}, m, nil
}

// tokens returns an input's tokens, and whether they are a conversation's.
func (l *loaded) tokens(p Input, o llama.TemplateOptions) (tokens []llama.Token, chat bool, err error) {
	t, history := l.model.Tokenizer(), p.Messages
	switch {
	case len(history) > 0 && (p.Prompt != "" || p.System != "" || p.Raw):
		return nil, false, errors.New("messages stand alone: prompt, system and raw are for a request without them")
	case len(history) > 0:
	case p.Raw || !t.HasTemplate():
		if p.System != "" {
			return nil, false, errors.New("a text that goes on has no system message: raw is true, or the model has no chat template")
		}
		return t.EncodeSpecial(p.Prompt, true), false, nil
	case p.Prompt == "":
		return nil, false, errors.New("there is neither a prompt nor messages: one of them must be set")
	default:
		if p.System != "" {
			history = append(history, llama.Message{Role: "system", Content: p.System})
		}
		history = append(history, llama.Message{Role: "user", Content: p.Prompt})
	}
	tokens, err = t.Template(history, o)
	return tokens, true, err
}

// params returns how the answer is generated, the constraint of its form included.
func (l *loaded) params(r Request) (p llama.Params, err error) {
	p = llama.Params{
		MaxTokens: r.MaxTokens, Temperature: r.Temperature, TopK: r.TopK, TopP: r.TopP, MinP: r.MinP, RepeatPenalty: r.RepeatPenalty,
		FrequencyPenalty: r.FrequencyPenalty, PresencePenalty: r.PresencePenalty, Seed: r.Seed, Stop: r.Stop,
		Template: llama.TemplateOptions{Tools: r.Tools},
	}
	t := l.model.Tokenizer()
	forms := []struct {
		name  string
		given bool
		make  func() (llama.Constraint, error)
	}{
		{"tools", len(r.Tools) > 0, func() (llama.Constraint, error) {
			var o constrain.ToolOptions
			if len(r.Schema) > 0 {
				o.Answer = &constrain.Answer{Schema: r.Schema}
			}
			return constrain.Tools(t, r.Tools, o)
		}},
		{"schema", len(r.Schema) > 0 && len(r.Tools) == 0, func() (llama.Constraint, error) { return constrain.JSONSchema(t, r.Schema) }},
		{"regexp", r.Regexp != "", func() (llama.Constraint, error) { return constrain.Regexp(t, r.Regexp) }},
		{"grammar", r.Grammar != "", func() (llama.Constraint, error) { return constrain.Grammar(t, r.Grammar) }},
		{"choices", len(r.Choices) > 0, func() (llama.Constraint, error) { return constrain.Choice(t, r.Choices...) }},
	}
	given := ""
	for _, form := range forms {
		switch {
		case !form.given:
			continue
		case given != "":
			return p, fmt.Errorf("an answer has one form: it has %s and %s", given, form.name)
		}
		given = form.name
		if p.Constraint, err = form.make(); err != nil {
			return p, fmt.Errorf("make the constraint of %s: %w", form.name, err)
		}
	}
	return p, nil
}
