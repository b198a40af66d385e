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
// become an assistant's message with a call, a tool's message "2" and a user's message "And now?". What the history has besides, such as the
// searches of Anthropic's own tools, is left out; see ask.Past.

// conversation is what system and messages say.
//
// Invariant while it is read: places[i] is the place of history[i] in the request.
type conversation struct {
	ask.Past
	history []llama.Message
	places  []string
	begun   string          // the text of the assistant's last message, which the answer goes on with
	last    string          // the place of the last message
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
		m := llama.Message{Role: llama.RoleSystem}
		if err := c.readContent("system", in.System, &m); err != nil {
			return c, err
		}
		if m.Content != "" || m.Parts != nil {
			c.add("system", m)
		}
	}
	for i, raw := range list {
		c.last = fmt.Sprintf("messages[%d]", i)
		if err := c.readMessage(c.last, raw); err != nil {
			return c, err
		}
	}
	if err := c.End(); err != nil {
		return c, err
	}
	n := len(c.history) - 1
	if m := &c.history[n]; m.Role == llama.RoleAssistant && len(m.ToolCalls) == 0 {
		c.begun = m.Content
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

// readMessage reads one of messages. A content that is missing is empty.
func (c *conversation) readMessage(at string, raw json.RawMessage) error {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := c.Object(at, raw, nil, &m); err != nil {
		return err
	}
	if m.Content == nil {
		m.Content = json.RawMessage("[]")
	}
	switch m.Role {
	case "user":
		return c.readUser(at, m.Content)
	case "assistant":
		return c.readAssistant(at, m.Content)
	case "system":
		turn := llama.Message{Role: llama.RoleSystem}
		err := c.readContent(at+".content", m.Content, &turn)
		c.add(at, turn)
		return err
	}
	return wire.Invalid(at+".role", `%s.role is %.40q; it must be "user", "assistant" or "system"`, at, m.Role)
}

// readUser reads a user's message: results of calls, each a message of its own in the history, and texts and images.
func (c *conversation) readUser(at string, content json.RawMessage) error {
	var all ask.Content
	said, results := false, false
	read := c.contentReaders(&all)
	for kind, one := range read {
		read[kind] = func(at string, raw json.RawMessage) error {
			said = true
			return one(at, raw)
		}
	}
	read["tool_result"] = func(at string, raw json.RawMessage) error {
		results = true
		return c.readToolResult(at, raw)
	}
	err := c.eachBlock(at+".content", content, read)
	if said || !results {
		m := llama.Message{Role: llama.RoleUser}
		all.AddTo(&m)
		c.add(at, m)
	}
	return err
}

// readAssistant reads an assistant's message: thoughts, text and calls.
func (c *conversation) readAssistant(at string, content json.RawMessage) error {
	c.Answer()
	m := llama.Message{Role: llama.RoleAssistant}
	err := c.eachBlock(at+".content", content, map[string]reader{
		"text": func(at string, raw json.RawMessage) error {
			part, err := c.readText(at, raw)
			m.Content += part
			return err
		},
		"thinking": func(at string, raw json.RawMessage) error {
			part, err := c.readThought(at, raw)
			m.Thinking += part
			return err
		},
		"redacted_thinking": func(at string, raw json.RawMessage) error { // another model's
			_, err := c.readThought(at, raw)
			return err
		},
		"tool_use": func(at string, raw json.RawMessage) error {
			call, ok, err := c.readToolUse(at, raw)
			if ok {
				m.ToolCalls = append(m.ToolCalls, call)
			}
			return err
		},
	})
	c.add(at, m)
	return err
}

// readThought reads what the model thought before. Templates render the thoughts of earlier turns, or leave them out, as their authors want
// it.
func (c *conversation) readThought(at string, raw json.RawMessage) (string, error) {
	var b struct {
		Thought string `json:"thinking"`
	}
	err := c.Object(at, raw, wire.Rules{"type": wire.Ignored(), "signature": wire.Ignored(), "data": wire.Ignored(), "cache_control": wire.Ignored()}, &b)
	return b.Thought, err
}

// useRules are the members of a tool_use that are not read.
var useRules = wire.Rules{
	"type": wire.Ignored(), "cache_control": wire.Ignored(),
	"caller":       wire.Refused("the model alone calls functions", `{"type":"direct"}`),
	"toolset_name": wire.Refused("there are no toolsets"),
}

// readToolUse reads a call. ok is false if it is left out.
func (c *conversation) readToolUse(at string, raw json.RawMessage) (call llama.ToolCall, ok bool, err error) {
	var b struct {
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input"`
	}
	if err := c.Object(at, raw, useRules, &b); err != nil {
		return call, false, err
	}
	switch {
	case b.ID == "":
		return call, false, wire.Invalid(at+".id", "%s.id is missing", at)
	case c.called[b.ID]:
		return call, false, wire.Invalid(at+".id", "%s.id is %.80q, as that of a tool_use before it; each must have its own", at, b.ID)
	case b.Name == "":
		return call, false, wire.Invalid(at+".name", "%s.name is missing", at)
	}
	c.called[b.ID] = true
	return c.Call(at+".input", b.ID, b.Name, b.Input), true, nil
}

// resultRules are the members of a tool_result that are not read.
var resultRules = wire.Rules{"type": wire.Ignored(), "cache_control": wire.Ignored(), "toolset_name": wire.Refused("there are no toolsets")}

// errorMark is what the result of a call that failed begins with: llama's messages have no other place for is_error.
const errorMark = "Error: "

// readToolResult reads the result of a call.
func (c *conversation) readToolResult(at string, raw json.RawMessage) error {
	var b struct {
		ID      string          `json:"tool_use_id"`
		Content json.RawMessage `json:"content"`
		IsError bool            `json:"is_error"`
	}
	if err := c.Object(at, raw, resultRules, &b); err != nil {
		return err
	}
	if !c.called[b.ID] {
		return wire.Invalid(at+".tool_use_id", "%s.tool_use_id is %.80q; it must be the id of a tool_use before it", at, b.ID)
	}
	m := llama.Message{Role: llama.RoleTool}
	m.ToolCallID, m.Name, _ = c.Result(at, b.ID, "")
	if b.Content != nil {
		if err := c.readContent(at+".content", b.Content, &m); err != nil {
			return err
		}
	}
	switch {
	case b.IsError && m.Parts != nil:
		m.Parts = append([]llama.Part{{Text: errorMark}}, m.Parts...)
	case b.IsError:
		m.Content = errorMark + m.Content
	}
	c.add(at, m)
	return nil
}

// readContent adds a content to a message: a string, or a list of blocks that have texts or are images.
func (c *conversation) readContent(at string, content json.RawMessage, m *llama.Message) error {
	var all ask.Content
	err := c.eachBlock(at, content, c.contentReaders(&all))
	all.AddTo(m)
	return err
}

// readTexts reads a text: a string or a list of blocks that have texts, which are put together.
func (c *conversation) readTexts(at string, content json.RawMessage) (string, error) {
	var all ask.Content
	read := c.contentReaders(&all)
	delete(read, "image")
	err := c.eachBlock(at, content, read)
	return all.String(), err
}

// contentReaders returns the readers that add blocks of each type to a content.
func (c *conversation) contentReaders(all *ask.Content) map[string]reader {
	add := func(read func(string, json.RawMessage) (string, error)) reader {
		return func(at string, raw json.RawMessage) error {
			part, err := read(at, raw)
			all.WriteString(part)
			return err
		}
	}
	return map[string]reader{"text": add(c.readText), "document": add(c.readDocument), "search_result": add(c.readSearchResult),
		"image": func(at string, raw json.RawMessage) error {
			all.Image(c.Picture(at, raw))
			return nil
		}}
}

// reader reads the block at a place.
type reader func(at string, raw json.RawMessage) error

// eachBlock calls a function for each block of a content, by the block's type. A block of a type without a function is left out. A content that is a string is one text block.
func (c *conversation) eachBlock(at string, content json.RawMessage, read map[string]reader) error {
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
		word := ask.ToolKind(raw)
		one, ok := read[word]
		switch {
		case word == "":
			return wire.Invalid(at, "%s must be an object with a type", at)
		case ok:
			err = one(at, raw)
		default:
			c.Leave(at, fmt.Sprintf("blocks of the type %.40q are not supported here", word))
		}
		if err != nil {
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
var textRules = wire.Rules{"type": wire.Ignored(), "cache_control": wire.Ignored(), "citations": wire.Refused("nothing is cited", "[]")}

// readText reads a text block.
func (c *conversation) readText(at string, raw json.RawMessage) (string, error) {
	var b struct {
		Text *string `json:"text"`
	}
	if err := c.Object(at, raw, textRules, &b); err != nil {
		return "", err
	}
	if b.Text == nil {
		return "", wire.Invalid(at+".text", "%s.text is missing", at)
	}
	return *b.Text, nil
}

// sourceRules are the members of documents and search results that are not read: whether the answer is to cite them, above all.
var sourceRules = wire.Rules{"type": wire.Ignored(), "cache_control": wire.Ignored(), "citations": wire.Refused("nothing is cited", `{"enabled":false}`, "{}")}

// readDocument reads a document that has a text or texts as its source, with its title and context before it. Other documents are no texts.
func (c *conversation) readDocument(at string, raw json.RawMessage) (string, error) {
	var b struct {
		Title   string          `json:"title"`
		Context string          `json:"context"`
		Source  json.RawMessage `json:"source"`
	}
	if err := c.Object(at, raw, sourceRules, &b); err != nil {
		return "", err
	}
	var source struct {
		Data    string          `json:"data"`
		Content json.RawMessage `json:"content"`
	}
	kind := ask.ToolKind(b.Source)
	if kind != "text" && kind != "content" {
		c.Unseen(wire.Unsupported(at, "%s is a document with a source of the type %.40q; the models take texts and images: send the source as \"text\"", at, kind))
		return "", nil
	}
	if err := c.Object(at+".source", b.Source, wire.Rules{"type": wire.Ignored(), "media_type": wire.Ignored()}, &source); err != nil {
		return "", err
	}
	text := source.Data
	if kind == "content" && source.Content != nil {
		var err error
		if text, err = c.readTexts(at+".source.content", source.Content); err != nil {
			return "", err
		}
	}
	return paragraphs(b.Title, b.Context, text), nil
}

// readSearchResult reads what a search of the client's found.
func (c *conversation) readSearchResult(at string, raw json.RawMessage) (string, error) {
	var b struct {
		Source  string          `json:"source"`
		Title   string          `json:"title"`
		Content json.RawMessage `json:"content"`
	}
	if err := c.Object(at, raw, sourceRules, &b); err != nil {
		return "", err
	}
	text := ""
	if b.Content != nil {
		var err error
		if text, err = c.readTexts(at+".content", b.Content); err != nil {
			return "", err
		}
	}
	return paragraphs(b.Title, b.Source, text), nil
}

// paragraphs returns texts one below the other, with a line between them and behind the last.
func paragraphs(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, "\n") + "\n\n"
}
