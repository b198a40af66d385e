package llama

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/internal/dataurl"
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
	Parts      []Part     // texts and images in their order, in place of Content, which is then ""; nil: Content is all
	ToolCalls  []ToolCall // functions that an assistant's turn calls
	Name       string     // who speaks, for templates that use it
	ToolCallID string     // the call that a tool's turn answers, for templates that use it
	Thinking   string     // what an assistant's turn thought before its Content; the template renders it or drops it
}

// Part is a piece of a message's content: a text, or an image.
type Part struct {
	Text  string // added tokens are inert in it
	Image *Image // not nil: the part is this image, and Text is ""
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
// and no text. Parts are a list, with images as data: URLs:
//
//	{"role":"user","content":[{"type":"text","text":"Who smiles?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,…"}}]}
func (m Message) MarshalJSON() ([]byte, error) {
	out := messageJSON{Role: m.Role, ToolCalls: m.ToolCalls, Name: m.Name, ToolCallID: m.ToolCallID, Thinking: m.Thinking}
	if m.Content != "" || m.Parts != nil || len(m.ToolCalls) == 0 {
		content, err := contentJSON(&m)
		if err != nil {
			return nil, err
		}
		out.Content = content
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes, and what programs send to OpenAI's chat completions besides: a content that is null, is
// missing or is a list of parts, and arguments that are an object instead of a string that holds one. A list without images becomes Content:
// its texts are put together. Images must be data: URLs; others, parts that are neither text nor image, and calls of anything but functions
// are errors. Keys that Message has no field for are passed over.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in messageJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("a message: %w", err)
	}
	content, parts, err := readContent(in.Content)
	if images := string(in.Images); err == nil && images != "" && images != "null" && images != "[]" {
		err = errors.New(`"images" beside it, as Ollama's programs write them: they must be parts of the type "image_url"`)
	}
	if err != nil {
		return fmt.Errorf("the content of a message of the role %.40q: %w", in.Role, err)
	}
	*m = Message{in.Role, content, parts, in.ToolCalls, in.Name, in.ToolCallID, in.Thinking}
	return nil
}

// partJSON is a part of a content as OpenAI writes it.
type partJSON struct {
	Type     string        `json:"type"`
	Text     *string       `json:"text,omitempty"`
	ImageURL *imageURLJSON `json:"image_url,omitempty"`
}

// imageURLJSON is an image as OpenAI writes it.
type imageURLJSON struct {
	URL string `json:"url"`
}

// contentJSON returns a message's content as JSON.
func contentJSON(m *Message) ([]byte, error) {
	if m.Parts == nil {
		return json.Marshal(m.Content)
	}
	if m.Content != "" {
		return nil, errContentAndParts
	}
	list := make([]partJSON, len(m.Parts))
	for i, p := range m.Parts {
		switch {
		case p.Image == nil:
			list[i] = partJSON{Type: "text", Text: &p.Text}
		case p.Text != "":
			return nil, errTextAndImage
		default:
			url, err := p.Image.url()
			if err != nil {
				return nil, err
			}
			list[i] = partJSON{Type: "image_url", ImageURL: &imageURLJSON{url}}
		}
	}
	return json.Marshal(list)
}

var (
	errContentAndParts = errors.New("llama: a message has Content and Parts: it must have one of them")
	errTextAndImage    = errors.New("llama: a part has a text and an image: it must be one of them")
)

// readContent reads a message's content: nothing, null, a string or a list of parts.
func readContent(content json.RawMessage) (string, []Part, error) {
	if len(content) == 0 || content[0] != '[' {
		var text string
		if len(content) > 0 && json.Unmarshal(content, &text) != nil {
			return "", nil, errors.New("it must be a string, null or a list of parts")
		}
		return text, nil, nil
	}
	var list []partJSON
	if err := json.Unmarshal(content, &list); err != nil {
		return "", nil, err
	}
	var text strings.Builder
	var parts []Part
	images := false
	for i := range list {
		part, err := list[i].read()
		if err != nil {
			return "", nil, fmt.Errorf("part %d: %w", i, err)
		}
		text.WriteString(part.Text)
		parts, images = append(parts, part), images || part.Image != nil
	}
	if images {
		return "", parts, nil
	}
	return text.String(), nil, nil
}

// read reads a part.
func (p *partJSON) read() (Part, error) {
	switch {
	case p.Type == "text" && p.Text == nil:
		return Part{}, errors.New("a text without text")
	case p.Type == "text":
		return Part{Text: *p.Text}, nil
	case p.Type != "image_url":
		return Part{}, fmt.Errorf(`it is of the type %.40q: it must be "text" or "image_url"`, p.Type)
	case p.ImageURL == nil:
		return Part{}, errors.New("an image without image_url")
	}
	data, err := dataurl.Decode(p.ImageURL.URL)
	if err != nil {
		return Part{}, fmt.Errorf("an image: %w", err)
	}
	image, err := NewImage(data)
	return Part{Image: image}, err
}

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
