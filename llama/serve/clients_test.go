package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// cached returns how many tokens of a prompt were in the cache, as each interface says it. who are the request's headers.
func cached(t *testing.T, h *httptest.Server, path, pin string, who ...string) int {
	t.Helper()
	content := `"Please keep a secret for me. I shall ask for it one day. My PIN is ` + pin + `, and you must not say it to anybody else."`
	body := `{"model":"flint","max_tokens":2,"temperature":0,"messages":[{"role":"user","content":` + content + `}]}`
	switch path {
	case "/v1/responses":
		body = `{"model":"flint","max_output_tokens":2,"temperature":0,"store":false,"input":` + content + `}`
	case "/v1/completions":
		body = `{"model":"flint","max_tokens":2,"temperature":0,"prompt":` + content + `}`
	}
	answer := send(t, "POST", h.URL+path, body, who...)
	var out struct {
		Usage struct {
			Prompt struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			Input struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
			Cached int `json:"cache_read_input_tokens"`
		}
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%s: status %d, %v: %s", path, answer.StatusCode, err, text)
	}
	return out.Usage.Prompt.Cached + out.Usage.Input.Cached + out.Usage.Cached
}

// TestNobodyLearnsFromCachedTokens lets one client say a secret, and another guess it: the cache does not help the other one.
func TestNobodyLearnsFromCachedTokens(t *testing.T) {
	effort.Turn(t, 8)
	keys := func(o *serve.Options) {
		o.Keys = []serve.Key{{Name: "alice", Secret: "one"}, {Name: "bob", Secret: "two"}, {Name: "alice", Secret: "three"}}
	}
	named := func(o *serve.Options) { o.Client = func(r *http.Request) string { return r.Header.Get("X-User") } }
	alice, bob, again := []string{"X-Api-Key", "one"}, []string{"X-Api-Key", "two"}, []string{"X-Api-Key", "three"}
	for _, c := range []struct {
		name              string
		change            func(*serve.Options)
		alice, bob, again []string // headers
		shares            bool
	}{
		{"keys", keys, alice, bob, again, false},
		{"keys that share", func(o *serve.Options) { keys(o); o.ShareCache = true }, alice, bob, again, true},
		{"clients of a proxy", named, []string{"X-User", "a"}, []string{"X-User", "b"}, []string{"X-User", "a"}, false},
		{"somebody without a name", named, []string{"X-User", "a"}, nil, []string{"X-User", "a"}, false},
		{"names before keys", func(o *serve.Options) { keys(o); named(o) }, append(alice, "X-User", "a"), append(alice, "X-User", "b"), append(bob, "X-User", "a"), false},
		{"nobody is known", nil, nil, nil, nil, true},
	} {
		for _, path := range []string{"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"} {
			t.Run(c.name+path, func(t *testing.T) {
				h := start(t, c.change)
				if n := cached(t, h, path, "4711", c.alice...); n != 0 {
					t.Errorf("of a first prompt %d tokens are cached", n)
				}
				wrong, right := cached(t, h, path, "0000", c.bob...), cached(t, h, path, "4711", c.bob...)
				own := cached(t, h, path, "4711", c.again...)
				if own == 0 || c.shares != (wrong > 0) || !c.shares && right == own {
					t.Errorf("a wrong guess has %d cached tokens, the right one %d; who said it has %d", wrong, right, own)
				}
			})
		}
	}
}

// TestClientNamesWhoAsks serves behind an authentication that is not the server's: its names are in the log and before the Observer.
func TestClientNamesWhoAsks(t *testing.T) {
	var log notes
	h := start(t, func(o *serve.Options) {
		logTo(&log)(o)
		o.Client = func(r *http.Request) string { return r.Header.Get("X-User") }
	})
	send(t, "POST", h.URL+"/tokenize", `{"content":"a"}`, "X-User", "carol").Body.Close()
	send(t, "POST", h.URL+"/tokenize", `{"content":"a"}`, "X-User", strings.Repeat("d", 5000)).Body.Close()
	send(t, "POST", h.URL+"/tokenize", `{"content":"a"}`).Body.Close()
	until(func() bool { return strings.Count(log.String(), "\n") == 3 })
	if text := log.String(); !strings.Contains(text, "client=carol ") || !strings.Contains(text, "client=127.0.0.1 ") || len(text) > 2000 {
		t.Errorf("the log says %s", text)
	}
}

// TestSetKeys changes the keys of a server while it runs.
func TestSetKeys(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, Keys: []serve.Key{{Name: "a", Secret: "one"}}})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); s.Close() })
	lets := func(secret string) bool {
		return send(t, "GET", h.URL+"/v1/models", "", "X-Api-Key", secret).StatusCode == 200
	}
	if !lets("one") || lets("two") {
		t.Fatal("the first keys")
	}
	if err := s.SetKeys(serve.Key{Name: "b", Secret: "two"}); err != nil || lets("one") || !lets("two") {
		t.Errorf("other keys: %v", err)
	}
	for _, keys := range [][]serve.Key{nil, {{Name: "c"}}, {{"c", "x"}, {"d", "x"}}} {
		if err := s.SetKeys(keys...); err == nil || !lets("two") || lets("one") || lets("") {
			t.Errorf("%v: %v", keys, err)
		}
	}
}
