package chat

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/jinja"
)

// Origins of what a call brings: three for each message, and one for everything else.
const (
	ofRole    = 1 // negative for a role that counts as the template's
	ofContent = 2 // names and ids, too
	ofCalls   = 3
	perTurn   = 3
)

// origin returns the origin of a part of message i. Of everything but messages it is that of the first part behind them.
func origin(i, part int) jinja.Origin { return jinja.Origin(perTurn*i + part) }

// leftOut reports what the template should have printed and did not. A message that prints nothing is left out on purpose
// if its role was found equal to one that the template names: then it is known, as are those whose text was only thoughts.
func (t *Template) leftOut(messages []Message, r jinja.Rendering) error {
	printed := make([]bool, perTurn*len(messages)+ofCalls+1)
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
		case calls, jinja.TrimSpace(m.Content) != "":
			return &IgnoredError{i, m.Role}
		}
	}
	return nil
}
