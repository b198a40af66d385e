package serve_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// object is a JSON object.
type object = map[string]any

// parseObject parses one.
func parseObject(t testing.TB, text string) object {
	t.Helper()
	var o object
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return o
}

// stable takes out of a response what two answers to a request may differ in: ids, times, and what the cache had already.
func stable(response object) object {
	for _, key := range []string{"id", "created_at", "completed_at"} {
		delete(response, key)
	}
	for _, item := range response["output"].([]any) {
		delete(item.(object), "id")
	}
	if u, ok := response["usage"].(object); ok {
		delete(u, "input_tokens_details")
	}
	return response
}

// together puts a response together from a stream's events, as a client does that believes only the added items and the deltas, and returns
// it with the final event's. Every event is compared with OpenAI's schema.
func together(t *testing.T, body string) (put, final object, names []string) {
	t.Helper()
	var output []any
	var named string
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			named = name
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		openapi.Validate(t, "ResponseStreamEvent", []byte(data))
		e := parseObject(t, data)
		name := e["type"].(string)
		if name != named || e["sequence_number"] != float64(len(names)) {
			t.Errorf("event %d is called %q: %s", len(names), named, data)
		}
		names = append(names, name)
		if r, ok := e["response"].(object); ok {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			openapi.Validate(t, "Response", text)
			final = r
		}
		if final == nil {
			t.Fatalf("the first event is %s", data)
		}
		index, ok := e["output_index"].(float64)
		if !ok {
			continue
		}
		if name == "response.output_item.added" {
			output = append(output, e["item"])
		}
		item := output[int(index)].(object)
		switch name {
		case "response.content_part.added":
			item["content"] = []any{e["part"]}
		case "response.output_text.delta":
			part := item["content"].([]any)[0].(object)
			part["text"] = part["text"].(string) + e["delta"].(string)
			part["logprobs"] = append(part["logprobs"].([]any), e["logprobs"].([]any)...)
		case "response.function_call_arguments.delta":
			item["arguments"] = item["arguments"].(string) + e["delta"].(string)
		case "response.output_item.done":
			item["status"] = e["item"].(object)["status"]
		}
	}
	return object{"output": output}, final, names
}

const flatWeatherTool = `{"type":"function","name":"get_weather","description":"Tells the weather in a city.","strict":false,
	"parameters":{"type":"object","properties":{"city":{"type":"string","description":"name of the city"}},"required":["city"]}}`

const personFormat = `{"type":"json_schema","name":"person","strict":true,
	"schema":{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false}}`

const timeTool = `{"type":"function","name":"get_time","description":"Tells the time in a city.","strict":true,
	"parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}`

// TestResponses asks for whole and for streamed answers.
func TestResponses(t *testing.T) {
	h := start(t, nil)
	weather := `"temperature":0,"input":"How warm is it in Nairobi?","tools":[` + flatWeatherTool + `]`
	const france = `"temperature":0,"input":"What is the capital of France?"`
	for _, c := range []struct {
		name, members string
		status        string
		output        string // the items: a text, or a name and arguments; "…": something
	}{
		{"a text", france, "completed", "The capital of France is Paris."},
		{"all that comes back", france + `,"metadata":{"a":"b"},"user":"u","safety_identifier":"s","prompt_cache_key":"k","service_tier":"auto","store":false,
			"top_p":0.5,"max_output_tokens":100,"truncation":"disabled","instructions":"Be brief.","text":{"format":{"type":"text"},"verbosity":"medium"}`, "completed", "…"},
		{"messages", `"temperature":0,"instructions":"You are Flint.","input":[{"role":"user","content":"Hello"},
			{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello.","annotations":[]}]},
			{"role":"user","content":[{"type":"input_text","text":"What is the capital of France?"}]}]`, "completed", "The capital of France is Paris."},
		{"the likeliest tokens", france + `,"include":["message.output_text.logprobs"],"top_logprobs":3`, "completed", "The capital of France is Paris."},
		{"a draw", `"seed":5,"input":"Tell me a story about a fox.","max_output_tokens":40`, "incomplete", "…"},
		{"a number of tokens", france + `,"max_output_tokens":3`, "incomplete", "…"},
		{"a stop string", france + `,"stop":" France"`, "completed", "The capital of"},
		{"a call", weather, "completed", `get_weather{"city":"Nairobi"}`},
		{"no call", weather + `,"tool_choice":"none"`, "completed", "…"},
		{"a call that must be", france + `,"tools":[` + flatWeatherTool + `],"tool_choice":"required","parallel_tool_calls":false`, "completed", "…"},
		{"the function that must be called", weather[:len(weather)-1] + `,` + timeTool + `],"tool_choice":{"type":"function","name":"get_time"},"parallel_tool_calls":false`,
			"completed", `get_time{"city":"Nairobi"}`},
		{"the functions that may be called", weather[:len(weather)-1] + `,` + timeTool + `],"parallel_tool_calls":false,
			"tool_choice":{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"get_time"}]}`, "completed", `get_time{"city":"Nairobi"}`},
		{"a call that is cut off", weather + `,"max_output_tokens":14`, "incomplete", `get_weather{"city":"`},
		{"a schema", `"temperature":0,"input":"Sam is 18 years old.","text":{"format":` + personFormat + `}`, "completed", "…"},
		{"a form that looks like a call", weather + `,"tool_choice":"none","text":{"format":{"type":"json_schema","name":"call","schema":{"type":"object",
			"properties":{"name":{"const":"get_weather"},"parameters":{"type":"object","properties":{"city":{"const":"Nairobi"}},"required":["city"],
			"additionalProperties":false}},"required":["name","parameters"],"additionalProperties":false}}}`, "completed",
			`{"name": "get_weather", "parameters": {"city": "Nairobi"}}`},
		{"a call, or a form", weather + `,"text":{"format":` + personFormat + `}`, "completed", `get_weather{"city":"Nairobi"}`},
		{"a form, or a call", `"temperature":0,"input":"Sam is 18 years old.","tools":[` + flatWeatherTool + `],"tool_choice":"auto","text":{"format":` + personFormat + `}`,
			"completed", "…"},
		{"an object", `"temperature":0,"input":"Sam is 18 years old.","max_output_tokens":50,"text":{"format":{"type":"json_object"}}`, "", "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			request := `{"model":"flint",` + c.members
			status, body := post(t, h, "/v1/responses", request+`}`)
			if status != 200 {
				t.Fatalf("status %d: %s", status, body)
			}
			openapi.Validate(t, "Response", []byte(body))
			whole := parseObject(t, body)
			if c.status != "" && whole["status"] != c.status {
				t.Errorf("the status is %v: %s", whole["status"], body)
			}
			if cut := whole["status"] == "incomplete"; cut != reflect.DeepEqual(whole["incomplete_details"], object{"reason": "max_output_tokens"}) {
				t.Errorf("the answer is cut: %v, and %v", cut, whole["incomplete_details"])
			}
			if got := inLine(whole); c.output != "…" && got != c.output || got == "" {
				t.Errorf("the answer is %q, want %q", got, c.output)
			}
			stable(whole)
			if _, again := post(t, h, "/v1/responses", request+`}`); !reflect.DeepEqual(stable(parseObject(t, again)), whole) {
				t.Errorf("asked again, the answer is %s, not %s", again, body)
			}
			status, body = post(t, h, "/v1/responses", request+`,"stream":true}`)
			if status != 200 {
				t.Fatalf("status %d: %s", status, body)
			}
			put, final, names := together(t, body)
			if !reflect.DeepEqual(put["output"], final["output"]) {
				t.Errorf("the stream says %v, its end %v", put["output"], final["output"])
			}
			if !reflect.DeepEqual(stable(final), whole) {
				t.Errorf("the stream's answer is %v, the whole one %v", final, whole)
			}
			if n := len(names); n < 6 || names[0] != "response.created" || names[1] != "response.in_progress" || names[n-1] != "response."+whole["status"].(string) {
				t.Errorf("the events are %q", names)
			}
		})
	}
}

// inLine returns the texts and calls of a response.
func inLine(response object) string {
	var all []string
	for _, item := range response["output"].([]any) {
		switch i := item.(object); i["type"] {
		case "message":
			all = append(all, i["content"].([]any)[0].(object)["text"].(string))
		case "function_call":
			all = append(all, fmt.Sprint(i["name"], strings.ReplaceAll(i["arguments"].(string), `": "`, `":"`)))
		}
	}
	return strings.Join(all, " ")
}

func TestResponsesEcho(t *testing.T) {
	h := start(t, nil)
	_, body := post(t, h, "/v1/responses", `{"model":"default","input":"Hello","temperature":0,"max_output_tokens":1,"metadata":{"a":"b"},"user":"u",
		"instructions":"Be brief.","tools":[`+flatWeatherTool+`],"tool_choice":"none","parallel_tool_calls":false,"top_p":0.5,"include":["message.output_text.logprobs"]}`)
	r := parseObject(t, body)
	for name, want := range map[string]any{
		"model": "flint", "metadata": object{"a": "b"}, "user": "u", "instructions": "Be brief.", "tool_choice": "none", "parallel_tool_calls": false,
		"top_p": 0.5, "temperature": 0.0, "max_output_tokens": 1.0, "store": false, "truncation": "disabled", "previous_response_id": nil, "object": "response",
		"error": nil, "top_logprobs": 0.0, "text": object{"format": object{"type": "text"}, "verbosity": "medium"},
		"tools": []any{parseObject(t, flatWeatherTool)},
	} {
		if got, ok := r[name]; !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	part := r["output"].([]any)[0].(object)["content"].([]any)[0].(object)
	if logs := part["logprobs"].([]any); len(logs) != 1 || logs[0].(object)["token"] != part["text"] || len(logs[0].(object)["top_logprobs"].([]any)) != 0 {
		t.Errorf("the log-probabilities are %v, of %q", logs, part["text"])
	}
}

// TestResponsesTools takes a call's result back to the model, with the call's items as they came.
func TestResponsesTools(t *testing.T) {
	h := start(t, nil)
	const question = `{"role":"user","content":"How warm is it in Nairobi?"}`
	ask := func(input string) object {
		status, body := post(t, h, "/v1/responses", `{"model":"flint","temperature":0,"tools":[`+flatWeatherTool+`],"input":[`+input+`]}`)
		if status != 200 {
			t.Fatalf("status %d: %s", status, body)
		}
		return parseObject(t, body)
	}
	first := ask(question)
	call, ok := first["output"].([]any)[0].(object)
	if !ok || call["type"] != "function_call" || call["status"] != "completed" {
		t.Fatalf("the answer is %v", first)
	}
	text, err := json.Marshal(call)
	if err != nil {
		t.Fatal(err)
	}
	second := ask(fmt.Sprintf(`%s,%s,{"type":"function_call_output","call_id":%q,"output":"{\"sky\": \"sunny\", \"temperature\": 17}"}`, question, text, call["call_id"]))
	if got := inLine(second); got != "It is 17 degrees and sunny in Nairobi." {
		t.Errorf("the answer is %q", got)
	}
	if used, before := second["usage"].(object), first["usage"].(object); used["input_tokens_details"].(object)["cached_tokens"].(float64) < before["input_tokens"].(float64)/2 {
		t.Errorf("the second turn's prompt was computed anew: %v after %v", used, before)
	}
}

// TestResponsesErrors are those that the model's side finds.
func TestResponsesErrors(t *testing.T) {
	h := start(t, nil)
	const unkept = `{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}`
	for _, c := range []struct {
		name, members string
		status        int
		param, code   string
	}{
		{"an unknown parameter", `"model":"flint","input":"a","temprature":1`, 400, "temprature", "unknown_parameter"},
		{"an unknown model", `"model":"granite","input":"a"`, 404, "model", "model_not_found"},
		{"a long prompt", `"model":"flint","input":"` + strings.Repeat("garden ", 5000) + `"`, 400, "input", "context_length_exceeded"},
		{"a negative temperature", `"model":"flint","input":"a","temperature":-1`, 400, "temperature", "invalid_value"},
		{"no such token", `"model":"flint","input":"a","logit_bias":{"x":1}`, 400, "logit_bias", "invalid_value"},
		{"a schema that is none", `"model":"flint","input":"a","text":{"format":{"type":"json_schema","name":"n","schema":{"type":"thing"}}}`, 400, "text.format.schema", "invalid_value"},
		{"a long identifier", `"model":"flint","input":"a","safety_identifier":"` + strings.Repeat("x", 65) + `"`, 400, "safety_identifier", "invalid_value"},
		{"a schema that is no object", `"model":"flint","input":"a","text":{"format":{"type":"json_schema","name":"n","schema":true}}`, 400, "text.format.schema", "invalid_value"},
		{"a schema that cannot be kept", `"model":"flint","input":"a","text":{"format":{"type":"json_schema","name":"n","schema":` + unkept + `}}`, 400, "text.format.schema", "unsupported_schema"},
		{"a strict function that cannot be kept", `"model":"flint","input":"a","tools":[{"type":"function","name":"f","strict":true,"parameters":` + unkept + `}]`, 400, "tools", "unsupported_schema"},
		{"a name that no call can have", `"model":"flint","input":"a","tools":[{"type":"function","name":"f g"}]`, 400, "tools", "invalid_value"},
	} {
		for _, stream := range []string{"", `,"stream":true`} {
			status, body := post(t, h, "/v1/responses", `{`+c.members+stream+`}`)
			openapi.Validate(t, "ErrorResponse", []byte(body))
			var e struct {
				Error struct{ Param, Code, Message, Type string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != c.status || e.Error.Param != c.param || e.Error.Code != c.code ||
				e.Error.Type != "invalid_request_error" {
				t.Errorf("%s: status %d, %s", c.name, status, body)
			}
		}
	}
}

// TestResponsesBreakOff shuts the server down while it answers: the answer ends with the reason, and has the text so far.
func TestResponsesBreakOff(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	defer h.Close()
	answer, err := http.Post(h.URL+"/v1/responses", "application/json", strings.NewReader(`{"model":"flint","stream":true,"temperature":0,"input":"Count.",
		"text":{"format":{"type":"json_schema","name":"n","schema":{"type":"array","items":{"type":"integer"},"minItems":2000}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var body strings.Builder
	closed := make(chan error, 1)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		fmt.Fprintln(&body, lines.Text())
		if closed != nil && strings.Contains(lines.Text(), "output_text.delta") {
			go func() { closed <- s.Close() }()
			select {
			case err := <-closed:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Fatal("the server does not shut down")
			}
			closed = nil
		}
	}
	put, final, names := together(t, body.String())
	if n := len(names); n < 4 || names[n-1] != "response.failed" || names[n-2] != "error" {
		t.Fatalf("the events are %q", names)
	}
	if e, ok := final["error"].(object); !ok || e["code"] != "server_error" || !strings.Contains(e["message"].(string), "shutting down") || final["status"] != "failed" {
		t.Errorf("the end is %v", final)
	}
	if got, want := inLine(final), inLine(put); got != want || got == "" {
		t.Errorf("the end has %q, the deltas %q", got, want)
	}
	if !strings.Contains(body.String(), `"code":"shutting_down"`) {
		t.Errorf("no event has the reason in a word: %s", body.String())
	}
}
