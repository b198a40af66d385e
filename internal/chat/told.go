package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/antigravity-go/antigravity/internal/calls"
	"github.com/antigravity-go/antigravity/internal/jinja"
)

// stretch is a part of a message's content: a text of the caller's or of this package, which counts as the template's, or an image.
type stretch struct {
	text  string
	of    int // ofContent or ofCalls; 0: this package's
	image bool
}

// stretches returns the content.
func (m *Message) stretches() []stretch {
	switch {
	case m.written != nil:
		return m.written
	case m.Parts == nil:
		return []stretch{{text: m.Content, of: ofContent}}
	}
	list := make([]stretch, len(m.Parts))
	for i, p := range m.Parts {
		list[i] = stretch{p.Text, ofContent, p.Image}
	}
	return list
}

// write replaces the content.
func (m *Message) write(list []stretch) { m.Content, m.Parts, m.written = "", nil, list }

// content returns the content of message i as the template sees it: a text, or a list of parts if there are images or if lists is true.
// Texts that follow each other are one. parts is the number of parts.
func (m *Message) content(i int, lists bool) (content jinja.Value, parts int) {
	list := jinja.NewList()
	item := func(kind string, text ...jinja.Text) {
		d := jinja.NewDict()
		d.Set(key("type"), key(kind))
		if text != nil {
			d.Set(key("text"), jinja.Joined(text...))
		}
		list.Items = append(list.Items, d)
	}
	var texts []jinja.Text
	for _, s := range m.stretches() {
		switch {
		case s.image:
			if texts != nil {
				item("text", texts...)
			}
			item("image")
			lists, texts = true, nil
		case s.of != 0:
			texts = append(texts, jinja.From(s.text, origin(i, s.of)))
		default:
			texts = append(texts, key(s.text))
		}
	}
	if !lists {
		return jinja.Joined(texts...), 0
	}
	if texts != nil {
		item("text", texts...)
	}
	return list, len(list.Items)
}

// size returns the bytes of the content.
func (m *Message) size() (n int) {
	for _, s := range m.stretches() {
		n += len(s.text)
	}
	return n
}

// says reports whether there is anything in the content but white space.
func (m *Message) says() bool {
	for _, s := range m.stretches() {
		if s.image || s.of == ofContent && jinja.TrimSpace(s.text) != "" {
			return true
		}
	}
	return false
}

// trialWord is the content of trials.
const trialWord = "word"

// wantsLists reports whether the template prints a content only if it is a list of parts.
func (t *Template) wantsLists() bool {
	if !t.jinja.Mentions("type") { // it does not look at parts
		return false
	}
	prints := func(lists bool) bool {
		variables, err := t.variables([]Message{{Role: "user", Content: trialWord}}, Options{}, lists)
		if err != nil {
			return false
		}
		r, err := t.jinja.Render(context.Background(), variables)
		if err != nil {
			return false
		}
		for text, o := range r.Text.Spans {
			if o == origin(0, ofContent) && text == trialWord {
				return true
			}
		}
		return false
	}
	return !prints(false) && prints(true)
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
			said := slices.Clip(m.stretches())
			if m.size() > 0 || len(m.Parts) > 0 {
				said = append(said, stretch{text: "\n"})
			}
			m.write(append(said, written(t.calls.Family(), m.ToolCalls)...))
			m.ToolCalls = nil
		}
		result := results && m.Role == "tool"
		var said []stretch
		switch {
		case result:
			said = slices.Concat([]stretch{{text: "<tool_response>\n"}}, m.stretches(), []stretch{{text: "\n</tool_response>"}})
		case open && m.Role == "user":
			said = m.stretches()
		}
		switch {
		case open && said != nil:
			last := &told[len(told)-1]
			last.write(slices.Concat(last.stretches(), []stretch{{text: "\n"}}, said))
		case result:
			told, from = append(told, Message{Role: "user", written: said}), append(from, i)
		default:
			told, from = append(told, m), append(from, i)
		}
		open = result
	}
	return told, from
}

// written returns calls as a family writes them.
func written(f *calls.Family, made []ToolCall) (list []stretch) {
	own := func(text []calls.Part) {
		for _, p := range text {
			list = append(list, stretch{text: p.Text})
		}
	}
	own(f.Begin)
	for i, c := range made {
		if i > 0 {
			own(f.Between)
		}
		arguments := c.Arguments
		if len(bytes.TrimSpace(arguments)) == 0 {
			arguments = json.RawMessage("{}")
		}
		own(f.BeforeName)
		list = append(list, stretch{text: c.Name, of: ofCalls})
		own(f.BeforeArguments)
		list = append(list, stretch{text: f.Arguments(arguments), of: ofCalls})
		own(f.AfterArguments)
	}
	own(f.End)
	return list
}

// offer returns the text that introduces the functions on offer to a model.
func (t *Template) offer(tools []json.RawMessage) ([]stretch, error) {
	list := []stretch{{text: "You may call functions. These are on offer, each as JSON:\n\n"}}
	for _, tool := range tools {
		var line bytes.Buffer
		if err := json.Compact(&line, tool); err != nil {
			return nil, err
		}
		list = append(list, stretch{text: line.String(), of: ofContent}, stretch{text: "\n"})
	}
	list = append(list, stretch{text: "\nTo call a function, write its name and its arguments, a JSON object, so:\n\n"})
	example := written(t.calls.Family(), []ToolCall{{Name: "NAME", Arguments: json.RawMessage(`{"PARAMETER": VALUE}`)}})
	for _, s := range example {
		list = append(list, stretch{text: s.text})
	}
	return append(list, stretch{text: "\n\nIts result comes with the next message. Without a call, answer the user.\n\n"}), nil
}

// withOffer returns the messages with an offer at the beginning of the user's first one, which is added if it is missing.
func withOffer(told []Message, from []int, offer []stretch) ([]Message, []int) {
	for i := range told {
		m := &told[i]
		if m.Role != "user" {
			continue
		}
		m.write(slices.Concat(offer, m.stretches()))
		return told, from
	}
	return append(told, Message{Role: "user", written: offer}), append(from, len(told)-1)
}
