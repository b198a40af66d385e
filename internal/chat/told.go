package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/jinja"
)

// part is a stretch of a message's content: the caller's, or a text of this package, which counts as the template's.
type part struct {
	text string
	of   int // ofContent or ofCalls; 0: this package's
}

// content returns the content of message i as the template sees it.
func (m *Message) content(i int) jinja.Text {
	if m.parts == nil {
		return jinja.From(m.Content, origin(i, ofContent))
	}
	texts := make([]jinja.Text, len(m.parts))
	for n, p := range m.parts {
		if texts[n] = key(p.text); p.of != 0 {
			texts[n] = jinja.From(p.text, origin(i, p.of))
		}
	}
	return jinja.Joined(texts...)
}

// size returns the bytes of the content.
func (m *Message) size() int {
	n := len(m.Content)
	for _, p := range m.parts {
		n += len(p.text)
	}
	return n
}

// renderTold renders a conversation, and writes the parts that the template has no place for as content. If the template knows nothing of
// functions on offer, functions, calls and results become content. If it knows them but has no place for calls, as Granite 3's, it may
// print a tool's messages all the same: if not, results become content, too.
func (t *Template) renderTold(ctx context.Context, messages []Message, o Options) ([]Segment, error) {
	called, answered := false, false
	for _, m := range messages {
		called = called || len(m.ToolCalls) > 0
		answered = answered || m.Role == "tool"
	}
	family := t.calls.Family()
	switch {
	case family.Channels != nil:
		return t.renderSingle(ctx, messages, o)
	case t.calls == calls.None || family.Bare, len(o.Tools) == 0 && !called && !answered:
	case !t.HasTools() && !family.JSON(): // a model that is told of functions is told to write calls in JSON
	case !t.HasTools():
		return t.renderAs(ctx, messages, o, true)
	case called && !t.jinja.Mentions("tool_calls"):
		segments, err := t.renderAs(ctx, messages, o, false)
		if answered && errors.As(err, new(*IgnoredError)) {
			return t.renderAs(ctx, messages, o, true)
		}
		return segments, err
	}
	return t.render(ctx, messages, o)
}

// renderAs renders a conversation with its calls as content. If all is true, so are results, and, if the template has no place for them,
// the functions on offer.
func (t *Template) renderAs(ctx context.Context, messages []Message, o Options, all bool) ([]Segment, error) {
	if len(messages) == 0 {
		return nil, ErrEmpty
	}
	told, from := t.told(messages, all)
	if all && !t.HasTools() && len(o.Tools) > 0 {
		offer, err := t.offer(o.Tools)
		if err != nil {
			return nil, err
		}
		o.Tools = nil
		told, from = withOffer(told, from, offer)
	}
	segments, err := t.render(ctx, told, o)
	if ignored := (*IgnoredError)(nil); errors.As(err, &ignored) {
		ignored.Index = from[ignored.Index]
		ignored.Role = messages[ignored.Index].Role
	}
	return segments, err
}

// told returns messages in which calls are content, as the model writes them. With results, those of calls are messages of the user's, each
//
//	<tool_response>⏎…⏎</tool_response>
//
// Those that follow each other, and the user's message after them, are one, since many templates want the user and the assistant to take
// turns. from has the index of each message's first original.
func (t *Template) told(messages []Message, results bool) (told []Message, from []int) {
	open := false // the last message has results
	for i, m := range messages {
		if len(m.ToolCalls) > 0 {
			m.parts = []part{{m.Content, ofContent}}
			if m.Content != "" {
				m.parts = append(m.parts, part{"\n", 0})
			}
			m.parts = append(m.parts, written(t.calls.Family(), m.ToolCalls)...)
			m.Content, m.ToolCalls = "", nil
		}
		result := results && m.Role == "tool"
		var parts []part
		switch {
		case result:
			parts = []part{{"<tool_response>\n", 0}, {m.Content, ofContent}, {"\n</tool_response>", 0}}
		case open && m.Role == "user":
			parts = []part{{m.Content, ofContent}}
		}
		switch {
		case open && parts != nil:
			last := &told[len(told)-1]
			last.parts = append(append(last.parts, part{"\n", 0}), parts...)
		case result:
			told, from = append(told, Message{Role: "user", parts: parts}), append(from, i)
		default:
			told, from = append(told, m), append(from, i)
		}
		open = result
	}
	return told, from
}

// written returns calls as a family writes them.
func written(f *calls.Family, list []ToolCall) (parts []part) {
	own := func(text []calls.Part) {
		for _, p := range text {
			parts = append(parts, part{p.Text, 0})
		}
	}
	own(f.Begin)
	for i, c := range list {
		if i > 0 {
			own(f.Between)
		}
		arguments := c.Arguments
		if len(bytes.TrimSpace(arguments)) == 0 {
			arguments = json.RawMessage("{}")
		}
		own(f.BeforeName)
		parts = append(parts, part{c.Name, ofCalls})
		own(f.BeforeArguments)
		parts = append(parts, part{f.Arguments(arguments), ofCalls})
		own(f.AfterArguments)
	}
	own(f.End)
	return parts
}

// offer returns the text that introduces the functions on offer to a model.
func (t *Template) offer(tools []json.RawMessage) ([]part, error) {
	parts := []part{{"You may call functions. These are on offer, each as JSON:\n\n", 0}}
	for _, tool := range tools {
		var line bytes.Buffer
		if err := json.Compact(&line, tool); err != nil {
			return nil, err
		}
		parts = append(parts, part{line.String(), ofContent}, part{"\n", 0})
	}
	parts = append(parts, part{"\nTo call a function, write its name and its arguments, a JSON object, so:\n\n", 0})
	example := written(t.calls.Family(), []ToolCall{{Name: "NAME", Arguments: json.RawMessage(`{"PARAMETER": VALUE}`)}})
	for _, p := range example {
		parts = append(parts, part{p.text, 0})
	}
	return append(parts, part{"\n\nIts result comes with the next message. Without a call, answer the user.\n\n", 0}), nil
}

// withOffer returns the messages with an offer at the beginning of the user's first one, which is added if it is missing.
func withOffer(told []Message, from []int, offer []part) ([]Message, []int) {
	for i := range told {
		m := &told[i]
		if m.Role != "user" {
			continue
		}
		if m.parts == nil {
			m.parts, m.Content = []part{{m.Content, ofContent}}, ""
		}
		m.parts = append(offer, m.parts...)
		return told, from
	}
	return append(told, Message{Role: "user", parts: offer}), append(from, len(told)-1)
}
