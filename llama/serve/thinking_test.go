package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// thinkTemplate is a short template of Qwen3's kind: the model opens thoughts, and history keeps them after the user's last message.
const thinkTemplate = `{%- for tool in tools or [] %}<tool_call>{{ tool | tojson }}{% endfor %}{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.role == 'assistant' and m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{{ c.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking is defined and enable_thinking is false %}<think>

</think>

{% endif %}{% endif %}`

// openedTemplate opens the thought itself, and knows no switch.
var openedTemplate = strings.Split(thinkTemplate, "{% if enable")[0] + "<think>\n{% endif %}"

// startThinking serves a scripted model that thinks "It asks, 한!" and answers "The answer is 42.".
func startThinking(t *testing.T, template string, open ...string) *httptest.Server {
	t.Helper()
	chain := slices.Concat([]string{"\n"}, open, []string{"It", " asks,", " ", "\xed\x95", "\x9c", "!", "</think>", "\n\n", "The", " answer", " is", " 4", "2", "."})
	m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{
		Template: template, Special: []string{"<|im_start|>", "<|im_end|>"}, Added: []string{"<think>", "</think>", "<tool_call>", "</tool_call>"},
		Chains: [][]string{chain},
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return start(t, func(o *serve.Options) { o.Models = []serve.Model{{Name: "thinker", Loaded: m}} })
}

// told is an answer as a client gets it.
type told struct {
	thought, text, calls, stop string
	tokens                     int // of the thought; -1: not given
}

// protocols ask for an answer to a question in the words of each interface, whole or streamed. extra are more members of the request.
var protocols = map[string]func(t *testing.T, h *httptest.Server, stream bool, extra string) told{
	"chat": func(t *testing.T, h *httptest.Server, stream bool, extra string) (a told) {
		type message struct {
			Content   *string
			Reasoning string `json:"reasoning_content"`
			Calls     []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		type part struct {
			Choices []struct {
				Message, Delta message
				Finish         string `json:"finish_reason"`
			}
			Usage *struct {
				Completion int `json:"completion_tokens"`
				Details    struct {
					Reasoning int `json:"reasoning_tokens"`
				} `json:"completion_tokens_details"`
			}
		}
		parts := answered(t, h, "/v1/chat/completions", `"model":"thinker","temperature":0,"messages":[{"role":"user","content":"What?"}]`, stream, extra,
			`,"stream_options":{"include_usage":true}`, "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse")
		for _, data := range parts {
			p := decoded[part](t, data)
			for _, c := range p.Choices {
				for _, m := range []message{c.Message, c.Delta} {
					if a.text != "" && m.Reasoning != "" && m.Content == nil {
						t.Errorf("a thought comes after the text: %s", data)
					}
					a.thought += m.Reasoning
					if m.Content != nil {
						a.text += *m.Content
					}
					for _, call := range m.Calls {
						a.calls += call.Function.Name + call.Function.Arguments
					}
				}
				a.stop += c.Finish
			}
			if p.Usage != nil {
				a.tokens = p.Usage.Details.Reasoning
			}
		}
		return a
	},
	"responses": func(t *testing.T, h *httptest.Server, stream bool, extra string) (a told) {
		type response struct {
			Status string
			Output []struct {
				Type, Name, Arguments, Status string
				Content                       []struct{ Type, Text string }
			}
			Usage struct {
				Details struct {
					Reasoning int `json:"reasoning_tokens"`
				} `json:"output_tokens_details"`
			}
		}
		type event struct {
			Type, Delta string
			Response    response
		}
		extra = strings.ReplaceAll(extra, `,"max_tokens"`, `,"max_output_tokens"`)
		parts := answered(t, h, "/v1/responses", `"model":"thinker","temperature":0,"input":"What?"`, stream, extra, "", "Response", "ResponseStreamEvent")
		var r response
		if !stream {
			r = decoded[response](t, parts[0])
		}
		var streamed told
		for _, data := range parts {
			switch e := decoded[event](t, data); e.Type {
			case "response.reasoning_text.delta":
				streamed.thought += e.Delta
			case "response.output_text.delta":
				streamed.text += e.Delta
			case "response.completed", "response.incomplete":
				r = e.Response
			}
		}
		for _, item := range r.Output {
			for _, c := range item.Content {
				if (item.Type == "reasoning") != (c.Type == "reasoning_text") {
					t.Errorf("an item is %+v", item)
				}
				if item.Type == "reasoning" {
					a.thought += c.Text
				} else {
					a.text += c.Text
				}
			}
			if item.Type == "function_call" {
				a.calls += item.Name + item.Arguments
			}
		}
		if stream && (streamed.thought != a.thought || streamed.text != a.text) {
			t.Errorf("%+v is streamed, and the response is %+v", streamed, a)
		}
		a.tokens = r.Usage.Details.Reasoning
		a.stop = map[string]string{"completed": "stop", "incomplete": "length"}[r.Status]
		if a.calls != "" {
			a.stop = "tool_calls"
		}
		return a
	},
	"anthropic": func(t *testing.T, h *httptest.Server, stream bool, extra string) (a told) {
		type block struct {
			Type, Text, Thinking, Signature, Name string
			JSON                                  string `json:"partial_json"`
			Input                                 json.RawMessage
		}
		type part struct {
			Type    string
			Index   int
			Content []block
			Block   block `json:"content_block"`
			Delta   struct {
				block
				Stop string `json:"stop_reason"`
			}
			Stop string `json:"stop_reason"`
		}
		if !strings.Contains(extra, `"max_tokens"`) {
			extra += `,"max_tokens":100`
		}
		extra = strings.ReplaceAll(extra, `"tool_choice":"required"`, `"tool_choice":{"type":"any"}`)
		extra = strings.ReplaceAll(extra, `{"type":"function","function":{"name":"f","parameters":`+noArguments+`}}`, `{"name":"f","input_schema":`+noArguments+`}`)
		parts := answered(t, h, "/v1/messages", `"model":"thinker","temperature":0,"messages":[{"role":"user","content":"What?"}]`, stream, extra, "", "", "")
		signed := 0
		add := func(b block) {
			a.thought += b.Thinking
			a.text += b.Text
			a.calls += b.Name + b.JSON
			if b.Name != "" && !stream {
				a.calls += string(b.Input)
			}
			if b.Signature != "" {
				signed++
			}
		}
		for _, data := range parts {
			p := decoded[part](t, data)
			for _, b := range p.Content {
				add(b)
			}
			add(p.Block)
			add(p.Delta.block)
			a.stop += p.Stop + p.Delta.Stop
		}
		if (signed == 1) != (a.thought != "") {
			t.Errorf("%d signatures of a thought %q", signed, a.thought)
		}
		a.stop, a.tokens = map[string]string{"end_turn": "stop", "max_tokens": "length", "tool_use": "tool_calls"}[a.stop], -1
		return a
	},
}

// noArguments is the schema of a function without any.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// answered returns the JSON of an answer: one, or those of a stream.
func answered(t *testing.T, h *httptest.Server, path, body string, stream bool, extra, streamExtra, whole, part string) []string {
	t.Helper()
	if stream {
		extra += `,"stream":true` + streamExtra
	}
	status, text := post(t, h, path, "{"+body+extra+"}")
	if status != 200 {
		t.Fatalf("%s%s: status %d: %s", body, extra, status, text)
	}
	list, schema := []string{text}, whole
	if stream {
		list, schema = slices.DeleteFunc(events(t, text), func(data string) bool { return data == "[DONE]" }), part
	}
	if schema != "" {
		for _, data := range list {
			openapi.Validate(t, schema, []byte(data))
		}
	}
	return list
}

func decoded[T any](t *testing.T, data string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

// TestThinking asks models that think in the words of all interfaces.
func TestThinking(t *testing.T) {
	const all, answer = "It asks, 한!", "The answer is 42."
	const required = `,"tools":[{"type":"function","function":{"name":"f","parameters":` + noArguments + `}}],"tool_choice":"required"`
	qwen, opened := startThinking(t, thinkTemplate, "<think>"), startThinking(t, openedTemplate)
	for _, c := range []struct {
		name   string
		server *httptest.Server
		only   string // the interfaces that have the parameters; "": all
		extra  string
		want   told
	}{
		{"as the template has it", qwen, "", "", told{all, answer, "", "stop", 8}},
		{"opened by the template", opened, "", "", told{all, answer, "", "stop", 7}},
		{"the end comes in the thought", opened, "", `,"max_tokens":2`, told{"It asks,", "", "", "length", 2}},
		{"the end comes in the answer", opened, "", `,"max_tokens":9`, told{all, "The", "", "length", 7}},
		{"off", qwen, "chat", `,"chat_template_kwargs":{"enable_thinking":false}`, told{"", answer, "", "stop", 0}},
		{"off by another word", qwen, "chat", `,"enable_thinking":false`, told{"", answer, "", "stop", 0}},
		{"off where the template has no switch", opened, "chat", `,"chat_template_kwargs":{"enable_thinking":false}`, told{"", answer, "", "stop", 2}},
		{"no effort", opened, "chat", `,"reasoning_effort":"none"`, told{"", answer, "", "stop", 2}},
		{"no effort", qwen, "responses", `,"reasoning":{"effort":"none"}`, told{"", answer, "", "stop", 0}},
		{"disabled", opened, "anthropic", `,"thinking":{"type":"disabled"}`, told{"", answer, "", "stop", -1}},
		{"no budget", opened, "chat", `,"thinking_budget_tokens":0`, told{"", answer, "", "stop", 2}},
		{"a budget", opened, "chat", `,"thinking_budget":2`, told{"It asks,", answer, "", "stop", 4}},
		{"a budget", qwen, "responses", `,"reasoning":{"max_tokens":2}`, told{"It asks,", answer, "", "stop", 5}},
		{"a budget", qwen, "anthropic", `,"thinking":{"type":"enabled","budget_tokens":1}`, told{"It", answer, "", "stop", -1}},
		{"a large effort", qwen, "chat", `,"reasoning_effort":"high"`, told{all, answer, "", "stop", 8}},
		{"not told", qwen, "chat", `,"include_reasoning":false`, told{"", answer, "", "stop", 8}},
		{"a required call", opened, "chat anthropic", required, told{all, "", "f{}", "tool_calls", 7}},
		{"a required call after a budget", opened, "chat", required + `,"thinking_budget":1`, told{"It", "", "f{}", "tool_calls", 3}},
		{"a form", opened, "chat", `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"const":7}}}`, told{all, "7", "", "stop", 7}},
		{"a form", qwen, "responses", `,"text":{"format":{"type":"json_schema","name":"x","schema":{"const":7}}}`, told{all, "7", "", "stop", 8}},
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

// TestBegunAnswersDoNotThink goes on with the beginning of an answer: the thought that the template opens is closed before it.
func TestBegunAnswersDoNotThink(t *testing.T) {
	h := startThinking(t, openedTemplate)
	const said = `"model":"thinker","temperature":0,"max_tokens":20,"messages":[{"role":"user","content":"What?"},{"role":"assistant","content":"It is\n\n"}]`
	for path, body := range map[string]string{"/v1/messages": `{` + said + `}`, "/v1/chat/completions": `{` + said + `,"continue_final_message":true}`} {
		status, text := post(t, h, path, body)
		if status != 200 || !strings.Contains(text, "The answer is 42.") || strings.Contains(text, "It asks") || strings.Contains(text, `"reasoning_content"`) {
			t.Errorf("%s: status %d: %s", path, status, text)
		}
	}
}

// TestThoughtsGoOn goes on with answers that ended within their thoughts, or after them.
func TestThoughtsGoOn(t *testing.T) {
	for _, template := range []string{thinkTemplate, openedTemplate} {
		h := startThinking(t, template)
		for last, want := range map[string]string{
			`"content":"","reasoning_content":"Hm, so\n"`:          `"content":"The answer is 42.","refusal":null,"reasoning_content":"It asks, 한!"`,
			`"content":null,"reasoning_content":"Hm, so\n"`:        `"content":"The answer is 42.","refusal":null,"reasoning_content":"It asks, 한!"`,
			`"content":"Well.\n\n","reasoning_content":"Hm, so\n"`: `"content":"The answer is 42.","refusal":null}`,
		} {
			status, text := post(t, h, "/v1/chat/completions", `{"model":"thinker","temperature":0,"max_tokens":30,"continue_final_message":true,"messages":[{"role":"user","content":"What?"},{"role":"assistant",`+last+`}]}`)
			if status != 200 || !strings.Contains(text, want) {
				t.Errorf("%s: status %d: %s", last, status, text)
			}
		}
	}
}

// TestThoughtsComeBack sends thoughts back with a conversation: the template has a place for them.
func TestThoughtsComeBack(t *testing.T) {
	h := startThinking(t, thinkTemplate, "<think>")
	count := func(path, body string, count func(string) int) int {
		t.Helper()
		status, text := post(t, h, path, body)
		if status != 200 {
			t.Fatalf("%s: status %d: %s", body, status, text)
		}
		return count(text)
	}
	const thought = "A long thought of a turn before this one."
	for _, c := range []struct{ path, with, without string }{
		{"/v1/chat/completions", `{"model":"thinker","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b","reasoning_content":"` + thought + `"},{"role":"user","content":"c"}]}`,
			`{"model":"thinker","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`},
		{"/v1/messages", `{"model":"thinker","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"` + thought + `","signature":"x"},{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}`,
			`{"model":"thinker","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`},
		{"/v1/responses", `{"model":"thinker","max_output_tokens":1,"input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"` + thought + `"}]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`,
			`{"model":"thinker","max_output_tokens":1,"input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`},
	} {
		tokens := func(text string) int {
			u := decoded[struct {
				Usage struct {
					Prompt int `json:"prompt_tokens"`
					Input  int `json:"input_tokens"`
					Cached int `json:"cache_read_input_tokens"`
				}
			}](t, text).Usage
			return u.Prompt + u.Input + u.Cached
		}
		with, without := count(c.path, c.with, tokens), count(c.path, c.without, tokens)
		if least := len(thought); with-without < least || with-without > least+20 {
			t.Errorf("%s: %d tokens with a thought of %d bytes, %d without", c.path, with, least, without)
		}
	}
}

// TestTemplateVariables refuses variables that the conversation itself sets, and budgets without meaning.
func TestTemplateVariables(t *testing.T) {
	h := startThinking(t, thinkTemplate, "<think>")
	const ask = `{"model":"thinker","messages":[{"role":"user","content":"What?"}]`
	refused(t, h, "/v1/chat/completions", ask+`,"chat_template_kwargs":{"messages":[]}}`, 400, "chat_template_kwargs", "invalid_value", "chat_template_kwargs.messages")
	refused(t, h, "/v1/chat/completions", ask+`,"chat_template_kwargs":7}`, 400, "chat_template_kwargs", "invalid_type", "")
	refused(t, h, "/v1/chat/completions", ask+`,"thinking_budget":-2}`, 400, "thinking_budget", "invalid_value", "-1")
	refused(t, h, "/v1/chat/completions", ask+`,"enable_thinking":"yes"}`, 400, "enable_thinking", "invalid_type", "")
}

// TestToolsWithoutAPlace offers functions to a model with a template that knows nothing of them, at the beginning and in the midst of a
// loop.
func TestToolsWithoutAPlace(t *testing.T) {
	h := startThinking(t, "{% for m in messages %}{% if m.role == 'user' or m.role == 'assistant' %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}<|im_start|>assistant\n")
	const tools = `"tools":[{"type":"function","function":{"name":"f","parameters":` + noArguments + `}}],"tool_choice":"required"`
	const loop = `{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"17"}`
	for _, messages := range []string{`{"role":"user","content":"What?"}`, `{"role":"user","content":"What?"},` + loop} {
		for _, stream := range []string{"false", "true"} {
			status, text := post(t, h, "/v1/chat/completions", `{"model":"thinker","temperature":0,"messages":[`+messages+`],`+tools+`,"stream":`+stream+`}`)
			if status != 200 || !strings.Contains(text, `"name":"f"`) || !strings.Contains(text, `"tool_calls"`) {
				t.Errorf("status %d: %s", status, text)
			}
		}
	}
}
