// Package fantasy lets Charm's fantasy, the library under Crush, ask models of package llama, in the same process.
//
//	m, err := with.New(model, nil)
//	…
//	agent := fantasy.NewAgent(withfantasy.Model(m), fantasy.WithTools(weather))
//
// Objects keep to their schemas while they are generated: object.Generate needs no second attempt. ObjectModes make no difference. Options has
// parameters that fantasy.Call lacks; options of other providers are not for this one. A Call's UserAgent is not used, for nothing is sent; its
// Headers, tools that a provider would have to run and files that are neither image nor text are a *with.UnsupportedError.
package fantasy

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"charm.land/fantasy"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/with"
)

// Name is the provider's name, and the key of its Options in fantasy.ProviderOptions.
const Name = "antigravity"

// provider has models by name.
type provider []*with.Model

// Provider makes a provider of models, which fantasy chooses by their names. The caller closes the models.
func Provider(models ...*with.Model) fantasy.Provider { return provider(models) }

// Name is fantasy.Provider's.
func (p provider) Name() string { return Name }

// LanguageModel is fantasy.Provider's.
func (p provider) LanguageModel(_ context.Context, name string) (fantasy.LanguageModel, error) {
	var names []string
	for _, m := range p {
		if m.Name() == name {
			return Model(m), nil
		}
		names = append(names, m.Name())
	}
	return nil, fmt.Errorf("with: there is no model %.100q: it must be one of %q", name, names)
}

// languageModel is a fantasy.LanguageModel. It is safe for concurrent use.
type languageModel struct{ model *with.Model }

// Model makes a fantasy.LanguageModel.
func Model(m *with.Model) fantasy.LanguageModel { return languageModel{m} }

// Provider is fantasy.LanguageModel's.
func (languageModel) Provider() string { return Name }

// Model is fantasy.LanguageModel's.
func (m languageModel) Model() string { return m.model.Name() }

// Generate is fantasy.LanguageModel's.
func (m languageModel) Generate(ctx context.Context, call fantasy.Call) (*fantasy.Response, error) {
	r, err := m.request(&call)
	if err != nil {
		return nil, err
	}
	answer, err := m.model.Answer(ctx, r)
	if err != nil {
		return nil, explained(err)
	}
	response := &fantasy.Response{FinishReason: reason(answer.Stop), Usage: usage(&answer.Stats)}
	if answer.Thought != "" {
		response.Content = append(response.Content, fantasy.ReasoningContent{Text: answer.Thought})
	}
	if answer.Text != "" {
		response.Content = append(response.Content, fantasy.TextContent{Text: answer.Text})
	}
	for _, c := range answer.Message.ToolCalls {
		response.Content = append(response.Content, fantasy.ToolCallContent{ToolCallID: c.ID, ToolName: c.Name, Input: string(c.Arguments)})
	}
	return response, nil
}

// Stream is fantasy.LanguageModel's. Thoughts and texts come as they are computed, and calls with the end of the answer.
func (m languageModel) Stream(ctx context.Context, call fantasy.Call) (fantasy.StreamResponse, error) {
	r, err := m.request(&call)
	if err != nil {
		return nil, err
	}
	return parts(m.model.Chat(ctx, r)), nil
}

// parts returns the pieces of an answer as fantasy's parts.
func parts(pieces iter.Seq2[llama.Piece, error]) fantasy.StreamResponse {
	return func(yield func(fantasy.StreamPart) bool) {
		open := block{} // the block of thoughts or texts that has begun
		for piece, err := range pieces {
			if err != nil {
				yield(fantasy.StreamPart{Type: fantasy.StreamPartTypeError, Error: explained(err)})
				return
			}
			if !open.add(thoughts, piece.Thought, yield) || !open.add(texts, piece.Text, yield) {
				return
			}
			if piece.Stop == 0 {
				continue
			}
			if !open.close(yield) || !calls(piece.Message.ToolCalls, yield) {
				return
			}
			yield(fantasy.StreamPart{Type: fantasy.StreamPartTypeFinish, FinishReason: reason(piece.Stop), Usage: usage(&piece.Stats)})
			return
		}
	}
}

// kind is a kind of block: its ID and the types of its parts.
type kind struct {
	id                string
	start, delta, end fantasy.StreamPartType
}

var (
	thoughts = &kind{"thought", fantasy.StreamPartTypeReasoningStart, fantasy.StreamPartTypeReasoningDelta, fantasy.StreamPartTypeReasoningEnd}
	texts    = &kind{"text", fantasy.StreamPartTypeTextStart, fantasy.StreamPartTypeTextDelta, fantasy.StreamPartTypeTextEnd}
)

// block is a block of an answer that has begun, if kind is not nil.
type block struct{ kind *kind }

// add adds a text to a block of some kind. It reports false if nobody wants more.
func (b *block) add(to *kind, text string, yield func(fantasy.StreamPart) bool) bool {
	if text == "" {
		return true
	}
	if b.kind != to {
		if !b.close(yield) || !yield(fantasy.StreamPart{Type: to.start, ID: to.id}) {
			return false
		}
		b.kind = to
	}
	return yield(fantasy.StreamPart{Type: to.delta, ID: to.id, Delta: text})
}

// close ends the block.
func (b *block) close(yield func(fantasy.StreamPart) bool) bool {
	k := b.kind
	b.kind = nil
	return k == nil || yield(fantasy.StreamPart{Type: k.end, ID: k.id})
}

// calls hands the calls of an answer over.
func calls(list []llama.ToolCall, yield func(fantasy.StreamPart) bool) bool {
	for _, c := range list {
		for _, p := range []fantasy.StreamPart{
			{Type: fantasy.StreamPartTypeToolInputStart, ID: c.ID, ToolCallName: c.Name},
			{Type: fantasy.StreamPartTypeToolInputDelta, ID: c.ID, Delta: string(c.Arguments)},
			{Type: fantasy.StreamPartTypeToolInputEnd, ID: c.ID},
			{Type: fantasy.StreamPartTypeToolCall, ID: c.ID, ToolCallName: c.Name, ToolCallInput: string(c.Arguments)},
		} {
			if !yield(p) {
				return false
			}
		}
	}
	return true
}

// reason returns fantasy's word for a reason to stop.
func reason(stop llama.StopReason) fantasy.FinishReason {
	switch stop {
	case llama.EndOfTurn, llama.StopString:
		return fantasy.FinishReasonStop
	case llama.ToolCalled:
		return fantasy.FinishReasonToolCalls
	case llama.MaxTokens, llama.ContextFull:
		return fantasy.FinishReasonLength
	}
	return fantasy.FinishReasonUnknown
}

// usage returns the tokens of an answer. As elsewhere in fantasy, tokens of the prompt that were cached are not input.
func usage(s *llama.Stats) fantasy.Usage {
	return fantasy.Usage{
		InputTokens: int64(s.PromptTokens - s.ReusedTokens), CacheReadTokens: int64(s.ReusedTokens), OutputTokens: int64(s.GeneratedTokens),
		ReasoningTokens: int64(s.ThoughtTokens), TotalTokens: int64(s.PromptTokens + s.GeneratedTokens),
	}
}

// explained returns an error as fantasy's programs look for it. The error stays in the chain.
func explained(err error) error {
	if full, ok := errors.AsType[*llama.ContextFullError](err); ok {
		return &fantasy.ProviderError{Title: "context full", Message: err.Error(), Cause: err, ContextTooLargeErr: true,
			ContextUsedTokens: full.Have + full.Want, ContextMaxTokens: full.Have + full.Room}
	}
	return err
}

// request returns a call as the model is asked.
func (m languageModel) request(call *fantasy.Call) (*with.Request, error) {
	r := m.model.Request()
	p := &r.Params
	err := errors.Join(
		with.Rest("fantasy.Call", call, "Prompt", "MaxOutputTokens", "Temperature", "TopP", "TopK", "PresencePenalty", "FrequencyPenalty", "Tools",
			"ToolChoice", "UserAgent", "ProviderOptions"),
		with.Positive("fantasy.Call.MaxOutputTokens", &p.MaxTokens, call.MaxOutputTokens),
		with.Set("fantasy.Call.Temperature", &p.Temperature, call.Temperature),
		with.Set("fantasy.Call.TopK", &p.TopK, call.TopK),
		with.SetTopP("fantasy.Call.TopP", p, call.TopP),
		with.Set("fantasy.Call.PresencePenalty", &p.PresencePenalty, call.PresencePenalty),
		with.Set("fantasy.Call.FrequencyPenalty", &p.FrequencyPenalty, call.FrequencyPenalty),
		setOptions(p, call.ProviderOptions), setTools(r, call),
	)
	if err != nil {
		return nil, err
	}
	var c with.Conversation
	for i, message := range call.Prompt {
		c.Turn(string(message.Role)) // fantasy's names of roles are llama's
		for _, part := range message.Content {
			if err := add(&c, message.Role, part); err != nil {
				return nil, fmt.Errorf("message %d, of the role %q: %w", i, message.Role, err)
			}
		}
	}
	r.Messages = c.Messages()
	return r, nil
}

// setTools sets the functions on offer, and whether they are called.
func setTools(r *with.Request, call *fantasy.Call) error {
	for _, t := range call.Tools {
		f, ok := t.(fantasy.FunctionTool)
		if pointer, is := t.(*fantasy.FunctionTool); is && pointer != nil {
			f, ok = *pointer, true
		}
		if !ok {
			return &with.UnsupportedError{What: fmt.Sprintf("a tool of the type %T", t), Want: "a fantasy.FunctionTool, since no tool runs here"}
		}
		parameters, err := with.JSON(f.InputSchema)
		if err != nil {
			return fmt.Errorf("the function %.80q: %w", f.Name, err)
		}
		r.Tools = append(r.Tools, with.Tool{Name: f.Name, Description: f.Description, Parameters: parameters})
	}
	if call.ToolChoice == nil {
		return nil
	}
	switch choice := *call.ToolChoice; choice {
	case fantasy.ToolChoiceAuto, "":
	case fantasy.ToolChoiceNone:
		r.Choice = constrain.ToolNone
	case fantasy.ToolChoiceRequired:
		r.Choice = constrain.ToolRequired
	default:
		r.Choice, r.Allowed = constrain.ToolRequired, []string{string(choice)}
	}
	return nil
}

// add adds a part of a message to a conversation.
func add(c *with.Conversation, role fantasy.MessageRole, part fantasy.MessagePart) error {
	if p, ok := fantasy.AsMessagePart[fantasy.ToolResultPart](part); ok {
		return addResult(c, &p)
	}
	if role == fantasy.MessageRoleTool {
		return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %T in a tool's message", part), Want: "a fantasy.ToolResultPart"}
	}
	if p, ok := fantasy.AsMessagePart[fantasy.TextPart](part); ok {
		c.Text(p.Text)
		return nil
	}
	if p, ok := fantasy.AsMessagePart[fantasy.ReasoningPart](part); ok {
		return c.Thought(p.Text)
	}
	if p, ok := fantasy.AsMessagePart[fantasy.FilePart](part); ok {
		return c.File(p.MediaType, p.Data)
	}
	if p, ok := fantasy.AsMessagePart[fantasy.ToolCallPart](part); ok && !p.ProviderExecuted {
		return c.Call(p.ToolCallID, p.ToolName, p.Input)
	}
	return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %T", part), Want: "a text, an image, a thought, a call or a result"}
}

// addResult adds the result of a call.
func addResult(c *with.Conversation, p *fantasy.ToolResultPart) error {
	if text, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentText](p.Output); ok {
		return c.Result(p.ToolCallID, "", text.Text)
	}
	if failed, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentError](p.Output); ok {
		return c.Result(p.ToolCallID, "", fmt.Sprint(failed.Error))
	}
	media, ok := fantasy.AsToolResultOutputType[fantasy.ToolResultOutputContentMedia](p.Output)
	if !ok || !strings.HasPrefix(media.MediaType, "text/") {
		return &with.UnsupportedError{What: fmt.Sprintf("a result of the type %T, %.80s", p.Output, media.MediaType), Want: "a text"}
	}
	data, err := base64.StdEncoding.DecodeString(media.Data)
	if err != nil {
		return fmt.Errorf("a result in base64: %w", err)
	}
	return c.Result(p.ToolCallID, "", media.Text+string(data))
}

// Options are parameters that fantasy.Call lacks. They are given as fantasy.ProviderOptions{Name: &Options{…}}.
type Options struct {
	Seed          *uint64  `json:"seed,omitempty"`
	Stop          []string `json:"stop,omitempty"`
	MinP          *float32 `json:"min_p,omitempty"`
	RepeatPenalty *float32 `json:"repeat_penalty,omitempty"`
	Thinking      *bool    `json:"thinking,omitempty"` // whether the model thinks before it answers
}

// typeOptions names Options in JSON.
const typeOptions = Name + ".options"

func init() { // fantasy's registry, by which sessions are read back
	fantasy.RegisterProviderType(typeOptions, func(data []byte) (fantasy.ProviderOptionsData, error) {
		var o Options
		err := json.Unmarshal(data, &o)
		return &o, err
	})
}

// Options is fantasy.ProviderOptionsData's.
func (*Options) Options() {}

// MarshalJSON writes the options with their type.
func (o Options) MarshalJSON() ([]byte, error) {
	type plain Options
	return fantasy.MarshalProviderType(typeOptions, plain(o))
}

// UnmarshalJSON reads options without their type, as fantasy's registry hands them over.
func (o *Options) UnmarshalJSON(data []byte) error {
	type plain Options
	return fantasy.UnmarshalProviderType(data, (*plain)(o))
}

// setOptions sets the parameters of Options.
func setOptions(p *llama.Params, all fantasy.ProviderOptions) error {
	data, ok := all[Name]
	if !ok || data == nil {
		return nil
	}
	o, ok := data.(*Options)
	if !ok {
		return &with.UnsupportedError{What: fmt.Sprintf("fantasy.ProviderOptions[%q] of the type %T", Name, data), Want: "*Options of this package"}
	}
	if len(o.Stop) > 0 {
		p.Stop = o.Stop
	}
	if o.Thinking != nil {
		p.Template.Thinking.Enabled = o.Thinking
	}
	return errors.Join(with.Set("Options.Seed", &p.Seed, o.Seed), with.Set("Options.MinP", &p.MinP, o.MinP),
		with.Set("Options.RepeatPenalty", &p.RepeatPenalty, o.RepeatPenalty))
}
