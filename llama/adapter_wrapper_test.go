package llama

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestAdaptersOfWrappers loads adapters that were made for the whole model, and for the model of text alone: the names of modules and of architectures
// differ, what they add does not.
func TestAdaptersOfWrappers(t *testing.T) {
	for _, c := range []struct {
		wrapper       string
		prefixes      []string // of the modules of text, instead of model.
		architectures []string
		others        string // an architecture that it is not
	}{
		{"qwen3vl-wrapper", []string{"model.language_model.", "language_model.model."}, []string{"qwen3", "qwen3vl"}, "qwen2vl"},
		{"mistral3-wrapper", []string{"model.language_model.", "language_model.model.", ""}, []string{"llama", "mistral3"}, "qwen3vl"},
		{"ministral3", []string{""}, []string{"llama", "mistral3"}, "qwen3"},
	} {
		t.Run(c.wrapper, func(t *testing.T) {
			m, tokens := mustLoad(t, fixture.Path(t, "families/"+c.wrapper), nil), []Token{5, 9, 7, 300, 11, 8}
			list := randomAdapter(m, 1, 5, "q_proj", "down_proj")
			config := plainConfig(t, map[string]any{"r": 5, "target_modules": []string{"q_proj", "down_proj"}})
			logits := func(a *Adapter) []float32 {
				return logitsWith(t, m, &SessionOptions{Adapter: a, KV: tensor.F32}, tokens)
			}
			want := logits(adapterIn(t, m, peftFolder(t, config, list)))
			if slices.Equal(want, logits(nil)) {
				t.Fatal("the adapter changes nothing")
			}
			for _, prefix := range c.prefixes {
				renamed := slices.Clone(list)
				for i := range renamed {
					renamed[i].name = strings.Replace(renamed[i].name, "base_model.model.model.", "base_model.model."+prefix, 1)
				}
				if got := logits(adapterIn(t, m, peftFolder(t, config, renamed))); !slices.Equal(got, want) {
					t.Errorf("modules that begin with %q: other logits", prefix)
				}
			}
			// Numbers by module have the names that the modules had when the adapter was made.
			other := plainConfig(t, map[string]any{"r": 5, "target_modules": []string{"q_proj", "down_proj"}, "alpha_pattern": map[string]any{"layers.0.self_attn.q_proj": 40}})
			want40 := logits(adapterIn(t, m, peftFolder(t, other, list)))
			for _, prefix := range c.prefixes {
				renamed := slices.Clone(list)
				for i := range renamed {
					renamed[i].name = strings.Replace(renamed[i].name, "base_model.model.model.", "base_model.model."+prefix, 1)
				}
				other := plainConfig(t, map[string]any{"r": 5, "target_modules": []string{"q_proj", "down_proj"},
					"alpha_pattern": map[string]any{"^" + strings.ReplaceAll(prefix, ".", `\.`) + `layers\.0\.self_attn\.q_proj`: 40}})
				if got := logits(adapterIn(t, m, peftFolder(t, other, renamed))); !slices.Equal(got, want40) || slices.Equal(got, want) {
					t.Errorf("modules that begin with %q: alpha_pattern with whole names gives other logits", prefix)
				}
			}
			of := func(architecture string) fstest.MapFS {
				metadata := checkpoint.AdapterMetadata(m.config, "x", 16)
				for i := range metadata {
					if metadata[i].Key == checkpoint.ArchitectureKey {
						metadata[i].Value = gguf.ValueOf(architecture)
					}
				}
				return fstest.MapFS{"a.gguf": {Data: ggufAdapter(t, checkpoint.Tensors(m.config), list, metadata, tensor.F32)}}
			}
			for _, architecture := range c.architectures {
				a, err := m.LoadAdapterFS(t.Context(), of(architecture), "a.gguf")
				if err != nil {
					t.Errorf("%s: %v", architecture, err)
					continue
				}
				if e := relativeError(logits(a), want); e > 1e-5 {
					t.Errorf("%s: relative error %.2g", architecture, e)
				}
				a.Close()
			}
			if _, err := m.LoadAdapterFS(t.Context(), of(c.others), "a.gguf"); err == nil || !strings.Contains(err.Error(), "another model") {
				t.Errorf("%s: %v, want an error", c.others, err)
			}
		})
	}
}
