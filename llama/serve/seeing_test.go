package serve_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/internal/llamatest"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// startSeeing starts a server with a model that sees, "seer", and one that does not.
func startSeeing(t *testing.T, change func(*serve.Options)) *httptest.Server {
	t.Helper()
	m := llamatest.Load(t, llamatest.SeeingFolder(t), nil)
	return start(t, func(o *serve.Options) {
		o.Models = append([]serve.Model{{Name: "seer", Loaded: m}}, o.Models...)
		o.MaxTokens = 4
		if change != nil {
			change(o)
		}
	})
}

// pictureOf returns a picture's file in base64.
func pictureOf(t *testing.T, width, height, seed int) string {
	return base64.StdEncoding.EncodeToString(llamatest.PictureFile(t, width, height, seed))
}

// promptTokens finds how many tokens an answer's prompt had, in all interfaces.
func promptTokens(t *testing.T, text string) int {
	t.Helper()
	var got struct {
		Usage struct {
			Prompt, Input, Cached int
			PromptTokens          int `json:"prompt_tokens"`
			InputTokens           int `json:"input_tokens"`
			CacheRead             int `json:"cache_read_input_tokens"`
		}
		PromptEvalCount int   `json:"prompt_eval_count"`
		InputTokens     int   `json:"input_tokens"`
		Tokens          []int `json:"tokens"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return got.Usage.PromptTokens + got.Usage.InputTokens + got.Usage.CacheRead + got.PromptEvalCount + got.InputTokens + len(got.Tokens)
}

// TestImages sends the same image in all interfaces to a model that sees: the prompt has the same tokens.
func TestImages(t *testing.T) {
	h := startSeeing(t, nil)
	file := pictureOf(t, 90, 60, 1)
	url := "data:image/png;base64," + file
	seen := 0
	for _, c := range []struct{ path, body string }{
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `","detail":"high"}},{"type":"text","text":"Who?"}]}]`},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":"` + url + `"},{"type":"text","text":"Who?"}]}]`},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"input_image","image_url":"` + url + `"},{"type":"input_text","text":"Who?"}]}]`},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":[{"type":"image","image":"` + url + `"},{"type":"text","text":"Who?"}]}]`},
		{"/v1/chat/completions", `"messages":[{"role":"user","content":"Who?","images":["` + file + `"]}]`},
		{"/tokenize", `"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"` + url + `"}},{"type":"text","text":"Who?"}]}]`},
		{"/v1/responses", `"input":[{"role":"user","content":[{"type":"input_image","image_url":"` + url + `"},{"type":"input_text","text":"Who?"}]}]`},
		{"/v1/messages", `"max_tokens":4,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + file + `"}},{"type":"text","text":"Who?"}]}]`},
		{"/v1/messages/count_tokens", `"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"` + file + `"}},{"type":"text","text":"Who?"}]}]`},
		{"/api/chat", `"stream":false,"messages":[{"role":"user","content":"Who?","images":["` + file + `"]}]`},
		{"/api/generate", `"stream":false,"prompt":"Who?","images":["` + file + `"]`},
	} {
		status, text := post(t, h, c.path, `{"model":"seer",`+c.body+`}`)
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", c.path, status, text)
			continue
		}
		n := promptTokens(t, text)
		if seen == 0 {
			seen = n
		}
		if n != seen || n < 20 {
			t.Errorf("%s: %d tokens, %d elsewhere: %s", c.path, n, seen, text)
		}
	}
	_, text := post(t, h, "/tokenize", `{"model":"seer","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"`+url+`"}},{"type":"text","text":"Who? <|image_pad|>"}]}]}`)
	if n := promptTokens(t, text); n != seen+len(" <|image_pad|>") {
		t.Errorf("with a text that looks like an image: %d tokens, %d without", n, seen)
	}
}

// TestImagesOfTools sends images in the results of calls.
func TestImagesOfTools(t *testing.T) {
	h := startSeeing(t, nil)
	file := pictureOf(t, 40, 40, 1)
	for path, body := range map[string]string{
		"/v1/chat/completions": `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"b"},{"type":"image_url","image_url":{"url":"data:;base64,` + file + `"}}]}]`,
		"/v1/responses": `"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},
			{"type":"function_call_output","call_id":"1","output":[{"type":"input_text","text":"b"},{"type":"input_image","image_url":"data:;base64,` + file + `"}]}]`,
		"/v1/messages": `"max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"type":"text","text":"b"},{"type":"image","source":{"type":"base64","data":"` + file + `"}}]}]}]`,
		"/api/chat": `"stream":false,"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{}}}]},
			{"role":"tool","tool_name":"f","content":"b","images":["` + file + `"]}]`,
	} {
		if status, text := post(t, h, path, `{"model":"seer",`+body+`}`); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

// TestBadImages sends files that are no images, and images that may not be sent: in a question it is an error that names it, and in the history it is left out.
func TestBadImages(t *testing.T) {
	h := startSeeing(t, nil)
	file := pictureOf(t, 30, 30, 1)
	damaged := llamatest.PictureFile(t, 90, 60, 1)
	damaged[len(damaged)/2] ^= 1
	part := func(url string) string { return `{"type":"image_url","image_url":{"url":"` + url + `"}}` }
	for _, c := range []struct{ part, place, words string }{
		{part("data:image/png;base64,aGk="), ".image_url.url", "no PNG, JPEG, GIF or WebP"},
		{part("data:image/png;base64,a*"), ".image_url.url", "not base64"},
		{part("data:image/png;base64,"), ".image_url.url", "no data"},
		{part("data:image/png,hi"), ".image_url.url", "base64"},
		{part("data:"), ".image_url.url", "no comma"},
		{part("https://example.org/a.png"), ".image_url.url", "fetches no images"},
		{part("file:///etc/passwd"), ".image_url.url", "must be a data: URL"},
		{part("/etc/passwd"), ".image_url.url", "must be a data: URL"},
		{part(""), ".image_url.url", "must be a data: URL"},
		{part("data:;base64," + base64.StdEncoding.EncodeToString(damaged)), ".image_url.url", "unreadable"},
		{`{"type":"image_url","image_url":{"url":"data:;base64,` + pictureOf(t, 3000, 2, 1) + `"}}`, ".image_url.url", "3000×2"},
		{`{"type":"image_url","image_url":{"url":"data:;base64,` + file + `","detail":"most"}}`, ".detail", "must be"},
		{`{"type":"image_url"}`, ".image_url", "missing"},
		{`{"type":"image_url","image_url":null}`, ".image_url", "missing"},
		{`{"type":"image_url","image_url":7}`, ".image_url", "must be an object"},
		{`{"type":"image_url","image_url":[]}`, ".image_url", "must be an object"},
		{`{"type":"image_url","image_url":{"url":7}}`, ".image_url.url", "must be a string"},
		{`{"type":"input_image","file_id":"file-1"}`, ".file_id", "nothing is stored"},
		{`{"type":"image","source":{"type":"file","file_id":"1"}}`, ".source.type", "nothing is stored"},
		{`{"type":"image","source":{"type":"base64"}}`, ".source.data", "missing"},
		{`{"type":"video_url","video_url":{"url":"data:"}}`, ".type", "video_url"},
		{`{"type":"input_audio","input_audio":{}}`, ".type", "input_audio"},
	} {
		const at = "messages[0].content[0]"
		status, text := post(t, h, "/v1/chat/completions", `{"model":"seer","messages":[{"role":"user","content":[`+c.part+`]}]}`)
		if status != http.StatusBadRequest || !strings.Contains(text, at+c.place) || !strings.Contains(text, c.words) {
			t.Errorf("%.100s: %d %s; want %s%s and %q", c.part, status, text, at, c.place, c.words)
		}
		if strings.Contains(c.words, "unreadable") || strings.Contains(c.words, "3000") {
			continue // known only when the model looks at it
		}
		history := `{"model":"seer","messages":[{"role":"user","content":[{"type":"text","text":"a"},` + c.part + `]},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`
		if warnings := asked(t, h.URL, "/v1/chat/completions", history); !strings.Contains(warnings, "messages[0].content[1]") {
			t.Errorf("%.100s in the history: the header says %q", c.part, warnings)
		}
	}
	for _, body := range []string{
		`"messages":[{"role":"user","content":[null]}]`, `"messages":[{"role":"user","content":[7]}]`, `"messages":[{"role":"user","content":{"type":"image_url"}}]`,
		`"messages":[{"role":"user","content":"x","images":"` + file + `"}]`, `"messages":[{"role":"user","content":"x","images":[7]}]`, `"messages":[{"role":"user","content":"x","images":[null]}]`,
		`"messages":[{"role":"system","content":[` + part("data:;base64,"+file) + `]},{"role":"user","content":"x"}]`,
		`"messages":[{"role":"user","content":[` + strings.Repeat(part("data:;base64,"+file)+",", 256) + part("data:;base64,"+file) + `]}]`,
	} {
		if status, text := post(t, h, "/v1/chat/completions", `{"model":"seer",`+body+`}`); status != http.StatusBadRequest {
			t.Errorf("%.100s: %d %s", body, status, text)
		}
	}
}

// TestManyImages sends a conversation with more images than the context holds: the oldest turns are left out if the request allows it.
func TestManyImages(t *testing.T) {
	h := startSeeing(t, func(o *serve.Options) { o.Pool.Session.Capacity = 256 })
	var turns []string
	for i := range 40 {
		turns = append(turns, fmt.Sprintf(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:;base64,%s"}}]},{"role":"assistant","content":"a"}`, pictureOf(t, 60, 60, i)))
	}
	body := `{"model":"seer","messages":[` + strings.Join(turns, ",") + `,{"role":"user","content":"b"}]`
	if status, text := post(t, h, "/v1/chat/completions", body+`}`); status != http.StatusBadRequest || !strings.Contains(text, "context_length_exceeded") {
		t.Errorf("too many: %d %s", status, text)
	}
	answer := send(t, "POST", h.URL+"/v1/chat/completions", body+`,"truncation":"auto"}`)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK || answer.Header.Get("X-Dropped-Messages") == "" {
		t.Errorf("with truncation: %d, %v", answer.StatusCode, answer.Header)
	}
}

// TestImageTokens bounds images by the server's options, and by a request's detail.
func TestImageTokens(t *testing.T) {
	body := `{"model":"seer","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:;base64,` + pictureOf(t, 90, 60, 1) + `"}}]}]}`
	_, text := post(t, startSeeing(t, nil), "/tokenize", body)
	bounded := startSeeing(t, func(o *serve.Options) { o.Pool.Session = llama.SessionOptions{ImageTokens: 4} })
	_, less := post(t, bounded, "/tokenize", body)
	if a, b := promptTokens(t, text), promptTokens(t, less); b >= a {
		t.Errorf("%d tokens, bounded %d", a, b)
	}
}

// TestWhoSees asks which models see.
func TestWhoSees(t *testing.T) {
	h := startSeeing(t, func(o *serve.Options) {
		o.Models = append(o.Models, serve.File("unloaded", llamatest.SeeingFolder(t), nil))
	})
	get := func(path string) string {
		t.Helper()
		answer := send(t, "GET", h.URL+path, "")
		defer answer.Body.Close()
		var all json.RawMessage
		if err := json.NewDecoder(answer.Body).Decode(&all); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v", path, answer.StatusCode, err)
		}
		return string(all)
	}
	for name, sees := range map[string]bool{"seer": true, "flint": false, "unloaded": true} {
		inputs := `"inputs":["text"]`
		if sees {
			inputs = `"inputs":["text","image"]`
		}
		if text := get("/v1/models/" + name); !strings.Contains(text, inputs) {
			t.Errorf("/v1/models/%s: %s", name, text)
		}
		if text := get("/props?model=" + name); !strings.Contains(text, fmt.Sprintf(`"vision":%t`, sees)) {
			t.Errorf("/props of %s: %s", name, text)
		}
		if _, text := post(t, h, "/api/show", `{"model":"`+name+`"}`); strings.Contains(text, `"vision"`) != sees {
			t.Errorf("/api/show of %s: %s", name, text)
		}
	}
}

// TestImageURLs lets a server fetch images: nothing private, and nothing but images.
func TestImageURLs(t *testing.T) {
	reached := false
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer private.Close()
	h := startSeeing(t, func(o *serve.Options) { o.ImageURLs = true })
	for _, url := range []string{private.URL, "http://localhost:1/a.png", "http://[::1]/", "http://169.254.169.254/latest/meta-data/", "http://user:word@example.org/", "http://"} {
		status, text := post(t, h, "/v1/chat/completions", `{"model":"seer","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"`+url+`"}}]}]}`)
		if status != http.StatusBadRequest || !strings.Contains(text, "messages[0].content[0].image_url.url") {
			t.Errorf("%s: %d %s", url, status, text)
		}
	}
	if reached {
		t.Error("a private server was asked")
	}
}

// seeingPaths are the paths to which requests with images are posted.
func seeingPaths(t testing.TB) []fuzzed {
	file := base64.StdEncoding.EncodeToString(llamatest.PictureFile(t, 40, 40, 1))
	url := `"data:image/png;base64,` + file + `"`
	return []fuzzed{
		{"/v1/chat/completions", "CreateChatCompletionResponse", "CreateChatCompletionStreamResponse", true, []string{
			`{"model":"seer","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":` + url + `,"detail":"low"}}]}]}`,
			`{"model":"seer","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image_url","image_url":` + url + `}]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"image","image":` + url + `}]},{"role":"user","content":"b","images":["` + file + `"]}],"truncation":"auto"}`,
			`{"model":"seer","max_tokens":1,"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":[{"type":"image","url":` + url + `}]}]}`,
		}},
		{"/v1/responses", "Response", "ResponseStreamEvent", true, []string{
			`{"model":"seer","max_output_tokens":1,"store":false,"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":` + url + `,"detail":"auto"}]}]}`,
			`{"model":"seer","max_output_tokens":1,"store":false,"input":[{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1","output":[{"type":"input_image","image_url":` + url + `}]}]}`,
		}},
		{"/v1/messages", "", "", true, []string{
			`{"model":"seer","max_tokens":1,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + file + `"}},{"type":"text","text":"a"}]}]}`,
			`{"model":"seer","max_tokens":1,"messages":[{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":[{"type":"image","source":{"type":"base64","data":"` + file + `"}}]}]}]}`,
		}},
		{"/api/chat", "", "", true, []string{`{"model":"seer","messages":[{"role":"user","content":"a","images":["` + file + `"]}],"options":{"num_predict":1}}`}},
		{"/api/generate", "", "", true, []string{`{"model":"seer","prompt":"a","system":"s","images":["` + file + `"],"options":{"num_predict":1}}`}},
		{"/apply-template", "", "", false, []string{`{"model":"seer","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":` + url + `}}]}]}`}},
		{"/tokenize", "", "", false, []string{`{"model":"seer","with_pieces":true,"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":` + url + `}}]}]}`}},
	}
}

// FuzzImages is FuzzRequests for a model that sees.
func FuzzImages(f *testing.F) {
	m := llamatest.Load(f, llamatest.SeeingFolder(f), nil)
	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "seer", Loaded: m, Aliases: []string{"flint", "flint:latest"}}}, MaxTokens: 2, MaxBody: 1 << 17,
		ImageURLs: true, LogPrompts: true, Timeout: 20 * time.Second})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := server.Close(); err != nil {
			f.Error(err)
		}
	})
	paths := seeingPaths(f)
	for i, path := range paths {
		for k := range path.requests {
			for seed := range 4 {
				f.Add([]byte{byte(i), byte(k), byte(seed), byte(seed), byte(seed * 37), byte(seed * 101)})
			}
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		path, body := newRecipe(bytes).request(paths)
		check(t, server, path, body)
	})
}

// TestResultsWithoutPlaceForImages asks a model with a template that wants texts as results: their images follow in a message of the user's.
func TestResultsWithoutPlaceForImages(t *testing.T) {
	const template = `{%- if tools %}{{- tools | tojson }}{% endif %}{%- for m in messages %}{{- '<|im_start|>' ~ m.role ~ '\n' }}
		{%- if m.role == 'tool' %}{{- m.content ~ '' }}
		{%- elif m.content is string %}{{- m.content }}
		{%- else %}{%- for part in m.content %}{%- if part.type == 'image' %}{{- '<|image_pad|>' }}{% else %}{{- part.text }}{% endif %}{% endfor %}
		{%- endif %}
		{%- for call in m.tool_calls %}{{- call.function.name }}{% endfor %}{{- '<|im_end|>\n' }}{% endfor %}`
	m := llamatest.Load(t, llamatest.SeeingFolder(t), &llama.LoadOptions{ChatTemplate: template})
	h := start(t, func(o *serve.Options) { o.Models = []serve.Model{{Name: "seer", Loaded: m}} })
	image := `{"type":"image_url","image_url":{"url":"data:;base64,` + pictureOf(t, 40, 40, 1) + `"}}`
	for _, truncation := range []string{"auto", "disabled"} {
		body := `"messages":[{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"1","content":[{"type":"text","text":"b"},` + image + `]},{"role":"tool","tool_call_id":"2","content":"c"},{"role":"user","content":"d"}]`
		if status, text := post(t, h, "/v1/chat/completions", `{"model":"seer","max_tokens":1,"truncation":"`+truncation+`",`+body+`}`); status != http.StatusOK {
			t.Errorf("%s: %d %s", truncation, status, text)
		}
		_, text := post(t, h, "/apply-template", `{"model":"seer",`+body+`}`)
		if !strings.Contains(text, `tool\nb<|im_end|>\n<|im_start|>tool\nc<|im_end|>\n<|im_start|>user\n[4 tokens of an image]`) {
			t.Errorf("the prompt is %s", text)
		}
	}
}
