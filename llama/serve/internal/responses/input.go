package responses

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
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

// What an item has besides, and items of tools that a server runs, are left out; see ask.Past.

// input is the conversation that a request brings: a text of the user's, or a list of items.
//
// Invariant: places has, for each message of history, the place in the request that it began at: "input[2]".
type input struct {
	ask.Past
	history []llama.Message
	places  []string
	calls   map[string]bool // the ids of the calls so far
	thought string          // what the model thought before the assistant's next message or call
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
	in.calls = map[string]bool{}
	for i, item := range items {
		if err := in.read(fmt.Sprintf("%s[%d]", at, i), item); err != nil {
			return err
		}
	}
	if err := in.End(); err != nil {
		return err
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
	case "function_call", "custom_tool_call":
		return in.readCall(at, item)
	case "function_call_output", "custom_tool_call_output":
		return in.readResult(at, item)
	case "reasoning":
		return in.readReasoning(at, item)
	case "item_reference":
		return wire.Unsupported(at+".type",
			`%s.type: the item refers to another, and nothing is stored: send the item itself, as clients do that are told "store": false`, at)
	}
	var other struct {
		ID string `json:"call_id"`
	}
	_ = json.Unmarshal(item, &other) // an item without a call's id has no result
	in.Lose(at, other.ID, fmt.Sprintf("items of the type %.40q are not supported here", kind))
	return nil
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

// itemRules are the members of items that are not read.
var itemRules = wire.Rules{"type": wire.Ignored(), "id": wire.Ignored(), "status": wire.Ignored()}

// messageRules and callRules are those of messages and of calls. A phase is of a message's turn: templates have no place for it. Parsed
// arguments are what OpenAI's client for JavaScript makes of the arguments.
var (
	messageRules = itemRules.With(wire.Rules{"phase": wire.Ignored()})
	callRules    = itemRules.With(wire.Rules{
		"parsed_arguments": wire.Ignored(),
		"namespace":        wire.Refused("functions have names alone"),
		"caller":           wire.Refused("calls are the model's"),
	})
)

// readMessage reads a message. A content that is missing is empty.
func (in *input) readMessage(at string, item json.RawMessage) error {
	var m struct {
		Role    string          `json:"role" wire:"required"`
		Content json.RawMessage `json:"content"`
	}
	if err := in.Object(at, item, messageRules, &m); err != nil {
		return err
	}
	role, ok := roles[m.Role]
	if !ok {
		return wire.Invalid(at+".role", `%s.role is %.40q; it must be "user", "assistant", "system" or "developer"`, at, m.Role)
	}
	last := in.last()
	goesOn := role == llama.RoleAssistant && last != nil && len(last.ToolCalls) > 0 // the same answer, after a call
	if role == llama.RoleAssistant && !goesOn {
		in.Answer()
	}
	content, err := in.readContent(at+".content", m.Content)
	if err != nil {
		return err
	}
	if goesOn {
		content.AddTo(last)
		return nil
	}
	in.add(at, llama.Message{Role: role})
	content.AddTo(in.last())
	return nil
}

// readCall reads a call of a function, or of a custom tool: what the tool was given, a text, is the argument "input". The call belongs to the
// assistant's turn before it.
func (in *input) readCall(at string, item json.RawMessage) error {
	var c struct {
		ID        string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Input     *string         `json:"input"`
	}
	if err := in.Object(at, item, callRules, &c); err != nil {
		return err
	}
	switch {
	case c.ID == "":
		return wire.Missing(at+".call_id", "the id that the call's result refers to")
	case c.Name == "":
		return wire.Missing(at+".name", "the name of a function")
	case c.Arguments == nil && c.Input != nil:
		var err error
		if c.Arguments, err = ask.CustomArguments(*c.Input); err != nil {
			return err
		}
	}
	in.calls[c.ID] = true
	turn := in.last()
	if turn == nil || turn.Role != llama.RoleAssistant {
		in.Answer()
		in.add(at, llama.Message{Role: llama.RoleAssistant})
		turn = in.last()
	}
	turn.ToolCalls = append(turn.ToolCalls, in.Call(at+".arguments", c.ID, c.Name, c.Arguments))
	return nil
}

// readResult reads the result of a call. An output that is missing is empty.
func (in *input) readResult(at string, item json.RawMessage) error {
	var r struct {
		ID     string          `json:"call_id"` // "": the first call without a result, of the function Name if that is given
		Name   string          `json:"name"`
		Output json.RawMessage `json:"output"`
	}
	if err := in.Object(at, item, callRules, &r); err != nil {
		return err
	}
	id, _, ok := in.Result(at, r.ID, r.Name)
	switch {
	case !ok:
		return nil
	case !in.calls[id]:
		return wire.Invalid(at+".call_id",
			"%s.call_id is %.80q, and no function_call before it has that: nothing is stored, so the input must have the call, too", at, r.ID)
	}
	content, err := in.readContent(at+".output", r.Output)
	in.add(at, llama.Message{Role: llama.RoleTool, Name: r.Name, ToolCallID: id})
	content.AddTo(in.last())
	return err
}

// readReasoning reads the model's thoughts before an answer. Templates render the thoughts of earlier turns, or leave them out, as their
// authors want it. A summary is read if the thought itself is missing; an encrypted thought is another model's.
func (in *input) readReasoning(at string, item json.RawMessage) error {
	var r struct {
		Content json.RawMessage `json:"content"`
		Summary json.RawMessage `json:"summary"`
	}
	if err := in.Object(at, item, itemRules.With(wire.Rules{"encrypted_content": wire.Ignored()}), &r); err != nil {
		return err
	}
	thought, err := in.readContent(at+".content", r.Content)
	if err != nil {
		return err
	}
	summary, err := in.readContent(at+".summary", r.Summary)
	in.thought += cmp.Or(thought.String(), summary.String())
	return err
}

// last returns the last message, or nil.
func (in *input) last() *llama.Message {
	if len(in.history) == 0 {
		return nil
	}
	return &in.history[len(in.history)-1]
}

// readContent reads the content of a message, a thought or a function's result: a string, or a list of parts.
func (in *input) readContent(at string, value json.RawMessage) (all ask.Content, err error) {
	switch {
	case len(value) == 0:
		return all, nil
	case value[0] == '"':
		text, err := wire.String(at, value)
		all.WriteString(text)
		return all, err
	case value[0] != '[':
		return all, mistyped(at, "a string or a list of parts")
	}
	parts, err := wire.List(at, value)
	if err != nil {
		return all, err
	}
	for i, raw := range parts {
		if err := in.readPart(fmt.Sprintf("%s[%d]", at, i), raw, &all); err != nil {
			return all, err
		}
	}
	return all, nil
}

// parts are the types of parts that are texts, and the member that has the text.
var parts = map[string]string{"input_text": "text", "output_text": "text", "text": "text", "reasoning_text": "text", "summary_text": "text", "refusal": "refusal"}

// media are the types of parts that are no texts. Those that are pictures are true; others no model here sees or hears.
var media = map[string]bool{"input_image": true, "computer_screenshot": true, "input_file": false, "input_audio": false}

// partRules are the members of parts that are not read. "parsed" is what OpenAI's client for JavaScript makes of the text.
var partRules = wire.Rules{
	"logprobs": wire.Ignored(), "prompt_cache_breakpoint": wire.Ignored(), "parsed": wire.Ignored(),
	"annotations": wire.Refused("a text is all that the models read of it", "[]"),
}

// readPart adds a part to a content. Other parts than texts and images are left out.
func (in *input) readPart(at string, value json.RawMessage, all *ask.Content) error {
	if value[0] != '{' {
		return mistyped(at, "a part, an object")
	}
	kind, err := typeOf(at, value)
	if err != nil {
		return err
	}
	member, known := parts[kind]
	picture, unread := media[kind]
	switch {
	case picture:
		all.Image(in.Picture(at, value))
		return nil
	case unread:
		in.Unseen(wire.Unsupported(at+".type", `%s.type is %.40q; it must be "input_text", "output_text" or "input_image": the models take nothing else`, at, kind))
		return nil
	case !known && kind != "":
		in.Leave(at, fmt.Sprintf("parts of the type %.40q are not supported here", kind))
		return nil
	}
	var part struct {
		Type    string  `json:"type" wire:"required"`
		Text    *string `json:"text"`
		Refusal *string `json:"refusal"`
	}
	if err := in.Object(at, value, partRules, &part); err != nil {
		return err
	}
	text := part.Text
	if member == "refusal" {
		text = part.Refusal
	}
	if text == nil {
		return wire.Missing(at+"."+member, "a string")
	}
	all.WriteString(*text)
	return nil
}

// mistyped says that a value is of the wrong type; want names the right one.
func mistyped(at, want string) error {
	return &wire.Error{Status: http.StatusBadRequest, Code: "invalid_type", Param: at, Message: fmt.Sprintf("%s must be %s", at, want)}
}
