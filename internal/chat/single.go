package chat

import (
	"context"
	"errors"
	"slices"
)

// renderSingle renders a conversation for a template that knows one call in a message, as that of OpenAI's open models does: others it would leave
// out, and it takes a result to be that of the call before it. So a message with several calls becomes several messages, each with its result
// after it. The template knows one system message, too, the first: those at the beginning become one.
func (t *Template) renderSingle(ctx context.Context, messages []Message, o Options) ([]Segment, error) {
	single, from := singleCalls(messages)
	segments, err := t.render(ctx, single, o)
	if ignored := (*IgnoredError)(nil); errors.As(err, &ignored) {
		ignored.Index = from[ignored.Index]
	}
	return segments, err
}

// singleCalls returns messages with one call at most in each, and one system message at the beginning. The results of a message's calls, which come after it, follow the call with their ID. A
// result without a call's ID is that of the first call that has no result. from has the index of each message's original.
func singleCalls(messages []Message) (single []Message, from []int) {
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		if i > 0 && len(single) == 1 && instructs(&m) && instructs(&single[0]) {
			single[0].write(slices.Concat(single[0].stretches(), []stretch{{text: "\n\n", of: ofContent}}, m.stretches()))
			continue
		}
		if len(m.ToolCalls) < 2 {
			single, from = append(single, m), append(from, i)
			continue
		}
		end := i + 1
		for end < len(messages) && messages[end].Role == "tool" {
			end++
		}
		results := make([][]int, len(m.ToolCalls)) // of each call: indices of messages
		for at := i + 1; at < end; at++ {
			c := callOf(m.ToolCalls, results, messages[at].ToolCallID)
			results[c] = append(results[c], at)
		}
		for c, call := range m.ToolCalls {
			one := m
			if one.ToolCalls = []ToolCall{call}; c > 0 {
				one.write(nil)
				one.Thinking = ""
			}
			single, from = append(single, one), append(from, i)
			for _, at := range results[c] {
				single, from = append(single, messages[at]), append(from, at)
			}
		}
		i = end - 1
	}
	return single, from
}

// instructs reports whether a message says how to answer.
func instructs(m *Message) bool { return m.Role == "system" || m.Role == "developer" }

// callOf returns which of several calls a result is of: the one with the ID, else the first that has no result yet, else the last.
func callOf(list []ToolCall, results [][]int, id string) int {
	for c := range list {
		if id != "" && list[c].ID == id {
			return c
		}
	}
	for c := range list {
		if len(results[c]) == 0 {
			return c
		}
	}
	return len(list) - 1
}
