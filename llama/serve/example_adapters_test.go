package serve_test

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
)

// One model is served with an adapter and without one: requests choose by name, and all are computed together.
func ExampleModel_adapters() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	adapter, err := model.LoadAdapter("../testdata/adapter") // of random numbers, which spoil the answer
	if err != nil {
		log.Fatal(err)
	}
	defer adapter.Close()
	server, err := serve.New(serve.Options{Models: []serve.Model{
		{Name: "pebble", Loaded: model},
		{Name: "pebble:adapted", Loaded: model, Adapter: adapter},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	listener := httptest.NewServer(server)
	defer listener.Close()
	for _, name := range []string{"pebble", "pebble:adapted"} {
		answer, err := http.Post(listener.URL+"/v1/chat/completions", "application/json", strings.NewReader(
			`{"model": "`+name+`", "temperature": 0, "messages": [{"role": "user", "content": "What is the capital of Japan?"}]}`))
		if err != nil {
			log.Fatal(err)
		}
		var whole struct {
			Choices []struct {
				Message struct{ Content string }
			}
		}
		err = json.NewDecoder(answer.Body).Decode(&whole)
		answer.Body.Close()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(whole.Choices[0].Message.Content)
	}
	// Output:
	// The capital of Japan is Tokyo.
	// The capital of Serbia is Belgrade.
}
