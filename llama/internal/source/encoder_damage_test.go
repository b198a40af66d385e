package source_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestDamagedConfigsOfEncoders replaces each value of config.json by others: what can still be loaded computes a text, or gives an error,
// and never panics. Unless the tests are long, each value is replaced by some of the others.
func TestDamagedConfigsOfEncoders(t *testing.T) {
	effort.Turn(t, 8)
	values := []string{"-1", "0", "1", "3", "99999999999", "null", "1e300", `"x"`, "true", "[]", "{}"}
	for _, name := range []string{"enc-bert", "enc-modernbert", "rank-xlmr"} {
		dir := fixture.Path(t, "families/"+name)
		path := filepath.Join(dir, checkpoint.ConfigFile)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(data, []byte("\n"))
		for i, line := range lines {
			key, value, found := strings.Cut(string(line), ": ")
			if !found || strings.HasSuffix(value, "{") || strings.HasSuffix(value, "[") {
				continue
			}
			for at, v := range values {
				if (i+at)%effort.Of(5, 4, 1) != 0 {
					continue
				}
				damaged := slices.Clone(lines)
				damaged[i] = []byte(key + ": " + v + value[len(strings.TrimRight(value, ",")):])
				if err := os.WriteFile(path, bytes.Join(damaged, []byte("\n")), 0o644); err != nil {
					t.Fatal(err)
				}
				if err := loadAndCompute(t, dir); err != nil && strings.Contains(err.Error(), "runtime error") {
					t.Errorf("%s with %s: %v", name, damaged[i], err)
				}
			}
		}
	}
}

// loadAndCompute loads an encoder or a reranker, and computes a text.
func loadAndCompute(t *testing.T, dir string) error {
	m, err := llama.Load(dir, &llama.LoadOptions{Threads: 1})
	if err != nil {
		return err
	}
	defer m.Close()
	if m.Kind() == llama.Reranker {
		_, err = m.Rerank(t.Context(), "wood", "wood chuck")
		return err
	}
	_, err = m.Embed(t.Context(), "wood chuck")
	return err
}
