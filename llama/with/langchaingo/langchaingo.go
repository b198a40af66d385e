// Package langchaingo lets LangChainGo ask a model of package llama: its chains and agents.
//
//	m, err := with.New(model, nil)
//	…
//	answer, err := llms.GenerateFromSinglePrompt(ctx, withlangchaingo.New(m), "Name the capital of Japan.")
//
// Options of llms that are 0 are not said, as everywhere in LangChainGo: the parameters of with.Options count then. WithSchema gives the answer
// a schema, and llms.WithJSONMode asks for any JSON object. Options that no model here has, such as llms.WithMinLength, and kinds of
// content other than texts, images, calls and results, are a *with.UnsupportedError.
package langchaingo

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/tmc/langchaingo/llms"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/with"
)

// Model is an llms.Model. It is safe for concurrent use.
type Model struct{ model *with.Model }

var _ llms.Model = (*Model)(nil)

// New makes a Model.
func New(m *with.Model) *Model { return &Model{m} }

// schemaKey is the key of an answer's schema in CallOptions.Metadata, which is for options that a model alone has.
const schemaKey = "antigravity.schema"

// WithSchema asks for an answer in JSON that fits a JSON Schema: a text, or a value that is one as JSON. It holds whatever the model would
// rather say.
func WithSchema(jsonSchema any) llms.CallOption {
	return func(o *llms.CallOptions) {
		o.Metadata = maps.Clone(o.Metadata)
		if o.Metadata == nil {
			o.Metadata = map[string]any{}
		}
		o.Metadata[schemaKey] = jsonSchema
	}
}

// Call answers a prompt. It is llms.Model's.
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// GenerateContent answers a conversation, in one choice. It is llms.Model's. With llms.WithStreamingFunc, the function gets the text of the
// answer piece by piece, and its error ends the answer.
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	r, err := m.request(messages, &o)
	if err != nil {
		return nil, err
	}
	answer, err := llama.Collect(func(yield func(llama.Piece, error) bool) {
		for p, err := range m.model.Chat(ctx, r) {
			if err == nil {
				err = stream(ctx, &o, &p)
			}
			if !yield(p, err) {
				return
			}
		}
	})
	if err != nil {
		return nil, coded(err)
	}
	return response(&answer), nil
}

// stream hands a piece of an answer to the functions that wait for it.
func stream(ctx context.Context, o *llms.CallOptions, p *llama.Piece) error {
	if o.StreamingReasoningFunc != nil && (p.Thought != "" || p.Text != "") {
		if err := o.StreamingReasoningFunc(ctx, []byte(p.Thought), []byte(p.Text)); err != nil {
			return fmt.Errorf("with: CallOptions.StreamingReasoningFunc: %w", err)
		}
	}
	if o.StreamingFunc != nil && p.Text != "" {
		if err := o.StreamingFunc(ctx, []byte(p.Text)); err != nil {
			return fmt.Errorf("with: CallOptions.StreamingFunc: %w", err)
		}
	}
	return nil
}

// coded returns an error with LangChainGo's code for it, if there is one. The error stays in the chain.
func coded(err error) error {
	code := llms.ErrorCode("")
	switch {
	case errors.Is(err, llama.ErrContextFull):
		code = llms.ErrCodeTokenLimit
	case errors.Is(err, context.Canceled):
		code = llms.ErrCodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		code = llms.ErrCodeTimeout
	default:
		return err
	}
	return llms.NewError(code, "antigravity", err.Error()).WithCause(err)
}

// response returns an answer as LangChainGo has it.
func response(answer *llama.Piece) *llms.ContentResponse {
	s := &answer.Stats
	choice := &llms.ContentChoice{
		Content: answer.Text, ReasoningContent: answer.Thought, StopReason: answer.Stop.FinishReason(),
		GenerationInfo: map[string]any{
			"PromptTokens": s.PromptTokens, "PromptCachedTokens": s.ReusedTokens, "CompletionTokens": s.GeneratedTokens,
			"ReasoningTokens": s.ThoughtTokens, "TotalTokens": s.PromptTokens + s.GeneratedTokens,
		},
	}
	for _, call := range answer.Message.ToolCalls {
		f := &llms.FunctionCall{Name: call.Name, Arguments: string(call.Arguments)}
		if choice.FuncCall == nil {
			choice.FuncCall = f
		}
		choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{ID: call.ID, Type: "function", FunctionCall: f})
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}
}

// request returns a conversation and options as the model is asked.
func (m *Model) request(messages []llms.MessageContent, o *llms.CallOptions) (*with.Request, error) {
	r := m.model.Request()
	p := &r.Params
	err := errors.Join(
		with.Rest("llms.CallOptions", o, "Model", "CandidateCount", "N", "MaxTokens", "Temperature", "StopWords", "StreamingFunc", "StreamingReasoningFunc",
			"TopK", "TopP", "Seed", "RepetitionPenalty", "FrequencyPenalty", "PresencePenalty", "JSONMode", "Tools", "ToolChoice", "Functions",
			"FunctionCallBehavior", "Metadata", "ResponseMIMEType"),
		m.model.Is(o.Model),
		with.Positive("llms.CallOptions.MaxTokens", &p.MaxTokens, with.Said(o.MaxTokens)),
		with.Set("llms.CallOptions.Temperature", &p.Temperature, with.Said(o.Temperature)),
		with.Set("llms.CallOptions.TopK", &p.TopK, with.Said(o.TopK)),
		with.Set("llms.CallOptions.TopP", &p.TopP, with.Said(o.TopP)),
		with.Set("llms.CallOptions.Seed", &p.Seed, with.Said(o.Seed)),
		with.Set("llms.CallOptions.RepetitionPenalty", &p.RepeatPenalty, with.Said(o.RepetitionPenalty)),
		with.Set("llms.CallOptions.FrequencyPenalty", &p.FrequencyPenalty, with.Said(o.FrequencyPenalty)),
		with.Set("llms.CallOptions.PresencePenalty", &p.PresencePenalty, with.Said(o.PresencePenalty)),
		setForm(r, o), setTools(r, o), setChoice(r, o),
	)
	if err != nil {
		return nil, err
	}
	if o.N > 1 || o.CandidateCount > 1 {
		return nil, &with.UnsupportedError{What: "several answers at once, llms.CallOptions.N or CandidateCount", Want: "1"}
	}
	if len(o.StopWords) > 0 {
		p.Stop = o.StopWords
	}
	var c with.Conversation
	for i, m := range messages {
		if err := add(&c, m); err != nil {
			return nil, fmt.Errorf("message %d, of the role %q: %w", i, m.Role, err)
		}
	}
	r.Messages = c.Messages()
	return r, nil
}

// setForm sets the form of the answer.
func setForm(r *with.Request, o *llms.CallOptions) (err error) {
	switch o.ResponseMIMEType {
	case "", "text/plain":
	case "application/json":
		r.Schema = with.AnyObject
	default:
		return &with.UnsupportedError{What: fmt.Sprintf("llms.CallOptions.ResponseMIMEType %.40q", o.ResponseMIMEType), Want: `"text/plain" or "application/json"`}
	}
	if o.JSONMode {
		r.Schema = with.AnyObject
	}
	for key, value := range o.Metadata {
		if key != schemaKey {
			return &with.UnsupportedError{What: fmt.Sprintf("llms.CallOptions.Metadata[%.80q]", key)}
		}
		if r.Schema, err = with.JSON(value); err != nil {
			return fmt.Errorf("the schema of the answer: %w", err)
		}
	}
	return nil
}

// setTools sets the functions on offer.
func setTools(r *with.Request, o *llms.CallOptions) error {
	functions := make([]llms.FunctionDefinition, 0, len(o.Tools)+len(o.Functions))
	for _, t := range o.Tools {
		if t.Type != "function" && t.Type != "" || t.Function == nil {
			return &with.UnsupportedError{What: fmt.Sprintf("a tool of the type %.40q", t.Type), Want: "a function"}
		}
		functions = append(functions, *t.Function)
	}
	for _, f := range append(functions, o.Functions...) {
		parameters, err := with.JSON(f.Parameters)
		if err == nil { // calls fit their schemas whether Strict asks for it or not
			err = with.Rest("llms.FunctionDefinition", f, "Name", "Description", "Parameters", "Strict")
		}
		if err != nil {
			return fmt.Errorf("the function %.80q: %w", f.Name, err)
		}
		r.Tools = append(r.Tools, with.Tool{Name: f.Name, Description: f.Description, Parameters: parameters})
	}
	return nil
}

// setChoice sets whether functions are called.
func setChoice(r *with.Request, o *llms.CallOptions) error {
	choice := o.ToolChoice
	if choice == nil && o.FunctionCallBehavior != "" {
		choice = string(o.FunctionCallBehavior)
	}
	switch c := choice.(type) {
	case nil:
		return nil
	case *llms.ToolChoice:
		if c != nil {
			return setFunction(r, *c)
		}
		return nil
	case llms.ToolChoice:
		return setFunction(r, c)
	case string:
		if known, ok := choices[c]; ok {
			r.Choice = known
			return nil
		}
	}
	return &with.UnsupportedError{What: fmt.Sprintf("the tool choice %.40v", choice), Want: `"none", "auto", "required" or an llms.ToolChoice`}
}

// choices are the words for a choice.
var choices = map[string]constrain.ToolChoice{
	"": constrain.ToolAuto, "auto": constrain.ToolAuto, "none": constrain.ToolNone, "required": constrain.ToolRequired, "any": constrain.ToolRequired,
}

// setFunction asks for a call of a function.
func setFunction(r *with.Request, c llms.ToolChoice) error {
	if c.Function == nil || c.Type != "function" && c.Type != "" {
		return &with.UnsupportedError{What: fmt.Sprintf("the tool choice of the type %.40q", c.Type), Want: "a function"}
	}
	r.Choice, r.Allowed = constrain.ToolRequired, []string{c.Function.Name}
	return nil
}

// roles are package llama's names of roles.
var roles = map[llms.ChatMessageType]string{
	llms.ChatMessageTypeSystem: llama.RoleSystem, llms.ChatMessageTypeHuman: llama.RoleUser, llms.ChatMessageTypeAI: llama.RoleAssistant,
	llms.ChatMessageTypeTool: llama.RoleTool, llms.ChatMessageTypeFunction: llama.RoleTool,
}

// add adds a message to a conversation.
func add(c *with.Conversation, m llms.MessageContent) error {
	role, ok := roles[m.Role]
	if !ok {
		return &with.UnsupportedError{What: fmt.Sprintf("the role %.40q", m.Role), Want: `"system", "human", "ai" or "tool"`}
	}
	c.Turn(role)
	for _, part := range m.Parts {
		if err := addPart(c, role, part); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds a part of a message.
func addPart(c *with.Conversation, role string, part llms.ContentPart) error {
	if _, result := part.(llms.ToolCallResponse); role == llama.RoleTool && !result {
		return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %T in a tool's message", part), Want: "llms.ToolCallResponse"}
	}
	switch p := part.(type) {
	case llms.TextContent:
		c.Text(p.Text)
		return nil
	case llms.ImageURLContent: // of Detail, there is one kind
		return c.ImageURL(p.URL)
	case llms.BinaryContent:
		return c.File(p.MIMEType, p.Data)
	case llms.ToolCall:
		if p.FunctionCall == nil || p.Type != "" && p.Type != "function" {
			return &with.UnsupportedError{What: fmt.Sprintf("a call of the type %.40q", p.Type), Want: "a call of a function"}
		}
		return c.Call(p.ID, p.FunctionCall.Name, p.FunctionCall.Arguments)
	case llms.ToolCallResponse:
		return c.Result(p.ToolCallID, p.Name, p.Content)
	}
	return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %T", part), Want: "a text, an image, a call or a result"}
}
