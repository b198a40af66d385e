package llama_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// families are the fixtures of families with caches or layers unlike Llama's: sliding windows in all layers or in some, layers without
// RoPE, multipliers, norms elsewhere, fused weights and longrope, and layers with states, experts, and sizes by layer. gpt-bigcode has positions for 256
// tokens, too few for these tests.
var families = []string{"mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "phi3-longrope", "olmo2", "gemma3", "gemma", "gemma2", "olmo3", "qwen3-yarn", "llama-yarn", "gemma3-wrapper", "mistral3-wrapper", "qwen3vl-wrapper", "phi4mini", "ministral3", "granite4-micro", "qwen35", "lfm2", "granite4h", "qwen35moe", "qwen3next",
	"qwen3moe", "mixtral", "granite-moe", "granite4h-moe", "glm4moe", "gptoss", "gemma4-e", "gemma4-dense", "gemma4-moe", "seed-oss", "glm4", "ernie45", "exaone4", "nemotron-h", "nemotron-h-moe", "nemotron-h-latent", "deepseek-v2-lite", "glm4moelite", "lfm2moe", "starcoder2", "hunyuan-dense", "cohere2", "mtp-deepseek-v3", "apertus", "falcon-h1", "gemma3n", "cohere2-moe", "phi2", "stablelm", "ernie45-moe", "bitnet", "bitnet-packed", "muse-glimmer", "deepseek-wide"}

// familyModel loads a fixture.
func familyModel(t testing.TB, name string, o *llama.LoadOptions) *llama.Model {
	t.Helper()
	m, err := llama.Load(fixture.Path(t, "families/"+name), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// eachModel calls f for Pebble, which is a Llama, with all options, and for a model of each family with those among them that show how
// caches differ. Unless the tests are long, a fifth of Pebble's options have their turn, and a fourteenth of the families' pairs with options.
func eachModel(t *testing.T, all map[string]*llama.SessionOptions, f func(t *testing.T, family string, m *llama.Model, name string, o *llama.SessionOptions)) {
	run := func(family string, m *llama.Model, name string) {
		o := all[name]
		if !o.KV.Quantized() || m.Config().HeadDim%o.KV.BlockLen() == 0 {
			t.Run(family+" "+name, func(t *testing.T) { f(t, family, m, name, o) })
		}
	}
	for i, name := range slices.Sorted(maps.Keys(all)) {
		if effort.Share(i, 5) {
			run("pebble", pebbleModel(t), name)
		}
	}
	some := slices.DeleteFunc([]string{"chunks", "f16", "h2o", "plain", "reanchored", "sinks", tensor.Q8_0.String()}, func(name string) bool { return all[name] == nil })
	for i, family := range families {
		var m *llama.Model
		for at, name := range some {
			if !effort.Share(i+at, 14) {
				continue
			}
			if m == nil {
				m = familyModel(t, family, nil)
			}
			if all[name].Positions == llama.ReanchorSinks && m.Config().Family == "hunyuan-dense" { // its keys are normed after RoPE, and get no new positions
				continue
			}
			run(family, m, name)
		}
	}
}

// shortStream is stream for models with fewer tokens.
func shortStream(n int) []llama.Token {
	tokens := make([]llama.Token, n)
	for i := range tokens {
		tokens[i] = llama.Token(i * 7919 % 251)
	}
	return tokens
}
