package with

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/antigravity-go/antigravity/internal/dataurl"
	"github.com/antigravity-go/antigravity/llama"
)

// Conversation makes messages of a framework's turns and their parts, which come in their order. The zero value is empty. For example:
//
//	c.Turn(llama.RoleUser)
//	c.Text("How warm is it in Nairobi?")
//	c.Turn(llama.RoleAssistant)
//	err := c.Call("", "get_weather", map[string]any{"city": "Nairobi"})
//	c.Turn(llama.RoleUser) // some frameworks have results in turns of the user's
//	err = c.Result("", "get_weather", "17 degrees")
//
// has three messages: the user's, the assistant's with a call, and one of the role tool.
type Conversation struct {
	turns []turn
	role  string // of the turn that has begun
	open  bool   // parts go to the last of turns
	said  bool   // the turn that has begun has a part or a result
	made  int    // how many calls have got an ID
	calls []openCall
}

// turn is a message with a content that is not put together yet.
type turn struct {
	llama.Message
	parts []llama.Part
}

// openCall is a call without a result so far.
type openCall struct{ id, name string }

// Turn begins a turn. One that gets nothing is a message without content.
func (c *Conversation) Turn(role string) {
	c.end()
	c.role, c.open, c.said = role, false, false
}

// end ends the turn that has begun.
func (c *Conversation) end() {
	if c.role != "" && !c.said {
		c.turns = append(c.turns, turn{Message: llama.Message{Role: c.role}})
	}
	c.role, c.said = "", true
}

// last returns the message that the next part goes to.
func (c *Conversation) last() *turn {
	if !c.open {
		c.turns = append(c.turns, turn{Message: llama.Message{Role: c.role}})
	}
	c.open, c.said = true, true
	return &c.turns[len(c.turns)-1]
}

// Text adds a text. Several follow each other without anything in between.
func (c *Conversation) Text(text string) {
	t := c.last()
	t.parts = append(t.parts, llama.Part{Text: text})
}

// Thought adds what the model thought before it answered. Only an assistant's turn has thoughts.
func (c *Conversation) Thought(text string) error {
	if c.role != llama.RoleAssistant {
		return &UnsupportedError{What: fmt.Sprintf("a thought in a turn of the role %q", c.role), Want: "in the model's own turns"}
	}
	c.last().Thinking += text
	return nil
}

// Image adds the image of a file.
func (c *Conversation) Image(encoded []byte) error {
	image, err := llama.NewImage(encoded)
	if err != nil {
		return fmt.Errorf("with: an image in a turn of the role %q: %w", c.role, err)
	}
	t := c.last()
	t.parts = append(t.parts, llama.Part{Image: image})
	return nil
}

// ImageURL adds the image of a data: URL. No other is fetched.
func (c *Conversation) ImageURL(url string) error {
	if !dataurl.Is(url) {
		return &UnsupportedError{What: fmt.Sprintf("an image at %.80q", url), Want: "a data: URL, since nothing is fetched"}
	}
	encoded, err := dataurl.Decode(url)
	if err != nil {
		return fmt.Errorf("with: an image in a turn of the role %q: %w", c.role, err)
	}
	return c.Image(encoded)
}

// File adds a file of some media type: an image, or a text.
func (c *Conversation) File(mediaType string, data []byte) error {
	switch kind, _, _ := strings.Cut(mediaType, "/"); kind {
	case "image":
		return c.Image(data)
	case "text":
		c.Text(string(data))
		return nil
	}
	return &UnsupportedError{What: fmt.Sprintf("a file of the type %.80q", mediaType), Want: "an image or a text"}
}

// Call adds a call of a function to an assistant's turn. arguments are a JSON object as text or as a value; an empty text and nil are an empty
// object. A call without an ID gets one.
func (c *Conversation) Call(id, name string, arguments any) error {
	if c.role != llama.RoleAssistant {
		return &UnsupportedError{What: fmt.Sprintf("a call of %.80q in a turn of the role %q", name, c.role), Want: "in the model's own turns"}
	}
	text, err := JSON(arguments)
	if err != nil {
		return fmt.Errorf("with: the arguments of a call of %.80q: %w", name, err)
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || string(text) == "null" {
		text = json.RawMessage("{}")
	}
	if text[0] != '{' || !json.Valid(text) {
		return fmt.Errorf("with: the arguments of a call of %.80q are %.80q: they must be a JSON object", name, text)
	}
	if c.made++; id == "" {
		id = fmt.Sprintf("call%05d", c.made)
	}
	t := c.last()
	t.ToolCalls = append(t.ToolCalls, llama.ToolCall{ID: id, Name: name, Arguments: text})
	c.calls = append(c.calls, openCall{id, name})
	return nil
}

// Result adds the result of a call, a message of its own: a text as it is, any other value as JSON. A result without an ID belongs to the
// earliest call of the function, or of any if name is empty, that has no result yet.
func (c *Conversation) Result(id, name string, result any) error {
	text, err := JSON(result)
	if err != nil {
		return fmt.Errorf("with: the result of a call of %.80q: %w", name, err)
	}
	found := -1
	for i, call := range c.calls {
		if id != "" && call.id == id || id == "" && (name == "" || call.name == name) {
			found = i
			break
		}
	}
	switch {
	case found >= 0:
		if id = c.calls[found].id; name == "" {
			name = c.calls[found].name
		}
		c.calls = append(c.calls[:found], c.calls[found+1:]...)
	case id == "":
		return fmt.Errorf("with: a result of %.80q answers no call: it must follow one, or name the call that it answers", name)
	}
	c.open, c.said = false, true
	c.turns = append(c.turns, turn{Message: llama.Message{Role: llama.RoleTool, Content: string(text), Name: name, ToolCallID: id}})
	return nil
}

// Messages returns the conversation.
func (c *Conversation) Messages() []llama.Message {
	role := c.role
	c.end()
	c.role = role
	messages := make([]llama.Message, len(c.turns))
	for i, t := range c.turns {
		messages[i] = t.message()
	}
	return messages
}

// message puts a message's content together.
func (t *turn) message() llama.Message {
	m := t.Message
	var text strings.Builder
	for _, p := range t.parts {
		if p.Image != nil {
			m.Parts = t.parts
			return m
		}
		text.WriteString(p.Text)
	}
	if len(t.parts) > 0 {
		m.Content = text.String()
	}
	return m
}
