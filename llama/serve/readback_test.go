package serve_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/scriptedmodel"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// answers are scripted answers, by tokens. After each of them an answer may be cut off.
var answers = map[string][]string{
	"a text":                    {"The", " answer", " is", " 4", "2", "."},
	"a thought":                 {"<think>", "\nIt", " asks,", "</think>", "\n\n", "The", " answer", " is", " 4", "2", "."},
	"a call":                    {"<tool_call>", "\n{\"name\": \"f\",", " \"arguments\": ", "{\"ci", "ty\": ", "\"Na\\u00", "efr\\\"x", "\xf0\x9f", "\x98\x80\"", ", \"days\": [", "1, 2", "]", ", \"deep\": {\"a", "\": nul", "l}", "}", "}\n", "</tool_call>"},
	"two calls":                 {"<tool_call>", "\n{\"name\": \"f\", \"arguments\": {}", "}\n", "</tool_call>", "\n<", "tool_call>\n{\"name\"", ": \"g\", \"arguments\": {\"n\": -", "1.5e", "3}", "}\n</tool_call>"},
	"a text and a call":         {"Let", " me see.", "\n\n", "<tool_call>", "\n{\"name\": \"g\", \"arguments\": {\"n\": tr", "ue}", "}\n", "</tool_call>"},
	"a thought and a call":      {"<think>", "\nHm", "</think>", "\n\n", "<tool_call>", "\n{\"name\": \"g\", \"arguments\": ", "{\"n\": 7", "}", "}\n", "</tool_call>"},
	"a call that is no JSON":    {"<tool_call>", "\n{\"name\": \"f\", ", "arguments: [", "</tool_call>"},
	"arguments that are a list": {"<tool_call>", "\n{\"name\": \"f\", \"arguments\": ", "[1, ", "2]", "}\n", "</tool_call>"},
}

// readers ask for an answer of at most some tokens, in the words of an interface, and return the conversation with the answer in it, as the
// interface's clients put it together. calls are the ids of its calls. results adds their results to a conversation; go on adds a question.
var readers = map[string]struct {
	path   string
	ask    func(history []any, tokens int, tools bool) object
	answer func(t *testing.T, body string, streamed bool) (turns []any, calls []string)
	result func(id string, content any) any
}{
	"chat": {
		path: "/v1/chat/completions",
		ask: func(history []any, tokens int, tools bool) object {
			o := object{"messages": history, "max_completion_tokens": tokens}
			if tools {
				o["tools"] = []any{object{"type": "function", "function": object{"name": "f"}}, object{"type": "function", "function": object{"name": "g", "parameters": object{"type": "object"}}}}
			}
			return o
		},
		answer: func(t *testing.T, body string, streamed bool) ([]any, []string) {
			message := object{}
			if !streamed {
				message = decoded[struct{ Choices []struct{ Message object } }](t, body).Choices[0].Message
			}
			var calls []any
			for _, data := range events(t, body) {
				if data == "[DONE]" {
					continue
				}
				for _, c := range decoded[struct{ Choices []struct{ Delta object } }](t, data).Choices {
					for _, part := range arrayOf(c.Delta["tool_calls"]) {
						part := part.(object)
						if i := int(part["index"].(float64)); i == len(calls) {
							calls = append(calls, part)
						} else {
							to, from := calls[i].(object)["function"].(object), part["function"].(object)
							to["arguments"] = to["arguments"].(string) + from["arguments"].(string)
						}
					}
					delete(c.Delta, "tool_calls")
					for key, value := range c.Delta {
						if text, ok := message[key].(string); ok && key != "role" {
							value = text + value.(string)
						}
						message[key] = value
					}
				}
			}
			if streamed && calls != nil {
				message["tool_calls"] = calls
			}
			return []any{message}, idsOf(arrayOf(message["tool_calls"]), "id")
		},
		result: func(id string, content any) any {
			m := object{"role": "tool", "tool_call_id": id, "content": content}
			if content == "" {
				delete(m, "content")
			}
			return m
		},
	},
	"responses": {
		path: "/v1/responses",
		ask: func(history []any, tokens int, tools bool) object {
			o := object{"input": history, "max_output_tokens": tokens}
			if tools {
				o["tools"] = []any{object{"type": "function", "name": "f", "strict": false}, object{"type": "function", "name": "g", "strict": false, "parameters": object{"type": "object"}}}
			}
			return o
		},
		answer: func(t *testing.T, body string, streamed bool) ([]any, []string) {
			type response struct{ Output []any }
			if !streamed {
				out := decoded[response](t, body).Output
				return out, idsOf(out, "call_id")
			}
			all := events(t, body)
			out := decoded[struct{ Response response }](t, all[len(all)-1]).Response.Output
			return out, idsOf(out, "call_id")
		},
		result: func(id string, content any) any {
			return object{"type": "function_call_output", "call_id": id, "output": content}
		},
	},
	"messages": {
		path: "/v1/messages",
		ask: func(history []any, tokens int, tools bool) object {
			o := object{"messages": history, "max_tokens": tokens}
			if tools {
				o["tools"] = []any{object{"name": "f", "input_schema": object{"type": "object"}}, object{"name": "g", "input_schema": object{"type": "object"}}}
			}
			return o
		},
		answer: func(t *testing.T, body string, streamed bool) ([]any, []string) {
			var blocks []any
			if !streamed {
				blocks = decoded[struct{ Content []any }](t, body).Content
			}
			inputs := map[int]string{}
			for _, data := range events(t, body) {
				e := decoded[struct {
					Index int
					Block object `json:"content_block"`
					Delta map[string]any
				}](t, data)
				if e.Block != nil {
					blocks = append(blocks, e.Block)
				}
				for key, value := range e.Delta {
					switch text, _ := value.(string); key {
					case "partial_json":
						inputs[e.Index] += text
					case "text", "thinking":
						blocks[e.Index].(object)[key] = blocks[e.Index].(object)[key].(string) + text
					}
				}
			}
			for i, input := range inputs {
				var whole object
				if json.Unmarshal([]byte(input), &whole) == nil {
					blocks[i].(object)["input"] = whole
				} else {
					blocks[i].(object)["input"] = input // as a program sends it that cannot read it
				}
			}
			return []any{object{"role": "assistant", "content": blocks}}, idsOf(blocks, "id")
		},
		result: func(id string, content any) any {
			return object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": id, "content": content}}}
		},
	},
	"ollama": {
		path: "/api/chat",
		ask: func(history []any, tokens int, tools bool) object {
			o := object{"messages": history, "options": object{"num_predict": tokens, "temperature": 0}}
			if tools {
				o["tools"] = []any{object{"type": "function", "function": object{"name": "f", "parameters": object{"type": "", "properties": nil}}}, object{"function": object{"name": "g"}}}
			}
			return o
		},
		answer: func(t *testing.T, body string, streamed bool) ([]any, []string) {
			message := object{"content": ""}
			for line := range strings.Lines(body) {
				for key, value := range decoded[struct{ Message object }](t, line).Message {
					switch had := message[key].(type) {
					case string:
						if key != "role" {
							value = had + value.(string)
						}
					case []any:
						value = append(had, value.([]any)...)
					}
					message[key] = value
				}
			}
			return []any{message}, idsOf(arrayOf(message["tool_calls"]), "id")
		},
		result: func(id string, content any) any { return object{"role": "tool", "content": content} },
	},
}

// arrayOf returns a JSON array, nil if v is another value.
func arrayOf(v any) []any {
	l, _ := v.([]any)
	return l
}

// idsOf returns the members of a name that objects have.
func idsOf(objects []any, name string) (ids []string) {
	for _, o := range objects {
		if o := o.(object); o[name] != nil && o["type"] != "message" && o["type"] != "reasoning" {
			ids = append(ids, o[name].(string))
		}
	}
	return ids
}

// TestAnswersAreReadBack asks for scripted answers in each interface, whole and cut off after each token, and sends each answer back as the
// history of the next question, with the results of its calls and without them. It tries one in seven, and all with ANTIGRAVITY_EVAL=long.
func TestAnswersAreReadBack(t *testing.T) {
	effort.Turn(t, 8)
	one, cutCalls := 0, 0
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		tokens := answers[name]
		m, err := llama.Load(scriptedmodel.Write(t, scriptedmodel.Script{
			Template: thinkTemplate, Special: []string{"<|im_start|>", "<|im_end|>"}, Added: []string{"<think>", "</think>", "<tool_call>", "</tool_call>"},
			Chains: [][]string{append([]string{"\n"}, tokens...)},
		}), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		h := start(t, func(o *serve.Options) { o.Models = []serve.Model{{Name: "scripted", Loaded: m}}; o.Strict = true })
		called := false
		for _, protocol := range slices.Sorted(maps.Keys(readers)) {
			for cut := 1; cut <= len(tokens)+1; cut++ {
				for _, tools := range []bool{true, false} {
					if one++; one%7 > 0 && os.Getenv("ANTIGRAVITY_EVAL") != "long" {
						continue
					}
					if readsBack(t, h, protocol, cut, tools) {
						if called = true; cut < len(tokens) {
							cutCalls++
						}
					}
				}
			}
		}
		if called && !strings.Contains(name, "call") && !strings.Contains(name, "list") {
			t.Errorf("%s has calls", name)
		}
	}
	if cutCalls < 10 {
		t.Errorf("%d calls were cut off", cutCalls)
	}
}

// readsBack asks for an answer of that many tokens at most and sends it back. It reports whether the answer has a call.
func readsBack(t *testing.T, h *httptest.Server, protocol string, tokens int, tools bool) (called bool) {
	t.Helper()
	p := readers[protocol]
	question := object{"role": "user", "content": "What?"}
	send := func(history []any, tokens int, stream bool) string {
		request := p.ask(history, tokens, tools)
		request["model"], request["stream"] = "scripted", stream
		if protocol != "ollama" {
			request["temperature"] = 0
		}
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		status, text := post(t, h, p.path, string(body))
		if status != 200 || strings.Contains(text, `"error":{`) {
			t.Fatalf("%s does not read its own answer: status %d, %s: %s", p.path, status, text, body)
		}
		return text
	}
	said := make([]string, 2)
	for i, stream := range []bool{false, true} {
		turns, calls := p.answer(t, send([]any{question}, tokens, stream), stream)
		history := append([]any{question}, turns...)
		send(append(slices.Clone(history), question), 1, false)
		if len(calls) > 0 {
			called = true
			for n, id := range calls {
				history = append(history, p.result(id, []any{"", "5"}[n%2]))
			}
			send(history, 1, false)
		}
		said[i] = fmt.Sprint(len(calls), " calls")
	}
	if said[0] != said[1] {
		t.Errorf("%s, %d tokens, tools %v: whole %s, streamed %s", protocol, tokens, tools, said[0], said[1])
	}
	return called
}
