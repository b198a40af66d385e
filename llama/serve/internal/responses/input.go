package responses

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// input is the conversation that a request brings: a text of the user's, or a list of items.
//
// Invariant: places has, for each message of history, the place in the input that it began with: "[2]"; "" for the text.
type input struct {
	history []llama.Message
	places  []string
	calls   []string // the ids of the calls so far
}

// UnmarshalJSON reads either.
func (in *input) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		in.add("", llama.Message{Role: llama.RoleUser, Content: text})
		return nil
	}
	var items []json.RawMessage
	if err := unmarshal(data, &items, "it must be a string or a list of items"); err != nil {
		return err
	}
	if len(items) == 0 {
		return wire.Bad("", "it is empty; it must have at least one item")
	}
	for i, item := range items {
		place := fmt.Sprintf("[%d]", i)
		if err := in.read(item, place); err != nil {
			return within(place, err)
		}
	}
	if len(in.history) == 0 {
		return wire.Bad("", "it has no message")
	}
	return nil
}

func (in *input) add(place string, m llama.Message) {
	in.history, in.places = append(in.history, m), append(in.places, place)
}

// read reads an item: by its type, or, where it has none, as a message.
func (in *input) read(item json.RawMessage, place string) error {
	var head struct {
		Type *string         `json:"type"`
		Role json.RawMessage `json:"role"`
		ID   json.RawMessage `json:"id"`
	}
	if err := unmarshal(item, &head, "it must be an object with a type"); err != nil {
		return err
	}
	kind := "message"
	switch {
	case head.Type != nil:
		kind = *head.Type
	case head.Role == nil && head.ID != nil:
		kind = "item_reference" // the one other item whose type may be left out
	}
	switch kind {
	case "message":
		return in.readMessage(item, place)
	case "function_call":
		return in.readCall(item, place)
	case "function_call_output":
		return in.readResult(item, place)
	case "reasoning":
		return readReasoning(item)
	case "item_reference":
		return wire.Unsupported("type", "it refers to an item, and nothing is stored: send the item itself")
	}
	return wire.Unsupported("type", `it is %.40q; it must be "message", "function_call" or "function_call_output"`, kind)
}

// roles are the roles of messages, and what the models call them: "developer" is OpenAI's newer word for the role "system".
var roles = map[string]string{
	"user": llama.RoleUser, "assistant": llama.RoleAssistant, "system": llama.RoleSystem, "developer": llama.RoleSystem,
}

func (in *input) readMessage(item json.RawMessage, place string) error {
	var m struct {
		Role    string   `json:"role"`
		Content *content `json:"content"`
	}
	if err := wire.Object("", item, wire.Rules{
		"type": wire.Harmless(), "id": wire.Harmless(), "status": wire.Harmless(),
		"phase": wire.Refused("the models' messages have no phases"),
	}, &m); err != nil {
		return err
	}
	role, ok := roles[m.Role]
	switch {
	case !ok:
		return wire.Bad("role", `it is %.40q; it must be "user", "assistant", "system" or "developer"`, m.Role)
	case m.Content == nil:
		return wire.Bad("content", "it is missing")
	}
	if last := in.last(); role == llama.RoleAssistant && last != nil && len(last.ToolCalls) > 0 {
		last.Content += string(*m.Content) // of the same answer, after a call
		return nil
	}
	in.add(place, llama.Message{Role: role, Content: string(*m.Content)})
	return nil
}

// readCall reads a function_call. It belongs to the assistant's turn before it.
func (in *input) readCall(item json.RawMessage, place string) error {
	var c struct {
		ID        string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	if err := wire.Object("", item, wire.Rules{
		"type": wire.Harmless(), "id": wire.Harmless(), "status": wire.Harmless(),
		"parsed_arguments": wire.Harmless(), // what OpenAI's client for JavaScript makes of the arguments
		"namespace":        wire.Refused("functions have names alone"),
		"caller":           wire.Refused("calls are the model's"),
	}, &c); err != nil {
		return err
	}
	arguments := json.RawMessage(c.Arguments)
	if c.Arguments == "" {
		arguments = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	switch {
	case c.ID == "":
		return wire.Bad("call_id", "it is missing")
	case c.Name == "":
		return wire.Bad("name", "it is missing")
	case json.Unmarshal(arguments, &object) != nil || object == nil:
		return wire.Bad("arguments", "they must be a string that holds a JSON object")
	}
	in.calls = append(in.calls, c.ID)
	turn := in.last()
	if turn == nil || turn.Role != llama.RoleAssistant {
		in.add(place, llama.Message{Role: llama.RoleAssistant})
		turn = in.last()
	}
	turn.ToolCalls = append(turn.ToolCalls, llama.ToolCall{ID: c.ID, Name: c.Name, Arguments: arguments})
	return nil
}

// readResult reads a function_call_output.
func (in *input) readResult(item json.RawMessage, place string) error {
	var r struct {
		ID     string   `json:"call_id"`
		Name   string   `json:"name"`
		Output *content `json:"output"`
	}
	if err := wire.Object("", item, wire.Rules{
		"type": wire.Harmless(), "id": wire.Harmless(), "status": wire.Harmless(),
		"namespace": wire.Refused("functions have names alone"),
		"caller":    wire.Refused("calls are the model's"),
	}, &r); err != nil {
		return err
	}
	switch {
	case !slices.Contains(in.calls, r.ID):
		return wire.Bad("call_id", "it is %.80q, and no function_call before it has this call_id: nothing is stored, so the input must have the call, too", r.ID)
	case r.Output == nil:
		return wire.Bad("output", "it is missing")
	}
	in.add(place, llama.Message{Role: llama.RoleTool, Content: string(*r.Output), Name: r.Name, ToolCallID: r.ID})
	return nil
}

// readReasoning passes over what a model thought aside, if that is nothing: the models here do not.
func readReasoning(item json.RawMessage) error {
	const why = "the models do not think aside"
	return wire.Object("", item, wire.Rules{
		"type": wire.Harmless(), "id": wire.Harmless(), "status": wire.Harmless(),
		"summary": wire.Refused(why, "[]"), "content": wire.Refused(why, "[]"), "encrypted_content": wire.Refused(why, `""`),
	}, &struct{}{})
}

// last returns the last message, nil if there is none.
func (in *input) last() *llama.Message {
	if len(in.history) == 0 {
		return nil
	}
	return &in.history[len(in.history)-1]
}

// content is the text of a message or of a function's result: a string, or a list of parts, whose texts are put together.
type content string

// UnmarshalJSON reads either.
func (c *content) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(c))
	}
	var parts []json.RawMessage
	if err := unmarshal(data, &parts, "it must be a string or a list of parts"); err != nil {
		return err
	}
	var all strings.Builder
	for i, part := range parts {
		text, err := readPart(part)
		if err != nil {
			return within(fmt.Sprintf("[%d]", i), err)
		}
		all.WriteString(text)
	}
	*c = content(all.String())
	return nil
}

// readPart returns the text of a part.
func readPart(data json.RawMessage) (string, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := unmarshal(data, &head, "it must be an object with a type"); err != nil {
		return "", err
	}
	if head.Type != "input_text" && head.Type != "output_text" {
		return "", wire.Unsupported("type", `it is %.40q; it must be "input_text" or "output_text"`, head.Type)
	}
	var part struct {
		Text *string `json:"text"`
	}
	if err := wire.Object("", data, wire.Rules{
		"type": wire.Harmless(), "logprobs": wire.Harmless(), "prompt_cache_breakpoint": wire.Harmless(),
		"parsed":      wire.Harmless(), // what OpenAI's client for JavaScript makes of the text
		"annotations": wire.Refused("a text is all that the models see", "[]"),
	}, &part); err != nil {
		return "", err
	}
	if part.Text == nil {
		return "", wire.Bad("text", "it is missing")
	}
	return *part.Text, nil
}
