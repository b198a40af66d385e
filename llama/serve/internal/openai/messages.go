package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Message is a message of a conversation, as a request has it. The roles are OpenAI's, "developer" being another word for "system", and those
// that the model's chat template knows besides.
type Message struct {
	Role       string     `json:"role" wire:"required"`
	Content    content    `json:"content"`
	Name       string     `json:"name"` // for the model, if its chat template has a place for names
	ToolCalls  []toolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
	Thought    thought    `json:"reasoning_content"` // what the turn thought; the template renders it or drops it
	Reasoning  thought    `json:"reasoning"`         // Thought, as OpenRouter and vLLM call it
}

// Rules are those of the members that an answer's message has, and that come back with the conversation. "parsed" is what OpenAI's own client
// for JavaScript makes of a content.
func (Message) Rules() wire.Rules { return messageRules }

var messageRules = wire.Rules{
	"refusal":       wire.Refused("the models do not refuse aside: say it in content"),
	"audio":         wire.Refused("messages are text"),
	"function_call": wire.Refused("use tool_calls"),
	"annotations":   wire.Refused("messages are text", "[]"),
	"images":        wire.RefusedImages("[]", "null"), // as Ollama's programs send them
	"parsed":        wire.Ignored(),
	"cache_control": wire.Ignored(),
	// What another model thought, in forms that this one does not read.
	"reasoning_text": wire.Ignored(), "reasoning_details": wire.Ignored(), "reasoning_opaque": wire.Ignored(),
}

// History returns the conversation of messages; at is their place in the request: "messages".
func History(at string, messages []Message) ([]llama.Message, error) {
	if len(messages) == 0 {
		return nil, wire.Invalid(at, "%s is empty; it must be a list of at least one message", at)
	}
	history := make([]llama.Message, len(messages))
	for i := range messages {
		var err error
		if history[i], err = messages[i].turn(place(at, i)); err != nil {
			return nil, err
		}
	}
	return history, nil
}

// turn returns the message for the model.
func (m *Message) turn(at string) (llama.Message, error) {
	turn := llama.Message{Role: m.Role, Content: m.Content.text, Name: m.Name, ToolCallID: m.ToolCallID}
	if turn.Role == llama.RoleAssistant {
		turn.Thinking = cmp.Or(string(m.Thought), string(m.Reasoning))
	}
	if turn.Role == "developer" {
		turn.Role = llama.RoleSystem
	}
	for _, c := range m.ToolCalls {
		turn.ToolCalls = append(turn.ToolCalls, llama.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments.json})
	}
	switch assistant, tool := turn.Role == llama.RoleAssistant, turn.Role == llama.RoleTool; {
	case m.Role == "function":
		return turn, wire.Unsupported(at+".role", `%s.role is "function", which is not supported: use the role "tool", with tool_call_id`, at)
	case !assistant && len(turn.ToolCalls) > 0:
		return turn, wire.Invalid(at+".tool_calls", `%s.tool_calls stands in a message of the role %.40q; only "assistant" calls`, at, m.Role)
	case !tool && m.ToolCallID != "":
		return turn, wire.Invalid(at+".tool_call_id", `%s.tool_call_id stands in a message of the role %.40q; it belongs to "tool"`, at, m.Role)
	case tool && m.ToolCallID == "":
		return turn, wire.Missing(at+".tool_call_id", "the id of the call that the message answers")
	case !m.Content.given && len(turn.ToolCalls) == 0 && turn.Thinking == "":
		return turn, wire.Missing(at+".content", "a text or a list of parts")
	}
	return turn, nil
}

// thought is what a model thought: a text. Anything else is another model's, and passed over.
type thought string

// ReadJSON reads the text.
func (t *thought) ReadJSON(at string, value json.RawMessage) error {
	if value[0] != '"' {
		return nil
	}
	text, err := wire.String(at, value)
	*t = thought(text)
	return err
}

// content is the content of a message: a text, or a list of parts that are texts and follow each other without anything between them.
type content struct {
	text  string
	given bool
}

// ReadJSON reads either.
func (c *content) ReadJSON(at string, value json.RawMessage) error {
	c.given = true
	switch value[0] {
	case '"':
		return wire.Decode(at, value, &c.text)
	case '[':
	default:
		return wire.Invalid(at, "%s must be a text or a list of parts", at)
	}
	var parts []part
	if err := wire.Decode(at, value, &parts); err != nil {
		return err
	}
	if len(parts) == 0 {
		return wire.Invalid(at, "%s is an empty list; it must have at least one part", at)
	}
	var text strings.Builder
	for _, p := range parts {
		text.WriteString(p.text)
	}
	c.text = text.String()
	return nil
}

// part is a part of a content.
type part struct{ text string }

var partRules = wire.Rules{"prompt_cache_breakpoint": wire.Ignored(), "cache_control": wire.Ignored()}

// ReadJSON reads a part that is a text. Pictures, sound and files are errors that say so.
func (p *part) ReadJSON(at string, value json.RawMessage) error {
	var kind struct{ Type any }
	if err := json.Unmarshal(value, &kind); err == nil {
		word, ok := kind.Type.(string)
		switch {
		case ok && slices.Contains([]string{"image_url", "input_image", "image"}, word):
			return wire.Image(at+".type", word)
		case ok && word != "text":
			return wire.Unsupported(at+".type", `%s.type is %.40q; it must be "text": the models read nothing else`, at, word)
		}
	}
	var text struct {
		Type string  `json:"type" wire:"required"`
		Text *string `json:"text" wire:"required"`
	}
	if err := wire.Object(at, value, partRules, &text); err != nil {
		return err
	}
	p.text = *text.Text
	return nil
}

// toolCall is a call in a message of the role "assistant".
type toolCall struct {
	ID       string       `json:"id" wire:"required"`
	Type     string       `json:"type"`
	Function functionCall `json:"function" wire:"required"`
}

// Rules are those of what streams have.
func (toolCall) Rules() wire.Rules { return wire.Rules{"index": wire.Ignored()} }

type functionCall struct {
	Name      string    `json:"name" wire:"required"`
	Arguments arguments `json:"arguments" wire:"required"`
}

// Rules are those of what OpenAI's own client for JavaScript makes of the arguments.
func (functionCall) Rules() wire.Rules { return wire.Rules{"parsed_arguments": wire.Ignored()} }

// arguments are those of a call: a JSON object in a string or, as some programs send them, as it is. An empty string is an empty object.
type arguments struct{ json json.RawMessage }

// ReadJSON reads either.
func (a *arguments) ReadJSON(at string, value json.RawMessage) error {
	if a.json = value; value[0] == '"' {
		var text string
		if err := wire.Decode(at, value, &text); err != nil {
			return err
		}
		if a.json = json.RawMessage(strings.TrimSpace(text)); len(a.json) == 0 {
			a.json = json.RawMessage("{}")
		}
	}
	if !bytes.HasPrefix(a.json, []byte("{")) || !json.Valid(a.json) {
		return wire.Invalid(at, "%s must be a string that holds a JSON object", at)
	}
	return nil
}
