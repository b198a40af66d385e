package hub_test

import (
	"context"
	"fmt"
	"log"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
)

// A model is fetched by its name, unless the cache has it, and loaded. The cache is that of Python's huggingface_hub. The example is not run, since it
// fetches 800 MB.
func ExampleGet() {
	path, err := hub.Get(context.Background(), "hf:unsloth/Llama-3.2-1B-Instruct-GGUF:Q4_K_M", nil)
	if err != nil {
		log.Fatal(err)
	}
	model, err := llama.Load(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	fmt.Println(model.Config().Layers, "layers")
}
