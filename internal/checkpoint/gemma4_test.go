package checkpoint

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
)

// gemma4JSON is a configuration of Gemma 4 within its wrapper, with more members.
func gemma4JSON(kind, members string) []byte {
	return []byte(`{"model_type": "gemma4", "vision_config": {}, "text_config": {"model_type": "` + kind + `", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 6,
		"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 320, "max_position_embeddings": 2048, "hidden_activation": "gelu_pytorch_tanh",
		"sliding_window": 8, "use_bidirectional_attention": "vision", "final_logit_softcapping": 30.0` + members + `}}`)
}

// TestGemma4WritesSizesInTwoWays reads both.
func TestGemma4WritesSizesInTwoWays(t *testing.T) {
	const common = `, "layer_types": ["sliding_attention", "sliding_attention", "full_attention", "sliding_attention", "sliding_attention", "sliding_attention"],
		"hidden_size_per_layer_input": 0, "attention_k_eq_v": true, "num_kv_shared_layers": 2, "use_double_wide_mlp": true`
	own := `"head_dim": 64, "num_key_value_heads": 1`
	a, err := parseConfig(gemma4JSON("gemma4_text", common+`, "global_head_dim": 64, "num_global_key_value_heads": 1`))
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseConfig(gemma4JSON("gemma4_text", common+`, "global_head_dim": 48, "per_layer_config": {"2": {`+own+`}, "5": {`+own+`}}`))
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%v\n%+v\n%+v", err, a, b)
	}
	want := []model.LayerSizes{{IntermediateSize: 128, KVHeads: 2, HeadDim: 32}, {IntermediateSize: 128, KVHeads: 2, HeadDim: 32}, {IntermediateSize: 128, KVHeads: 1, HeadDim: 64}, {IntermediateSize: 128, KVHeads: 2, HeadDim: 32}, {IntermediateSize: 256, KVHeads: 2, HeadDim: 32}, {IntermediateSize: 256, KVHeads: 1, HeadDim: 64}}
	if !reflect.DeepEqual(a.Sizes, want) || a.RoPE.RotatedPairs != 8 || a.Layer(4).Source != 3 || a.Layer(5).Source != 2 || a.Layer(2).Mixer != model.TiedAttention {
		t.Errorf("%+v", a)
	}
	var file bytes.Buffer // GGUF says the same; its tensors say which layers have values
	var infos []gguf.TensorInfo
	for _, x := range Tensors(a) {
		infos = append(infos, gguf.TensorInfo{Name: x.GGUF.Name, Type: gguf.F32, Shape: x.Shape})
	}
	w, err := gguf.NewWriter(&file, Metadata(a, "x"), infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range infos {
		n := 4
		for _, d := range x.Shape {
			n *= d
		}
		if err := w.WriteTensor(x.Name, make([]byte, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Parse(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := ConfigOf(f)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Sizes, a.Sizes) || !reflect.DeepEqual(got.Mixers, a.Mixers) || !reflect.DeepEqual(got.Windowed, a.Windowed) {
		t.Errorf("%+v\n%+v", got, a)
	}
}

// TestGemma4IsRefused names the missing feature.
func TestGemma4IsRefused(t *testing.T) {
	for members, want := range map[string]string{
		`, "enable_moe_block": true, "global_head_dim": 64, "hidden_size_per_layer_input": 0`:  "0 experts",
		`, "use_bidirectional_attention": "all"`:                                               "use_bidirectional_attention",
		`, "per_layer_config": {"2": {"sliding_window": 4}}`:                                   "sliding_window",
		`, "per_layer_config": {"6": {"head_dim": 64}}`:                                        "no layer",
		`, "num_kv_shared_layers": 6`:                                                          "share",
		`, "num_kv_shared_layers": 5, "global_head_dim": 64, "hidden_size_per_layer_input": 0`: "shares keys and values with no earlier layer",
		`, "vocab_size_per_layer_input": 100`:                                                  "vocab_size_per_layer_input",
	} {
		if _, err := parseConfig(gemma4JSON("gemma4_text", members)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want an error with %q", members, err, want)
		}
	}
	if _, err := parseConfig(gemma4JSON("recurrent_gemma", "")); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "recurrent_gemma") {
		t.Errorf("RecurrentGemma gives %v", err)
	}
	if _, err := parseConfig(gemma4JSON("gemma4_unified_text", `, "enable_moe_block": true`)); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "experts") {
		t.Errorf("experts of the unified model give %v", err)
	}
	c, err := parseConfig(gemma4JSON("gemma4_unified_text", `, "global_head_dim": 64`))
	if err != nil || c.PerLayerWidth != 0 || c.Family != "gemma4-unified" {
		t.Errorf("%+v, %v", c, err)
	}
}
