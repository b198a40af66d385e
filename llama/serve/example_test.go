package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/antigravity-go/antigravity/llama/flint"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// A program answers requests in OpenAI's interface under /v1/, and may serve other things at other paths.
func Example() {
	model, err := flint.Load(nil) // or llama.Load("model.gguf", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	server, err := serve.New(serve.Options{Models: []serve.Model{{Name: "flint", Loaded: model}}, NoPage: true})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	mux := http.NewServeMux()
	mux.Handle("/v1/", server)
	mux.HandleFunc("/hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "Hello") })

	listener := httptest.NewServer(mux) // in a program: http.ListenAndServe("127.0.0.1:8080", mux)
	defer listener.Close()
	answer, err := http.Post(listener.URL+"/v1/chat/completions", "application/json", bytes.NewBufferString(`{
		"model": "flint", "temperature": 0, "messages": [{"role": "user", "content": "What is the capital of Japan?"}]}`))
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	var whole struct {
		Choices []struct {
			Message struct{ Content string }
		}
	}
	if err := json.NewDecoder(answer.Body).Decode(&whole); err != nil {
		log.Fatal(err)
	}
	fmt.Println(whole.Choices[0].Message.Content)
	// Output: The capital of Japan is Tokyo.
}

// Models come from files when requests ask for them. If memory would run short, the least recently used of the unused ones go.
func ExampleFile() {
	small := serve.File("small", "models/llama-3.2-1b.gguf", nil)
	small.Aliases = []string{"gpt-4o-mini"} // what programs ask for that know no other name
	server, err := serve.New(serve.Options{
		Models:     []serve.Model{small, serve.File("", "models/llama-3.1-8b.gguf", nil)},
		ModelBytes: 12 << 30,
		Keys:       []serve.Key{{Name: "alice", Secret: "sk-alices"}},
		Logger:     slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	for _, m := range server.Stats().Models {
		fmt.Println(m.Name, m.Loaded)
	}
	// Output:
	// small false
	// llama-3.1-8b false
}

// A program has an authentication of its own in front of the server: a handler that knows its users lets them in, and Options.Client
// returns their names. The name counts for fairness, logs, limits and caches.
func ExampleOptions_client() {
	model, err := flint.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	type userKey struct{}
	server, err := serve.New(serve.Options{
		Models:   []serve.Model{{Name: "flint", Loaded: model}},
		Client:   func(r *http.Request) string { name, _ := r.Context().Value(userKey{}).(string); return name },
		Accounts: map[string]serve.Account{"ann": {RequestsPerMinute: 20, TokensPerDay: 100_000}},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	passwords := map[string]string{"ann": "secret"} // in a program: sessions, tokens of an identity provider, …
	guard := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, password, _ := r.BasicAuth()
		if want, ok := passwords[name]; !ok || password != want {
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		server.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, name)))
	})

	listener := httptest.NewServer(guard)
	defer listener.Close()
	for _, password := range []string{"guess", "secret"} {
		request, err := http.NewRequest(http.MethodPost, listener.URL+"/v1/completions", strings.NewReader(
			`{"prompt": "The capital of Japan is", "max_tokens": 4, "temperature": 0}`))
		if err != nil {
			log.Fatal(err)
		}
		request.SetBasicAuth("ann", password)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			log.Fatal(err)
		}
		answer.Body.Close()
		fmt.Println(password, answer.StatusCode)
	}
	// Output:
	// guess 401
	// secret 200
}
