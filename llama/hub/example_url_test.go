package hub_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/hub"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

// A model of any server is fetched by its URL, once, and loaded. The server here has Pebble.
func ExampleGet_url() {
	server := httptest.NewServer(http.FileServerFS(pebble.FS))
	defer server.Close()
	cache, err := os.MkdirTemp("", "hub")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(cache)
	for range 2 {
		path, err := hub.Get(context.Background(), server.URL+"/"+pebble.Name, &hub.Options{Cache: cache})
		if err != nil {
			log.Fatal(err)
		}
		model, err := llama.Load(path, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(filepath.Base(path), model.Config().Layers, "layers")
		if err := model.Close(); err != nil {
			log.Fatal(err)
		}
		server.Close() // the second time, the cache has it
	}
	// Output:
	// pebble-Q4_0.gguf 8 layers
	// pebble-Q4_0.gguf 8 layers
}
