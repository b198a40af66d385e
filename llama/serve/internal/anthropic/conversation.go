package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Anthropic's messages become the history that chat templates know. A message of blocks may become several messages: results of calls are
// blocks of a user's message there, and messages of their own here. For example,
//
//	{"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "f", "input": {}}]}
//	{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "2"}, {"type": "text", "text": "And now?"}]}
//
// become an assistant's message with a call, a tool's message "2" and a user's message "And now?". Results must come first, one for each
// call.

// conversation is what system and messages say.
//
// Invariants while it is read: places[i] is the place of history[i] in the request; open are the calls that have no result yet, all of them
// of the latest assistant's message.
type conversation struct {
	history []llama.Message
	places  []string
	begun   string // the text of the assistant's last message, which the answer goes on with
	last    string // the place of the last message
	open    []llama.ToolCall
	called  map[string]bool // the ids of all calls so far
}

// conversation reads system and messages.
func (in *request) conversation() (c conversation, err error) {
	if in.Messages == nil {
		return c, wire.Invalid("messages", "messages is missing")
	}
	list, err := wire.List("messages", in.Messages)
	if err != nil {
		return c, err
	}
	if len(list) == 0 {
		return c, wire.Invalid("messages", "messages is empty; it must be a list of at least one message")
	}
	c.called = map[string]bool{}
	if in.System != nil {
		text, err := readTexts("system", in.System)
		if err != nil {
			return c, err
		}
		if text != "" {
			c.add("system", llama.Message{Role: llama.RoleSystem, Content: text})
		}
	}
	for i, raw := range list {
		c.last = fmt.Sprintf("messages[%d]", i)
		if err := c.readMessage(c.last, raw); err != nil {
			return c, err
		}
	}
	if err := c.checkCallsAnswered(c.last); err != nil {
		return c, err
	}
	if n := len(c.history) - 1; c.history[n].Role == llama.RoleAssistant {
		c.begun = c.history[n].Content
		c.history = c.history[:n]
	}
	return c, nil
}

// add adds a message to the history.
func (c *conversation) add(place string, m llama.Message) {
	c.history, c.places = append(c.history, m), append(c.places, place)
}

// addNames adds to names the places of the history's messages in the request.
func (c *conversation) addNames(names ask.FieldNames) {
	for i, place := range c.places {
		names[fmt.Sprintf("history[%d].Role", i)] = place + ".role"
	}
}

// checkCallsAnswered returns an error if calls have no result and something else comes, at a place.
func (c *conversation) checkCallsAnswered(at string) error {
	if len(c.open) == 0 {
		return nil
	}
	return wire.Invalid(at, "%s: the tool_use %.80q before it has no tool_result; results come first in the message after their calls", at, c.open[0].ID)
}

// readMessage reads one of messages.
func (c *conversation) readMessage(at string, raw json.RawMessage) error {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := wire.Object(at, raw, nil, &m); err != nil {
		return err
	}
	if m.Content == nil {
		return wire.Invalid(at+".content", "%s.content is missing", at)
	}
	switch m.Role {
	case "user":
		return c.readUser(at, m.Content)
	case "assistant":
		return c.readAssistant(at, m.Content)
	case "system":
		if err := c.checkCallsAnswered(at); err != nil {
			return err
		}
		text, err := readTexts(at+".content", m.Content)
		c.add(at, llama.Message{Role: llama.RoleSystem, Content: text})
		return err
	}
	return wire.Invalid(at+".role", `%s.role is %.40q; it must be "user", "assistant" or "system"`, at, m.Role)
}

// readUser reads a user's message: results of calls, each a message of its own in the history, and then text.
func (c *conversation) readUser(at string, content json.RawMessage) error {
	var text strings.Builder
	said, results := false, false
	err := eachBlock(at+".content", content, map[string]func(string, json.RawMessage) error{
		"text": func(at string, raw json.RawMessage) error {
			if err := c.checkCallsAnswered(at); err != nil {
				return err
			}
			part, err := readText(at, raw)
			text.WriteString(part)
			said = true
			return err
		},
		"tool_result": func(at string, raw json.RawMessage) error {
			results = true
			return c.readToolResult(at, raw)
		},
	})
	if err == nil && (said || !results) {
		err = c.checkCallsAnswered(at)
		c.add(at, llama.Message{Role: llama.RoleUser, Content: text.String()})
	}
	return err
}

// readAssistant reads an assistant's message: text and calls.
func (c *conversation) readAssistant(at string, content json.RawMessage) error {
	if err := c.checkCallsAnswered(at); err != nil {
		return err
	}
	m := llama.Message{Role: llama.RoleAssistant}
	err := eachBlock(at+".content", content, map[string]func(string, json.RawMessage) error{
		"text": func(at string, raw json.RawMessage) error {
			part, err := readText(at, raw)
			m.Content += part
			return err
		},
		"thinking": func(at string, raw json.RawMessage) error {
			part, err := readThought(at, raw)
			m.Thinking += part
			return err
		},
		"redacted_thinking": func(at string, raw json.RawMessage) error { // another model's
			_, err := readThought(at, raw)
			return err
		},
		"tool_use": func(at string, raw json.RawMessage) error {
			call, err := c.readToolUse(at, raw)
			m.ToolCalls = append(m.ToolCalls, call)
			return err
		},
	})
	c.open = slices.Clone(m.ToolCalls)
	c.add(at, m)
	return err
}

// readThought reads what the model thought before. Templates render the thoughts of earlier turns, or leave them out, as their authors want
// it.
func readThought(at string, raw json.RawMessage) (string, error) {
	var b struct {
		Thought string `json:"thinking"`
	}
	err := wire.Object(at, raw, wire.Rules{"type": wire.Ignored(), "signature": wire.Ignored(), "data": wire.Ignored(), "cache_control": wire.Ignored()}, &b)
	return b.Thought, err
}

// useRules are the members of a tool_use that are not read.
var useRules = wire.Rules{
	"cache_control": wire.Ignored(),
	"caller":        wire.Refused("the model alone calls functions", `{"type":"direct"}`),
	"toolset_name":  wire.Refused("there are no toolsets"),
}

// readToolUse reads a call.
func (c *conversation) readToolUse(at string, raw json.RawMessage) (call llama.ToolCall, err error) {
	var b struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if err := wire.Object(at, raw, useRules, &b); err != nil {
		return call, err
	}
	switch {
	case b.ID == "":
		return call, wire.Invalid(at+".id", "%s.id is missing", at)
	case c.called[b.ID]:
		return call, wire.Invalid(at+".id", "%s.id is %.80q, as that of a tool_use before it; each must have its own", at, b.ID)
	case b.Name == "":
		return call, wire.Invalid(at+".name", "%s.name is missing", at)
	case b.Input == nil || b.Input[0] != '{':
		return call, wire.Invalid(at+".input", "%s.input must be an object", at)
	}
	c.called[b.ID] = true
	return llama.ToolCall{ID: b.ID, Name: b.Name, Arguments: b.Input}, nil
}

// resultRules are the members of a tool_result that are not read.
var resultRules = wire.Rules{"cache_control": wire.Ignored(), "toolset_name": wire.Refused("there are no toolsets")}

// errorMark is what the result of a call that failed begins with: llama's messages have no other place for is_error.
const errorMark = "Error: "

// readToolResult reads the result of a call.
func (c *conversation) readToolResult(at string, raw json.RawMessage) error {
	var b struct {
		Type    string          `json:"type"`
		ID      string          `json:"tool_use_id"`
		Content json.RawMessage `json:"content"`
		IsError bool            `json:"is_error"`
	}
	if err := wire.Object(at, raw, resultRules, &b); err != nil {
		return err
	}
	i := slices.IndexFunc(c.open, func(call llama.ToolCall) bool { return call.ID == b.ID })
	if i < 0 {
		return wire.Invalid(at+".tool_use_id",
			"%s.tool_use_id is %.80q; it must be the id of a tool_use in the assistant's message before it, which has no result yet", at, b.ID)
	}
	m := llama.Message{Role: llama.RoleTool, Name: c.open[i].Name, ToolCallID: b.ID}
	c.open = slices.Delete(c.open, i, i+1)
	if b.Content != nil {
		text, err := readTexts(at+".content", b.Content)
		if err != nil {
			return err
		}
		m.Content = text
	}
	if b.IsError {
		m.Content = errorMark + m.Content
	}
	c.add(at, m)
	return nil
}

// readTexts reads a text: a string or a list of text blocks, which are put together.
func readTexts(at string, content json.RawMessage) (string, error) {
	var all strings.Builder
	err := eachBlock(at, content, map[string]func(string, json.RawMessage) error{
		"text": func(at string, raw json.RawMessage) error {
			part, err := readText(at, raw)
			all.WriteString(part)
			return err
		},
	})
	return all.String(), err
}

// eachBlock calls a function for each block of a content, by the block's type. A type without a function is an error that names it. A
// content that is a string is one text block.
func eachBlock(at string, content json.RawMessage, read map[string]func(at string, raw json.RawMessage) error) error {
	if content[0] == '"' {
		block, err := wire.Encode(map[string]json.RawMessage{"type": json.RawMessage(`"text"`), "text": content})
		if err != nil {
			return err
		}
		return read["text"](at, block)
	}
	list, err := wire.List(at, content)
	if err != nil {
		return err
	}
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		var kind struct{ Type any }
		if len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &kind) != nil {
			return wire.Invalid(at, "%s must be an object with a type", at)
		}
		word, _ := kind.Type.(string)
		one, ok := read[word]
		if !ok && word == "image" {
			return wire.Image(at, word)
		}
		if !ok {
			return wire.Unsupported(at, "%s is of the type %.40q, which is not supported here: it may be %s", at, word, listKeys(read))
		}
		if err := one(at, raw); err != nil {
			return err
		}
	}
	return nil
}

// listKeys returns the keys of a map in words.
func listKeys[V any](m map[string]V) string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, " or ")
}

// textRules are the members of a text block that are not read.
var textRules = wire.Rules{"cache_control": wire.Ignored(), "citations": wire.Refused("nothing is cited", "[]")}

// readText reads a text block.
func readText(at string, raw json.RawMessage) (string, error) {
	var b struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if err := wire.Object(at, raw, textRules, &b); err != nil {
		return "", err
	}
	if b.Text == nil {
		return "", wire.Invalid(at+".text", "%s.text is missing", at)
	}
	return *b.Text, nil
}
