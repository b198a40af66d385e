package serve_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// embedded loads Flint once for all tests.
var embedded = sync.OnceValues(func() (*llama.Model, error) { return flint.Load(nil) })

// start serves Flint, with options that may be nil.
func start(t testing.TB, change func(*serve.Options)) *httptest.Server {
	t.Helper()
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	o := serve.Options{Models: []serve.Model{{Name: "flint", Aliases: []string{"default"}, Loaded: model}}}
	if change != nil {
		change(&o)
	}
	s, err := serve.New(o)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// post sends JSON and returns the status and the answer's body.
func post(t testing.TB, h *httptest.Server, path, body string) (int, string) {
	t.Helper()
	answer, err := http.Post(h.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// events returns the data of a stream's events.
func events(t testing.TB, body string) (data []string) {
	t.Helper()
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, text)
		}
	}
	return data
}

const question = `"model":"flint","temperature":0,"messages":[{"role":"user","content":"What is the capital of Japan?"}]`

func TestChat(t *testing.T) {
	h := start(t, nil)
	status, body := post(t, h, "/v1/chat/completions", `{`+question+`}`)
	var whole struct {
		Choices []struct {
			Message llama.Message
			Finish  string `json:"finish_reason"`
		}
		Usage struct {
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &whole); status != 200 || err != nil || len(whole.Choices) != 1 {
		t.Fatalf("status %d, %v: %s", status, err, body)
	}
	want := whole.Choices[0].Message.Content
	if want == "" || whole.Choices[0].Finish != "stop" || whole.Usage.Completion == 0 {
		t.Errorf("the answer is %s", body)
	}
	status, body = post(t, h, "/v1/chat/completions", `{`+question+`,"stream":true,"stream_options":{"include_usage":true,"include_stats":true}}`)
	data := events(t, body)
	if status != 200 || len(data) < 4 || data[len(data)-1] != "[DONE]" {
		t.Fatalf("status %d: %s", status, body)
	}
	var got strings.Builder
	for _, d := range data[:len(data)-1] {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(d), &chunk); err != nil {
			t.Fatal(err)
		}
		for _, c := range chunk.Choices {
			got.WriteString(c.Delta.Content)
		}
	}
	if got.String() != want {
		t.Errorf("the stream says %q, the whole answer %q", got.String(), want)
	}
}

func TestWrongRequests(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ body, param, code string }{
		{`{` + question + `,"temprature":1}`, "temprature", "unknown_parameter"},
		{`{` + question + `,"temperature":"hot"}`, "temperature", "invalid_value"},
	} {
		status, body := post(t, h, "/v1/chat/completions", c.body)
		var e struct {
			Error struct{ Param, Code, Message string }
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 || e.Error.Param != c.param || e.Error.Code != c.code {
			t.Errorf("%s: status %d, %s", c.body, status, body)
		}
	}
}
