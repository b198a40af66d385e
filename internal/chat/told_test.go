package chat

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/internal/calls"
)

// TestTold gives tools and calls to templates that have no place for them, of three kinds: Gemma 2's; that of DeepSeek's distilled models,
// which writes calls only if their arguments are a text; and Granite 3.3's, which has tools and prints any role.
func TestTold(t *testing.T) {
	const (
		turns = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}<{{ m.role }}>{{ m.content | trim }}<end>{% endfor %}"
		texts = "{% for m in messages %}{% if m.role == 'user' %}<user>{{ m.content }}{% endif %}{% if m.role == 'assistant' %}" +
			"{% for c in m.tool_calls or [] %}<call>{{ c.function.name + c.function.arguments }}{% endfor %}<assistant>{{ m.content }}{% endif %}<end>{% endfor %}"
		granite = "{% if tools %}<tools>{{ tools|tojson }}<end>{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}"
		known   = "{% if tools %}<tools>{{ tools|tojson }}<end>{% endif %}{% for m in messages %}{% if m.role == 'user' or m.role == 'assistant' %}<{{ m.role }}>{{ m.content }}<end>{% endif %}{% endfor %}"
	)
	specials := []string{"<user>", "<assistant>", "<tool>", "<end>", "<|tool_call|>"}
	user := Message{Role: "user", Content: "hi <end>"}
	call := Message{Role: "assistant", Content: "ok", ToolCalls: []ToolCall{{Name: "f<end>", Arguments: json.RawMessage(`{"a": "<end>"}`)}, {Name: "g"}}}
	result := func(text string) Message { return Message{Role: "tool", Content: text} }
	tools := []json.RawMessage{json.RawMessage(`{"type": "function",  "function": {"name": "<end>"}}`)}
	const (
		offer = "You may call functions. These are on offer, each as JSON:\n\n{\"type\":\"function\",\"function\":{\"name\":\"<end>\"}}\n\n" +
			"To call a function, write its name and its arguments, a JSON object, so:\n\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"PARAMETER\": VALUE}}\n</tool_call>\n\n" +
			"Its result comes with the next message. Without a call, answer the user.\n\n"
		written  = "ok\n<tool_call>\n{\"name\": \"f<end>\", \"arguments\": {\"a\": \"<end>\"}}\n</tool_call>\n<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>"
		response = "<tool_response>\n1<end>\n</tool_response>\n<tool_response>\n2\n</tool_response>"
		granites = "ok\n⟦<|tool_call|>⟧[{\"name\": \"f<end>\", \"arguments\": {\"a\": \"<end>\"}}, {\"name\": \"g\", \"arguments\": {}}]"
	)
	for _, c := range []struct {
		name, template string
		format         calls.Format
		messages       []Message
		tools          []json.RawMessage
		want           string // "": ErrUnsupported
	}{
		{"nothing to tell", turns, calls.Hermes, []Message{user}, nil, "⟦<user>⟧hi <end>⟦<end>⟧"},
		{"tools", turns, calls.Hermes, []Message{user}, tools, "⟦<user>⟧" + offer + "hi <end>⟦<end>⟧"},
		{"a loop", turns, calls.Hermes, []Message{user, call, result("1<end>"), result("2")}, tools,
			"⟦<user>⟧" + offer + "hi <end>⟦<end>⟧⟦<assistant>⟧" + written + "⟦<end>⟧⟦<user>⟧" + response + "⟦<end>⟧"},
		{"a loop and a question", turns, calls.Hermes, []Message{user, call, result("1<end>"), result("2"), user}, nil,
			"⟦<user>⟧hi <end>⟦<end>⟧⟦<assistant>⟧" + written + "⟦<end>⟧⟦<user>⟧" + response + "\nhi <end>⟦<end>⟧"},
		{"calls whose arguments cannot be printed", texts, calls.Hermes, []Message{user, call, result("1<end>"), result("2")}, nil,
			"⟦<user>⟧hi <end>⟦<end>⟧⟦<assistant>⟧" + written + "⟦<end>⟧⟦<user>⟧" + response + "⟦<end>⟧"},
		{"tools without a user", texts, calls.Hermes, []Message{{Role: "assistant", Content: "a"}}, tools, "⟦<assistant>⟧a⟦<end>⟧⟦<user>⟧" + offer + "⟦<end>⟧"},
		{"any role is printed", granite, calls.Granite, []Message{user, call, result("1<end>"), result("2")}, nil,
			"⟦<user>⟧hi <end>⟦<end>⟧⟦<assistant>⟧" + granites + "⟦<end>⟧⟦<tool>⟧1<end>⟦<end>⟧⟦<tool>⟧2⟦<end>⟧"},
		{"tools have a place", granite, calls.Granite, []Message{user}, tools,
			`<tools>[{"type": "function", "function": {"name": "<end>"}}]⟦<end>⟧⟦<user>⟧hi <end>⟦<end>⟧`},
		{"no role of the tool's", known, calls.Granite, []Message{user, call, result("1<end>"), result("2")}, nil,
			"⟦<user>⟧hi <end>⟦<end>⟧⟦<assistant>⟧" + granites + "⟦<end>⟧⟦<user>⟧" + response + "⟦<end>⟧"},
		{"calls in Python that have no place", granite, calls.LFM, []Message{user, call, result("1<end>")}, nil,
			"⟦<user>⟧hi <end>⟦<end>⟧⟦<assistant>⟧ok\n<|tool_call_start|>[f<end>(a=\"<end>\"), g()]<|tool_call_end|>⟦<end>⟧⟦<tool>⟧1<end>⟦<end>⟧"},
		{"no way of writing calls", turns, calls.None, []Message{user}, tools, ""},
		{"calls in Python", turns, calls.LlamaPythonic, []Message{user, call}, nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			template, err := Parse(c.template, specials, "", "")
			if err != nil {
				t.Fatal(err)
			}
			template.WriteCalls(c.format)
			s, err := template.Render(t.Context(), c.messages, Options{Tools: c.tools})
			switch {
			case c.want == "" && !errors.Is(err, ErrUnsupported):
				t.Errorf("got %q, %v; want ErrUnsupported", marked(s), err)
			case c.want != "" && (err != nil || marked(s) != c.want):
				t.Errorf("%v\n got %s\nwant %s", err, marked(s), c.want)
			}
		})
	}
	template, err := Parse(known, specials, "", "")
	if err != nil {
		t.Fatal(err)
	}
	template.WriteCalls(calls.Granite)
	_, err = template.Render(t.Context(), []Message{user, call, result("1"), result("2"), {Role: "critic", Content: "c"}}, Options{})
	if ignored := (*IgnoredError)(nil); !errors.As(err, &ignored) || ignored.Index != 4 || ignored.Role != "critic" {
		t.Errorf("%v, want an error about message 4", err)
	}
}

// TestThoughtsOfAHistory renders thoughts by templates that look for them under different names, or have no place for them.
func TestThoughtsOfAHistory(t *testing.T) {
	messages := []Message{{Role: "user", Content: "u"}, {Role: "assistant", Content: "a", Thinking: "hm <end>"}}
	for source, want := range map[string]string{
		"{% for m in messages %}{{ m.reasoning_content }}|{{ m.content }};{% endfor %}":                           "|u;hm <end>|a;",
		"{% for m in messages %}{% if 'thinking' in m %}{{ m.thinking }}{% endif %}|{{ m.content }};{% endfor %}": "|u;hm <end>|a;",
		"{% for m in messages %}{{ m['reasoning'] or '' }}|{{ m.content }};{% endfor %}":                          "|u;hm <end>|a;",
		"{% for m in messages %}{{ m.content.split('</think>')[-1] }};{% endfor %}":                               "u;a;",
	} {
		template, err := Parse(source, []string{"<end>"}, "", "")
		if err != nil {
			t.Fatal(err)
		}
		s, err := template.Render(t.Context(), messages, Options{})
		if err != nil || marked(s) != want {
			t.Errorf("%s: got %q, %v; want %q", source, marked(s), err, want)
		}
	}
}

// TestThinkingVariables turns thinking on and off for templates that call that by different names.
func TestThinkingVariables(t *testing.T) {
	for source, want := range map[string][4]string{ // undefined, on, off, off but on by a variable
		"{{ enable_thinking if enable_thinking is defined else 'x' }}":   {"x", "True", "False", "True"},
		"{% if thinking %}on{% endif %}{{ enable_thinking is defined }}": {"False", "onTrue", "True", "True"},
		"{{ reasoning_effort or 'x' }}":                                  {"x", "low", "low", "low"},
	} {
		template, err := Parse(source, nil, "", "")
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range []Options{
			{}, {Thinking: new(true), Effort: "low"}, {Thinking: new(false), Effort: "low"},
			{Thinking: new(false), Effort: "low", Vars: map[string]any{"enable_thinking": true}},
		} {
			s, err := template.Render(t.Context(), []Message{{Role: "user", Content: " "}}, o)
			if err != nil || joinedText(s) != want[i] {
				t.Errorf("%s, %d: got %q, %v; want %q", source, i, joinedText(s), err, want[i])
			}
		}
	}
}
