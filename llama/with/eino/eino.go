// Package eino lets CloudWeGo's eino ask a model of package llama: its chains, graphs and agents.
//
//	m, err := with.New(model, nil)
//	…
//	agent, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: witheino.NewChatModel(m), …})
//
// All common options of eino's models are followed. WithSchema is this model's own: it gives the answer a schema. As everywhere in eino, options
// of other models' own are not for this one. Message.Extra and Message.ResponseMeta, which are notes for programs, are not read. Anything
// else that the model cannot do, such as sound in a message, is a *with.UnsupportedError.
package eino

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/with"
)

// ChatModel is a model.ToolCallingChatModel. It is immutable and safe for concurrent use.
type ChatModel struct {
	model *with.Model
	tools []*schema.ToolInfo
}

var _ model.ToolCallingChatModel = (*ChatModel)(nil)

// NewChatModel makes a ChatModel.
func NewChatModel(m *with.Model) *ChatModel { return &ChatModel{model: m} }

// extras are the options that other models do not have.
type extras struct{ schema any }

// WithSchema asks for an answer in JSON that fits a JSON Schema: a text, or a value that is one as JSON. It holds whatever the model would
// rather say.
func WithSchema(jsonSchema any) model.Option {
	return model.WrapImplSpecificOptFn(func(o *extras) { o.schema = jsonSchema })
}

// WithTools returns a ChatModel that offers functions to the model. It is model.ToolCallingChatModel's.
func (m *ChatModel) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	if _, err := toolsOf(tools); err != nil {
		return nil, err
	}
	return &ChatModel{m.model, tools}, nil
}

// GetType returns the name by which eino's callbacks know models of this kind.
func (m *ChatModel) GetType() string { return "Antigravity" }

// Generate answers a conversation. It is model.BaseChatModel's.
func (m *ChatModel) Generate(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.Message, error) {
	r, err := m.request(input, options)
	if err != nil {
		return nil, err
	}
	answer, err := m.model.Answer(ctx, r)
	if err != nil {
		return nil, err
	}
	message := &schema.Message{Role: schema.Assistant, Content: answer.Text, ReasoningContent: answer.Thought}
	end(message, &answer)
	return message, nil
}

// Stream answers a conversation piece by piece: thoughts and texts as they come, calls and figures with the last piece. It is
// model.BaseChatModel's. The answer is computed while it is read, a few pieces ahead; the reader must be closed or read to its end.
func (m *ChatModel) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	r, err := m.request(input, options)
	if err != nil {
		return nil, err
	}
	reader, writer := schema.Pipe[*schema.Message](8)
	go func() {
		defer writer.Close()
		write(m.model.Chat(ctx, r), writer)
	}()
	return reader, nil
}

// write sends the pieces of an answer until the reader is closed.
func write(pieces iter.Seq2[llama.Piece, error], to *schema.StreamWriter[*schema.Message]) {
	for piece, err := range pieces {
		if err != nil {
			to.Send(nil, err)
			return
		}
		message := &schema.Message{Role: schema.Assistant, Content: piece.Text, ReasoningContent: piece.Thought}
		if piece.Stop != 0 {
			end(message, &piece)
		} else if piece.Text == "" && piece.Thought == "" {
			continue
		}
		if closed := to.Send(message, nil); closed {
			return
		}
	}
}

// end completes the last message of an answer.
func end(message *schema.Message, piece *llama.Piece) {
	for i, call := range piece.Message.ToolCalls {
		message.ToolCalls = append(message.ToolCalls, schema.ToolCall{
			Index: &i, ID: call.ID, Type: "function", Function: schema.FunctionCall{Name: call.Name, Arguments: string(call.Arguments)},
		})
	}
	s := &piece.Stats
	message.ResponseMeta = &schema.ResponseMeta{FinishReason: piece.Stop.FinishReason(), Usage: &schema.TokenUsage{
		PromptTokens: s.PromptTokens, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: s.ReusedTokens},
		CompletionTokens: s.GeneratedTokens, CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: s.ThoughtTokens},
		TotalTokens: s.PromptTokens + s.GeneratedTokens,
	}}
}

// request returns a conversation and options as the model is asked.
func (m *ChatModel) request(input []*schema.Message, list []model.Option) (*with.Request, error) {
	r := m.model.Request()
	o := model.GetCommonOptions(&model.Options{Tools: m.tools}, list...)
	err := with.Rest("model.Options", o, "Temperature", "MaxTokens", "Model", "TopP", "Stop", "Tools", "ToolChoice", "AllowedToolNames")
	if o.Model != nil {
		err = errors.Join(err, m.model.Is(*o.Model))
	}
	err = errors.Join(err,
		with.Set("model.Options.Temperature", &r.Params.Temperature, o.Temperature),
		with.Positive("model.Options.MaxTokens", &r.Params.MaxTokens, o.MaxTokens),
		with.SetTopP("model.Options.TopP", &r.Params, o.TopP))
	if err != nil {
		return nil, err
	}
	if len(o.Stop) > 0 {
		r.Params.Stop = o.Stop
	}
	if r.Tools, err = toolsOf(o.Tools); err != nil {
		return nil, err
	}
	if len(o.AllowedToolNames) > 0 {
		r.Allowed = o.AllowedToolNames
	}
	if o.ToolChoice != nil {
		switch *o.ToolChoice {
		case schema.ToolChoiceForbidden:
			r.Choice = constrain.ToolNone
		case schema.ToolChoiceAllowed:
		case schema.ToolChoiceForced:
			r.Choice = constrain.ToolRequired
		default:
			return nil, &with.UnsupportedError{What: fmt.Sprintf("the tool choice %.40q", *o.ToolChoice), Want: `"forbidden", "allowed" or "forced"`}
		}
	}
	if r.Schema, err = with.JSON(model.GetImplSpecificOptions[extras](nil, list...).schema); err != nil {
		return nil, err
	}
	r.Messages, err = messagesOf(input)
	return r, err
}

// toolsOf returns eino's functions as package with has them.
func toolsOf(list []*schema.ToolInfo) (tools []with.Tool, err error) {
	for i, info := range list {
		if info == nil {
			return nil, fmt.Errorf("the tool %d is nil: it must be a function", i)
		}
		tool := with.Tool{Name: info.Name, Description: info.Desc}
		parameters, err := info.ToJSONSchema()
		if err == nil && parameters != nil {
			tool.Parameters, err = with.JSON(parameters)
		}
		if err == nil {
			err = with.Rest("schema.ToolInfo", info, "Name", "Desc", "Extra", "ParamsOneOf")
		}
		if err != nil {
			return nil, fmt.Errorf("the function %.80q: %w", info.Name, err)
		}
		tools = append(tools, tool)
	}
	return tools, nil
}

// messagesOf returns eino's messages as package llama has them.
func messagesOf(input []*schema.Message) ([]llama.Message, error) {
	var c with.Conversation
	for i, m := range input {
		if m == nil {
			return nil, fmt.Errorf("message %d is nil: it must be a message", i)
		}
		if err := add(&c, m); err != nil {
			return nil, fmt.Errorf("message %d, of the role %q: %w", i, m.Role, err)
		}
	}
	return c.Messages(), nil
}

// add adds a message to a conversation.
func add(c *with.Conversation, m *schema.Message) error {
	err := with.Rest("schema.Message", m, "Role", "Content", "UserInputMultiContent", "AssistantGenMultiContent", "MultiContent",
		"ToolCalls", "ToolCallID", "ToolName", "ReasoningContent", "ResponseMeta", "Extra")
	if err != nil {
		return err
	}
	if m.Role == schema.Tool {
		text, err := textOf(m)
		if err != nil {
			return err
		}
		return c.Result(m.ToolCallID, m.ToolName, text)
	}
	c.Turn(string(m.Role)) // eino's names of roles are llama's
	if m.ReasoningContent != "" {
		if err := c.Thought(m.ReasoningContent); err != nil {
			return err
		}
	}
	if m.Content != "" {
		c.Text(m.Content)
	}
	for _, p := range m.UserInputMultiContent {
		if err := addInput(c, p); err != nil {
			return err
		}
	}
	for _, p := range m.AssistantGenMultiContent {
		if p.Type != schema.ChatMessagePartTypeText {
			return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %q in an answer", p.Type), Want: "a text"}
		}
		c.Text(p.Text)
	}
	for _, p := range m.MultiContent {
		switch {
		case p.Type == schema.ChatMessagePartTypeText:
			c.Text(p.Text)
		case p.Type == schema.ChatMessagePartTypeImageURL && p.ImageURL != nil:
			if err := c.ImageURL(p.ImageURL.URL + p.ImageURL.URI); err != nil {
				return err
			}
		default:
			return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %q", p.Type), Want: "a text or an image"}
		}
	}
	for _, call := range m.ToolCalls {
		if call.Type != "" && call.Type != "function" {
			return &with.UnsupportedError{What: fmt.Sprintf("a call of the type %.40q", call.Type), Want: "a call of a function"}
		}
		if err := c.Call(call.ID, call.Function.Name, call.Function.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// textOf returns the text of a function's result.
func textOf(m *schema.Message) (string, error) {
	var text strings.Builder
	text.WriteString(m.Content)
	for _, p := range m.UserInputMultiContent {
		if p.Type != schema.ChatMessagePartTypeText {
			return "", &with.UnsupportedError{What: fmt.Sprintf("a part of the type %q in the result of a function", p.Type), Want: "a text"}
		}
		text.WriteString(p.Text)
	}
	if len(m.MultiContent) > 0 {
		return "", &with.UnsupportedError{What: "schema.Message.MultiContent in the result of a function", Want: "Content or UserInputMultiContent"}
	}
	return text.String(), nil
}

// addInput adds a part of a user's message.
func addInput(c *with.Conversation, p schema.MessageInputPart) error {
	switch {
	case p.Type == schema.ChatMessagePartTypeText:
		c.Text(p.Text)
		return nil
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && p.Image.Base64Data != nil:
		data, err := base64.StdEncoding.DecodeString(*p.Image.Base64Data)
		if err != nil {
			return fmt.Errorf("an image in base64: %w", err)
		}
		return c.Image(data)
	case p.Type == schema.ChatMessagePartTypeImageURL && p.Image != nil && p.Image.URL != nil:
		return c.ImageURL(*p.Image.URL)
	}
	return &with.UnsupportedError{What: fmt.Sprintf("a part of the type %q", p.Type), Want: "a text or an image"}
}
