package llama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The roles of messages. A model's chat template may name others, which can be used, and may have no place for some of these:
// any role that it cannot serve is a *ParamError.
const (
	RoleSystem    = "system"    // instructions, first in a conversation
	RoleUser      = "user"      // who asks
	RoleAssistant = "assistant" // the model
	RoleTool      = "tool"      // the result of a function that the model called
)

// Message is one turn of a conversation. Its JSON is that of OpenAI's chat completions; see MarshalJSON and UnmarshalJSON.
type Message struct {
	Role       string     // one of the constants, or another that the model's template knows
	Content    string     // text, in which added tokens are inert
	ToolCalls  []ToolCall // functions that an assistant's turn calls
	Name       string     // who speaks, for templates that use it
	ToolCallID string     // the call that a tool's turn answers, for templates that use it
	Thinking   string     // what an assistant's turn thought before its Content; the template renders it or drops it
}

// ToolCall is a function call in an assistant's turn.
type ToolCall struct {
	ID        string          // what the turn with the function's result refers to, and different from that of every other call of the conversation
	Name      string          // of the function
	Arguments json.RawMessage // a JSON object; its keys keep their order
}

// messageJSON is a message as OpenAI writes it.
type messageJSON struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []ToolCall      `json:"tool_calls,omitempty"`
	Name       string          `json:"name,omitempty"`
	ToolCallID string          `json:"tool_call_id,omitempty"`
	Thinking   string          `json:"reasoning_content,omitempty"`
	Images     json.RawMessage `json:"images,omitempty"` // as Ollama's programs write them: refused
}

// toolCallJSON is a function call as OpenAI writes it.
type toolCallJSON struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string that holds JSON
	} `json:"function"`
}

// MarshalJSON writes the message as OpenAI's chat completions do:
//
//	{"role":"assistant","content":null,"tool_calls":[{"id":"…","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}]}
//
// name, tool_call_id and reasoning_content, which is Thinking, are left out if they are empty. content is null in a message that has calls
// and no text.
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON{Role: m.Role, ToolCalls: m.ToolCalls, Name: m.Name, ToolCallID: m.ToolCallID, Thinking: m.Thinking}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		content, err := json.Marshal(m.Content)
		if err != nil {
			return nil, err
		}
		out.Content = content
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes, and what programs send to OpenAI's chat completions besides: a content that is null, is
// missing or is a list of parts (their texts are put together), and arguments that are an object instead of a string that holds one.
// Images, parts other than text, and calls of anything but functions are errors; keys that Message has no field for are passed over.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in messageJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("a message: %w", err)
	}
	content, err := contentText(in.Content)
	if images := string(in.Images); err == nil && images != "" && images != "null" && images != "[]" {
		err = errImage
	}
	if err != nil {
		return fmt.Errorf("the content of a message of the role %.40q: %w", in.Role, err)
	}
	*m = Message{in.Role, content, in.ToolCalls, in.Name, in.ToolCallID, in.Thinking}
	return nil
}

// contentText returns the text of a message's content: of nothing, null, a string or a list of parts.
func contentText(content json.RawMessage) (string, error) {
	if len(content) == 0 || content[0] != '[' {
		var text string
		if len(content) > 0 && json.Unmarshal(content, &text) != nil {
			return "", errors.New("it must be a string, null or a list of parts")
		}
		return text, nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", err
	}
	var text strings.Builder
	for _, part := range parts {
		if slices.Contains(imageTypes, part.Type) {
			return "", fmt.Errorf("a part of the type %q: %w", part.Type, errImage)
		}
		if part.Type != "text" {
			return "", fmt.Errorf(`a part of the type %.40q: it must be "text"`, part.Type)
		}
		text.WriteString(part.Text)
	}
	return text.String(), nil
}

// imageTypes are the types of parts that are images, in the interfaces that people use.
var imageTypes = []string{"image_url", "input_image", "image"}

var errImage = errors.New("an image: a model's vision part is not loaded, it reads text alone; send text")

// MarshalJSON writes the call as OpenAI's chat completions do: its arguments are a string that holds their JSON.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	arguments, err := object(c.Arguments)
	if err != nil {
		return nil, fmt.Errorf("the arguments of a call to %.40q: %w", c.Name, err)
	}
	out := toolCallJSON{ID: c.ID, Type: "function"}
	out.Function.Name = c.Name
	if out.Function.Arguments, err = json.Marshal(string(arguments)); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes. The arguments may be an object too, and no arguments are an empty one.
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	var in toolCallJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("a call: %w", err)
	}
	if in.Type != "function" && in.Type != "" {
		return fmt.Errorf(`a call of the type %.40q: it must be "function"`, in.Type)
	}
	arguments := in.Function.Arguments
	var text string
	if json.Unmarshal(arguments, &text) == nil {
		arguments = json.RawMessage(text)
	}
	arguments, err := object(arguments)
	if err != nil {
		return fmt.Errorf("the arguments of a call to %.40q: %w", in.Function.Name, err)
	}
	*c = ToolCall{in.ID, in.Function.Name, arguments}
	return nil
}

// object returns arguments, or {} if arguments is empty. It returns an error if they are not an object.
func object(arguments json.RawMessage) (json.RawMessage, error) {
	trimmed := bytes.TrimSpace(arguments)
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}"), nil
	case trimmed[0] != '{' || !json.Valid(trimmed):
		return nil, errors.New("they must be a JSON object")
	}
	return arguments, nil
}
