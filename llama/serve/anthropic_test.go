package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve"
)

// anthropicMessage is an answer of POST /v1/messages, or what the events of a stream make together.
type anthropicMessage struct {
	ID, Type, Role, Model string
	Content               []anthropicBlock
	Stop                  *string `json:"stop_reason"`
	Sequence              *string `json:"stop_sequence"`
	Usage                 struct {
		Input    *int `json:"input_tokens"`
		Creation *int `json:"cache_creation_input_tokens"`
		Cached   *int `json:"cache_read_input_tokens"`
		Output   int  `json:"output_tokens"`
	}
	Fingerprint string `json:"system_fingerprint"`
}

// prompt is how many tokens the prompt has.
func (m *anthropicMessage) prompt() int { return *m.Usage.Input + *m.Usage.Creation + *m.Usage.Cached }

// stopped is the reason for which the answer ended, with the stop string.
func (m *anthropicMessage) stopped() string {
	if m.Stop == nil {
		return "not"
	}
	if m.Sequence != nil {
		return *m.Stop + " " + *m.Sequence
	}
	return *m.Stop
}

type anthropicBlock struct {
	Type, Text, ID, Name string
	Input                json.RawMessage
}

// message asks for a whole answer.
func message(t *testing.T, url func(path, body string) (int, string), body string) (m anthropicMessage) {
	t.Helper()
	status, text := url("/v1/messages", `{`+body+`}`)
	if err := json.Unmarshal([]byte(text), &m); status != 200 || err != nil {
		t.Fatalf("%s: status %d, %v: %s", body, status, err, text)
	}
	return m
}

// streamed asks for an answer as a stream, checks the order of its events, and puts them together as Anthropic's clients do.
func streamedMessage(t *testing.T, url func(path, body string) (int, string), body string) (m anthropicMessage, names []string) {
	t.Helper()
	status, text := url("/v1/messages", `{`+body+`,"stream":true}`)
	if status != 200 {
		t.Fatalf("%s: status %d: %s", body, status, text)
	}
	open := false
	for part := range strings.SplitSeq(strings.TrimSuffix(text, "\n\n"), "\n\n") {
		name, data, _ := strings.Cut(strings.TrimPrefix(part, "event: "), "\ndata: ")
		var e struct {
			Type    string
			Index   int
			Message json.RawMessage
			Block   anthropicBlock `json:"content_block"`
			Delta   json.RawMessage
			Usage   json.RawMessage
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Type != name {
			t.Fatalf("%v in the event %q", err, part)
		}
		names = append(names, name)
		var d struct {
			Type, Text string
			JSON       string `json:"partial_json"`
		}
		var err error
		switch name {
		case "message_start":
			err = json.Unmarshal(e.Message, &m)
		case "content_block_start":
			if open || e.Index != len(m.Content) {
				t.Fatalf("%q comes after %q", part, names)
			}
			open = true
			e.Block.Input = nil
			m.Content = append(m.Content, e.Block)
		case "content_block_delta":
			if !open || e.Index != len(m.Content)-1 {
				t.Fatalf("%q comes after %q", part, names)
			}
			err = json.Unmarshal(e.Delta, &d)
			b := &m.Content[e.Index]
			b.Text += d.Text
			b.Input = append(b.Input, d.JSON...)
		case "content_block_stop":
			if !open || e.Index != len(m.Content)-1 {
				t.Fatalf("%q comes after %q", part, names)
			}
			open = false
		case "message_delta":
			if err = json.Unmarshal(e.Delta, &m); err == nil {
				err = json.Unmarshal(e.Usage, &m.Usage)
			}
		case "ping", "message_stop":
		default:
			t.Fatalf("there is an event %q", part)
		}
		if err != nil {
			t.Fatalf("%q: %v", part, err)
		}
	}
	if n := len(names); n < 4 || open || names[0] != "message_start" || names[1] != "ping" || names[n-2] != "message_delta" || names[n-1] != "message_stop" {
		t.Fatalf("the events are %q", names)
	}
	return m, names
}

// said is what a message says, its calls included, and why it ended.
func (m *anthropicMessage) said() string {
	var all []string
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			all = append(all, b.Text)
		case "tool_use":
			var arguments any
			if err := json.Unmarshal(b.Input, &arguments); err != nil {
				all = append(all, err.Error())
			}
			text, _ := json.Marshal(arguments)
			all = append(all, b.Name+string(text))
		}
	}
	return strings.Join(all, " + ") + " (" + m.stopped() + ")"
}

// What Flint knows functions by.
const (
	anthropicHead    = `"model":"default","max_tokens":100,"temperature":0`
	anthropicCapital = anthropicHead + `,"messages":[{"role":"user","content":"What is the capital of Japan?"}]`
	weatherSchema    = `{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"],"additionalProperties":false}`
	weatherTool      = `{"name":"get_weather","description":"Tells the weather in a city.","input_schema":` + weatherSchema + `}`
	weatherAsked     = anthropicHead + `,"tools":[` + weatherTool + `],"messages":[{"role":"user","content":"How warm is it in Nairobi?"}`
)

// Answers are the same whole and as a stream, and end for the reason that they give.
func TestMessages(t *testing.T) {
	h := start(t, nil)
	url := func(path, body string) (int, string) { return post(t, h, path, body) }
	const called = `get_weather{"city":"Nairobi"}`
	person := `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"],"additionalProperties":false}`
	for _, c := range []struct{ name, body, want string }{
		{"text", anthropicCapital, "The capital of Japan is Tokyo. (end_turn)"},
		{"a system prompt", anthropicCapital + `,"system":[{"type":"text","text":"You are Flint."}]`, "The capital of Japan is Tokyo. (end_turn)"},
		{"a stop sequence", anthropicCapital + `,"stop_sequences":["Kyoto"," is"," is Osaka"]`, "The capital of Japan (stop_sequence  is)"},
		{"few tokens", `"model":"flint","max_tokens":3,"temperature":0,"messages":[{"role":"user","content":"What is the capital of Japan?"}]`, "The capital of (max_tokens)"},
		{"an answer begun", anthropicHead + `,"messages":[{"role":"user","content":"What is the capital of Japan?"},{"role":"assistant","content":"The capital of"}]`,
			" Japan is Tokyo. (end_turn)"},
		{"a call", weatherAsked + `]`, called + " (tool_use)"},
		{"a call that must be", anthropicCapital + `,"tools":[` + weatherTool + `],"tool_choice":{"type":"any"}`, `get_weather{"city":"Tokyo"} (tool_use)`},
		{"a call of one function", weatherAsked + `],"tool_choice":{"type":"tool","name":"get_weather","disable_parallel_tool_use":true}`, called + " (tool_use)"},
		{"one call", weatherAsked + `],"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`, called + " (tool_use)"},
		{"no call", weatherAsked + `],"tool_choice":{"type":"none"}`, ""},
		{"a call that breaks off", strings.Replace(weatherAsked, "100", "8", 1) + `]`, ""},
		{"a form", anthropicHead + `,"messages":[{"role":"user","content":"Ann is 7 years old."}],"output_config":{"format":{"type":"json_schema","schema":` + person + `}}`, ""},
	} {
		whole := message(t, url, c.body)
		got, _ := streamedMessage(t, url, c.body)
		if said := whole.said(); c.want != "" && said != c.want {
			t.Errorf("%s: %s, want %s", c.name, said, c.want)
		}
		if got.said() != whole.said() {
			t.Errorf("%s: the stream says %s, the whole answer %s", c.name, got.said(), whole.said())
		}
		for _, m := range []anthropicMessage{whole, got} {
			if !strings.HasPrefix(m.ID, "msg_") || m.Type != "message" || m.Role != "assistant" || m.Model != "flint" || m.Usage.Output == 0 ||
				!strings.HasPrefix(m.Fingerprint, "fp_") {
				t.Errorf("%s: %+v", c.name, m)
			}
			for _, b := range m.Content {
				if (b.Type == "tool_use") != (m.stopped() == "tool_use") || c.name == "no call" && b.Type != "text" {
					t.Errorf("%s: the block %+v, and the answer ended by %s", c.name, b, m.stopped())
				}
			}
		}
		var value struct {
			Name *string
			Age  *int
		}
		if c.name == "a form" && (json.Unmarshal([]byte(whole.Content[0].Text), &value) != nil || value.Name == nil || value.Age == nil) {
			t.Errorf("the form is not kept: %s", whole.said())
		}
		status, body := url("/v1/messages/count_tokens", `{`+c.body+`}`)
		if want := fmt.Sprintf("{\"input_tokens\":%d}\n", whole.prompt()); status != 200 || body != want {
			t.Errorf("%s: status %d, %s, want %s", c.name, status, body, want)
		}
		if got.prompt() != whole.prompt() {
			t.Errorf("%s: the prompt has %d tokens, in the stream %d", c.name, whole.prompt(), got.prompt())
		}
	}
}

// Functions and a form can be asked for together: the answer calls, or has the form. OpenAI's interface says the same.
func TestMessagesFunctionsAndForm(t *testing.T) {
	h := start(t, nil)
	url := func(path, body string) (int, string) { return post(t, h, path, body) }
	const (
		person = `{"type":"object","properties":{"name":{"type":"string","maxLength":20},"age":{"type":"integer","maximum":150,"minimum":0}},"required":["name","age"],"additionalProperties":false}`
		form   = `,"output_config":{"format":{"type":"json_schema","schema":` + person + `}}`
	)
	if m := message(t, url, weatherAsked+`]`+form); m.said() != `get_weather{"city":"Nairobi"} (tool_use)` {
		t.Errorf("a question for a function: %s", m.said())
	}
	asked := strings.Replace(weatherAsked, "How warm is it in Nairobi?", "Tell me a story about a fox.", 1) + `]`
	m := message(t, url, asked+form)
	var value struct {
		Name *string
		Age  *int
	}
	if len(m.Content) != 1 || json.Unmarshal([]byte(m.Content[0].Text), &value) != nil || value.Name == nil || value.Age == nil {
		t.Errorf("a question for a text: %s", m.said())
	}
	if s, _ := streamedMessage(t, url, asked+form); s.said() != m.said() {
		t.Errorf("the stream says %s, the whole answer %s", s.said(), m.said())
	}
	status, body := url("/v1/messages", `{`+asked+`,"output_config":{"format":{"type":"json_schema","schema":{"properties":{"name":{}}}}}}`)
	if status != 400 || !strings.Contains(body, "output_config.format: ") || !strings.Contains(body, "additionalProperties") {
		t.Errorf("a form that could be taken for a call: status %d, %s", status, body)
	}
	status, body = url("/v1/chat/completions", fmt.Sprintf(`{"model":"flint","temperature":0,"max_tokens":100,"messages":[{"role":"user","content":"Tell me a story about a fox."}],
		"tools":[{"type":"function","function":{"name":"get_weather","description":"Tells the weather in a city.","parameters":%s}}],
		"response_format":{"type":"json_schema","json_schema":{"name":"person","schema":%s}}}`, weatherSchema, person))
	var chat struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal([]byte(body), &chat); status != 200 || err != nil || len(m.Content) == 1 && chat.Choices[0].Message.Content != m.Content[0].Text {
		t.Errorf("OpenAI's interface: status %d, %v, %s", status, err, body)
	}
}

// An answer that a request has begun goes on as if the model had begun it.
func TestMessagesGoOn(t *testing.T) {
	h := start(t, nil)
	url := func(path, body string) (int, string) { return post(t, h, path, body) }
	const story = anthropicHead + `,"messages":[{"role":"user","content":"Tell me a story about a fox."}`
	first := message(t, url, story+`]`)
	whole := first.said()
	for _, words := range []int{1, 4, 9, 15} {
		begun := strings.Join(strings.SplitAfterN(whole, " ", words+1)[:words], "")
		begun = strings.TrimSuffix(begun, " ") // a word's token has the space before it
		rest := message(t, url, fmt.Sprintf(`%s,{"role":"assistant","content":%q}]`, story, begun))
		if got := begun + rest.said(); !strings.HasPrefix(got, strings.TrimSuffix(whole, " (max_tokens)")) {
			t.Errorf("after %q the answer is %q, want that of %q", begun, rest.said(), whole)
		}
	}
}

// A question, calls, their results, the answer: the same as through OpenAI's interface, and of the same prompt.
func TestMessagesCallAndAnswer(t *testing.T) {
	h := start(t, nil)
	url := func(path, body string) (int, string) { return post(t, h, path, body) }
	first := message(t, url, weatherAsked+`]`)
	if len(first.Content) != 1 || first.Content[0].ID == "" {
		t.Fatalf("the answer is %+v", first)
	}
	call := first.Content[0]
	const result = `{\"sky\": \"sunny\", \"temperature\": 17}`
	second := message(t, url, fmt.Sprintf(`%s,{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":[{"type":"text","text":"%s"}]}]}]`,
		weatherAsked, call.ID, call.Name, call.Input, call.ID, result))
	const want = "It is 17 degrees and sunny in Nairobi. (end_turn)"
	if second.said() != want {
		t.Errorf("%s, want %s", second.said(), want)
	}
	status, body := url("/v1/chat/completions", fmt.Sprintf(`{"model":"flint","temperature":0,"tools":[{"type":"function","function":
		{"name":"get_weather","description":"Tells the weather in a city.","parameters":%s}}],"messages":[{"role":"user","content":"How warm is it in Nairobi?"},
		{"role":"assistant","tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]},{"role":"tool","tool_call_id":%q,"content":"%s"}]}`,
		weatherSchema, call.ID, call.Name, call.Input, call.ID, result))
	var openai struct {
		Choices []struct{ Message struct{ Content string } }
		Usage   struct {
			Prompt int `json:"prompt_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &openai); status != 200 || err != nil || openai.Choices[0].Message.Content != second.Content[0].Text ||
		openai.Usage.Prompt != second.prompt() {
		t.Errorf("OpenAI's interface answers to another prompt, of %d tokens: status %d, %v, %s", second.prompt(), status, err, body)
	}
}

// The arguments of calls come while they are written, unless a function says otherwise.
func TestMessagesEagerCalls(t *testing.T) {
	h := start(t, nil)
	url := func(path, body string) (int, string) { return post(t, h, path, body) }
	deltas := func(body string) (n int) {
		m, names := streamedMessage(t, url, body)
		if want := `get_weather{"city":"Nairobi"} (tool_use)`; m.said() != want {
			t.Errorf("%s, want %s", m.said(), want)
		}
		for _, name := range names {
			if name == "content_block_delta" {
				n++
			}
		}
		return n
	}
	if n := deltas(weatherAsked + `]`); n < 3 {
		t.Errorf("the arguments came in %d pieces", n)
	}
	if n := deltas(strings.Replace(weatherAsked, `{"name"`, `{"eager_input_streaming":false,"name"`, 1) + `]`); n != 1 {
		t.Errorf("the arguments of a function that wants them as a whole came in %d pieces", n)
	}
}

// The same seed gives the same answer, and another seed another one.
func TestMessagesSeed(t *testing.T) {
	h := start(t, nil)
	url := func(path, body string) (int, string) { return post(t, h, path, body) }
	ask := func(seed int) string {
		m := message(t, url, fmt.Sprintf(`"model":"flint","max_tokens":60,"messages":[{"role":"user","content":"Tell me a story about a fox."}],"seed":%d`, seed))
		return m.said()
	}
	answers := map[string]bool{}
	for seed := range 4 {
		first := ask(seed)
		if again := ask(seed); again != first {
			t.Errorf("seed %d: %q, then %q", seed, first, again)
		}
		answers[first] = true
	}
	if len(answers) < 2 {
		t.Errorf("four seeds give the one answer %v", answers)
	}
}

// Errors have Anthropic's form, with the id of the request that the header has too, whichever part of the server finds them.
func TestMessagesErrors(t *testing.T) {
	h := start(t, func(o *serve.Options) {
		o.Keys = []serve.Key{{Name: "tests", Secret: "right"}}
		o.MaxBody = 40000
	})
	const chat = `"max_tokens":5,"messages":[{"role":"user","content":"Hello"}]`
	long := strings.Repeat("garden ", 5000)
	for _, c := range []struct {
		name, method, path, key, body string
		status                        int
		kind, says                    string
	}{
		{"a parameter", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"frequency_penalty":1}`, 400, "invalid_request_error", "frequency_penalty"},
		{"no JSON", "POST", "/v1/messages", "right", `{`, 400, "invalid_request_error", "JSON"},
		{"a thread", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"thread":{"type":"create"}}`, 400, "invalid_request_error", `"details":{"error_code":"thread_unsupported_request"}`},
		{"a schema", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"output_config":{"format":{"type":"json_schema","schema":{"type":"string","pattern":"(a)\\1"}}}}`, 400, "invalid_request_error", "output_config.format"},
		{"a function's schema", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"tools":[{"name":"f","strict":true,"input_schema":{"properties":{"a":{"pattern":"(a)\\1"}}}}]}`, 400, "invalid_request_error", "tools"},
		{"a form and an answer begun", "POST", "/v1/messages", "right", `{"model":"flint","max_tokens":5,"messages":[{"role":"user","content":"Hello"},{"role":"assistant","content":"{"}],"output_config":{"format":{"type":"json_schema","schema":{}}}}`, 400, "invalid_request_error", "messages[1]"},
		{"top_p", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"top_p":2}`, 400, "invalid_request_error", "top_p"},
		{"top_k", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"top_k":-2}`, 400, "invalid_request_error", "top_k"},
		{"a long prompt", "POST", "/v1/messages", "right", `{"model":"flint","stream":true,"max_tokens":5,"messages":[{"role":"user","content":"` + long + `"}]}`, 400, "invalid_request_error", "tokens"},
		{"an unknown model", "POST", "/v1/messages", "right", `{"model":"granite",` + chat + `}`, 404, "not_found_error", "granite"},
		{"an unknown model, counting", "POST", "/v1/messages/count_tokens", "right", `{"model":"granite",` + chat + `}`, 404, "not_found_error", "granite"},
		{"a wrong key", "POST", "/v1/messages", "wrong", `{"model":"flint",` + chat + `}`, 401, "authentication_error", "key"},
		{"a large request", "POST", "/v1/messages", "right", `{"model":"flint",` + chat + `,"system":"` + strings.Repeat("x", 40000) + `"}`, 413, "request_too_large", "40000"},
		{"another method", "GET", "/v1/messages", "right", ``, 405, "invalid_request_error", "POST"},
	} {
		r, err := http.NewRequest(c.method, h.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", c.key)
		r.Header.Set("Anthropic-Version", "2023-06-01")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Type    string
			Error   json.RawMessage
			Request string `json:"request_id"`
		}
		var inner struct{ Type, Message string }
		err = json.NewDecoder(answer.Body).Decode(&e)
		answer.Body.Close()
		if err == nil {
			err = json.Unmarshal(e.Error, &inner)
		}
		if err != nil || answer.StatusCode != c.status || e.Type != "error" || inner.Type != c.kind || !strings.Contains(string(e.Error), c.says) {
			t.Errorf("%s: status %d, %v, %s %s", c.name, answer.StatusCode, err, e.Type, e.Error)
		}
		if id := answer.Header.Get("Request-Id"); id == "" || id != e.Request || id != answer.Header.Get("X-Request-Id") {
			t.Errorf("%s: the request is %q, in the body %q", c.name, id, e.Request)
		}
	}
}

// A stream's answer that could not be begun is no stream, and the whole one says the same.
func TestMessagesStreamRefused(t *testing.T) {
	h := start(t, nil)
	var answers []any
	for _, stream := range []string{"true", "false"} {
		status, body := post(t, h, "/v1/messages", `{"model":"flint","max_tokens":-1,"messages":[{"role":"user","content":"Hello"}],"stream":`+stream+`}`)
		var e struct{ Error any }
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 {
			t.Errorf("status %d, %v: %s", status, err, body)
		}
		answers = append(answers, e.Error)
	}
	if !reflect.DeepEqual(answers[0], answers[1]) {
		t.Errorf("%v", answers)
	}
}
