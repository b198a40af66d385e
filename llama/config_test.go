package llama

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
)

// TestConfigHasAllThatCheckpointsSay fills every field of a checkpoint's configuration and finds it in ours.
func TestConfigHasAllThatCheckpointsSay(t *testing.T) {
	c := checkpoint.Config{BOS: 7, EOS: []int32{8}, RMSNormEps: 0.5, AttentionBias: true, MLPBias: true, TiedEmbeddings: true,
		RoPE: checkpoint.RoPE{Theta: 3, Scaling: "linear", Factor: 2, Divisors: []float32{4}}, Variant: checkpoint.Variant{Family: "x", Window: 3, LocalRoPE: checkpoint.RoPE{Theta: 2}, EmbeddingScale: 2},
		Encoder: checkpoint.Encoder{Whole: true, Positions: 5, Dense: []checkpoint.Dense{{Folder: "x", In: 2}}}}
	from := reflect.ValueOf(&c).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Int {
			f.SetInt(int64(100 + i))
		}
	}
	ours := configOf(&c)
	to := reflect.ValueOf(ours)
	if from.NumField() != to.NumField() {
		t.Errorf("a checkpoint's configuration has %d fields, ours %d", from.NumField(), to.NumField())
	}
	for i := range from.NumField() {
		name := from.Type().Field(i).Name
		f := to.FieldByName(name)
		if name == "Variant" { // the face does not say how each layer is computed
			if variant := from.Field(i); f.IsZero() || differ(f, variant) != "" {
				t.Errorf("%s: %s is %v, want %v", name, differ(f, variant), f, variant)
			}
		} else if !f.IsValid() || f.IsZero() || fmt.Sprint(f) != fmt.Sprint(from.Field(i)) {
			t.Errorf("%s is %v, want %v", name, f, from.Field(i))
		}
	}
}

// differ returns the name of a field that two structs have, if it differs; structs within count field by field.
func differ(a, b reflect.Value) string {
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		x, y := a.Field(i), b.FieldByName(name)
		switch {
		case !y.IsValid():
		case x.Kind() == reflect.Struct && x.Type() != y.Type():
			if within := differ(x, y); within != "" {
				return name + "." + within
			}
		case fmt.Sprint(x) != fmt.Sprint(y):
			return name
		}
	}
	return ""
}

// TestPublishedShapesFit holds the limits of configurations against models that exist, the largest and the smallest of the family
// among them, with weights of four bits.
func TestPublishedShapesFit(t *testing.T) {
	for _, c := range []struct {
		name                                                     string
		hidden, wide, layers, heads, kv, headDim, vocab, context int
	}{
		{"Llama 3.1 405B", 16384, 53248, 126, 128, 8, 128, 128256, 131072},
		{"Llama 3.3 70B", 8192, 28672, 80, 64, 8, 128, 128256, 131072},
		{"Llama 3.1 8B", 4096, 14336, 32, 32, 8, 128, 128256, 131072},
		{"Llama 3.2 1B", 2048, 8192, 16, 32, 8, 64, 128256, 131072},
		{"LLaMA 65B", 8192, 22016, 80, 64, 64, 128, 32000, 2048},
		{"Llama 2 7B", 4096, 11008, 32, 32, 32, 128, 32000, 4096},
		{"TinyLlama 1.1B", 2048, 5632, 22, 32, 4, 64, 32000, 2048},
		{"SmolLM 135M", 576, 1536, 30, 9, 3, 64, 49152, 2048},
		{"stories 15M", 288, 768, 6, 6, 6, 48, 32000, 256},
		{"stories 260K", 64, 172, 5, 8, 4, 8, 512, 512},
		{"tiny-random-LlamaForCausalLM", 16, 64, 2, 4, 4, 4, 32000, 2048},
		{"a table of 256k entries", 16, 16, 1, 2, 1, 8, 256000, 8192},
	} {
		config := checkpoint.Config{
			HiddenSize: c.hidden, IntermediateSize: c.wide, Layers: c.layers, Heads: c.heads, KVHeads: c.kv, HeadDim: c.headDim, VocabSize: c.vocab,
			ContextLength: c.context, RMSNormEps: 1e-5, RoPE: checkpoint.RoPE{Theta: 10000}, BOS: -1,
		}
		if err := config.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		numbers := c.vocab*c.hidden + c.layers*(2*c.hidden*(c.heads+c.kv)*c.headDim+3*c.hidden*c.wide)
		if err := engine.CheckWorkingBytes(&config, defaultCapacity, int64(numbers)/2); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
