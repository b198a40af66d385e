package serve_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/llama/serve"
)

func TestFile(t *testing.T) {
	content, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pebbles := write("pebble.Q4_0.gguf", content)
	write("shards/model-00001-of-00002.safetensors", make([]byte, 100))
	write("shards/model-00002-of-00002.safetensors", make([]byte, 20))
	write("shards/config.json", make([]byte, 3))
	for _, c := range []struct {
		name, path, want string
		bytes            int64
	}{
		{"", pebbles, "pebble.Q4_0", int64(len(content))},
		{"other", pebbles, "other", int64(len(content))},
		{"", filepath.Join(folder, "shards"), "shards", 120},
		{"", filepath.Join(folder, "shards") + "/", "shards", 120},
		{"", filepath.Join(folder, "nowhere"), "nowhere", 0},
	} {
		if m := serve.File(c.name, c.path, nil); m.Name != c.want || m.Bytes != c.bytes {
			t.Errorf("%s: %q with %d bytes, want %q with %d", c.path, m.Name, m.Bytes, c.want, c.bytes)
		}
	}
	server, err := serve.New(serve.Options{Models: []serve.Model{serve.File("", pebbles, nil), serve.File("", folder+"/nowhere", nil)}})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if err := server.Preload(t.Context(), "pebble.Q4_0"); err != nil || !server.Stats().Models[0].Loaded {
		t.Errorf("error %v, %+v", err, server.Stats())
	}
	if err := server.Preload(t.Context()); err == nil || server.Stats().Models[1].Loaded {
		t.Errorf("a file that is not there was loaded")
	}
}
