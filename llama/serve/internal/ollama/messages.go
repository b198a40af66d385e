package ollama

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// conversation is the messages of a request: a history; see ask.Past.
type conversation struct {
	ask.Past
	turns  []llama.Message
	places []string // of the turns, in the request
}

// ReadJSON reads a list of messages.
func (c *conversation) ReadJSON(at string, value json.RawMessage) error {
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	for i, raw := range list {
		if err := c.read(fmt.Sprintf("%s[%d]", at, i), raw); err != nil {
			return err
		}
	}
	return c.End()
}

// addNames adds to names the places of the turns in the request.
func (c *conversation) addNames(names ask.FieldNames) {
	for i, at := range c.places {
		names[fmt.Sprintf("history[%d].", i)] = at + "."
	}
}

// message is a message of a conversation, as a request has it.
type message struct {
	Role       string          `json:"role" wire:"required"`
	Content    string          `json:"content"`
	Thinking   string          `json:"thinking"` // what an assistant thought; the template's authors say whether the model sees it again
	ToolCalls  json.RawMessage `json:"tool_calls"`
	ToolName   string          `json:"tool_name"`    // the function that a tool's message is the result of
	ToolCallID string          `json:"tool_call_id"` // the call that it is the result of
	Name       string          `json:"name"`         // for the model, if its chat template has a place for names
	Images     json.RawMessage `json:"images"`
}

// read reads a message. Ollama's calls need no ids; see ask.Past for which call a result belongs to.
func (c *conversation) read(at string, raw json.RawMessage) error {
	var m message
	if err := c.Object(at, raw, nil, &m); err != nil {
		return err
	}
	turn := llama.Message{Role: strings.ToLower(m.Role), Name: m.Name}
	assistant, tool := turn.Role == llama.RoleAssistant, turn.Role == llama.RoleTool
	if assistant {
		c.Answer()
		turn.Thinking = m.Thinking
	}
	if err := c.readContent(at, m.Content, m.Images, &turn); err != nil {
		return err
	}
	var calls []json.RawMessage
	if m.ToolCalls != nil {
		var err error
		if calls, err = wire.List(at+".tool_calls", m.ToolCalls); err != nil {
			return err
		}
	}
	if !tool && m.ToolCallID+m.ToolName != "" {
		c.Leave(at+".tool_name", `it and tool_call_id belong to the role "tool"`)
	}
	if !assistant && len(calls) > 0 {
		return wire.Invalid(at+".tool_calls", `%s.tool_calls stands in a message of the role %.40q; only "assistant" calls`, at, m.Role)
	}
	for k, raw := range calls {
		call, ok, err := c.readCall(fmt.Sprintf("%s.tool_calls[%d]", at, k), raw)
		if err != nil {
			return err
		}
		if ok {
			turn.ToolCalls = append(turn.ToolCalls, call)
		}
	}
	if tool {
		ok := true
		if turn.ToolCallID, _, ok = c.Result(at, m.ToolCallID, m.ToolName); !ok {
			return nil
		}
		turn.Name = cmp.Or(turn.Name, m.ToolName)
	}
	c.turns, c.places = append(c.turns, turn), append(c.places, at)
	return nil
}

// readContent adds a text and the images before it, files in base64, to a turn. at is the place of both.
func (c *conversation) readContent(at, text string, images json.RawMessage, turn *llama.Message) error {
	var content ask.Content
	if at != "" {
		at += "."
	}
	if err := c.Base64List(at+"images", images, &content); err != nil {
		return err
	}
	if text != "" {
		content.WriteString(text)
	}
	content.AddTo(turn)
	return nil
}

// callRules are the members of a call, and of its function, that are not read: what answers have, and comes back with the conversation.
var callRules = wire.Rules{"index": wire.Ignored(), "description": wire.Ignored()}

// readCall reads a call in an assistant's message. ok is false if it is left out.
func (c *conversation) readCall(at string, raw json.RawMessage) (call llama.ToolCall, ok bool, err error) {
	var in struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function json.RawMessage `json:"function"`
	}
	if err := c.Object(at, raw, callRules, &in); err != nil {
		return call, false, err
	}
	if in.Function == nil {
		c.Lose(at, in.ID, "it is no call of a function")
		return call, false, nil
	}
	var f struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // an object; nil: an empty one
	}
	if err := c.Object(at+".function", in.Function, callRules, &f); err != nil {
		return call, false, err
	}
	if f.Name == "" {
		c.Lose(at, in.ID, "it has no name")
		return call, false, nil
	}
	return c.Call(at+".function.arguments", in.ID, f.Name, f.Arguments), true, nil
}

// begun takes the beginning of the answer off a conversation that ends with one: a text of the assistant's.
func begun(history []llama.Message) (rest []llama.Message, text string) {
	n := len(history) - 1
	if n < 1 || history[n].Role != llama.RoleAssistant || len(history[n].ToolCalls) > 0 {
		return history, ""
	}
	return history[:n], history[n].Content
}
