package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve"
	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// chatLogprob is a token of an answer with its log-probability.
type chatLogprob struct {
	Token   string
	Logprob float64
	Bytes   []byte
	Top     []struct{ Token string } `json:"top_logprobs"`
}

// chatCall is a function call.
type chatCall struct {
	Index    *int
	ID, Type string
	Function struct{ Name, Arguments string }
}

// chatTold is one of the answers of a chat, whole or put together from a stream.
type chatTold struct {
	Content string
	Calls   []chatCall
	Tokens  []string // of the log-probabilities
	Top     []int    // how many alternatives each of them has
	Finish  string
}

// chatUsage is what a request took.
type chatUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func (r *chatTold) add(all []chatLogprob) {
	for _, l := range all {
		r.Tokens, r.Top = append(r.Tokens, l.Token), append(r.Top, len(l.Top))
	}
}

// chatWhole asks for answers without a stream.
func chatWhole(t testing.TB, h *httptest.Server, body string) ([]chatTold, chatUsage) {
	t.Helper()
	status, text := post(t, h, "/v1/chat/completions", "{"+body+"}")
	if status != 200 {
		t.Fatalf("%s: status %d: %s", body, status, text)
	}
	openapi.Validate(t, "CreateChatCompletionResponse", []byte(text))
	var whole struct {
		Choices []struct {
			Index   int
			Message struct {
				Content *string
				Calls   []chatCall `json:"tool_calls"`
			}
			Logprobs *struct{ Content []chatLogprob }
			Finish   string `json:"finish_reason"`
		}
		Usage chatUsage
	}
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	replies := make([]chatTold, len(whole.Choices))
	for i, c := range whole.Choices {
		r := chatTold{Finish: c.Finish, Calls: c.Message.Calls}
		if c.Index != i {
			t.Errorf("choice %d has the index %d", i, c.Index)
		}
		if c.Message.Content != nil {
			r.Content = *c.Message.Content
		} else if len(r.Calls) == 0 {
			t.Errorf("the content is null, and there are no calls: %s", text)
		}
		if c.Logprobs != nil {
			r.add(c.Logprobs.Content)
		}
		replies[i] = r
	}
	return replies, whole.Usage
}

// chatStream asks for the same answers as a stream.
func chatStream(t testing.TB, h *httptest.Server, body string) ([]chatTold, chatUsage) {
	t.Helper()
	status, text := post(t, h, "/v1/chat/completions", "{"+body+`,"stream":true,"stream_options":{"include_usage":true}}`)
	data := events(t, text)
	if status != 200 || len(data) < 3 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("%s: status %d: %s", body, status, text)
	}
	var replies []chatTold
	var used chatUsage
	for i, d := range data[:len(data)-1] {
		openapi.Validate(t, "CreateChatCompletionStreamResponse", []byte(d))
		var chunk struct {
			Choices []struct {
				Index int
				Delta struct {
					Role, Content string
					Calls         []chatCall `json:"tool_calls"`
				}
				Logprobs *struct{ Content []chatLogprob }
				Finish   string `json:"finish_reason"`
			}
			Usage *chatUsage
		}
		if err := json.Unmarshal([]byte(d), &chunk); err != nil {
			t.Fatal(err)
		}
		last := i == len(data)-2
		if (chunk.Usage != nil) != last || (len(chunk.Choices) == 0) != last || !strings.Contains(d, `"usage":`) {
			t.Errorf("chunk %d of %d is %s", i, len(data)-1, d)
		}
		if last {
			used = *chunk.Usage
		}
		for _, c := range chunk.Choices {
			for c.Index >= len(replies) {
				replies = append(replies, chatTold{})
			}
			r := &replies[c.Index]
			if (c.Delta.Role == "assistant") != (reflect.ValueOf(*r).IsZero()) || r.Finish != "" {
				t.Errorf("chunk %d is %s, after %+v", i, d, r)
			}
			r.Content += c.Delta.Content
			r.Finish = c.Finish
			for _, part := range c.Delta.Calls {
				if part.ID != "" {
					r.Calls = append(r.Calls, chatCall{ID: part.ID, Type: part.Type})
					r.Calls[len(r.Calls)-1].Function.Name = part.Function.Name
				}
				if *part.Index != len(r.Calls)-1 {
					t.Fatalf("chunk %d has a part of call %d, after %d calls", i, *part.Index, len(r.Calls))
				}
				r.Calls[*part.Index].Function.Arguments += part.Function.Arguments
			}
			if c.Logprobs != nil {
				r.add(c.Logprobs.Content)
			}
			if reflect.ValueOf(*r).IsZero() {
				r.Calls = []chatCall{} // the role has come
			}
		}
	}
	for i := range replies {
		if len(replies[i].Calls) == 0 {
			replies[i].Calls = nil
		}
	}
	return replies, used
}

const forecast = `"model":"flint","temperature":0,"messages":[{"role":"user","content":"What is the weather in Paris?"}],"tools":[` + weather + `]`

// TestChat checks that a stream says the same as a whole answer, and that both are right.
func TestChat(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct {
		name, body string
		check      func(r []chatTold, u chatUsage) string // returns the mistake, or ""
	}{
		{"a question", question, func(r []chatTold, u chatUsage) string {
			return wrong(len(r) == 1 && strings.Contains(r[0].Content, "Tokyo") && r[0].Finish == "stop" && u.Completion > 0)
		}},
		{"a sampled answer", `"model":"flint","seed":7,"top_k":40,"min_p":0.05,"repeat_penalty":1.1,"frequency_penalty":0.1,"presence_penalty":-0.1,
			"messages":[{"role":"user","content":"Tell me a story."}],"max_tokens":30`, func(r []chatTold, u chatUsage) string {
			return wrong(u.Completion <= 30)
		}},
		{"several answers", `"model":"flint","seed":7,"messages":[{"role":"user","content":"Tell me a story."}],"max_completion_tokens":20,"n":3`,
			func(r []chatTold, u chatUsage) string {
				return wrong(len(r) == 3 && (r[0].Content != r[1].Content || r[1].Content != r[2].Content) && u.Prompt < 40 && u.Total == u.Prompt+u.Completion)
			}},
		{"a short answer", question + `,"max_tokens":3`, func(r []chatTold, u chatUsage) string {
			return wrong(r[0].Finish == "length" && u.Completion == 3)
		}},
		{"a stop string", question + `,"stop":" of"`, func(r []chatTold, u chatUsage) string {
			return wrong(r[0].Content == "The capital" && r[0].Finish == "stop")
		}},
		{"stop strings and log-probabilities", question + `,"stop":["x y z"," of"],"logprobs":true`, func(r []chatTold, u chatUsage) string {
			return wrong(r[0].Content == "The capital" && slices.Equal(r[0].Tokens, []string{"The", " capital", " of"}) && slices.Equal(r[0].Top, []int{0, 0, 0}))
		}},
		{"log-probabilities", question + `,"logprobs":true,"top_logprobs":4`, func(r []chatTold, u chatUsage) string {
			return wrong(strings.Join(r[0].Tokens, "") == r[0].Content && len(r[0].Tokens) == u.Completion && slices.Min(r[0].Top) == 4 && slices.Max(r[0].Top) == 4)
		}},
		{"a forbidden token", question + `,"logit_bias":{"` + fmt.Sprint(tokensOf(t, h, `"content":"The"`)[0]) + `":-100},"max_tokens":5`, func(r []chatTold, u chatUsage) string {
			return wrong(!strings.HasPrefix(r[0].Content, "The"))
		}},
		{"a call", forecast, func(r []chatTold, u chatUsage) string {
			return wrong(r[0].Finish == "tool_calls" && len(r[0].Calls) == 1 && r[0].Calls[0].Function.Name == "get_weather" &&
				r[0].Calls[0].Type == "function" && r[0].Calls[0].Function.Arguments == `{"city": "Paris"}`)
		}},
		{"log-probabilities of a call", forecast + `,"logprobs":true`, func(r []chatTold, u chatUsage) string {
			return wrong(len(r[0].Tokens) == u.Completion && len(r[0].Calls) == 1)
		}},
		{"a call that is broken off", forecast + `,"max_tokens":12`, func(r []chatTold, u chatUsage) string {
			return wrong(r[0].Finish == "length" && len(r[0].Calls) == 1 && r[0].Content == "" && strings.HasPrefix(`{"city": "Paris"}`, r[0].Calls[0].Function.Arguments))
		}},
		{"no call", forecast + `,"tool_choice":"none","max_tokens":20`, func(r []chatTold, u chatUsage) string { return wrong(len(r[0].Calls) == 0) }},
		{"a call that is required", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"Hello!"}],"max_tokens":40,"tools":[` + weather + `],"tool_choice":"required"`,
			func(r []chatTold, u chatUsage) string { return wrong(len(r[0].Calls) > 0) }},
		{"a function that is required", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"Hello!"}],"max_tokens":40,"tools":[` + weather + `],
			"tool_choice":{"type":"function","function":{"name":"get_weather"}},"parallel_tool_calls":false`,
			func(r []chatTold, u chatUsage) string { return wrong(len(r[0].Calls) == 1) }},
		{"an allowed tool", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"Hello!"}],"max_tokens":40,
			"tools":[{"type":"function","function":{"name":"other"}},` + weather + `],
			"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"get_weather"}}]}}`,
			func(r []chatTold, u chatUsage) string { return wrong(r[0].Calls[0].Function.Name == "get_weather") }},
		{"a function with a schema of which not all can be kept", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"Hello!"}],"max_tokens":20,
			"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}}}]`,
			func(r []chatTold, u chatUsage) string { return "" }},
		{"after a call", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"What is the weather in Paris?"},
			{"role":"assistant","content":null,"refusal":null,"tool_calls":[{"id":"a","type":"function","index":0,"function":{"name":"get_weather","arguments":"{\"city\":\"Paris\"}","parsed_arguments":null}}],"parsed":null},
			{"role":"tool","tool_call_id":"a","content":"{\"temperature\":21}"}],"tools":[` + weather + `]`,
			func(r []chatTold, u chatUsage) string { return wrong(r[0].Content != "") }},
		{"any JSON object", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"Hello!"}],"max_tokens":60,"response_format":{"type":"json_object"}`,
			func(r []chatTold, u chatUsage) string { return wrong(strings.HasPrefix(r[0].Content, "{")) }},
		{"a schema", `"model":"flint","temperature":0,"messages":[{"role":"user","content":"What is the capital of Japan?"}],"response_format":{"type":"json_schema",
			"json_schema":{"name":"x","strict":true,"schema":{"type":"object","properties":{"city":{"type":"string","maxLength":20}},"required":["city"],"additionalProperties":false}}}`,
			func(r []chatTold, u chatUsage) string {
				var v struct{ City *string }
				err := json.Unmarshal([]byte(r[0].Content), &v)
				return wrong(err == nil && v.City != nil)
			}},
		{"a schema of which not all can be kept", question + `,"max_tokens":5,"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":false,
			"schema":{"type":"array","uniqueItems":true}}}`, func(r []chatTold, u chatUsage) string { return wrong(strings.HasPrefix(r[0].Content, "[")) }},
		{"a form, or a call", forecast + `,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object",
			"properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}`, func(r []chatTold, u chatUsage) string {
			return wrong(len(r[0].Calls) == 1 && r[0].Finish == "tool_calls")
		}},
		{"a form, and tools that may not be called", forecast + `,"tool_choice":"none","max_tokens":10,"response_format":{"type":"json_object"}`,
			func(r []chatTold, u chatUsage) string {
				return wrong(len(r[0].Calls) == 0 && strings.HasPrefix(r[0].Content, "{"))
			}},
		{"parts, names and the role developer", `"model":"default","temperature":0,"max_tokens":5,"messages":[{"role":"developer","content":"Be brief."},
			{"role":"user","name":"ann","content":[{"type":"text","text":"What is the capital "},{"type":"text","text":"of Japan?"}]}]`,
			func(r []chatTold, u chatUsage) string { return wrong(r[0].Content != "") }},
		{"what changes nothing", question + `,"max_tokens":2,"user":"u","metadata":{"a":"b"},"store":false,"service_tier":"auto","modalities":["text"],"prediction":{"type":"content","content":"x"},
			"stop":null,"n":1,"functions":null,"reasoning_effort":"none","verbosity":"medium","logit_bias":{},"tools":[],"seed":-5`,
			func(r []chatTold, u chatUsage) string { return wrong(u.Completion == 2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole, used := chatWhole(t, h, c.body)
			if says := c.check(whole, used); says != "" {
				t.Errorf("%s: %+v, %+v", says, whole, used)
			}
			parts, usedParts := chatStream(t, h, c.body)
			if !reflect.DeepEqual(whole, parts) || used != usedParts {
				t.Errorf("the whole answer is %+v, %+v; the stream says %+v, %+v", whole, used, parts, usedParts)
			}
		})
	}
}

// wrong says that something is wrong unless it holds.
func wrong(holds bool) string {
	if holds {
		return ""
	}
	return "not as asked for"
}

// TestSeeds checks that of n answers the i-th is the one that the seed plus i gives alone, and that the same request has the same answer.
func TestSeeds(t *testing.T) {
	h := start(t, nil)
	const body = `"model":"flint","messages":[{"role":"user","content":"Tell me a story."}],"max_tokens":20,"temperature":1.5`
	all, _ := chatWhole(t, h, body+`,"seed":11,"n":3`)
	for i, want := range all {
		if alone, _ := chatWhole(t, h, body+fmt.Sprintf(`,"seed":%d`, 11+i)); !reflect.DeepEqual(alone[0], want) {
			t.Errorf("with the seed %d: %+v, want %+v", 11+i, alone[0], want)
		}
	}
}

// TestChatErrors checks that errors name their reason, streamed or not.
func TestChatErrors(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.Strict = true })
	const ask = `"model":"flint","messages":[{"role":"user","content":"Hello"}]`
	message := func(m string) string {
		return `"model":"flint","messages":[{"role":"user","content":"Hello"},` + m + `]`
	}
	tool := func(f string) string { return ask + `,"tools":[` + weather + `,` + f + `]` }
	const value, kind, missing, unsupported, unknown = "invalid_value", "invalid_type", "missing_required_parameter", "unsupported_parameter", "unknown_parameter"
	for _, c := range []struct{ body, param, code, says string }{
		{`"model":"flint"`, "messages", missing, "missing"},
		{`"model":"flint","messages":[]`, "messages", value, "at least one"},
		{ask + `,"temprature":1`, "temprature", unknown, "temprature"},
		{ask + `,"temperature":"hot"`, "temperature", kind, "a number"},
		{ask + `,"temperature":-1`, "temperature", value, "0 or more"},
		{ask + `,"temperature":2.5`, "temperature", value, "0 to 2"},
		{ask + `,"top_p":1.5`, "top_p", value, "between 0 and 1"},
		{ask + `,"top_k":-2`, "top_k", value, "0 or more"},
		{ask + `,"min_p":2`, "min_p", value, "between 0 and 1"},
		{ask + `,"repeat_penalty":-1`, "repeat_penalty", value, "0 or more"},
		{ask + `,"presence_penalty":3`, "presence_penalty", value, "-2 to 2"},
		{ask + `,"max_tokens":0`, "max_tokens", value, "1 or more"},
		{ask + `,"max_completion_tokens":-2`, "max_completion_tokens", value, "1 or more"},
		{ask + `,"max_tokens":5,"max_completion_tokens":6`, "max_completion_tokens", value, "give one of them"},
		{ask + `,"n":0`, "n", value, "1 to 8"},
		{ask + `,"n":9`, "n", value, "1 to 8"},
		{ask + `,"seed":1.5`, "seed", kind, "whole number"},
		{ask + `,"stop":["a",""]`, "stop[1]", value, "1 to"},
		{ask + `,"stop":{}`, "stop", value, "a string or a list"},
		{ask + `,"logit_bias":{"x":1}`, "logit_bias", value, "a token's number"},
		{ask + `,"logit_bias":{"-1":1}`, "logit_bias", value, "a token's number"},
		{ask + `,"logit_bias":{"5":101}`, "logit_bias", value, "-100 to 100"},
		{ask + `,"top_logprobs":2`, "top_logprobs", value, "without logprobs"},
		{ask + `,"logprobs":true,"top_logprobs":21`, "top_logprobs", value, "0 to 20"},
		{ask + `,"logprobs":3`, "logprobs", kind, "true or false"},
		{ask + `,"store":true`, "store", unsupported, "nothing is stored"},
		{ask + `,"modalities":["text","audio"]`, "modalities", unsupported, "text"},
		{ask + `,"functions":[{}]`, "functions", unsupported, "use tools"},
		{ask + `,"reasoning_effort":"little"`, "reasoning_effort", value, "medium"},
		{ask + `,"reasoning":{"max_tokens":-5}`, "reasoning.max_tokens", value, "1 or more"},
		{ask + `,"verbosity":"low"`, "verbosity", unsupported, "system message"},
		{ask + `,"verbosity":"loud"`, "verbosity", value, "medium"},
		{ask + `,"mirostat":2`, "mirostat", unsupported, "temperature"},
		{ask + `,"repeat_last_n":-1,"repeat_penalty":1.1`, "repeat_last_n", unsupported, "64"},
		{ask + `,"max_tokens":5,"n_predict":6`, "n_predict", value, "give one of them"},
		{ask + `,"continue_final_message":true`, "messages[0]", value, "assistant"},
		{ask + `,"add_generation_prompt":false`, "add_generation_prompt", value, "continue_final_message"},
		// Messages.
		{message(`{"content":"x"}`), "messages[1].role", missing, "missing"},
		{message(`{"role":"wizard","content":"x"}`), "messages[1].role", value, "wizard"},
		{message(`{"role":"user","content":7}`), "messages[1].content", value, "a text or a list of parts"},
		{message(`{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:,"}}]}`), "messages[1].content[1].image_url.url", unsupported, "image_url"},
		{message(`{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}`), "messages[1].content[0].type", unsupported, "input_audio"},
		{message(`{"role":"user","content":[{"type":"file","file":{}}]}`), "messages[1].content[0].type", unsupported, "file"},
		{message(`{"role":"user","content":[{"text":"x"}]}`), "messages[1].content[0].type", missing, "missing"},
		{message(`{"role":"user","content":[{"type":"text"}]}`), "messages[1].content[0].text", missing, "missing"},
		{message(`{"role":"user","content":["x"]}`), "messages[1].content[0]", kind, "an object"},
		{message(`{"role":"user","content":"x","wings":2}`), "messages[1].wings", unsupported, "reads it"},
		{message(`{"role":"user","content":"x","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}`), "messages[1].tool_calls", value, "assistant"},
		{message(`{"role":"user","content":"x","tool_call_id":"a"}`), "messages[1].tool_call_id", unsupported, "tool"},
		// Tools.
		{tool(`{"type":"custom","custom":{"name":"x"}}`), "tools[1]", unsupported, "only functions"},
		{tool(`{"type":"code_interpreter","function":{"name":"x"}}`), "tools[1]", unsupported, "code_interpreter"},
		{tool(`{"type":"function","function":{}}`), "tools[1].function.name", missing, "missing"},
		{tool(`{"type":"function","function":{"name":"a b"}}`), "tools[1].function.name", value, "letters"},
		{tool(`{"type":"function","function":{"name":"` + strings.Repeat("a", 65) + `"}}`), "tools[1].function.name", value, "1 to 64"},
		{tool(`{"type":"function","function":{"name":"f","parameters":[1]}}`), "tools[1].function.parameters", value, "an object"},
		{tool(`{"type":"function","function":{"name":"f","returns":{}}}`), "tools[1].function.returns", unknown, "returns"},
		{tool(`{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"thing"}}}`), "tools", value, `type is not a type`},
		{tool(weather), "tools[1].function.name", value, "another function"},
		{tool(`{"type":"function","function":{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{"type":"array","uniqueItems":true}}}}}`), "tools", "unsupported_schema", "uniqueItems"},
		{ask + `,"tool_choice":"required"`, "tool_choice", value, "no function"},
		{ask + `,"tools":[` + weather + `],"tool_choice":"maybe"`, "tool_choice", value, "maybe"},
		{ask + `,"tools":[` + weather + `],"tool_choice":{"type":"function","function":{"name":"g"}}`, "tool_choice.function.name", value, "no function of that name"},
		{ask + `,"tools":[` + weather + `],"tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"g"}}]}}`,
			"tool_choice.allowed_tools.tools[0].function.name", value, "no function of that name"},
		{ask + `,"tools":[` + weather + `],"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"properties":{"name":{}}}}}`,
			"response_format.json_schema.schema", "unsupported_value", "taken for a call"},
		// The form.
		{ask + `,"response_format":{"type":"xml"}`, "response_format.type", value, "xml"},
		{ask + `,"response_format":{"type":"text","schema":{}}`, "response_format.schema", value, "json_object"},
		{ask + `,"response_format":{"type":"json_object","schema":{"type":"thing"}}`, "response_format.schema", value, "/type is not a type"},
		{ask + `,"response_format":{"type":"json_schema"}`, "response_format.json_schema", missing, "missing"},
		{ask + `,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"thing"}}}`, "response_format.json_schema.schema", value, "/type is not a type"},
		{ask + `,"response_format":{"type":"json_schema","json_schema":{"schema":{"type":"array","uniqueItems":true}}}`, "response_format.json_schema.schema", "unsupported_schema", "uniqueItems"},
	} {
		refused(t, h, "/v1/chat/completions", "{"+c.body+"}", 400, c.param, c.code, c.says)
		refused(t, h, "/v1/chat/completions", "{"+c.body+`,"stream":true}`, 400, c.param, c.code, c.says)
	}
	refused(t, h, "/v1/chat/completions", "{"+ask+`,"stream_options":{"include_usage":true}}`, 400, "stream_options", value, "without stream")
	refused(t, h, "/v1/chat/completions", "{"+ask+`,"stream":true,"stream_options":{"include_obfuscation":true}}`, 400, "stream_options.include_obfuscation", unsupported, "padded")
	refused(t, h, "/v1/chat/completions", `{"model":"granite","messages":[{"role":"user","content":"Hello"}]}`, 404, "model", "model_not_found", "flint")
	long := strings.Repeat("word ", 5000)
	refused(t, h, "/v1/chat/completions", `{"model":"flint","messages":[{"role":"user","content":"`+long+`"}]}`, 400, "messages", "context_length_exceeded", "more than")
}

// TestMaxTokens checks that the server's own bound holds for what asks for more, and for what asks for nothing.
func TestMaxTokens(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.MaxTokens = 3 })
	for _, more := range []string{"", `,"max_tokens":50`} {
		if r, u := chatWhole(t, h, question+more); r[0].Finish != "length" || u.Completion != 3 {
			t.Errorf("%s: %+v, %+v", more, r, u)
		}
	}
}
