package serve_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/internal/openapi"
)

// completion is one of the answers of a completion, whole or put together from a stream.
type completion struct {
	Index    int
	Text     string
	Finish   string `json:"finish_reason"`
	Logprobs *completionLogprobs
}

type completionLogprobs struct {
	Tokens   []string
	Logprobs []float64            `json:"token_logprobs"`
	Top      []map[string]float64 `json:"top_logprobs"`
	Offsets  []int                `json:"text_offset"`
}

// completionAnswer is an answer, or an event of a stream.
type completionAnswer struct {
	Choices []completion
	Usage   *chatUsage
}

// complete asks for completions without a stream.
func complete(t testing.TB, h *httptest.Server, body string) ([]completion, chatUsage) {
	t.Helper()
	status, text := post(t, h, "/v1/completions", "{"+body+"}")
	if status != 200 {
		t.Fatalf("%s: status %d: %s", body, status, text)
	}
	openapi.Validate(t, "CreateCompletionResponse", []byte(text))
	var whole completionAnswer
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		t.Fatal(err)
	}
	return whole.Choices, *whole.Usage
}

// completeStream asks for the same answers as a stream.
func completeStream(t testing.TB, h *httptest.Server, body string) (all []completion, used chatUsage) {
	t.Helper()
	status, text := post(t, h, "/v1/completions", "{"+body+`,"stream":true,"stream_options":{"include_usage":true}}`)
	data := events(t, text)
	if status != 200 || len(data) < 3 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("%s: status %d: %s", body, status, text)
	}
	for i, d := range data[:len(data)-1] {
		var chunk completionAnswer
		if err := json.Unmarshal([]byte(d), &chunk); err != nil {
			t.Fatal(err)
		}
		// The published schema has one object for answers and events, in which neither finish_reason nor usage is null.
		openapi.Validate(t, "CreateCompletionResponse", []byte(strings.NewReplacer(`"finish_reason":null`, `"finish_reason":"stop"`, `,"usage":null`, "").Replace(d)))
		if last := i == len(data)-2; (chunk.Usage != nil) != last || (len(chunk.Choices) == 0) != last {
			t.Errorf("chunk %d of %d is %s", i, len(data)-1, d)
		} else if last {
			used = *chunk.Usage
		}
		for _, c := range chunk.Choices {
			for c.Index >= len(all) {
				all = append(all, completion{Index: len(all)})
			}
			one := &all[c.Index]
			if one.Finish != "" {
				t.Errorf("chunk %d is %s, after the end", i, d)
			}
			one.Text += c.Text
			one.Finish = c.Finish
			switch more := c.Logprobs; {
			case more == nil:
			case one.Logprobs == nil:
				one.Logprobs = more
			default:
				l := one.Logprobs
				l.Tokens, l.Logprobs = append(l.Tokens, more.Tokens...), append(l.Logprobs, more.Logprobs...)
				l.Top, l.Offsets = append(l.Top, more.Top...), append(l.Offsets, more.Offsets...)
			}
		}
	}
	return all, used
}

// TestCompletions checks that a stream says the same as a whole answer, and that both are right.
func TestCompletions(t *testing.T) {
	h := start(t, nil)
	const capital, greedy = "The capital of Japan is", `"model":"flint","temperature":0,"prompt":`
	list := func(tokens []int) string { text, _ := json.Marshal(tokens); return string(text) }
	tokens := tokensOf(t, h, `"add_special":true,"content":"`+capital+`"`)
	alone, _ := complete(t, h, greedy+`"`+capital+`"`)
	if !strings.HasPrefix(alone[0].Text, " Tokyo") {
		t.Fatalf("%s%s", capital, alone[0].Text)
	}
	for _, c := range []struct {
		name, body string
		check      func(all []completion, u chatUsage) string // returns the mistake, or ""
	}{
		{"a text", greedy + `"` + capital + `"`, func(all []completion, u chatUsage) string {
			return wrong(len(all) == 1 && all[0].Text == alone[0].Text && u.Prompt == len(tokens) && u.Completion <= 16)
		}},
		{"a list of one text", greedy + `["` + capital + `"]`, func(all []completion, u chatUsage) string { return wrong(all[0].Text == alone[0].Text) }},
		{"its tokens", greedy + list(tokens), func(all []completion, u chatUsage) string { return wrong(all[0].Text == alone[0].Text) }},
		{"lists of tokens", greedy + `[` + list(tokens) + `,` + list(tokens[:3]) + `]`, func(all []completion, u chatUsage) string {
			return wrong(len(all) == 2 && all[0].Text == alone[0].Text && u.Prompt == len(tokens)+3)
		}},
		{"texts, two answers each", greedy + `["` + capital + `","Once upon"],"n":2,"best_of":2`, func(all []completion, u chatUsage) string {
			return wrong(len(all) == 4 && all[0].Text == alone[0].Text && all[1].Text == alone[0].Text && all[2].Text == all[3].Text)
		}},
		{"16 tokens unless asked for more", `"model":"flint","prompt":"Once upon a time","seed":3,"logit_bias":{"` + fmt.Sprint(tokens[0]) + `":-100}`,
			func(all []completion, u chatUsage) string { return wrong(u.Completion <= 16) }},
		{"an echo", greedy + `"` + capital + `","echo":true,"max_tokens":1`, func(all []completion, u chatUsage) string {
			return wrong(all[0].Text == capital+" Tokyo" && all[0].Finish == "length")
		}},
		{"an echo of tokens", greedy + list(tokens) + `,"echo":true,"max_tokens":1`, func(all []completion, u chatUsage) string {
			return wrong(all[0].Text == capital+" Tokyo")
		}},
		{"what looks like a special token is text", greedy + `"<|eot_id|>","max_tokens":1`, func(all []completion, u chatUsage) string {
			return wrong(u.Prompt > 3)
		}},
		{"an empty text", greedy + `"","max_tokens":1`, func(all []completion, u chatUsage) string { return wrong(u.Prompt == 1) }},
		{"a stop string", greedy + `"` + capital + `","stop":"yo"`, func(all []completion, u chatUsage) string {
			return wrong(all[0].Text == " Tok" && all[0].Finish == "stop")
		}},
		{"log-probabilities", greedy + `"` + capital + `","logprobs":3`, func(all []completion, u chatUsage) string {
			l := all[0].Logprobs
			return wrong(strings.Join(l.Tokens, "") == all[0].Text && len(l.Logprobs) == len(l.Tokens) && len(l.Top) == len(l.Tokens) && len(l.Top[0]) == 3 &&
				l.Top[0][" Tokyo"] == l.Logprobs[0] && l.Offsets[0] == 0 && l.Offsets[1] == len(" Tokyo"))
		}},
		{"log-probabilities of the chosen tokens alone", greedy + `"` + capital + `","logprobs":0,"max_tokens":1`, func(all []completion, u chatUsage) string {
			l := all[0].Logprobs
			return wrong(reflect.DeepEqual(l.Top, []map[string]float64{{" Tokyo": l.Logprobs[0]}}))
		}},
		{"bytes that are no text have names of their own", `"model":"flint","temperature":0,"max_tokens":3,"prompt":"x","logprobs":1,"logit_bias":{"` +
			fmt.Sprint(tokensOf(t, h, `"content":"ö"`)[0]) + `":100}`, func(all []completion, u chatUsage) string {
			l := all[0].Logprobs
			return wrong(l.Tokens[0] == `bytes:\xc3` && l.Offsets[0] == 0 && l.Offsets[1] == 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole, used := complete(t, h, c.body)
			if says := c.check(whole, used); says != "" {
				t.Errorf("%s: %+v, %+v", says, whole, used)
			}
			parts, usedParts := completeStream(t, h, c.body)
			if !reflect.DeepEqual(whole, parts) || used != usedParts {
				t.Errorf("the whole answer is %+v, %+v; the stream says %+v, %+v", whole, used, parts, usedParts)
			}
		})
	}
}

// TestCompletionLogprobs checks log-probabilities against those of the same distribution with its tokens as a prompt.
func TestCompletionLogprobs(t *testing.T) {
	h := start(t, nil)
	all, _ := complete(t, h, `"model":"flint","prompt":"The capital of Japan is","temperature":0,"logprobs":5,"max_tokens":1`)
	sum := 0.0
	for _, l := range all[0].Logprobs.Top[0] {
		sum += math.Exp(l)
	}
	if sum <= 0.5 || sum > 1+1e-6 {
		t.Errorf("the likeliest five have the probability %v together: %v", sum, all[0].Logprobs.Top)
	}
}

// TestCompletionErrors checks that errors name their reason.
func TestCompletionErrors(t *testing.T) {
	h := start(t, nil)
	const ask = `"model":"flint","prompt":"Hello"`
	for _, c := range []struct{ body, param, code, says string }{
		{`"model":"flint"`, "prompt", "missing_required_parameter", "missing"},
		{`"model":"flint","prompt":[]`, "prompt", "invalid_value", "a string, or a list"},
		{`"model":"flint","prompt":{}`, "prompt", "invalid_value", "a string, or a list"},
		{`"model":"flint","prompt":["a",5]`, "prompt[1]", "invalid_value", "a string or a list of tokens"},
		{`"model":"flint","prompt":[5,"a"]`, "prompt[1]", "invalid_type", "a whole number"},
		{`"model":"flint","prompt":[[5],[]]`, "prompt[1]", "invalid_value", "at least one token"},
		{`"model":"flint","prompt":[5,-1]`, "prompt[1]", "invalid_value", "a token's number"},
		{`"model":"flint","prompt":[[5],[5,9999999]]`, "prompt[1][1]", "invalid_value", "a token's number"},
		{`"model":"flint","prompt":["a","b","c","d","e","f","g","h","i"]`, "prompt", "invalid_value", "9 texts"},
		{`"model":"flint","prompt":["a","b","c"],"n":3`, "n", "invalid_value", "8 answers"},
		{ask + `,"max_tokens":0`, "max_tokens", "invalid_value", "1 or more"},
		{ask + `,"max_tokens":-3`, "max_tokens", "invalid_value", "1 or more"},
		{ask + `,"suffix":"."`, "suffix", "unsupported_parameter", "only continue"},
		{ask + `,"best_of":3`, "best_of", "unsupported_parameter", "not compared"},
		{ask + `,"logprobs":6`, "logprobs", "invalid_value", "0 to 5"},
		{ask + `,"logprobs":true`, "logprobs", "invalid_type", "a whole number"},
		{ask + `,"max_tokens":0,"echo":true`, "max_tokens", "invalid_value", "1 or more"},
		{ask + `,"messages":[]`, "messages", "unknown_parameter", "messages"},
		{`"model":"flint","prompt":"` + strings.Repeat("word ", 5000) + `"`, "prompt", "context_length_exceeded", "more than"},
	} {
		refused(t, h, "/v1/completions", "{"+c.body+"}", 400, c.param, c.code, c.says)
		refused(t, h, "/v1/completions", "{"+c.body+`,"stream":true}`, 400, c.param, c.code, c.says)
	}
}

// TestEchoWithLogprobs asks for the log-probabilities of prompts, as programs do that measure how likely a model finds a text: lm-evaluation-harness,
// say.
func TestEchoWithLogprobs(t *testing.T) {
	h := start(t, nil)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	tokenizer := model.Tokenizer()
	const text = "The capital of Japan is"
	begin := tokenizer.EncodeSpecial("", true)
	tokens := append(begin, tokenizer.Encode(text)...)
	s, err := model.NewSession(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	scores, err := s.Score(t.Context(), tokens)
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(tokens)
	if err != nil {
		t.Fatal(err)
	}
	type logprobs struct {
		Tokens   []string
		Logprobs []*float32            `json:"token_logprobs"`
		Top      []map[string]*float32 `json:"top_logprobs"`
		Offsets  []int                 `json:"text_offset"`
	}
	type answer struct {
		Choices []struct {
			Text     string
			Logprobs *logprobs
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
	}
	const echo = `{"model":"flint","temperature":0,"echo":true,"logprobs":2,`
	for _, c := range []struct {
		name, body string
		skip       int // of tokens, that stand before the text
		answer     int // tokens
	}{
		{"a text", `"prompt":"` + text + `","max_tokens":1`, len(begin), 1},
		{"tokens", `"prompt":` + string(list) + `,"max_tokens":1`, 0, 1},
		{"several prompts", `"prompt":[` + string(list) + `,` + string(list) + `],"max_tokens":2`, 0, 2},
		{"no answer", `"prompt":"` + text + `","max_tokens":0`, len(begin), 0},
	} {
		status, body := post(t, h, "/v1/completions", echo+c.body+`}`)
		var whole answer
		if err := json.Unmarshal([]byte(body), &whole); err != nil || status != 200 {
			t.Fatalf("%s: status %d: %s", c.name, status, body)
		}
		if n := len(whole.Choices); whole.Usage.Prompt != n*len(tokens) || whole.Usage.Completion != n*c.answer {
			t.Errorf("%s: %+v", c.name, whole.Usage)
		}
		for _, choice := range whole.Choices {
			l := choice.Logprobs
			if want := len(tokens) - c.skip + c.answer; len(l.Tokens) != want || len(l.Logprobs) != want || len(l.Top) != want || len(l.Offsets) != want {
				t.Fatalf("%s: %s", c.name, body)
			}
			if !strings.HasPrefix(choice.Text, text) {
				t.Errorf("%s: the text is %q", c.name, choice.Text)
			}
			for i, token := range tokens[c.skip:] {
				if i+c.skip == 0 {
					if l.Logprobs[i] != nil || l.Top[i] != nil {
						t.Errorf("%s: the first token has the log-probability %v", c.name, *l.Logprobs[i])
					}
					continue
				}
				if l.Logprobs[i] == nil || *l.Logprobs[i] != scores[i+c.skip] || len(l.Top[i]) < 2 || len(l.Top[i]) > 3 {
					t.Errorf("%s: token %d (%s): %v of %v, want %v", c.name, i, tokenizer.Text(token), l.Logprobs[i], l.Top[i], scores[i+c.skip])
				}
				if tokenizer.Special(token) {
					continue
				}
				if one := string(tokenizer.AppendBytes(nil, token)); l.Tokens[i] != one || !strings.HasPrefix(choice.Text[l.Offsets[i]:], one) {
					t.Errorf("%s: token %d is %q at %d", c.name, i, l.Tokens[i], l.Offsets[i])
				}
			}
		}
		_, body = post(t, h, "/v1/completions", echo+c.body+`,"stream":true}`)
		var text string
		var all logprobs
		for _, event := range events(t, body) {
			var part answer
			if event == "[DONE]" {
				continue
			}
			if err := json.Unmarshal([]byte(event), &part); err != nil {
				t.Fatal(err)
			}
			if c.name == "several prompts" || len(part.Choices) == 0 {
				continue
			}
			text += part.Choices[0].Text
			if l := part.Choices[0].Logprobs; l != nil {
				all.Tokens, all.Logprobs = append(all.Tokens, l.Tokens...), append(all.Logprobs, l.Logprobs...)
				all.Top, all.Offsets = append(all.Top, l.Top...), append(all.Offsets, l.Offsets...)
			}
		}
		if c.name != "several prompts" && (text != whole.Choices[0].Text || !reflect.DeepEqual(all, *whole.Choices[0].Logprobs)) {
			t.Errorf("%s: the stream says %q and %v", c.name, text, all)
		}
	}
}
