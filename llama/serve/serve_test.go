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
	// Flint recommends the likeliest token; most tests are about the values of the interfaces.
	o := serve.Options{PlainSampling: true, Models: []serve.Model{{Name: "flint", Aliases: []string{"default"}, Loaded: model}}}
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

// failure is an error in the form of OpenAI's interface.
type failure struct {
	Error struct{ Message, Type, Param, Code string }
}

// refused checks that a request is refused with a status, and that the error names the mistake. says is a part of the message.
func refused(t testing.TB, h *httptest.Server, path, body string, status int, param, code, says string) {
	t.Helper()
	got, text := post(t, h, path, body)
	var f failure
	if err := json.Unmarshal([]byte(text), &f); err != nil || got != status || f.Error.Param != param || f.Error.Code != code ||
		!strings.Contains(f.Error.Message, says) {
		t.Errorf("%.300s: status %d, %s; want status %d, param %q, code %q and %q in the message", body, got, text, status, param, code, says)
	}
}
