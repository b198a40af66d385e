package chat

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja"
)

// The parts of a message have origins of their own, so that a rendering says which of them were printed. Everything that
// comes with a call but is no message has one more origin.
const (
	ofRole          = 1 // the role; its origin is negative if it counts as the template's
	ofContent       = 2 // the content, the name and the id of a tool's call
	ofCalls         = 3 // the tool calls
	partsPerMessage = 3
)

// origin returns the origin of a part of message i. With the number of messages for i, and ofRole, it is the origin of
// everything that is no message.
func origin(i, part int) jinja.Origin { return jinja.Origin(partsPerMessage*i + part) }

// leftOut returns an error for a message that the template should have printed something of, and did not. A template may print nothing of a
// message on purpose, such as one with only thoughts. So a message is not left out if the template compared its role with a text of its own
// and found them equal: then the template knows the role.
func (t *Template) leftOut(messages []Message, r jinja.Rendering) error {
	printed := make([]bool, partsPerMessage*len(messages)+ofCalls+1) // by origin, without its sign
	for _, o := range r.Text.Spans {
		printed[max(o, -o)] = true
	}
	for i, m := range messages {
		role := origin(i, ofRole)
		calls := len(m.ToolCalls) > 0 && !printed[origin(i, ofCalls)]
		switch {
		case calls && !t.jinja.Mentions("tool_calls"):
			return fmt.Errorf("message %d calls a tool: %w", i, ErrUnsupported)
		case printed[role], printed[origin(i, ofContent)], printed[origin(i, ofCalls)], r.Matched[role], r.Matched[-role]:
		case calls, m.says():
			return &IgnoredError{i, m.Role}
		}
	}
	return nil
}
