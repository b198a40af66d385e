package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// ollamaLine is a line of an answer in Ollama's form.
type ollamaLine struct {
	Model   string
	Created time.Time `json:"created_at"`
	Done    bool
	Message struct {
		Role, Content, Thinking string
		Calls                   []struct {
			ID       string
			Function struct {
				Index     int
				Name      string
				Arguments json.RawMessage
			}
		} `json:"tool_calls"`
	}
	Response *string
	Thinking string // of /api/generate
	Context  []int
	Logprobs []struct {
		Token   string
		Logprob float64
		Bytes   []int
		Top     []json.RawMessage `json:"top_logprobs"`
	}
	Reason   string `json:"done_reason"`
	Total    int64  `json:"total_duration"`
	Load     int64  `json:"load_duration"`
	Prompt   int    `json:"prompt_eval_count"`
	Reused   int    `json:"prompt_eval_cached_count"`
	PromptNS int64  `json:"prompt_eval_duration"`
	Count    int    `json:"eval_count"`
	NS       int64  `json:"eval_duration"`
	Error    string
}

// ollama sends a request, with "stream" as it says, and returns the lines of the answer. Each but the last is not done.
func ollama(t testing.TB, h *httptest.Server, path string, stream bool, body string) (lines []ollamaLine) {
	t.Helper()
	if !stream {
		body = `"stream":false,` + body
	}
	answer, err := http.Post(h.URL+path, "application/json", strings.NewReader("{"+body+"}"))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%s: status %d, %v: %s", body, answer.StatusCode, err, text)
	}
	want := "application/json"
	if stream {
		want = "application/x-ndjson"
	}
	if kind := answer.Header.Get("Content-Type"); kind != want {
		t.Errorf("the Content-Type is %q, want %q", kind, want)
	}
	if !strings.HasSuffix(string(text), "\n") {
		t.Errorf("the last line does not end: %q", text)
	}
	for line := range strings.Lines(string(text)) {
		var l ollamaLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		lines = append(lines, l)
	}
	for i, l := range lines {
		if l.Done != (i == len(lines)-1) || l.Created.IsZero() || l.Model == "" {
			t.Errorf("line %d of %d is %+v", i, len(lines), l)
		}
	}
	return lines
}

// joined puts the lines of a stream together, without the members that differ from one answer to the next: times, and the part in the
// cache.
func joined(lines []ollamaLine) (all ollamaLine) {
	for i, l := range lines {
		text, calls, logprobs := all.Message.Content+l.Message.Content, append(all.Message.Calls, l.Message.Calls...), append(all.Logprobs, l.Logprobs...)
		var response *string
		if l.Response != nil {
			whole := *l.Response
			if i > 0 {
				whole = *all.Response + whole
			}
			response = &whole
		}
		all = l
		all.Message.Content, all.Message.Calls, all.Logprobs, all.Response = text, calls, logprobs, response
	}
	all.Created, all.Total, all.Load, all.PromptNS, all.NS, all.Reused = time.Time{}, 0, 0, 0, 0, 0
	return all
}

const (
	japan   = `"messages":[{"role":"user","content":"What is the capital of Japan?"}]`
	greedy  = `"model":"flint","options":{"temperature":0}`
	inTokyo = "The capital of Japan is Tokyo."
)

// TestOllamaStreams checks that streams and whole answers say the same.
func TestOllamaStreams(t *testing.T) {
	h := start(t, nil)
	for _, c := range []struct{ name, path, body string }{
		{"chat", "/api/chat", greedy + "," + japan},
		{"chat with log-probabilities", "/api/chat", greedy + `,"logprobs":true,"top_logprobs":2,` + japan},
		{"sampled", "/api/chat", `"model":"flint","options":{"seed":5,"temperature":1.5,"num_predict":12},` + japan},
		{"a call", "/api/chat", greedy + `,"messages":[{"role":"user","content":"How warm is it in Nairobi?"}],"tools":[` + weather + `]`},
		{"a form", "/api/chat", greedy + `,"messages":[{"role":"user","content":"Sam is 18."}],"format":{"type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":99}},"required":["n"],"additionalProperties":false}`},
		{"generate", "/api/generate", greedy + `,"prompt":"What is the capital of Japan?"`},
		{"raw", "/api/generate", greedy + `,"prompt":"The capital of","raw":true`},
	} {
		t.Run(c.name, func(t *testing.T) {
			whole := ollama(t, h, c.path, false, c.body)
			if len(whole) != 1 {
				t.Fatalf("%d lines", len(whole))
			}
			stream := ollama(t, h, c.path, true, c.body)
			if a, b := joined(whole), joined(stream); !reflect.DeepEqual(a, b) {
				t.Errorf("whole:    %+v\nstreamed: %+v", a, b)
			}
			last := stream[len(stream)-1]
			if last.Total < last.PromptNS+last.NS || last.PromptNS <= 0 || last.NS <= 0 || last.Prompt < 3 || last.Count < 2 || last.Reason == "" {
				t.Errorf("the last line is %+v", last)
			}
		})
	}
}

func TestOllamaChat(t *testing.T) {
	h := start(t, nil)
	line := ollama(t, h, "/api/chat", false, greedy+","+japan)[0]
	if line.Message.Content != inTokyo || line.Message.Role != "assistant" || line.Reason != "stop" || line.Model != "flint" {
		t.Errorf("%+v", line)
	}
	tagged := ollama(t, h, "/api/chat", false, `"model":"flint:latest","options":{"temperature":0},`+japan)[0]
	if tagged.Message.Content != inTokyo || tagged.Model != "flint:latest" {
		t.Errorf("with a tag: %+v", tagged)
	}
	for _, options := range []string{`"options":{"temperature":0,"num_predict":2}`, `"temperature":0,"max_output_tokens":2`, `"temperature":2,"max_output_tokens":5,"options":{"temperature":0,"num_predict":2}`} {
		short := ollama(t, h, "/api/chat", false, `"model":"flint",`+options+","+japan)[0]
		if short.Message.Content != "The capital" || short.Reason != "length" || short.Count != 2 {
			t.Errorf("of two tokens: %+v", short)
		}
	}
	begun := ollama(t, h, "/api/chat", false, greedy+`,"messages":[{"role":"user","content":"What is the capital of Japan?"},{"role":"assistant","content":"The capital of"}]`)[0]
	if begun.Message.Content != " Japan is Tokyo." {
		t.Errorf("an answer that is begun goes on with %q", begun.Message.Content)
	}
	logprobs := ollama(t, h, "/api/chat", false, greedy+`,"logprobs":true,"top_logprobs":3,`+japan)[0].Logprobs
	if len(logprobs) < 5 || logprobs[0].Token != "The" || logprobs[0].Logprob > 0 || len(logprobs[0].Top) != 3 {
		t.Errorf("log-probabilities %+v", logprobs)
	}
}

// TestOllamaTools goes round once: the question, the call, its result without an id, the answer.
func TestOllamaTools(t *testing.T) {
	h := start(t, nil)
	const ask = `{"role":"user","content":"How warm is it in Nairobi?"}`
	tools := `,"tools":[` + weather + `]`
	line := ollama(t, h, "/api/chat", false, greedy+`,"messages":[`+ask+`]`+tools)[0]
	if len(line.Message.Calls) != 1 || line.Message.Content != "" || line.Reason != "stop" {
		t.Fatalf("%+v", line)
	}
	call := line.Message.Calls[0]
	if call.Function.Name != "get_weather" || string(call.Function.Arguments) != `{"city":"Nairobi"}` || len(call.ID) != 9 {
		t.Fatalf("%+v", call)
	}
	required := ollama(t, h, "/api/chat", false, greedy+","+japan+tools+`,"tool_choice":{"type":"function","name":"get_weather"}`)[0]
	if len(required.Message.Calls) != 1 || required.Message.Calls[0].Function.Name != "get_weather" {
		t.Errorf("a call that is required: %+v", required)
	}
	if none := ollama(t, h, "/api/chat", false, greedy+`,"messages":[`+ask+`]`+tools+`,"tool_choice":"none"`)[0]; len(none.Message.Calls) != 0 {
		t.Errorf("a call that is forbidden: %+v", none)
	}
	for name, result := range map[string]string{
		"no name": `{"role":"tool","content":"{\"sky\":\"sunny\",\"temperature\":17}"}`,
		"a name":  `{"role":"tool","tool_name":"get_weather","content":"{\"sky\":\"sunny\",\"temperature\":17}"}`,
	} {
		answer := ollama(t, h, "/api/chat", false, greedy+`,"messages":[`+ask+
			`,{"role":"assistant","content":"","thinking":"Hm.","tool_calls":[{"function":{"name":"get_weather","arguments":{"city":"Nairobi"}}}]},`+result+`]`+tools)[0]
		if !strings.Contains(answer.Message.Content, "17 degrees") {
			t.Errorf("%s: %+v", name, answer)
		}
	}
}

func TestOllamaForms(t *testing.T) {
	h := start(t, nil)
	for format, want := range map[string]func(map[string]any) bool{
		`"json"`: func(map[string]any) bool { return true },
		`{"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":5}},"required":["n"],"additionalProperties":false}`: func(o map[string]any) bool {
			n, ok := o["n"].(float64)
			return ok && n >= 3 && n <= 5 && len(o) == 1
		},
	} {
		for path, ask := range map[string]string{"/api/chat": japan, "/api/generate": `"prompt":"Say something."`} {
			line := ollama(t, h, path, false, greedy+`,"format":`+format+","+ask)[0]
			text := line.Message.Content
			if line.Response != nil {
				text = *line.Response
			}
			var object map[string]any
			if err := json.Unmarshal([]byte(text), &object); err != nil || !want(object) {
				t.Errorf("%s: %v, %s", format, err, text)
			}
		}
	}
}

// TestOllamaContext checks that a conversation that goes on from a context is the one that a chat has.
func TestOllamaContext(t *testing.T) {
	h := start(t, nil)
	first := ollama(t, h, "/api/generate", false, greedy+`,"prompt":"What is the capital of Japan?"`)[0]
	if *first.Response != inTokyo || len(first.Context) != first.Prompt+first.Count {
		t.Fatalf("%+v", first)
	}
	tokens, _ := json.Marshal(first.Context)
	second := ollama(t, h, "/api/generate", false, greedy+`,"prompt":"And of France?","context":`+string(tokens))[0]
	chat := ollama(t, h, "/api/chat", false, greedy+`,"messages":[{"role":"user","content":"What is the capital of Japan?"},{"role":"assistant","content":"`+inTokyo+
		`"},{"role":"user","content":"And of France?"}]`)[0]
	if *second.Response != chat.Message.Content || second.Prompt != chat.Prompt {
		t.Errorf("from a context %+v, in a chat %+v", second, chat)
	}
	if raw := ollama(t, h, "/api/generate", false, greedy+`,"raw":true,"prompt":"The capital of"`)[0]; raw.Context != nil || *raw.Response != " Albania is Tirana." {
		t.Errorf("a raw prompt: %+v", raw)
	}
	system := ollama(t, h, "/api/generate", false, greedy+`,"system":"Be brief.","prompt":"What is the capital of Japan?"`)[0]
	if system.Prompt <= first.Prompt {
		t.Errorf("a system message takes no tokens: %+v", system)
	}
}

// TestOllamaTruncation checks what becomes of what does not fit: the oldest turns, and the ends of texts to embed.
func TestOllamaTruncation(t *testing.T) {
	h := start(t, nil)
	long := strings.Repeat("garden ", 3000)
	messages := `,"messages":[{"role":"user","content":"` + long + `"},{"role":"assistant","content":"Yes."},{"role":"user","content":"What is the capital of Japan?"}]`
	if line := ollama(t, h, "/api/chat", false, greedy+messages)[0]; line.Message.Content != inTokyo {
		t.Errorf("%+v", line)
	}
	ollamaRefused(t, h, "/api/chat", `{`+greedy+messages+`,"truncate":false}`, 400, "fit this model's context")
	ollamaRefused(t, h, "/api/embed", `{"model":"flint","input":["a","`+long+`"],"truncate":false}`, 400, "input[1] has")
	status, text := post(t, h, "/api/embed", `{"model":"flint","input":["a","`+long+`"]}`)
	var out struct {
		Embeddings [][]float32
		Count      int `json:"prompt_eval_count"`
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || len(out.Embeddings) != 2 || out.Count < 2000 || out.Count > 2100 {
		t.Errorf("status %d, %v: %.200s", status, err, text)
	}
}

func TestOllamaEmbeddings(t *testing.T) {
	h := start(t, nil)
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	want, err := model.Embed(t.Context(), "Hello", "Good morning")
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Model      string
		Embeddings [][]float32
		Embedding  []float32
		Total      int64 `json:"total_duration"`
		Load       int64 `json:"load_duration"`
		Count      int   `json:"prompt_eval_count"`
	}
	for _, c := range []struct {
		path, body string
		want       [][]float32
	}{
		{"/api/embed", `{"model":"flint","input":"Hello"}`, want[:1]},
		{"/api/embed", `{"model":"flint","input":["Hello","Good morning"],"truncate":false,"keep_alive":"5m","options":{"num_ctx":512},"dimensions":256}`, want},
		{"/api/embed", `{"model":"flint","input":""}`, [][]float32{}},
		{"/api/embed", `{"model":"flint"}`, [][]float32{}},
	} {
		status, text := post(t, h, c.path, c.body)
		var got answer
		if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || !reflect.DeepEqual(got.Embeddings, c.want) || got.Model != "flint" || got.Total <= 0 {
			t.Errorf("%s: status %d, %v: %.200s", c.body, status, err, text)
		}
		if (got.Count > 0) != (len(c.want) > 0) {
			t.Errorf("%s: %d tokens", c.body, got.Count)
		}
	}
	status, text := post(t, h, "/api/embeddings", `{"model":"flint","prompt":"Hello","keep_alive":-1}`)
	var got answer
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || !slices.Equal(got.Embedding, want[0]) {
		t.Errorf("status %d: %.200s", status, text)
	}
	if status, text := post(t, h, "/api/embeddings", `{"model":"flint"}`); status != 200 || text != `{"embedding":[]}`+"\n" {
		t.Errorf("status %d: %s", status, text)
	}
}

// ollamaModel is a model in a list, or shown.
type ollamaModel struct {
	Name, Model, Digest string
	Size                int64
	Details             struct {
		Format, Family string
		Families       []string
		Parameters     string `json:"parameter_size"`
		Quantization   string `json:"quantization_level"`
	}
	Capabilities []string
	Info         map[string]any `json:"model_info"`
	Expires      time.Time      `json:"expires_at"`
	Context      int            `json:"context_length"`
}

// ollamaModels returns the models of a list.
func ollamaModels(t testing.TB, h *httptest.Server, path string) []ollamaModel {
	t.Helper()
	status, text := get(t, h, path)
	var out struct{ Models []ollamaModel }
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || out.Models == nil {
		t.Fatalf("status %d, %v: %s", status, err, text)
	}
	return out.Models
}

// TestOllamaModels checks the facts about models: of a loaded one, of one that is a file, and of one about which nothing is known.
func TestOllamaModels(t *testing.T) {
	content, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "pebble.gguf")
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	h := start(t, func(o *serve.Options) {
		o.Models = append(o.Models, serve.File("", path, nil), serve.Model{Name: "later", Load: func(ctx context.Context) (*llama.Model, error) { return flint.LoadContext(ctx, nil) }})
	})
	list := ollamaModels(t, h, "/api/tags")
	if len(list) != 3 || list[0].Name != "flint" || list[1].Name != "pebble" || list[2].Name != "later" || list[1].Size != int64(len(content)) {
		t.Fatalf("%+v", list)
	}
	for i, m := range list {
		if m.Model != m.Name || len(m.Digest) != 64 || i > 0 && m.Digest == list[0].Digest || !slices.Contains(m.Capabilities, "completion") {
			t.Errorf("%+v", m)
		}
	}
	if d := list[0].Details; d.Family != "llama" || d.Parameters != "8.9M" || d.Quantization != "Q4_0" || !slices.Contains(list[0].Capabilities, "tools") {
		t.Errorf("%+v", list[0])
	}
	if d := list[1].Details; d.Family != "llama" || d.Format != "gguf" || d.Quantization != "Q4_0" || d.Parameters == "" {
		t.Errorf("%+v", list[1])
	}
	if d := list[2].Details; d.Family != "" || d.Families == nil {
		t.Errorf("%+v", list[2])
	}
	if loaded := ollamaModels(t, h, "/api/ps"); len(loaded) != 1 || loaded[0].Name != "flint" || loaded[0].Context != 2048 || loaded[0].Size == 0 || time.Until(loaded[0].Expires) < 100*365*24*time.Hour {
		t.Errorf("%+v", loaded)
	}
	for name, body := range map[string]string{
		"flint": `{"model":"flint","verbose":true}`, "pebble": `{"name":"pebble:latest"}`, "later": `{"model":"later","system":"","template":"","options":null}`,
	} {
		status, text := post(t, h, "/api/show", body)
		var m ollamaModel
		if err := json.Unmarshal([]byte(text), &m); err != nil || status != 200 {
			t.Fatalf("%s: status %d, %v: %s", body, status, err, text)
		}
		family, _ := m.Info["general.architecture"].(string)
		length, _ := m.Info[family+".context_length"].(float64)
		if family != "llama" || length < 100 || m.Info["general.basename"] != name || m.Details.Family != "llama" || !slices.Contains(m.Capabilities, "completion") {
			t.Errorf("%s: %s", body, text)
		}
	}
	if loaded := ollamaModels(t, h, "/api/ps"); len(loaded) != 2 || loaded[1].Name != "later" { // a file need not be loaded to be shown
		t.Errorf("%+v", loaded)
	}
	if a, b := ollamaModels(t, h, "/api/tags")[2], list[0]; a.Digest != b.Digest { // the same weights
		t.Errorf("%+v and %+v", a, b)
	}
	ollamaRefused(t, h, "/api/show", `{"model":"granite"}`, 404, "model 'granite' not found")
	ollamaRefused(t, h, "/api/show", `{}`, 400, "model is missing") // there are several
}

// TestOllamaUnloads checks that a model is given back when a request says so, and not while it is used.
func TestOllamaUnloads(t *testing.T) {
	model, err := embedded()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		server, err := serve.New(serve.Options{Models: []serve.Model{
			{Name: "later", Load: func(ctx context.Context) (*llama.Model, error) { return flint.LoadContext(ctx, nil) }}, {Name: "flint", Loaded: model}}})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		send := func(path, body string) (int, string) {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
			return w.Code, w.Body.String()
		}
		loaded := func() bool {
			synctest.Wait()
			return server.Stats().Models[0].Loaded
		}
		for _, c := range []struct {
			path, body, says string
			status           int
			loaded           bool
		}{
			{"/api/generate", `{"model":"later"}`, `"done_reason":"load"`, 200, true},
			{"/api/generate", `{"model":"later","keep_alive":0}`, `"done_reason":"unload"`, 200, false},
			{"/api/generate", `{"model":"later:latest","prompt":"","keep_alive":"0s"}`, `"done_reason":"unload"`, 200, false},
			{"/api/chat", `{"model":"later","messages":[],"keep_alive":"10m"}`, `"done_reason":"load"`, 200, true},
			{"/api/chat", `{"model":"later","keep_alive":0}`, `"role":"assistant"`, 200, false},
			{"/api/chat", `{"model":"later","stream":false,"keep_alive":-1,` + japan + `,"options":{"temperature":0}}`, inTokyo, 200, true},
			{"/api/chat", `{"model":"later","stream":false,"keep_alive":0,` + japan + `,"options":{"temperature":0}}`, inTokyo, 200, false},
			{"/api/embed", `{"model":"later","input":"Hi"}`, "embeddings", 200, true},
			{"/api/embed", `{"model":"later","input":"Hi","keep_alive":0}`, "embeddings", 200, false},
			{"/api/generate", `{"model":"flint","keep_alive":0}`, "stays loaded as long as the server runs", 400, false},
			{"/api/generate", `{"model":"granite","keep_alive":0}`, "model 'granite' not found", 404, false},
			{"/api/generate", `{"model":"granite"}`, "model 'granite' not found", 404, false},
		} {
			status, text := send(c.path, c.body)
			if now := loaded(); status != c.status || !strings.Contains(text, c.says) || now != c.loaded {
				t.Errorf("%s: status %d, loaded %v, %.300s; want status %d, loaded %v", c.body, status, now, text, c.status, c.loaded)
			}
		}
	})
}

// ollamaRefused checks that a request is refused, in Ollama's form.
func ollamaRefused(t testing.TB, h *httptest.Server, path, body string, status int, says string) {
	t.Helper()
	got, text := post(t, h, path, body)
	var e struct{ Error *string }
	if err := json.Unmarshal([]byte(text), &e); err != nil || got != status || e.Error == nil || !strings.Contains(*e.Error, says) {
		t.Errorf("%s %.300s: status %d, %.300s; want status %d and %q", path, body, got, text, status, says)
	}
}

func TestOllamaErrors(t *testing.T) {
	h := start(t, nil)
	chat := func(more string) string { return `{"model":"flint",` + japan + `,` + more + `}` }
	messages := func(list string) string { return `{"model":"flint","messages":[` + list + `]}` }
	for _, c := range []struct {
		path, body string
		status     int
		says       string
	}{
		{"/api/chat", ``, 400, "no body"},
		{"/api/chat", `{`, 400, "not JSON"},
		{"/api/chat", `{"model":"granite",` + japan + `}`, 404, "model 'granite' not found"},
		{"/api/chat", chat(`"frobnicate":1`), 400, `there is no parameter "frobnicate"`},
		{"/api/chat", chat(`"think":"hard"`), 400, `think is "hard"`},
		{"/api/chat", chat(`"think":5`), 400, "think must be true, false"},
		{"/api/chat", chat(`"format":"xml"`), 400, "format is"},
		{"/api/chat", chat(`"format":{"type":"object","uniqueItems":1}`), 400, "format"},
		{"/api/chat", chat(`"keep_alive":"long"`), 400, "keep_alive"},
		{"/api/chat", chat(`"keep_alive":true`), 400, "keep_alive must be a number"},
		{"/api/chat", chat(`"shift":true`), 400, "shift is not supported"},
		{"/api/chat", chat(`"top_logprobs":21`), 400, "top_logprobs is 21"},
		{"/api/chat", chat(`"options":{"num_predict":0}`), 400, "options.num_predict is 0"},
		{"/api/chat", chat(`"options":{"num_ctx":0}`), 400, "options.num_ctx is 0"},
		{"/api/chat", chat(`"options":{"temperature":-1}`), 400, "options.temperature"},
		{"/api/chat", chat(`"options":{"temperature":3}`), 400, "options.temperature is 3"},
		{"/api/chat", chat(`"options":{"top_p":1.5}`), 400, "options.top_p"},
		{"/api/chat", chat(`"options":{"stop":[""]}`), 400, "options.stop[0]"},
		{"/api/chat", chat(`"options":{"mirostat":2}`), 400, "options.mirostat is not supported"},
		{"/api/chat", chat(`"options":{"typical_p":0.5}`), 400, "options.typical_p is not supported"},
		{"/api/chat", chat(`"options":{"repeat_penalty":1.2,"repeat_last_n":32}`), 400, "options.repeat_last_n is 32"},
		{"/api/chat", chat(`"options":{"rope_frequency_base":10000}`), 400, "options.rope_frequency_base"},
		{"/api/chat", chat(`"options":{"max_tokens":5}`), 400, `"options.max_tokens"`},
		{"/api/chat", chat(`"tools":[{"type":"retrieval","function":{"name":"f"}}]`), 400, "tools[0].type"},
		{"/api/chat", chat(`"tools":[{"type":"function","function":{"name":"f g"}}]`), 400, "tools[0].function.name"},
		{"/api/chat", chat(`"tools":[{"function":{"name":"f"}},{"function":{"name":"f"}}]`), 400, "tools[1].function.name"},
		{"/api/chat", chat(`"tool_choice":"required"`), 400, "tool_choice asks for a call"},
		{"/api/chat", chat(`"tool_choice":"maybe"`), 400, "tool_choice is"},
		{"/api/chat", chat(`"tool_choice":{"type":"function","name":"g"},"tools":[{"function":{"name":"f"}}]`), 400, "tool_choice.name"},
		{"/api/chat", messages(`{"role":"user","content":"x","images":["aGk="]}`), 400, "messages[0].images"},
		{"/api/chat", messages(`{"content":"x"}`), 400, "messages[0].role is missing"},
		{"/api/chat", messages(`{"role":"critic","content":"x"}`), 400, "messages[0].role"},
		{"/api/chat", messages(`{"role":"user","tool_calls":[{"function":{"name":"f"}}]}`), 400, "messages[0].tool_calls"},
		{"/api/chat", `{"model":"flint","format":"json","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`, 400, "format"},
		{"/api/generate", `{"model":"flint","prompt":"x","images":["aGk="]}`, 400, "images"},
		{"/api/generate", `{"model":"flint","prompt":"x","template":"{{.Prompt}}"}`, 400, "template is not supported"},
		{"/api/generate", `{"model":"flint","prompt":"x","suffix":"y"}`, 400, "suffix is not supported: the model's vocabulary"},
		{"/api/generate", `{"model":"flint","prompt":"x","raw":true,"system":"y"}`, 400, "system stands beside raw"},
		{"/api/generate", `{"model":"flint","prompt":"x","raw":true,"context":[1]}`, 400, "context stands beside raw"},
		{"/api/generate", `{"model":"flint","prompt":"x","context":[1],"system":"y"}`, 400, "system stands beside context"},
		{"/api/generate", `{"model":"flint","prompt":"x","context":[999999]}`, 400, "context[0] is 999999"},
		{"/api/generate", `{"model":"flint","prompt":"x","width":512}`, 400, "width"},
		{"/api/embed", `{"model":"granite","input":"x"}`, 404, "model 'granite' not found"},
		{"/api/embed", `{"model":"flint","input":5}`, 400, "input"},
		{"/api/embed", `{"model":"flint","input":["x",""]}`, 400, "input[1] is empty"},
		{"/api/embed", `{"model":"flint","input":"x","dimensions":-5}`, 400, "dimensions"},
		{"/api/pull", `{"model":"granite","stream":false}`, 404, "fetches no models"},
		{"/api/push", `{"model":"flint"}`, 400, "publishes no models"},
		{"/api/create", `{"model":"x","from":"flint"}`, 400, "makes no models"},
		{"/api/copy", `{"source":"flint","destination":"x"}`, 400, "-alias"},
		{"/api/nowhere", `{}`, 404, "nothing at /api/nowhere"},
		{"/api/tags", `{}`, 405, "must be GET"},
	} {
		ollamaRefused(t, h, c.path, c.body, c.status, c.says)
	}
	if answer := send(t, "DELETE", h.URL+"/api/delete", `{"model":"flint"}`); answer.StatusCode != 400 {
		t.Errorf("DELETE: status %d", answer.StatusCode)
	}
}

// TestOllamaReads checks that what programs send is read: options that change nothing, and those that ask for nothing.
func TestOllamaReads(t *testing.T) {
	h := start(t, nil)
	for _, more := range []string{
		`"think":false,"keep_alive":-1,"format":"","truncate":true,"shift":false,"logprobs":false`,
		`"think":true`, `"think":"high"`, `"think":"max"`,
		`"think":null,"keep_alive":"5m","format":null,"tools":null,"options":null`,
		`"options":{"num_ctx":8192,"num_batch":512,"num_gpu":99,"main_gpu":0,"low_vram":false,"use_mmap":true,"num_thread":4,"num_keep":24,"seed":-1,"num_predict":-1,
			"top_k":40,"top_p":0.9,"min_p":0.0,"tfs_z":1.0,"typical_p":1.0,"repeat_last_n":64,"temperature":0.8,"repeat_penalty":1.1,"presence_penalty":0.0,
			"frequency_penalty":0.0,"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.1,"penalize_newline":true,"stop":["\n\n\n"]}`,
		`"options":{"repeat_last_n":-1,"repeat_penalty":1.0,"penalize_newline":false,"top_k":-1,"stop":"zzz"}`,
		`"options":{"repeat_last_n":0,"repeat_penalty":1.3}`,
		`"temperature":0,"top_p":0.5,"max_output_tokens":3,"tool_choice":"auto","options":{"num_predict":20}`,
		`"tools":[{"type":"function","items":null,"function":{"name":"f","type":"function","description":"d","parameters":{"type":"object","properties":{}}}}]`,
	} {
		if line := ollama(t, h, "/api/chat", false, `"model":"flint",`+japan+`,`+more); len(line) != 1 || line[0].Prompt == 0 {
			t.Errorf("%s: %+v", more, line)
		}
	}
}

// TestOllamaPrograms sends what programs send: Home Assistant, promptfoo, and Copilot in Visual Studio Code.
func TestOllamaPrograms(t *testing.T) {
	effort.Turn(t, 8)
	h := start(t, nil)
	const house = `{"type":"function","function":{"name":"HassTurnOn","parameters":{"type":"object","properties":{"name":{"type":"string"},"area":{"type":"string"},
		"domain":{"type":"array","items":{"type":"string","enum":["light","switch"]}}},"required":[]},"description":"Turns on a device"}}`
	for _, c := range []struct{ name, path, body string }{
		{"Home Assistant", "/api/chat", `"model":"flint","messages":[{"role":"system","content":"You are a voice assistant."},{"role":"user","content":"Turn on the light."},
			{"role":"assistant","content":"","tool_calls":[{"function":{"name":"HassTurnOn","arguments":{"name":"light"}}}]},{"role":"tool","content":"{\"data\":{\"success\":[]},\"error\":null}"},
			{"role":"assistant","content":"It is on."},{"role":"user","content":"Thank you."}],"tools":[` + house + `],"format":null,"options":{"num_ctx":8192},"keep_alive":-1,"think":false,"stream":true`},
		{"Home Assistant's tasks", "/api/chat", `"model":"flint","messages":[{"role":"user","content":"Is it warm?"}],"stream":true,"options":{"num_ctx":8192},"keep_alive":"300s","think":false,
			"format":{"type":"object","properties":{"warm":{"type":"boolean","description":"whether it is warm"}},"required":["warm"]}`},
		{"promptfoo", "/api/chat", `"model":"flint","messages":[{"role":"user","content":"Hello"}],"options":{"num_predict":16,"temperature":0,"top_p":1,"typical_p":1,"mirostat":0,"num_thread":2}`},
		{"promptfoo's completions", "/api/generate", `"model":"flint","prompt":"Hello","stream":true,"options":{"num_predict":16,"penalize_newline":true}`},
	} {
		lines := ollama(t, h, c.path, true, c.body)
		if last := lines[len(lines)-1]; last.Count == 0 || last.Reason == "" {
			t.Errorf("%s: %+v", c.name, last)
		}
	}
	// Copilot looks at the version, lists the models, looks at each, and then talks as to OpenAI, by the names in the list.
	for _, m := range ollamaModels(t, h, "/api/tags") {
		status, text := post(t, h, "/api/show", `{"model":"`+m.Model+`"}`)
		var shown ollamaModel
		if err := json.Unmarshal([]byte(text), &shown); err != nil || status != 200 {
			t.Fatalf("status %d, %v: %s", status, err, text)
		}
		length, _ := shown.Info[fmt.Sprintf("%v.context_length", shown.Info["general.architecture"])].(float64)
		if length < 1000 || shown.Info["general.basename"] == "" || !slices.Contains(shown.Capabilities, "tools") {
			t.Errorf("%s", text)
		}
		for _, name := range []string{m.Model, m.Model + ":latest"} {
			if status, text := post(t, h, "/v1/chat/completions", `{"model":"`+name+`","max_tokens":1,`+japan+`}`); status != 200 {
				t.Errorf("status %d: %s", status, text)
			}
		}
	}
}

// TestOllamaDefaults checks that answers are chosen with Ollama's defaults if a request does not set them.
func TestOllamaDefaults(t *testing.T) {
	h := start(t, nil)
	body := func(more string) string {
		return `"model":"flint","options":{"seed":3` + more + `},"messages":[{"role":"user","content":"Tell me a story about a fox."}]`
	}
	said := func(more string) string { return ollama(t, h, "/api/chat", false, body(more))[0].Message.Content }
	if said("") != said(`,"temperature":0.8,"top_k":40,"top_p":0.9,"repeat_penalty":1`) {
		t.Error("the defaults are not Ollama's")
	}
	if said("") == said(`,"temperature":0`) {
		t.Error("by default nothing is drawn")
	}
}

func TestOllamaVersion(t *testing.T) {
	h := start(t, nil)
	status, text := get(t, h, "/api/version")
	var v struct{ Version string }
	if err := json.Unmarshal([]byte(text), &v); err != nil || status != 200 || len(strings.Split(v.Version, ".")) != 3 {
		t.Errorf("status %d: %s", status, text)
	}
	for _, path := range []string{"/api/version", "/api/tags", "/"} {
		if answer := send(t, "HEAD", h.URL+path, ""); answer.StatusCode != 200 {
			t.Errorf("HEAD %s: status %d", path, answer.StatusCode)
		}
	}
	keyed := start(t, func(o *serve.Options) { o.Keys = []serve.Key{{Name: "a", Secret: "one"}} })
	if status, text := get(t, keyed, "/api/tags"); status != 401 || !strings.Contains(text, `{"error":"`) {
		t.Errorf("without a key: status %d: %s", status, text)
	}
	if answer := send(t, "GET", keyed.URL+"/api/tags", "", "Authorization", "Bearer one"); answer.StatusCode != 200 {
		t.Errorf("with a key: status %d", answer.StatusCode)
	}
}

// TestApplyTemplate checks that the text is that of the tokens that a chat has.
func TestApplyTemplate(t *testing.T) {
	h := start(t, nil)
	for _, body := range []string{
		`"messages":[{"role":"system","content":"Be brief. <|eot_id|>"},{"role":"user","content":"What is ö?"}]`,
		`"messages":[{"role":"user","content":"How warm is it in Nairobi?"}],"tools":[` + weather + `]`,
	} {
		status, text := post(t, h, "/apply-template", "{"+body+"}")
		var out struct{ Prompt string }
		if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || out.Prompt == "" {
			t.Fatalf("status %d: %s", status, text)
		}
		if want := detokenize(t, h, tokensOf(t, h, body)); out.Prompt != want {
			t.Errorf("%q, want %q", out.Prompt, want)
		}
	}
	rendered := func(more string) (out struct{ Prompt string }) {
		status, text := post(t, h, "/apply-template", `{"messages":[{"role":"user","content":"Hello"}]`+more+`}`)
		if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 {
			t.Fatalf("status %d: %s", status, text)
		}
		return out
	}
	whole, opened, closed := rendered("").Prompt, rendered(`,"add_generation_prompt":true`).Prompt, rendered(`,"add_generation_prompt":false`).Prompt
	if opened != whole || closed == whole || !strings.HasPrefix(whole, closed) || !strings.Contains(closed, "Hello") {
		t.Errorf("%q with the model's turn, %q without, want %q and its beginning", opened, closed, whole)
	}
	refused(t, h, "/tokenize", `{"content":"a","add_generation_prompt":false}`, 400, "add_generation_prompt", "invalid_value", "without messages")
	refused(t, h, "/apply-template", `{"messages":[]}`, 400, "messages", "invalid_value", "at least one")
	refused(t, h, "/apply-template", `{}`, 400, "messages", "missing_required_parameter", "missing")
}

func TestProps(t *testing.T) {
	h := start(t, nil)
	for _, path := range []string{"/props", "/props?model=default"} {
		status, text := get(t, h, path)
		var p struct {
			Defaults struct {
				Context int `json:"n_ctx"`
				Params  struct {
					Temperature *float64
					TopK        *float64 `json:"top_k"`
					Seed        *float64
				}
			} `json:"default_generation_settings"`
			Slots      int    `json:"total_slots"`
			Path       string `json:"model_path"`
			BOS        string `json:"bos_token"`
			EOS        string `json:"eos_token"`
			Modalities map[string]bool
			Template   string          `json:"chat_template"`
			Caps       map[string]bool `json:"chat_template_caps"`
		}
		if err := json.Unmarshal([]byte(text), &p); err != nil || status != 200 {
			t.Fatalf("status %d, %v: %s", status, err, text)
		}
		d := p.Defaults
		if d.Context != 2048 || d.Params.Temperature == nil || *d.Params.Temperature != 1 || d.Params.TopK == nil || d.Params.Seed == nil || *d.Params.Seed != -1 ||
			p.Slots != 32 || p.Path != "flint" || !strings.HasPrefix(p.BOS, "<") || !strings.HasPrefix(p.EOS, "<") || p.Modalities["vision"] {
			t.Errorf("%s", text)
		}
		if !strings.Contains(p.Template, "messages") || strings.Contains(text, "chat_template_tool_use") {
			t.Errorf("the chat template is %q in %s", p.Template, text)
		}
		if c := p.Caps; !c["supports_tools"] || !c["supports_tool_calls"] || !c["supports_parallel_tool_calls"] || !c["supports_system_role"] ||
			!c["supports_string_content"] || c["supports_preserve_reasoning"] {
			t.Errorf("%s", text)
		}
	}
	if status, _ := get(t, h, "/props?model=granite"); status != 404 {
		t.Errorf("status %d", status)
	}
}

// TestOllamaEncoders checks that models which give no answers say so, and embed.
func TestOllamaEncoders(t *testing.T) {
	h := startEncoders(t, "enc-bert")
	if m := ollamaModels(t, h, "/api/tags")[1]; m.Name != "enc-bert" || !slices.Equal(m.Capabilities, []string{"embedding"}) {
		t.Errorf("%+v", m)
	}
	status, text := post(t, h, "/api/embed", `{"model":"enc-bert","input":["Hello","`+strings.Repeat("long ", 2000)+`"],"dimensions":8}`)
	var out struct{ Embeddings [][]float32 }
	if err := json.Unmarshal([]byte(text), &out); err != nil || status != 200 || len(out.Embeddings) != 2 || len(out.Embeddings[0]) != 8 {
		t.Errorf("status %d: %.300s", status, text)
	}
	for path, body := range map[string]string{
		"/api/chat": `{"model":"enc-bert",` + japan + `}`, "/api/generate": `{"model":"enc-bert","prompt":"Hello"}`,
	} {
		ollamaRefused(t, h, path, body, 400, "gives no answers")
	}
	refused(t, h, "/infill", `{"model":"enc-bert","input_prefix":"a"}`, 400, "model", "unsupported_model", "gives no answers")
	if status, text := get(t, h, "/props?model=enc-bert"); status != 200 || !strings.Contains(text, `"supports_tools":false`) || !strings.Contains(text, `"chat_template":""`) {
		t.Errorf("status %d: %s", status, text)
	}
}
