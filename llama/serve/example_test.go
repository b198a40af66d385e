package serve_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

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
