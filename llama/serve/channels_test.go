package serve_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// channelsTemplate is short for the template of OpenAI's open models. Their answers are messages in channels.
const channelsTemplate = `{%- for t in tools or [] %}{{ "// " + t.function.description }}{{ t.function.name }}{% endfor %}{% for m in messages %}
{%- if m.tool_calls %}<|start|>assistant to=functions.{{ m.tool_calls[0].function.name }}<|channel|>commentary json<|message|>{{ m.tool_calls[0].function.arguments | tojson }}<|call|>
{%- elif m.role == "assistant" %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>
{%- else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}`

// startChannels serves a scripted model that answers in channels.
func startChannels(t *testing.T, chain ...string) *httptest.Server {
	t.Helper()
	m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{
		Template: channelsTemplate, Special: []string{"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>"}, Chains: [][]string{chain},
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return start(t, func(o *serve.Options) { o.Models = []serve.Model{{Name: "thinker", Loaded: m}} })
}

// TestChannels asks a model that answers in channels in the words of all interfaces. Its thought would never end without a budget.
func TestChannels(t *testing.T) {
	const tools = `,"tools":[{"type":"function","function":{"name":"f","parameters":` + noArguments + `}}]`
	const required = tools + `,"tool_choice":"required"`
	thinks := startChannels(t, "t", "<|channel|>", "analysis", "<|message|>", "It", " asks,")
	speaks := startChannels(t, "t", "<|channel|>", "final", "<|message|>", "The", " answer", ".")
	calls := startChannels(t, "t", " to=functions.f", "<|channel|>", "commentary json", "<|message|>", "{}")
	for _, c := range []struct {
		name   string
		server *httptest.Server
		only   string // the interfaces that have the parameters; "": all
		extra  string
		want   told
	}{
		{"a text", speaks, "", "", told{"", "The answer.", "", "stop", 0}},
		{"a text where functions are on offer", speaks, "chat anthropic", tools, told{"", "The answer.", "", "stop", 0}},
		{"a call", calls, "chat anthropic", tools, told{"", "", "f{}", "tool_calls", 0}},
		{"a call of nothing on offer", calls, "", "", told{"", "to=functions.f {}", "", "stop", 0}},
		{"a thought without an end", thinks, "", "", told{"It asks,", "", "", "stop", 3}},
		{"a budget", thinks, "chat", `,"thinking_budget":2`, told{"It asks,", "It asks,", "", "stop", 4}},
		{"a budget", thinks, "responses", `,"reasoning":{"max_tokens":1}`, told{"It", "It asks,", "", "stop", 3}},
		{"a budget", thinks, "anthropic", `,"thinking":{"type":"enabled","budget_tokens":2}`, told{"It asks,", "It asks,", "", "stop", -1}},
		{"no effort", thinks, "chat", `,"reasoning_effort":"none"`, told{"", "It asks,", "", "stop", 0}},
		{"a required call", thinks, "chat", required + `,"thinking_budget":2`, told{"It asks,", "", "f{}", "tool_calls", 4}},
		{"a required call", thinks, "anthropic", required + `,"thinking":{"type":"enabled","budget_tokens":1}`, told{"It", "", "f{}", "tool_calls", -1}},
		{"a required call at once", thinks, "chat", required + `,"reasoning_effort":"none"`, told{"", "", "f{}", "tool_calls", 0}},
		{"a form", thinks, "chat", `,"thinking_budget":2,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"const":7}}}`, told{"It asks,", "7", "", "stop", 4}},
		{"a form", speaks, "responses", `,"reasoning":{"effort":"none"},"text":{"format":{"type":"json_schema","name":"x","schema":{"const":7}}}`, told{"", "7", "", "stop", 0}},
	} {
		for name, ask := range protocols {
			if c.only != "" && !strings.Contains(c.only, name) {
				continue
			}
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, stream %t", c.name, name, stream), func(t *testing.T) {
					want := c.want
					if name == "anthropic" {
						want.tokens = -1
					}
					got := ask(t, c.server, stream, c.extra)
					got.calls = strings.Join(strings.Fields(got.calls), "") // JSON may have white space
					if got != want {
						t.Errorf("got %+v, want %+v", got, want)
					}
				})
			}
		}
	}
}

// TestCallsInChannelsComeBack sends a conversation with two calls and their results back.
func TestCallsInChannelsComeBack(t *testing.T) {
	h := startChannels(t, "t", "<|channel|>", "final", "<|message|>", "The", " answer", ".")
	call := func(id string) string {
		return `{"id":"` + id + `","type":"function","function":{"name":"f","arguments":"{}"}}`
	}
	body := `{"model":"thinker","temperature":0,"tools":[{"type":"function","function":{"name":"f","parameters":` + noArguments + `}}],"messages":[{"role":"user","content":"What?"},` +
		`{"role":"assistant","content":null,"reasoning_content":"Hm.","tool_calls":[` + call("1") + `,` + call("2") + `]},` +
		`{"role":"tool","tool_call_id":"2","content":"two"},{"role":"tool","tool_call_id":"1","content":"one"}]}`
	if status, text := post(t, h, "/v1/chat/completions", body); status != 200 || !strings.Contains(text, `"content":"The answer."`) {
		t.Errorf("status %d: %s", status, text)
	}
}
