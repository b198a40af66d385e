package hub_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/internal/hubtest"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A model of a hub of this machine, which has Pebble, is fetched and loaded.
func Example_ownHub() {
	data, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		log.Fatal(err)
	}
	server := hubtest.New()
	defer server.Close()
	server.Put("me/pebble-GGUF", "main", map[string][]byte{"pebble-Q4_0.gguf": data, "README.md": []byte("# Pebble")})
	cache, err := os.MkdirTemp("", "hub")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)

	// Without options, the hub is huggingface.co and the cache that of Python's huggingface_hub.
	path, err := hub.Get(context.Background(), "hf:me/pebble-GGUF:Q4_0", &hub.Options{Endpoint: server.URL, Cache: cache})
	if err != nil {
		log.Fatal(err)
	}
	model, err := llama.Load(path, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	fmt.Println(filepath.Base(path), model.Config().Layers, "layers")
	// Output: pebble-Q4_0.gguf 8 layers
}
