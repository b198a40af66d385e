package ollama

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// message is a message of a conversation, as a request has it.
type message struct {
	Role       string     `json:"role" wire:"required"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking"` // what an assistant thought; the template's authors say whether the model sees it again
	ToolCalls  []toolCall `json:"tool_calls"`
	ToolName   string     `json:"tool_name"`    // the function that a tool's message is the result of
	ToolCallID string     `json:"tool_call_id"` // the call that it is the result of
	Name       string     `json:"name"`         // for the model, if its chat template has a place for names
}

// Rules are those of what a message has besides.
func (message) Rules() wire.Rules { return imageRules }

// imageRules refuse images by name.
var imageRules = wire.Rules{"images": wire.RefusedImages("[]")}

// toolCall is a call in an assistant's message.
type toolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledByName `json:"function" wire:"required"`
}

type calledByName struct {
	Name      string          `json:"name" wire:"required"`
	Arguments json.RawMessage `json:"arguments"` // an object; nil: an empty one
}

// Rules are those of what answers have, and comes back with the conversation.
func (calledByName) Rules() wire.Rules {
	return wire.Rules{"index": wire.Ignored(), "description": wire.Ignored()}
}

// history returns the conversation of messages. Ollama's calls need no ids: a call without one gets its number in the conversation as its
// id. A result without an id belongs to the first call without a result, of its function or, if it names no function, of any.
func history(messages []message) ([]llama.Message, error) {
	turns := make([]llama.Message, len(messages))
	var open []llama.ToolCall // that have no result yet
	count := 0                // calls so far
	for i := range messages {
		m, at := &messages[i], fmt.Sprintf("messages[%d]", i)
		turn := llama.Message{Role: strings.ToLower(m.Role), Content: m.Content, Name: m.Name, ToolCallID: m.ToolCallID}
		assistant, tool := turn.Role == llama.RoleAssistant, turn.Role == llama.RoleTool
		if assistant {
			turn.Thinking = m.Thinking
		}
		switch {
		case !assistant && len(m.ToolCalls) > 0:
			return nil, wire.Invalid(at+".tool_calls", `%s.tool_calls stands in a message of the role %.40q; only "assistant" calls`, at, m.Role)
		case !tool && (m.ToolCallID != "" || m.ToolName != ""):
			return nil, wire.Invalid(at+".tool_name", `%s.tool_name or tool_call_id stands in a message of the role %.40q; they belong to "tool"`, at, m.Role)
		}
		if assistant {
			open = nil
		}
		for k := range m.ToolCalls {
			c := &m.ToolCalls[k]
			call, err := c.call(fmt.Sprintf("%s.tool_calls[%d]", at, k))
			if err != nil {
				return nil, err
			}
			if count++; call.ID == "" {
				call.ID = fmt.Sprintf("%09d", count) // nine digits, as Mistral's templates want it
			}
			turn.ToolCalls = append(turn.ToolCalls, call)
			open = append(open, call)
		}
		if tool {
			at := slices.IndexFunc(open, func(c llama.ToolCall) bool {
				return turn.ToolCallID == c.ID || turn.ToolCallID == "" && (m.ToolName == "" || m.ToolName == c.Name)
			})
			if at >= 0 {
				turn.ToolCallID = open[at].ID
				open = slices.Delete(open, at, at+1)
			}
			if turn.Name == "" {
				turn.Name = m.ToolName
			}
		}
		turns[i] = turn
	}
	return turns, nil
}

// call returns the call for the model; at is its place in the request.
func (c *toolCall) call(at string) (llama.ToolCall, error) {
	call := llama.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments}
	switch {
	case c.Type != "" && c.Type != "function":
		return call, wire.Unsupported(at+".type", `%s.type is %.40q; it must be "function"`, at, c.Type)
	case call.Arguments == nil:
		call.Arguments = json.RawMessage("{}")
	case !bytes.HasPrefix(call.Arguments, []byte("{")):
		return call, wire.Invalid(at+".function.arguments", "%s.function.arguments must be an object", at)
	}
	return call, nil
}

// begun takes the beginning of the answer off a conversation that ends with one: a text of the assistant's.
func begun(history []llama.Message) (rest []llama.Message, text string) {
	n := len(history) - 1
	if n < 1 || history[n].Role != llama.RoleAssistant || len(history[n].ToolCalls) > 0 {
		return history, ""
	}
	return history[:n], history[n].Content
}
