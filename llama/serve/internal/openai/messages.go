package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Conversation is the messages of a request: a history, in which other programs' members and calls come back. See ask.Past.
type Conversation struct {
	History []llama.Message
	Places  []string      // of the messages of History, in the request
	LeftOut []ask.LeftOut // what of the messages is left out
	Past    ask.Past      // has the images of History
}

// AddNames adds to names the places of the history's messages.
func (c *Conversation) AddNames(names ask.FieldNames) {
	for i, at := range c.Places {
		names[place("history", i)+"."] = at + "."
	}
}

// ReadJSON reads a list of at least one message.
func (c *Conversation) ReadJSON(at string, value json.RawMessage) error {
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return wire.Invalid(at, "%s is empty; it must be a list of at least one message", at)
	}
	past := &c.Past
	for i, raw := range list {
		turn, ok, err := readMessage(past, place(at, i), raw)
		if err != nil {
			return err
		}
		if ok {
			c.History, c.Places = append(c.History, turn), append(c.Places, place(at, i))
		}
	}
	c.LeftOut = past.LeftOut
	if len(c.History) == 0 {
		return wire.Invalid(at, "%s has no message that is not left out", at)
	}
	return past.End()
}

// message is a message of a conversation, as a request has it. The roles are OpenAI's, "developer" being another word for "system", and those
// that the model's chat template knows besides.
type message struct {
	Role         string          `json:"role" wire:"required"`
	Content      json.RawMessage `json:"content"`
	Refusal      string          `json:"refusal"` // the content of an assistant that refused
	Name         string          `json:"name"`    // for the model, if its chat template has a place for names
	ToolCalls    json.RawMessage `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"` // a call, as OpenAI's interface had it before tool_calls
	ToolCallID   string          `json:"tool_call_id"`
	Thought      thought         `json:"reasoning_content"` // what the turn thought; the template renders it or drops it
	Reasoning    thought         `json:"reasoning"`         // Thought, as OpenRouter and vLLM call it
	Images       json.RawMessage `json:"images"`            // as Ollama's programs send them
}

// messageRules are those of the members that an answer's message has, and that come back with the conversation. "parsed" is what OpenAI's own client
// for JavaScript makes of a content.
var messageRules = wire.Rules{
	"audio":         wire.Refused("messages are texts and images"),
	"annotations":   wire.Refused("messages are text", "[]"),
	"parsed":        wire.Ignored(),
	"cache_control": wire.Ignored(),
	// What another model thought, in forms that this one does not read.
	"reasoning_text": wire.Ignored(), "reasoning_details": wire.Ignored(), "reasoning_opaque": wire.Ignored(),
}

// readMessage reads the message at a place. ok is false if it is left out.
func readMessage(past *ask.Past, at string, raw json.RawMessage) (turn llama.Message, ok bool, err error) {
	var m message
	if err := past.Object(at, raw, messageRules, &m); err != nil {
		return turn, false, err
	}
	turn = llama.Message{Role: m.Role, Name: m.Name}
	switch m.Role {
	case "developer":
		turn.Role = llama.RoleSystem
	case "function": // OpenAI's earlier word
		turn.Role = llama.RoleTool
	}
	assistant, tool := turn.Role == llama.RoleAssistant, turn.Role == llama.RoleTool
	if assistant {
		past.Answer()
		turn.Thinking = cmp.Or(string(m.Thought), string(m.Reasoning))
	}
	if turn, err = m.readContent(past, at, turn); err != nil {
		return turn, false, err
	}
	if assistant {
		turn.Content = cmp.Or(turn.Content, m.Refusal)
	}
	switch list, err := m.calls(past, at); {
	case err != nil:
		return turn, false, err
	case !assistant && len(list) > 0:
		return turn, false, wire.Invalid(at+".tool_calls", `%s.tool_calls stands in a message of the role %.40q; only "assistant" calls`, at, m.Role)
	default:
		turn.ToolCalls = list
	}
	switch {
	case tool:
		turn.ToolCallID, _, ok = past.Result(at, m.ToolCallID, functionOf(&m))
		return turn, ok, nil
	case m.ToolCallID != "":
		past.Leave(at+".tool_call_id", `it belongs to the role "tool"`)
	}
	return turn, true, nil
}

// functionOf returns the name of the function that a message is the result of, if it says that instead of a call's id.
func functionOf(m *message) string {
	if m.Role == "function" {
		return m.Name
	}
	return ""
}

// readContent adds a message's content to a turn: a text, or a list of parts: their texts follow each other without anything between them. A
// missing content is empty.
func (m *message) readContent(past *ask.Past, at string, turn llama.Message) (llama.Message, error) {
	var content ask.Content
	if err := past.Base64List(at+".images", m.Images, &content); err != nil {
		return turn, err
	}
	at += ".content"
	switch {
	case len(m.Content) == 0:
		content.AddTo(&turn)
		return turn, nil
	case m.Content[0] == '"':
		text, err := wire.String(at, m.Content)
		content.WriteString(text)
		content.AddTo(&turn)
		return turn, err
	case m.Content[0] != '[':
		return turn, wire.Invalid(at, "%s must be a text or a list of parts", at)
	}
	list, err := wire.List(at, m.Content)
	if err != nil {
		return turn, err
	}
	var thought strings.Builder
	for i, raw := range list {
		if err := readPart(past, place(at, i), raw, &content, &thought); err != nil {
			return turn, err
		}
	}
	content.AddTo(&turn)
	if turn.Role == llama.RoleAssistant {
		turn.Thinking += thought.String()
	}
	return turn, nil
}

// media are the types of parts that are no texts. Those that are pictures are true; others no model here sees or hears.
var media = map[string]bool{"image_url": true, "input_image": true, "image": true, "input_audio": false, "audio_url": false, "audio": false,
	"file": false, "input_file": false, "document": false, "video_url": false, "input_video": false, "video": false}

// partRules are the members of parts that are not read.
var partRules = wire.Rules{"prompt_cache_breakpoint": wire.Ignored(), "cache_control": wire.Ignored(), "annotations": wire.Refused("messages are text", "[]"), "logprobs": wire.Ignored()}

// readPart adds a part to a content, or a thought of Mistral's interface to the thought. Other parts than texts and images are left out.
func readPart(past *ask.Past, at string, raw json.RawMessage, content *ask.Content, thought *strings.Builder) error {
	var part struct {
		Type     string          `json:"type" wire:"required"`
		Text     *string         `json:"text"`
		Refusal  *string         `json:"refusal"`
		Thinking json.RawMessage `json:"thinking"`
	}
	kind := ask.ToolKind(raw)
	picture, unseen := media[kind]
	switch {
	case picture:
		content.Image(past.Picture(at, raw))
		return nil
	case unseen:
		past.Unseen(wire.Unsupported(at+".type", `%s.type is %.40q; it must be "text" or "image_url": the models take nothing else`, at, kind))
		return nil
	case kind != "" && kind != "text" && kind != "input_text" && kind != "output_text" && kind != "refusal" && kind != "thinking":
		past.Leave(at, "the models take parts that are texts or images")
		return nil
	}
	if err := past.Object(at, raw, partRules, &part); err != nil {
		return err
	}
	switch {
	case kind == "refusal" && part.Refusal != nil:
		content.WriteString(*part.Refusal)
	case kind == "thinking":
		return readThinking(past, at+".thinking", part.Thinking, thought)
	case part.Text == nil:
		return wire.Missing(at+".text", "a string")
	default:
		content.WriteString(*part.Text)
	}
	return nil
}

// readThinking adds a thought, a text or a list of parts, to a text.
func readThinking(past *ask.Past, at string, value json.RawMessage, text *strings.Builder) error {
	if len(value) == 0 || value[0] == '"' {
		var all string
		_ = json.Unmarshal(value, &all) // a string, or nothing
		text.WriteString(all)
		return nil
	}
	list, err := wire.List(at, value)
	if err != nil {
		return err
	}
	var content ask.Content
	for i, raw := range list {
		if err := readPart(past, place(at, i), raw, &content, new(strings.Builder)); err != nil {
			return err
		}
	}
	text.WriteString(content.String())
	return nil
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

// functionCall is what a call is of.
type functionCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"` // see ask.Arguments
	Input     *string         `json:"input"`     // of a custom tool, in place of Arguments
}

// callRules are the members of calls that are not read: what streams have, and what OpenAI's own client for JavaScript makes of the arguments.
var callRules = wire.Rules{"index": wire.Ignored(), "parsed_arguments": wire.Ignored()}

// calls returns the calls of a message.
func (m *message) calls(past *ask.Past, at string) (list []llama.ToolCall, err error) {
	var raws []json.RawMessage
	if m.ToolCalls != nil {
		if raws, err = wire.List(at+".tool_calls", m.ToolCalls); err != nil {
			return nil, err
		}
	}
	for i, raw := range raws {
		in := place(at+".tool_calls", i)
		var c struct {
			ID       string          `json:"id"`
			Type     string          `json:"type"`
			Function json.RawMessage `json:"function"`
			Custom   json.RawMessage `json:"custom"`
		}
		if err := past.Object(in, raw, callRules, &c); err != nil {
			return nil, err
		}
		what, of := "function", c.Function
		if of == nil && c.Custom != nil {
			what, of = "custom", c.Custom
		}
		if of == nil {
			past.Lose(in, c.ID, "it is no call of a function")
			continue
		}
		if list, err = addCall(past, list, in+"."+what, c.ID, of); err != nil {
			return nil, err
		}
	}
	if m.FunctionCall != nil {
		return addCall(past, list, at+".function_call", "", m.FunctionCall)
	}
	return list, nil
}

// addCall adds the call that an object at a place describes to a list. What a custom tool was given is its argument "input".
func addCall(past *ask.Past, list []llama.ToolCall, at, id string, object json.RawMessage) ([]llama.ToolCall, error) {
	var f functionCall
	if err := past.Object(at, object, callRules, &f); err != nil {
		return nil, err
	}
	if f.Name == "" {
		past.Lose(at, id, "it has no name")
		return list, nil
	}
	arguments := f.Arguments
	if arguments == nil && f.Input != nil {
		var err error
		if arguments, err = ask.CustomArguments(*f.Input); err != nil {
			return nil, err
		}
	}
	return append(list, past.Call(at+".arguments", id, f.Name, arguments)), nil
}
