package cli

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/hubtest"
	"github.com/antigravity-go/antigravity/llama/pebble"
)

func TestModelsByName(t *testing.T) {
	data, err := pebble.FS.ReadFile(pebble.Name)
	if err != nil {
		t.Fatal(err)
	}
	s := hubtest.New()
	defer s.Close()
	s.Put("me/pebble-GGUF", "main", map[string][]byte{"pebble-Q4_0.gguf": data})
	t.Setenv("HF_ENDPOINT", s.URL)
	t.Setenv("HF_HOME", t.TempDir())
	t.Setenv("HF_HUB_CACHE", "")
	t.Setenv("HF_HUB_OFFLINE", "")
	var stderr bytes.Buffer
	m := &Model{Path: "hf:me/pebble-GGUF:q4_0", Backend: "cpu"}
	model, closeModel, err := m.Load(t.Context(), &stderr)
	if err != nil {
		t.Fatal(err)
	}
	defer closeModel()
	if model.Config().Layers != 8 || !strings.HasPrefix(stderr.String(), "fetching hf:me/pebble-GGUF:q4_0: ") {
		t.Errorf("%d layers, stderr %q", model.Config().Layers, &stderr)
	}
	if title, _ := m.Introduction(); title != "pebble-GGUF:q4_0" {
		t.Errorf("it is introduced as %s", title)
	}
	s.Requests()
	if path, err := m.Fetch(t.Context(), &stderr); err != nil || len(s.Requests()) != 0 {
		t.Errorf("a second time: %s, %v", path, err)
	}
}

func TestEmbeddedModelsAreNotFetched(t *testing.T) {
	for _, name := range []string{"", "pebble", "flint"} {
		if path, err := (&Model{Path: name}).Fetch(t.Context(), nil); path != "" || err != nil {
			t.Errorf("%q: %q, %v", name, path, err)
		}
		files, file := (&Model{Path: name}).EmbeddedFS()
		if data, err := fs.ReadFile(files, file); err != nil || !bytes.HasPrefix(data, []byte("GGUF")) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
