package llama_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// Two conversations with one model, one of them with an adapter. This adapter has random numbers, and so spoils the answer.
func ExampleModel_LoadAdapter() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	adapter, err := model.LoadAdapter("testdata/adapter") // a folder that PEFT wrote, or a GGUF file
	if err != nil {
		log.Fatal(err)
	}
	defer adapter.Close()
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	for _, options := range []*llama.SessionOptions{nil, {Adapter: adapter}, {Adapter: adapter, AdapterScale: 0.3}} {
		session, err := model.NewSession(options)
		if err != nil {
			log.Fatal(err)
		}
		answer, err := llama.Collect(session.Chat(context.Background(), history, llama.Params{}))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.Text)
	}
	// Output:
	// The capital of Japan is Tokyo.
	// The capital of Serbia is Belgrade.
	// The capital of Japan is Tokyo.
}

// One pool answers with an adapter and without one: each answer chooses, and all are computed together.
func ExampleParams_adapter() {
	model, err := pebble.Load(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	adapter, err := model.LoadAdapter("testdata/adapter")
	if err != nil {
		log.Fatal(err)
	}
	defer adapter.Close()
	pool, err := model.NewPool(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	history := []llama.Message{{Role: llama.RoleUser, Content: "What is the capital of Japan?"}}
	for _, params := range []llama.Params{{}, {Adapter: adapter}, {Adapter: adapter, AdapterScale: 0.3}} {
		answer, err := llama.Collect(pool.Chat(context.Background(), history, params))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.Text)
	}
	// Output:
	// The capital of Japan is Tokyo.
	// The capital of Serbia is Belgrade.
	// The capital of Japan is Tokyo.
}
