//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// generation is a greedy text of transformers.
type generation struct {
	PromptIDs []llama.Token `json:"prompt_ids"`
	Text      string
}

// generations reads them.
func generations(t *testing.T) []generation {
	t.Helper()
	raw, err := os.ReadFile(fixture.Path(t, "pebble/golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Generations []generation }
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	return golden.Generations
}
