package responses

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// Items become the history that chat templates know. Items that one turn of the model made become one message: a reasoning item gives its
// text to the assistant's message or call that follows. For example,
//
//	{"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm"}]}
//	{"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
//	{"type": "function_call_output", "call_id": "1", "output": "2"}
//
// become an assistant's message with the thought "Hm" and a call of f, and a tool's message "2".

// input is the conversation that a request brings: a text of the user's, or a list of items.
//
// Invariant: places has, for each message of history, the place in the request that it began at: "input[2]".
type input struct {
	history []llama.Message
	places  []string
	calls   []string // the ids of the calls so far
	thought string   // what the model thought before the assistant's next message or call
}

// ReadJSON reads either.
func (in *input) ReadJSON(at string, value json.RawMessage) error {
	switch value[0] {
	case '"':
		text, err := wire.String(at, value)
		in.add(at, llama.Message{Role: llama.RoleUser, Content: text})
		return err
	case '[':
	default:
		return mistyped(at, "a string or a list of items")
	}
	items, err := wire.List(at, value)
	if err != nil {
		return err
	}
	for i, item := range items {
		if err := in.read(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
			return err
		}
	}
	if len(in.history) == 0 {
		return wire.Invalid(at, "%s has no message; it must have at least one", at)
	}
	return nil
}

func (in *input) add(at string, m llama.Message) {
	if m.Role == llama.RoleAssistant {
		m.Thinking = in.thought
	}
	in.thought = ""
	in.history, in.places = append(in.history, m), append(in.places, at)
}

// read reads an item: by its type, or, without a type, as a message.
func (in *input) read(at string, item json.RawMessage) error {
	if item[0] != '{' {
		return mistyped(at, "an item, an object")
	}
	kind, err := typeOf(at, item)
	if err != nil {
		return err
	}
	switch kind {
	case "", "message":
		return in.readMessage(at, item)
	case "function_call":
		return in.readCall(at, item)
	case "function_call_output":
		return in.readResult(at, item)
	case "reasoning":
		return in.readReasoning(at, item)
	case "item_reference":
		return wire.Unsupported(at+".type",
			`%s.type: the item refers to another, and nothing is stored: send the item itself, as clients do that are told "store": false`, at)
	}
	return wire.Unsupported(at+".type", `%s.type is %.40q; it must be "message", "function_call" or "function_call_output"`, at, kind)
}

// typeOf returns an object's member "type", or "". It is the last one by this name that counts, and Read has seen that it is
// the only one.
func typeOf(at string, value json.RawMessage) (string, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(value, &members); err != nil {
		return "", mistyped(at, "an object")
	}
	kind := members["type"]
	if len(kind) == 0 || string(kind) == "null" {
		_, role := members["role"]
		if _, id := members["id"]; id && !role {
			return "item_reference", nil // the one item besides messages that may omit its type
		}
		return "", nil
	}
	return wire.String(at+".type", kind)
}

// roles are the roles of messages, and what the models call them: "developer" is OpenAI's newer word for the role "system".
var roles = map[string]string{
	"user": llama.RoleUser, "assistant": llama.RoleAssistant, "system": llama.RoleSystem, "developer": llama.RoleSystem,
}

func (in *input) readMessage(at string, item json.RawMessage) error {
	var m struct {
		Role    string  `json:"role" wire:"required"`
		Content content `json:"content" wire:"required"`
	}
	if err := wire.Object(at, item, wire.Rules{
		"type": wire.Ignored(), "id": wire.Ignored(), "status": wire.Ignored(),
		"phase": wire.Ignored(), // of a message's turn; templates have no place for it
	}, &m); err != nil {
		return err
	}
	role, ok := roles[m.Role]
	if !ok {
		return wire.Invalid(at+".role", `%s.role is %.40q; it must be "user", "assistant", "system" or "developer"`, at, m.Role)
	}
	if last := in.last(); role == llama.RoleAssistant && last != nil && len(last.ToolCalls) > 0 {
		last.Content += string(m.Content) // of the same answer, after a call
		return nil
	}
	in.add(at, llama.Message{Role: role, Content: string(m.Content)})
	return nil
}

// readCall reads a function_call. It belongs to the assistant's turn before it.
func (in *input) readCall(at string, item json.RawMessage) error {
	var c struct {
		ID        string `json:"call_id" wire:"required"`
		Name      string `json:"name" wire:"required"`
		Arguments string `json:"arguments" wire:"required"`
	}
	if err := wire.Object(at, item, wire.Rules{
		"type": wire.Ignored(), "id": wire.Ignored(), "status": wire.Ignored(),
		"parsed_arguments": wire.Ignored(), // what OpenAI's client for JavaScript makes of the arguments
		"namespace":        wire.Refused("functions have names alone"),
		"caller":           wire.Refused("calls are the model's"),
	}, &c); err != nil {
		return err
	}
	arguments := json.RawMessage(strings.TrimSpace(c.Arguments))
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	switch {
	case c.ID == "":
		return wire.Invalid(at+".call_id", "%s.call_id is empty", at)
	case c.Name == "":
		return wire.Invalid(at+".name", "%s.name is empty", at)
	case !bytes.HasPrefix(arguments, []byte("{")) || !json.Valid(arguments):
		return wire.Invalid(at+".arguments", "%s.arguments must be a string that holds a JSON object; a call that was cut off cannot be sent back", at)
	}
	in.calls = append(in.calls, c.ID)
	turn := in.last()
	if turn == nil || turn.Role != llama.RoleAssistant {
		in.add(at, llama.Message{Role: llama.RoleAssistant})
		turn = in.last()
	}
	turn.ToolCalls = append(turn.ToolCalls, llama.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments})
	return nil
}

// readResult reads a function_call_output.
func (in *input) readResult(at string, item json.RawMessage) error {
	var r struct {
		ID     string  `json:"call_id" wire:"required"`
		Name   string  `json:"name"`
		Output content `json:"output" wire:"required"`
	}
	if err := wire.Object(at, item, wire.Rules{
		"type": wire.Ignored(), "id": wire.Ignored(), "status": wire.Ignored(),
		"namespace": wire.Refused("functions have names alone"),
		"caller":    wire.Refused("calls are the model's"),
	}, &r); err != nil {
		return err
	}
	if !slices.Contains(in.calls, r.ID) {
		return wire.Invalid(at+".call_id",
			"%s.call_id is %.80q, and no function_call before it has that: nothing is stored, so the input must have the call, too", at, r.ID)
	}
	in.add(at, llama.Message{Role: llama.RoleTool, Content: string(r.Output), Name: r.Name, ToolCallID: r.ID})
	return nil
}

// readReasoning reads the model's thoughts before an answer. Templates render the thoughts of earlier turns, or leave them out, as their
// authors want it. A summary is read if the thought itself is missing; an encrypted thought is another model's.
func (in *input) readReasoning(at string, item json.RawMessage) error {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	var r struct {
		Content []text `json:"content"`
		Summary []text `json:"summary"`
	}
	if err := wire.Object(at, item, wire.Rules{
		"type": wire.Ignored(), "id": wire.Ignored(), "status": wire.Ignored(), "encrypted_content": wire.Ignored(),
	}, &r); err != nil {
		return err
	}
	list := r.Content
	if len(list) == 0 {
		list = r.Summary
	}
	for _, part := range list {
		in.thought += part.Text
	}
	return nil
}

// last returns the last message, or nil.
func (in *input) last() *llama.Message {
	if len(in.history) == 0 {
		return nil
	}
	return &in.history[len(in.history)-1]
}

// content is the text of a message or of a function's result: a string, or a list of parts. The parts' texts are put together.
type content string

// ReadJSON reads either.
func (c *content) ReadJSON(at string, value json.RawMessage) error {
	switch value[0] {
	case '"':
		text, err := wire.String(at, value)
		*c = content(text)
		return err
	case '[':
	default:
		return mistyped(at, "a string or a list of parts")
	}
	var parts []inputPart
	if err := wire.Decode(at, value, &parts); err != nil {
		return err
	}
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(string(p))
	}
	*c = content(all.String())
	return nil
}

// inputPart is the text of a part.
type inputPart string

// ReadJSON reads a part that is a text.
func (p *inputPart) ReadJSON(at string, value json.RawMessage) error {
	if value[0] != '{' {
		return mistyped(at, "a part, an object")
	}
	if kind, err := typeOf(at, value); err != nil {
		return err
	} else if kind == "input_image" {
		return wire.Image(at+".type", kind)
	} else if kind != "" && kind != "input_text" && kind != "output_text" {
		return wire.Unsupported(at+".type", `%s.type is %.40q; it must be "input_text" or "output_text": the models read nothing else`, at, kind)
	}
	var part struct {
		Type string `json:"type" wire:"required"`
		Text string `json:"text" wire:"required"`
	}
	if err := wire.Object(at, value, wire.Rules{
		"logprobs": wire.Ignored(), "prompt_cache_breakpoint": wire.Ignored(),
		"parsed":      wire.Ignored(), // what OpenAI's client for JavaScript makes of the text
		"annotations": wire.Refused("a text is all that the models see", "[]"),
	}, &part); err != nil {
		return err
	}
	*p = inputPart(part.Text)
	return nil
}

// mistyped says that a value is of the wrong type; want names the right one.
func mistyped(at, want string) error {
	return &wire.Error{Status: http.StatusBadRequest, Code: "invalid_type", Param: at, Message: fmt.Sprintf("%s must be %s", at, want)}
}
