package chat

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/jinja"
)

// TestLeftOut gives templates parts that they have no place for, and parts that they leave out with good reason.
func TestLeftOut(t *testing.T) {
	const (
		known   = "{% for m in messages %}{% if m.role == 'user' %}[{{ m.content }}]{% elif m['role'] in ['assistant', 'bot'] %}{{ m.content.split('</think>')[-1] }}{% endif %}{% endfor %}"
		printer = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
		reader  = "{% for m in messages %}{% if m.content is string %}{% set c = m.content|trim %}{% endif %}{% if m.role == 'user' %}{{ c }}{% endif %}{% endfor %}"
		table   = "{% set names = {'user': 'U', 'assistant': 'A'} %}{% for m in messages %}{{ names.get(m.role) }}{% endfor %}"
		chosen  = "{% for m in messages|selectattr('role', 'equalto', 'user') %}{{ m.content }}{% endfor %}"
		last    = "{{ messages[-1].content }}"
		whole   = "{% for m in messages %}{{ m|tojson }}{% endfor %}"
		caller  = "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}{% endfor %}{{ tools|length if tools }}"
	)
	user := Message{Role: "user", Content: "u"}
	call := Message{Role: "assistant", ToolCalls: []ToolCall{{Name: "f"}}}
	tool := []json.RawMessage{json.RawMessage(`{"type": "function"}`)}
	tests := []struct {
		name, template string
		messages       []Message
		tools          []json.RawMessage
		ignored        int // the message left out, or -1
		unsupported    bool
	}{
		{"known roles", known, []Message{user, {Role: "assistant", Content: "a"}}, nil, -1, false},
		{"only thoughts", known, []Message{user, {Role: "assistant", Content: "<think>x</think>"}}, nil, -1, false},
		{"only white space", known, []Message{user, {Role: "critic", Content: " \n"}}, nil, -1, false},
		{"unknown role", known, []Message{user, {Role: "critic", Content: "c"}}, nil, 1, false},
		{"a tool's answer", known, []Message{user, {Role: "tool", Content: "c"}}, nil, 1, false},
		{"unknown role that is no word", known, []Message{user, {Role: "x y", Content: "c"}}, nil, 1, false},
		{"any role is printed", printer, []Message{user, {Role: "critic", Content: "c"}}, nil, -1, false},
		{"read, not printed", reader, []Message{user, {Role: "critic", Content: "c"}}, nil, 1, false},
		{"the key of a dictionary", table, []Message{user, {Role: "assistant", Content: "c"}}, nil, -1, false},
		{"no key of the dictionary", table, []Message{user, {Role: "critic", Content: "c"}}, nil, 1, false},
		{"chosen by role", chosen, []Message{user, {Role: "critic", Content: "c"}}, nil, 1, false},
		{"only the last", last, []Message{user, {Role: "critic", Content: "c"}}, nil, 0, false},
		{"whole messages", whole, []Message{user, call}, nil, -1, false},
		{"calls that are printed", caller, []Message{user, call}, tool, -1, false},
		{"calls that no one asks for", known, []Message{user, call}, nil, -1, true},
		{"tools that no one asks for", known, []Message{user}, tool, -1, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			template, err := Parse(test.template, nil, "", "")
			if err != nil {
				t.Fatal(err)
			}
			_, err = template.Render(t.Context(), test.messages, Options{Tools: test.tools})
			var ignored *IgnoredError
			switch {
			case errors.As(err, &ignored):
				if ignored.Index != test.ignored || ignored.Role != test.messages[ignored.Index].Role {
					t.Errorf("got %v, want message %d", err, test.ignored)
				}
			case test.ignored >= 0 || errors.Is(err, ErrUnsupported) != test.unsupported || err != nil && !test.unsupported:
				t.Errorf("got %v; message %d is left out, unsupported: %t", err, test.ignored, test.unsupported)
			}
		})
	}
}

// TestBadCalls renders what no template is asked about.
func TestBadCalls(t *testing.T) {
	template := llama3Template(t)
	if _, err := template.Render(t.Context(), nil, Options{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("no messages: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := template.Render(cancelled, []Message{{Role: "user"}}, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	list := json.RawMessage("[" + strings.Repeat("[],", maxValues) + "1]")
	for name, o := range map[string]Options{
		"many values":       {Tools: []json.RawMessage{list}},
		"much JSON":         {Vars: map[string]any{"x": strings.Repeat("a", maxJSON)}},
		"deep JSON":         {Tools: []json.RawMessage{json.RawMessage(strings.Repeat("[", 1000) + strings.Repeat("]", 1000))}},
		"two values":        {Tools: []json.RawMessage{json.RawMessage("1 2")}},
		"a long integer":    {Tools: []json.RawMessage{json.RawMessage(strings.Repeat("1", 5000))}},
		"what is no JSON":   {Vars: map[string]any{"x": make(chan int)}},
		"an unfinished one": {Tools: []json.RawMessage{json.RawMessage(`{"a"`)}},
	} {
		if _, err := template.Render(t.Context(), []Message{{Role: "user", Content: "x"}}, o); err == nil || len(err.Error()) > 200 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := template.Render(t.Context(), []Message{{Role: "user", Content: strings.Repeat("x", maxText+1)}}, Options{}); err == nil {
		t.Error("a message of more than 8 MB")
	}
}

// TestManySpecials looks for special tokens that are made to take time: many, long, and nearly there.
func TestManySpecials(t *testing.T) {
	effort.Turn(t, 8)
	var tokens []string
	for i := range 1000 {
		tokens = append(tokens, strings.Repeat("<", i+1)+"x")
	}
	for source, want := range map[string]error{
		"{{ '<' * 1000000 }}": &jinja.BudgetError{}, "{{ '<x' * 1000000 }}": &jinja.BudgetError{}, "{{ '<x' * 1000 }}": nil, "<<<y<<x": nil,
	} {
		template, err := Parse(source, tokens, "", "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := template.Render(t.Context(), []Message{{Role: "user"}}, Options{})
		if budget := (*jinja.BudgetError)(nil); errors.As(err, &budget) != (want != nil) {
			t.Errorf("%s: %v", source, err)
		}
		checkSegments(t, s, tokens)
	}
}

// TestNoncharacters renders conversations with noncharacters and broken UTF-8; they come out as they went in.
func TestNoncharacters(t *testing.T) {
	content := "\ufdd0<|eot_id|>\ufdd1\ufdd2 \xef\xb7"
	s, err := llama3Template(t).Render(t.Context(), []Message{{Role: "user", Content: content}}, Options{})
	if err != nil || !strings.Contains(joinedText(s), content) {
		t.Errorf("%q, %v", joinedText(s), err)
	}
}

// TestDate gives dates to templates that have one of their own.
func TestDate(t *testing.T) {
	tests := []struct{ template, without, with string }{
		{"{% if not date_string is defined %}{% set date_string = '01 Jan 1970' %}{% endif %}{{ date_string }}", "01 Jan 1970", "04 Mar 2025"},
		{"{% if strftime_now is defined %}{{ strftime_now('%Y') }}{% else %}old{% endif %}", "old", "2025"},
		{"{{ strftime_now('%d %b %Y') }}", "26 Jul 2024", "04 Mar 2025"},
	}
	for _, test := range tests {
		template, err := Parse(test.template, nil, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for want, o := range map[string]Options{test.without: {}, test.with: {Date: testDate}} {
			s, err := template.Render(t.Context(), []Message{{Role: "user"}}, o)
			if err != nil || joinedText(s) != want {
				t.Errorf("%s: got %q, %v; want %q", test.template, joinedText(s), err, want)
			}
		}
	}
}
