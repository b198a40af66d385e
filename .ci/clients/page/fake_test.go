package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/antigravity-go/antigravity/llama/serve/page"
)

// request is what the page asks for.
type request struct {
	Model         string
	Messages      []message
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
		IncludeStats bool `json:"include_stats"`
	} `json:"stream_options"`
	Temperature, TopP *float64
	TopK, Seed        *int
	Stop              []string
	Truncation        string
	GoesOn            bool `json:"continue_final_message"`
	Tools             []json.RawMessage
}

// message is a message of a request.
type message struct {
	Role       string
	Content    string   // the texts
	Images     []string // URLs
	Thought    string   `json:"reasoning_content"`
	ToolCallID string   `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// UnmarshalJSON reads a content that is a text, or a list of texts and images.
func (m *message) UnmarshalJSON(data []byte) error {
	type plain message
	var list struct {
		Content []struct {
			Text  string
			Image struct{ URL string } `json:"image_url"`
		}
	}
	if json.Unmarshal(data, &list) != nil {
		return json.Unmarshal(data, (*plain)(m))
	}
	var rest map[string]json.RawMessage
	if err := json.Unmarshal(data, &rest); err != nil {
		return err
	}
	delete(rest, "content")
	data, err := json.Marshal(rest)
	if err == nil {
		err = json.Unmarshal(data, (*plain)(m))
	}
	for _, part := range list.Content {
		m.Content += part.Text
		if part.Image.URL != "" {
			m.Images = append(m.Images, part.Image.URL)
		}
	}
	return err
}

// last is the content of the last message.
func (r request) last() string { return r.Messages[len(r.Messages)-1].Content }

// fake is a server with the page and a model. A test writes the model's answers.
type fake struct {
	*httptest.Server
	answer func(request, *answer)

	mu       sync.Mutex
	key      string // that requests must bring, or ""
	requests []request
	bodies   []string
}

// start starts a server that answers with answer.
func start(t *testing.T, reply func(request, *answer)) *fake {
	f := &fake{answer: reply}
	mux := http.NewServeMux()
	mux.Handle("/", page.Handler())
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		if !f.allowed(w, r) {
			return
		}
		fmt.Fprint(w, `{"object":"list","data":[{"id":"flint","object":"model","created":1,"owned_by":"antigravity","meta":{"loaded":true,"context":2048,"inputs":["text","image"],
			"defaults":{"temperature":1,"top_p":0.95,"top_k":0,"min_p":0,"max_completion_tokens":null,"seed":null}}},
			{"id":"pebble","object":"model","created":1,"owned_by":"antigravity","meta":{"loaded":false}},
			{"id":"advised","object":"model","created":1,"owned_by":"antigravity","meta":{"loaded":true,"context":2048,
			"defaults":{"temperature":0.6,"top_p":0.8,"top_k":20,"min_p":0,"max_completion_tokens":null,"seed":null,"recommended":true}}}]}`)
	})
	mux.HandleFunc("POST /v1/chat/completions", f.chat)
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.CloseClientConnections()
		f.Close()
	})
	return f
}

// demand makes the server ask for a key from now on.
func (f *fake) demand(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.key = key
}

func (f *fake) allowed(w http.ResponseWriter, r *http.Request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.key == "" || r.Header.Get("Authorization") == "Bearer "+f.key {
		return true
	}
	refuse(w, http.StatusUnauthorized, "the request has no valid key")
	return false
}

// asked returns the requests for answers so far.
func (f *fake) asked() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]request(nil), f.requests...)
}

func (f *fake) chat(w http.ResponseWriter, r *http.Request) {
	if !f.allowed(w, r) {
		return
	}
	var body json.RawMessage
	var asked request
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || json.Unmarshal(body, &asked) != nil {
		refuse(w, http.StatusBadRequest, "the body is no JSON")
		return
	}
	f.mu.Lock()
	f.requests = append(f.requests, asked)
	f.bodies = append(f.bodies, string(body))
	f.mu.Unlock()
	f.answer(asked, &answer{w: w, r: r})
}

// refuse answers with an error in OpenAI's form.
func refuse(w http.ResponseWriter, status int, message string) { refuseWith(w, status, message, "") }

// refuseWith is refuse with a code.
func refuseWith(w http.ResponseWriter, status int, message, code string) {
	refuseAs(w, status, map[string]any{"message": message, "type": "invalid_request_error", "code": code})
}

// refuseAs answers with an error.
func refuseAs(w http.ResponseWriter, status int, err map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": err})
}

// answer is one answer of the fake server.
type answer struct {
	w http.ResponseWriter
	r *http.Request
}

type delta = map[string]any

func (a *answer) event(data any) {
	a.w.Header().Set("Content-Type", "text/event-stream")
	encoded, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(a.w, "data: %s\n\n", encoded)
	_ = http.NewResponseController(a.w).Flush()
}

func (a *answer) delta(d delta, finish any) {
	a.event(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "flint",
		"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}}})
}

// say sends pieces of text.
func (a *answer) say(pieces ...string) {
	for _, piece := range pieces {
		a.delta(delta{"content": piece}, nil)
	}
}

// call sends a function call, its arguments in pieces.
func (a *answer) call(index int, id, name string, arguments ...string) {
	a.delta(delta{"tool_calls": []any{delta{"index": index, "id": id, "type": "function", "function": delta{"name": name, "arguments": ""}}}}, nil)
	for _, piece := range arguments {
		a.delta(delta{"tool_calls": []any{delta{"index": index, "function": delta{"arguments": piece}}}}, nil)
	}
}

// end finishes the answer as the server does: usage and statistics, and the mark of the end.
func (a *answer) end(finish string) {
	a.delta(delta{}, finish)
	a.event(map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "flint", "choices": []any{},
		"usage": map[string]any{"prompt_tokens": 312, "completion_tokens": 87, "total_tokens": 399, "prompt_tokens_details": map[string]any{"cached_tokens": 280}},
		"stats": map[string]any{"prompt_ms": 41.5, "answer_ms": 1830.2, "tokens_per_second": 47.5, "reused_tokens": 280, "drafted_tokens": 20,
			"accepted_tokens": 13, "forced_tokens": 4, "cache_slots": 399, "cache_capacity": 2048, "evictions": 1, "evicted_slots": 64}})
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}

// wait blocks until the client leaves.
func (a *answer) wait() { a.waitFor(nil) }

// waitFor blocks until the channel is closed, or until the client leaves, as it does when a test fails before it closes the channel.
func (a *answer) waitFor(closed <-chan struct{}) {
	select {
	case <-closed:
	case <-a.r.Context().Done():
	}
}

// says is a model that always says the same.
func says(text string) func(request, *answer) {
	return func(_ request, a *answer) {
		a.say(text)
		a.end("stop")
	}
}
