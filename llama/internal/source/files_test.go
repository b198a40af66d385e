package source_test

import (
	"os"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/llama/internal/source"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestThePresentFolderIsListed looks for the tower next to a file that is named without its folder. What lies there does not fit, which is said. No
// test of this folder is in package source: llama would be compiled again for it.
func TestThePresentFolderIsListed(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, data := range map[string][]byte{"model.gguf": ggufOf(&smallShapes[2]), "mmproj-model.gguf": []byte("no tower")} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	location, err := source.Locate("model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	m, err := source.Open(t.Context(), location, new(tensor.Galloc))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := m.OpenTower(t.Context(), nil, new(tensor.Galloc)); err != nil || !strings.Contains(m.Blind, "mmproj-model.gguf") {
		t.Errorf("of the file next to it %q is said: %v", m.Blind, err)
	}
}
