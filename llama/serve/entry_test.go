package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// newRequest makes a request with a body and headers, given as names and values in turn.
func newRequest(t *testing.T, method, url, body string, headers ...string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(headers, 2) {
		request.Header.Set(pair[0], pair[1])
		if pair[0] == "Host" {
			request.Host = pair[1]
		}
	}
	return request
}

// codeOf returns the code in an error of OpenAI's form.
func codeOf(t *testing.T, answer *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Error struct{ Code string } }
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e.Error.Code
}

func TestKeys(t *testing.T) {
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "up 1\n") })
	h := start(t, func(o *serve.Options) {
		o.Keys = []serve.Key{{"alice", "one"}, {"bob", "two"}, {"bob", "three"}}
		o.Metrics = metrics
	})
	for _, c := range []struct {
		method, path string
		headers      []string
		want         int
	}{
		{"POST", "/v1/chat/completions", nil, 401},
		{"POST", "/v1/chat/completions", []string{"Authorization", "Bearer wrong"}, 401},
		{"POST", "/v1/chat/completions", []string{"Authorization", "Bearer "}, 401},
		{"POST", "/v1/chat/completions", []string{"Authorization", "Basic one"}, 401},
		{"POST", "/v1/chat/completions", []string{"Authorization", "one"}, 401},
		{"POST", "/v1/chat/completions", []string{"Authorization", "Bearer alice"}, 401},
		{"POST", "/v1/chat/completions", []string{"Authorization", "Bearer one"}, 200},
		{"POST", "/v1/chat/completions", []string{"Authorization", "bearer  three"}, 200},
		{"POST", "/v1/chat/completions", []string{"X-Api-Key", "two"}, 200},
		{"POST", "/v1/chat/completions", []string{"X-Api-Key", "two", "Authorization", "Bearer other"}, 200},
		{"GET", "/metrics", nil, 401},
		{"GET", "/metrics", []string{"Authorization", "Bearer one"}, 200},
		{"GET", "/health", nil, 200},
		{"GET", "/", nil, 200},
		{"GET", "/v1/models", nil, 401},
		{"GET", "/v1/chat/completions", nil, 405},
		{"GET", "/nowhere", nil, 404},
	} {
		answer := send(t, c.method, h.URL+c.path, `{`+question+`,"max_tokens":1}`, c.headers...)
		if answer.StatusCode != c.want {
			t.Errorf("%s %s %q: status %d, want %d", c.method, c.path, c.headers, answer.StatusCode, c.want)
		}
		if c.want == 401 && (answer.Header.Get("WWW-Authenticate") != "Bearer" || codeOf(t, answer) != "invalid_api_key") {
			t.Errorf("%s: %v", c.path, answer.Header)
		}
	}
}

func TestOrigins(t *testing.T) {
	const good, evil = "https://good.example", "https://evil.example"
	for _, c := range []struct {
		name    string
		allowed []string
		origin  string
		site    string // the site of the request, as browsers name it
		status  int
		read    bool // the page may read the answer
	}{
		{"no page", nil, "", "", 200, false},
		{"the server's own page", nil, "", "same-origin", 200, false},
		{"a page of another origin", nil, evil, "cross-site", 403, false},
		{"a page of another origin, in an old browser", nil, evil, "", 403, false},
		{"a page that is allowed", []string{good}, good, "cross-site", 200, true},
		{"a page that is not", []string{good}, evil, "cross-site", 403, false},
		{"any page", []string{"*"}, evil, "cross-site", 200, true},
		{"no origin at all", []string{good}, "null", "cross-site", 403, false},
		{"an extension", []string{"moz-extension://*"}, "moz-extension://00000000-0000-4000-8000-000000000000", "cross-site", 200, true},
		{"another browser's extension", []string{"moz-extension://*"}, "chrome-extension://abcdefgh", "cross-site", 403, false},
		{"a page of another scheme", []string{"moz-extension://*"}, evil, "cross-site", 403, false},
		{"any port", []string{"http://localhost:*"}, "http://localhost:3000", "same-site", 200, true},
		{"no port", []string{"http://localhost:*"}, "http://localhost", "same-site", 200, true},
		{"any port of another host", []string{"http://localhost:*"}, "http://localhost.evil.example:3000", "cross-site", 403, false},
		{"a host below", []string{"https://*.good.example"}, "https://a.b.good.example", "cross-site", 200, true},
		{"the host itself", []string{"https://*.good.example"}, good, "cross-site", 403, false},
		{"a host that ends alike", []string{"https://*.good.example"}, "https://evilgood.example", "cross-site", 403, false},
		{"a host below, and a port", []string{"https://*.good.example"}, "https://a.good.example:8443", "cross-site", 403, false},
		{"a host below, and any port", []string{"https://*.good.example:*"}, "https://a.good.example:8443", "cross-site", 200, true},
		{"no origin, and any host", []string{"https://*"}, "null", "cross-site", 403, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := start(t, func(o *serve.Options) { o.Origins = c.allowed })
			var headers []string
			if c.origin != "" {
				headers = append(headers, "Origin", c.origin)
			}
			if c.site != "" {
				headers = append(headers, "Sec-Fetch-Site", c.site)
			}
			answer := send(t, "POST", h.URL+"/v1/chat/completions", `{`+question+`,"max_tokens":1}`, headers...)
			if read := answer.Header.Get("Access-Control-Allow-Origin") == c.origin && c.origin != ""; answer.StatusCode != c.status || read != c.read {
				t.Errorf("status %d, want %d; %v", answer.StatusCode, c.status, answer.Header)
			}
			if len(c.allowed) > 0 && answer.Header.Get("Vary") != "Origin" {
				t.Error("a cache may give the answer to other pages")
			}
			ask := append(slices.Clone(headers), "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization,content-type")
			before := send(t, "OPTIONS", h.URL+"/v1/chat/completions", "", ask...)
			if before.StatusCode != 204 || (before.Header.Get("Access-Control-Allow-Headers") == "authorization,content-type") != c.read ||
				(before.Header.Get("Access-Control-Allow-Methods") != "") != c.read {
				t.Errorf("before it: status %d, %v", before.StatusCode, before.Header)
			}
		})
	}
}

// TestStarsInOrigins refuses stars that stand for nothing.
func TestStarsInOrigins(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for _, origin := range []string{"*://example.org", "https://example.*", "https://*example.org", "https://a.*.org", "https://*.", "https://*.*.org", "https://example.org:8*",
		"https://example.org/*", "*.example.org", "https://", "null*", "file://*/x", "http*://example.org"} {
		s, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, Origins: []string{origin}})
		if err == nil {
			s.Close()
			t.Errorf("%s is taken", origin)
		} else if !strings.Contains(err.Error(), "Origins[0]") {
			t.Errorf("%s: %v", origin, err)
		}
	}
}

func TestHosts(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.Hosts = []string{"localhost", "127.0.0.1", "::1", "Models.example"} })
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8080": 200, "LOCALHOST": 200, "127.0.0.1:1": 200, "[::1]:8080": 200, "[::1]": 200, "models.example.": 200,
		"evil.example": 403, "evil.example:8080": 403, "localhost.evil.example": 403, "localhost:8080.evil.example": 403,
		"": 200, // the client's own: 127.0.0.1
	} {
		if answer := send(t, "GET", h.URL+"/health", "", "Host", host); answer.StatusCode != want {
			t.Errorf("%q: status %d, want %d", host, answer.StatusCode, want)
		}
	}
}

func TestMethodsAndPaths(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		allow, code  string
	}{
		{"GET", "/health", 200, "", ""},
		{"HEAD", "/health", 200, "", ""},
		{"POST", "/health", 405, "GET, HEAD, OPTIONS", "method_not_allowed"},
		{"OPTIONS", "/health", 204, "GET, HEAD, OPTIONS", ""},
		{"GET", "/v1/chat/completions", 405, "POST, OPTIONS", "method_not_allowed"},
		{"BREW", "/v1/chat/completions", 405, "POST, OPTIONS", "method_not_allowed"},
		{"OPTIONS", "/v1/chat/completions", 204, "POST, OPTIONS", ""},
		{"POST", "/v1/chat", 404, "", "not_found"},
		{"GET", "/metrics", 404, "", "not_found"},
		{"GET", "/", 200, "", ""},
		{"HEAD", "/", 200, "", ""},
		{"POST", "/", 405, "GET, HEAD, OPTIONS", "method_not_allowed"},
		{"GET", "/page/js/main.js", 200, "", ""},
		{"GET", "/page/nowhere", 404, "", ""},
		{"OPTIONS", "/nowhere", 404, "", "not_found"},
	} {
		answer := send(t, c.method, h.URL+c.path, "")
		if answer.StatusCode != c.status || answer.Header.Get("Allow") != c.allow {
			t.Errorf("%s %s: status %d, Allow %q; want %d, %q", c.method, c.path, answer.StatusCode, answer.Header.Get("Allow"), c.status, c.allow)
		}
		if answer.Header.Get("X-Request-Id") == "" {
			t.Errorf("%s %s: no id", c.method, c.path)
		}
		if c.code != "" && codeOf(t, answer) != c.code {
			t.Errorf("%s %s: not %s", c.method, c.path, c.code)
		}
	}
}

func TestWithoutAPage(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.NoPage = true })
	if answer := send(t, "GET", h.URL+"/page/js/main.js", ""); answer.StatusCode != 404 || codeOf(t, answer) != "not_found" {
		t.Errorf("status %d", answer.StatusCode)
	}
	if status, text := get(t, h, "/"); status != 200 || text != "Ollama is running" { // which its programs look for
		t.Errorf("/: status %d, %s", status, text)
	}
}

func TestLargeBodies(t *testing.T) {
	h := start(t, func(o *serve.Options) { o.MaxBody = 500 })
	for size, want := range map[int]int{100: 200, 501: 413, 1 << 20: 413} {
		body := `{` + question + `,"max_tokens":1,"user":"`
		body += strings.Repeat("x", max(size-len(body)-2, 0)) + `"}`
		if answer := send(t, "POST", h.URL+"/v1/chat/completions", body); answer.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", len(body), answer.StatusCode, want)
		}
	}
}

func TestWrongOptions(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*serve.Options){
		"no model is given": func(o *serve.Options) { o.Models = nil },
		"no name":           func(o *serve.Options) { o.Models[0].Name = "" },
		"MaxBody":           func(o *serve.Options) { o.MaxBody = -1 },
		"MaxQueue":          func(o *serve.Options) { o.MaxQueue = -1 },
		"Keys[0]":           func(o *serve.Options) { o.Keys = []serve.Key{{"a", ""}} },
		"same secret":       func(o *serve.Options) { o.Keys = []serve.Key{{"a", "s"}, {"b", "s"}} },
		`Accounts["a"]`:     func(o *serve.Options) { o.Accounts = map[string]serve.Account{"a": {TokensPerDay: -1}} },
		"a client's":        func(o *serve.Options) { o.Accounts = map[string]serve.Account{"": {}} },
		"Origins[0]":        func(o *serve.Options) { o.Origins = []string{"example.org"} },
		"Hosts[0]":          func(o *serve.Options) { o.Hosts = []string{"http://localhost"} },
		"MaxSessions":       func(o *serve.Options) { o.Pool = llama.PoolOptions{MaxSessions: -1} },
	} {
		o := serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}}
		change(&o)
		if _, err := serve.New(o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestPanicsEndOneRequest(t *testing.T) {
	begun := false
	h := start(t, func(o *serve.Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if begun {
				io.WriteString(w, "half an ")
			}
			panic("a test's")
		})
	})
	answer := send(t, "GET", h.URL+"/metrics", "")
	if answer.StatusCode != 500 || codeOf(t, answer) != "internal_error" {
		t.Errorf("status %d", answer.StatusCode)
	}
	begun = true
	h.Config.ErrorLog = nil
	if answer, err := http.Get(h.URL + "/metrics"); err == nil {
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err == nil {
			t.Errorf("the answer that broke off looks whole: %q", text)
		}
	}
	if answer := send(t, "GET", h.URL+"/health", ""); answer.StatusCode != 200 {
		t.Error("the server does not answer any more")
	}
}

// A server may be used without a network.
func TestHandlerWithoutAConnection(t *testing.T) {
	h := start(t, nil)
	recorder := httptest.NewRecorder()
	h.Config.Handler.ServeHTTP(recorder, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{`+question+`}`)))
	if recorder.Code != 200 {
		t.Errorf("status %d: %s", recorder.Code, recorder.Body)
	}
}
