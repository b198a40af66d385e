package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
)

// TestRecommendedSamplingIsKept looks for what generation_config.json recommends in the metadata of the GGUF file.
func TestRecommendedSamplingIsKept(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(fixture.Path(t, "hf/llama2-mha-f32"))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "generation_config.json"), []byte(`{"do_sample":true,"temperature":0.5,"top_k":20}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := open(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	found := map[string]float64{}
	for _, kv := range s.metadata {
		if name, ok := strings.CutPrefix(kv.Key, "general.sampling."); ok {
			if v, ok := kv.Value.Float(); ok {
				found[name] = v
			} else if v, ok := kv.Value.Int(); ok {
				found[name] = float64(v)
			}
		}
	}
	if len(found) != 2 || found["temp"] != 0.5 || found["top_k"] != 20 {
		t.Errorf("the metadata have %v", found)
	}
}
