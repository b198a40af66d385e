package llama

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/llama/internal/engine"
	"github.com/antigravity-go/antigravity/tensor"
)

// aside are fields that a checkpoint's configuration has for loading, and for methods of Model, alone.
var aside = []string{"Sampling", "Biases", "Scales", "ExpertScaled", "Padding", "Together", "Deepstack", "Multiplied", "Ahead", "After"}

// TestConfigHasAllThatCheckpointsSay fills every field of a checkpoint's configuration and finds it in ours.
func TestConfigHasAllThatCheckpointsSay(t *testing.T) {
	c := model.Config{BOS: 7, EOS: []int32{8}, RMSNormEps: 0.5, AttentionBias: true, MLPBias: true, TiedEmbeddings: true,
		RoPE: model.RoPE{Theta: 3, Scaling: "linear", Factor: 2, Divisors: []float32{4}}, Variant: model.Variant{Family: "x", Window: 3, PerLayerWidth: 4, Sizes: []model.LayerSizes{{HeadDim: 5}},
			Mixers: []model.Mixer{model.SharedAttention, model.Attention}, LocalRoPE: model.RoPE{Theta: 2}, EmbeddingScale: 2},
		Encoder: model.Encoder{Whole: true, Positions: 5, Dense: []model.Dense{{Folder: "x", In: 2}}}, Head: model.Head{Pooling: model.EachPooling, Labels: []string{"x"}}}
	from := reflect.ValueOf(&c).Elem()
	for i := range from.NumField() {
		if f := from.Field(i); f.Kind() == reflect.Int {
			f.SetInt(int64(100 + i))
		}
	}
	ours := configOf(&c)
	to := reflect.ValueOf(ours)
	if from.NumField() != to.NumField()-1+len(aside) { // Head is Labels and LabelsTokens
		t.Errorf("a checkpoint's configuration has %d fields, ours %d, and %q are not there", from.NumField(), to.NumField(), aside)
	}
	same := func(to, from reflect.Value, but ...string) {
		for i := range from.NumField() {
			name := from.Type().Field(i).Name
			if f := to.FieldByName(name); !slices.Contains(but, name) && (!f.IsValid() || f.IsZero() != from.Field(i).IsZero() || fmt.Sprint(f) != fmt.Sprint(from.Field(i))) {
				t.Errorf("%s is %v, want %v", name, f, from.Field(i))
			}
		}
	}
	same(to, from, append(aside, "Variant", "Head")...)
	if !slices.Equal(ours.Labels, []string{"x"}) || !ours.LabelsTokens {
		t.Errorf("the labels are %q, of tokens %v", ours.Labels, ours.LabelsTokens)
	}
	same(to.FieldByName("Variant"), from.FieldByName("Variant"), "Mixers", "FeedForwards", "Experts", "Recurrent", "Latent", // Shared and StateBytes have what counts for caches
		"Relative", "Parts", "FirstWithout", "BareOutput", "JointNorms", "ValueNorm", "LateNorms", "Parallel", "Unnormed", "Ungated", "HeadBias", // biases and norms
		"Curves", "PerLayerVocab", "Streams", "LaurelRank", "Sparsity", "Rounding", "PostNormEps") // parts within layers, of Apertus, Gemma 3n and BitNet
	if !slices.Equal(ours.Shared, []bool{true, false}) {
		t.Errorf("layers that share are %v, want the first of two", ours.Shared)
	}
}

// TestStateBytes finds how much memory the states of a model's layers take.
func TestStateBytes(t *testing.T) {
	c := familyConfig(t, "lfm2")
	const state = 4 * 2 * 64 // the last two inputs of the convolution
	if want := []int64{state, state, 0, state}; !slices.Equal(c.StateBytes, want) {
		t.Errorf("states have %v bytes, want %v", c.StateBytes, want)
	}
	if got, want := c.CacheBytes(10, tensor.F16), int64(3*state+2*10*2*2*16); got != want {
		t.Errorf("caches and states have %d bytes, want %d", got, want)
	}
}

// familyConfig returns the configuration of a fixture.
func familyConfig(t *testing.T, name string) Config {
	t.Helper()
	m := mustLoad(t, fixture.Path(t, "families/"+name), nil)
	return m.Config()
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
		config := model.Config{
			HiddenSize: c.hidden, IntermediateSize: c.wide, Layers: c.layers, Heads: c.heads, KVHeads: c.kv, HeadDim: c.headDim, VocabSize: c.vocab,
			ContextLength: c.context, RMSNormEps: 1e-5, RoPE: model.RoPE{Theta: 10000}, BOS: -1,
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
