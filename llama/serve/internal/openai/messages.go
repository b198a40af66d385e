package openai

import (
	"encoding/json"
	"fmt"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/constrain"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// messages are a conversation. "developer" is OpenAI's newer word for the role "system".
type messages []llama.Message

// messageMembers are the members of a message: true where they are read, or are known to change nothing, false where they must be empty.
// "parsed" is what OpenAI's own client for JavaScript makes of an answer's content, and sends back with the conversation.
var messageMembers = map[string]bool{
	"role": true, "content": true, "tool_calls": true, "tool_call_id": true, "name": true, "parsed": true,
	"refusal": false, "audio": false, "function_call": false, "annotations": false,
}

// UnmarshalJSON reads a list of messages. What a message has that is not read is an error.
func (m *messages) UnmarshalJSON(data []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(data, &list); err != nil {
		return wire.Bad("", "it must be a list of messages")
	}
	for i, raw := range list {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(raw, &members); err != nil || members == nil {
			return wire.Bad(fmt.Sprintf("[%d]", i), "it must be an object")
		}
		for name, value := range members {
			read, known := messageMembers[name]
			if !known || !read && string(value) != "null" && string(value) != "[]" {
				return wire.Unsupported(fmt.Sprintf("[%d].%.40s", i, name), "it is not supported")
			}
		}
		var one llama.Message
		if err := json.Unmarshal(raw, &one); err != nil {
			return wire.Bad(fmt.Sprintf("[%d]", i), "%v", err)
		}
		if one.Role == "developer" {
			one.Role = llama.RoleSystem
		}
		if one.Role == "" {
			return wire.Bad(fmt.Sprintf("[%d].role", i), "it is missing")
		}
		*m = append(*m, one)
	}
	return nil
}

// toolChoice is which tools are to be called.
type toolChoice struct {
	choice   constrain.ToolChoice
	function string
}

// UnmarshalJSON reads "none", "auto", "required" or {"type":"function","function":{"name":…}}.
func (t *toolChoice) UnmarshalJSON(data []byte) error {
	var word string
	if json.Unmarshal(data, &word) == nil {
		choice, ok := map[string]constrain.ToolChoice{
			"none": constrain.ToolNone, "auto": constrain.ToolAuto, "required": constrain.ToolRequired}[word]
		if !ok {
			return wire.Bad("", `it is %.40q; it must be "none", "auto", "required" or a function`, word)
		}
		t.choice = choice
		return nil
	}
	var object struct {
		Type     string
		Function struct{ Name string }
	}
	if err := json.Unmarshal(data, &object); err != nil || object.Type != "function" || object.Function.Name == "" {
		return wire.Bad("", `it must be "none", "auto", "required" or {"type":"function","function":{"name":…}}`)
	}
	t.choice, t.function = constrain.ToolRequired, object.Function.Name
	return nil
}

// responseFormat is the form of an answer.
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema *struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"schema"`
		Strict      *bool           `json:"strict"`
	} `json:"json_schema"`
}

// form returns the form that is asked for. A schema is kept as a whole or refused, unless strict is false: then what can be kept of it is.
func (f *responseFormat) form() (ask.Form, error) {
	switch {
	case f == nil || f.Type == "text":
		return ask.Form{}, nil
	case f.Type == "json_object":
		return ask.AnyObject(), nil
	case f.Type != "json_schema":
		return ask.Form{}, wire.Bad("response_format.type", `response_format.type is %.40q; it must be "text", "json_object" or "json_schema"`, f.Type)
	case f.JSONSchema == nil:
		return ask.Form{}, wire.Bad("response_format.json_schema", "response_format.json_schema is missing")
	}
	form := ask.Form{Schema: f.JSONSchema.Schema, Lossy: f.JSONSchema.Strict != nil && !*f.JSONSchema.Strict}
	if len(form.Schema) == 0 {
		return ask.AnyObject(), nil
	}
	return form, nil
}
