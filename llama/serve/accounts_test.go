package serve_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// grants calls f, in a time of its own, with a server of two keys and these accounts. Its model cannot be loaded.
func grants(t *testing.T, accounts map[string]serve.Account, f func(t *testing.T, s *serve.Server)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := serve.New(serve.Options{
			Models: []serve.Model{{Name: "m", Load: func(context.Context) (*llama.Model, error) { return nil, errors.New("no model") }}},
			Keys:   []serve.Key{{Name: "ann", Secret: "one"}, {Name: "bob", Secret: "two"}, {Name: "ann", Secret: "three"}}, Accounts: accounts})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		f(t, s)
	})
}

// list asks for the models, and returns the answer.
func list(s *serve.Server, secret string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", "/v1/models", nil)
	r.Header.Set("X-Api-Key", secret)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// waitOf returns an answer's Retry-After.
func waitOf(t *testing.T, header http.Header) time.Duration {
	t.Helper()
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil {
		t.Fatalf("Retry-After: %v", err)
	}
	return time.Duration(seconds) * time.Second
}

func TestRequestsAMinute(t *testing.T) {
	grants(t, map[string]serve.Account{"ann": {RequestsPerMinute: 3}}, func(t *testing.T, s *serve.Server) {
		for i, secret := range []string{"one", "three", "one"} { // both are ann's
			if w := list(s, secret); w.Code != 200 {
				t.Fatalf("request %d: status %d", i, w.Code)
			}
		}
		w := list(s, "three")
		if w.Code != 429 || !strings.Contains(w.Body.String(), "ann may send 3 requests a minute") ||
			!strings.Contains(w.Body.String(), `"rate_limit_exceeded"`) || strings.Contains(w.Body.String(), "three") {
			t.Errorf("the fourth: status %d, %s", w.Code, w.Body)
		}
		if w := list(s, "two"); w.Code != 200 {
			t.Errorf("who has no account: status %d", w.Code)
		}
		wait := waitOf(t, w.Header())
		if wait != 20*time.Second {
			t.Errorf("it is to wait %v", wait)
		}
		time.Sleep(wait - time.Second)
		if w := list(s, "one"); w.Code != 429 || waitOf(t, w.Header()) != time.Second {
			t.Errorf("a second early: status %d, %v", w.Code, w.Header())
		}
		time.Sleep(time.Second) // refused requests do not count
		if w := list(s, "one"); w.Code != 200 {
			t.Errorf("after the wait: status %d", w.Code)
		}
		if w := list(s, "one"); w.Code != 429 {
			t.Errorf("one more: status %d", w.Code)
		}
		time.Sleep(time.Hour)
		for i := range 4 {
			if w := list(s, "one"); (w.Code == 200) != (i < 3) {
				t.Errorf("an hour later, request %d: status %d", i, w.Code)
			}
		}
		// Other terms hold at once, and do not forget.
		if err := s.SetAccounts(map[string]serve.Account{"ann": {RequestsPerMinute: 60}}); err != nil {
			t.Fatal(err)
		}
		if w := list(s, "one"); w.Code != 429 || waitOf(t, w.Header()) != time.Second {
			t.Errorf("with 60 a minute, after 3 of 3: status %d, %v", w.Code, w.Header())
		}
		if err := s.SetAccounts(map[string]serve.Account{"ann": {RequestsPerMinute: -1}}); err == nil {
			t.Error("a negative number is no error")
		}
		if err := s.SetAccounts(nil); err != nil || list(s, "one").Code != 200 {
			t.Errorf("without an account: %v", err)
		}
	})
}

// A request that is wrong counts: reading it was work.
func TestWrongRequestsCountAgainstTheRate(t *testing.T) {
	grants(t, map[string]serve.Account{"ann": {RequestsPerMinute: 1}}, func(t *testing.T, s *serve.Server) {
		for _, want := range []int{400, 429} {
			r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{`))
			r.Header.Set("X-Api-Key", "one")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("status %d, want %d: %s", w.Code, want, w.Body)
			}
		}
	})
}

func TestKeysAreJudgedBeforeAccounts(t *testing.T) {
	grants(t, map[string]serve.Account{"ann": {RequestsPerMinute: 1}}, func(t *testing.T, s *serve.Server) {
		for range 3 {
			if w := list(s, "wrong"); w.Code != 401 {
				t.Errorf("status %d", w.Code)
			}
		}
		if w := list(s, "one"); w.Code != 200 {
			t.Errorf("status %d", w.Code)
		}
	})
}

// totalTokens is how many tokens an answer of OpenAI's interface says that it took.
func totalTokens(t *testing.T, text []byte) int {
	t.Helper()
	var out struct {
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out.Usage.Total
}

// TestTokensADay answers with a real model, in a time of the test's own: that begins at midnight UTC.
func TestTokensADay(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}},
			Keys: []serve.Key{{Name: "ann", Secret: "one"}}, Accounts: map[string]serve.Account{"ann": {TokensPerDay: 60}}})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		ask := func(path, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("X-Api-Key", "one")
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			return w
		}
		const chat, embeddings = "/v1/chat/completions", "/v1/embeddings"
		time.Sleep(18 * time.Hour)
		document := strings.Repeat("word ", 300)
		for _, c := range []struct{ path, body string }{ // texts that are not computed cost nothing
			{"/v1/rerank", `{"model":"flint","query":"a","documents":["` + document + `","` + document + `"]}`},
			{embeddings, `{"model":"flint","input":["` + document + `",""]}`},
			{embeddings, `{"model":"flint","input":["` + document + `","` + strings.Repeat(document, 20) + `"]}`},
			{chat, `{` + question + `,"max_tokens":"many"}`},
		} {
			if w := ask(c.path, c.body); w.Code != 400 {
				t.Errorf("%s: status %d, %s", c.path, w.Code, w.Body)
			}
		}
		for used := 0; used < 60; {
			w := ask(chat, `{`+question+`,"max_tokens":8}`)
			if w.Code != 200 {
				t.Fatalf("after %d tokens: status %d, %s", used, w.Code, w.Body)
			}
			used += totalTokens(t, w.Body.Bytes())
			if used >= 60 {
				w := ask(chat, `{`+question+`}`)
				if says := fmt.Sprintf("ann has used %d tokens today, and may use 60 a day", used); w.Code != 429 ||
					!strings.Contains(w.Body.String(), says) || !strings.Contains(w.Body.String(), "insufficient_quota") {
					t.Errorf("status %d, %s; it should say %s", w.Code, w.Body, says)
				}
				if wait := waitOf(t, w.Header()); wait != 6*time.Hour {
					t.Errorf("it is to wait %v", wait)
				}
			}
		}
		if w := ask(embeddings, `{"model":"flint","input":"a"}`); w.Code != 429 {
			t.Errorf("an embedding: status %d", w.Code)
		}
		if w := ask("/v1/messages", `{}`); w.Code != 429 || !strings.Contains(w.Body.String(), `"type":"rate_limit_error"`) {
			t.Errorf("Anthropic's interface: status %d, %s", w.Code, w.Body)
		}
		if w := list(s, "one"); w.Code != 200 {
			t.Errorf("the list of models: status %d", w.Code)
		}
		time.Sleep(6*time.Hour - time.Second)
		if w := ask(chat, `{`+question+`}`); w.Code != 429 {
			t.Errorf("before midnight: status %d", w.Code)
		}
		time.Sleep(time.Second)
		long := strings.Repeat("word ", 100)
		if w := ask(embeddings, `{"model":"flint","input":"`+long+`"}`); w.Code != 200 {
			t.Errorf("after midnight: status %d, %s", w.Code, w.Body)
		}
		if w := ask(chat, `{`+question+`}`); w.Code != 429 {
			t.Errorf("embeddings count, too: status %d", w.Code)
		}
	})
}

// TestNobodyButATeamSharesACache is TestNobodyLearnsFromCachedTokens for three keys; two of them share a cache.
func TestNobodyButATeamSharesACache(t *testing.T) {
	h := start(t, func(o *serve.Options) {
		o.Keys = []serve.Key{{Name: "ann", Secret: "one"}, {Name: "bob", Secret: "two"}, {Name: "client team", Secret: "three"}}
		o.Accounts = map[string]serve.Account{"ann": {Cache: "team"}, "bob": {Cache: "team"}}
	})
	const path = "/v1/chat/completions"
	if n := cached(t, h, path, "4711", "X-Api-Key", "one"); n != 0 {
		t.Errorf("of a first prompt %d tokens are cached", n)
	}
	if n := cached(t, h, path, "0000", "X-Api-Key", "three"); n != 0 {
		t.Errorf("another client finds %d cached tokens", n)
	}
	if n := cached(t, h, path, "4711", "X-Api-Key", "two"); n == 0 {
		t.Error("who shares the cache finds nothing in it")
	}
}

func TestTheLogHasTheKeysNameAndNotTheKey(t *testing.T) {
	var log notes
	h := start(t, func(o *serve.Options) {
		logTo(&log)(o)
		o.Keys = []serve.Key{{Name: "ann", Secret: "sesame"}}
		o.Client = func(r *http.Request) string { return r.Header.Get("X-User") }
		o.Accounts = map[string]serve.Account{"carol": {RequestsPerMinute: 1}}
	})
	for i, who := range []string{"", "carol", "carol"} {
		answer := send(t, "POST", h.URL+"/tokenize", `{"content":"a"}`, "X-User", who, "Authorization", "Bearer sesame")
		text, _ := io.ReadAll(answer.Body)
		if (answer.StatusCode == 429) != (i == 2) || strings.Contains(string(text), "sesame") {
			t.Errorf("%s: status %d, %s", who, answer.StatusCode, text)
		}
	}
	until(func() bool { return strings.Count(log.String(), "\n") == 3 })
	if text := log.String(); strings.Contains(text, "sesame") || !strings.Contains(text, "client=ann ") || !strings.Contains(text, "client=carol ") ||
		strings.Count(text, "key=ann") != 2 || !strings.Contains(text, "carol may send 1 request a minute") {
		t.Errorf("the log says %s", text)
	}
}
