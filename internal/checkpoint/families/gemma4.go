package families

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Gemma 4's layers differ in their sizes: those with a window have other heads than those without. The last layers may have queries alone, and read
// the keys and values of the last layer before them that is of their kind. Of eight layers the last four share, and every fourth has no window:
//
//	layer       0  1  2  3     4  5  6  7
//	window      x  x  x        x  x  x
//	reads       0  1  2  3     2  2  2  3
//
// E2B and E4B have inputs for each layer besides, which come from tables that tokens are looked up in.
//
//   - Weights of norms are factors, not factors less one, and scores are not divided. Which layers have a window is read, never assumed. Files may have
//     keys and values of layers that share, which nothing reads.
//   - Folders say the sizes of layers as per_layer_config or as head_dim, global_head_dim and num_global_key_value_heads; with the former the latter count
//     for nothing. "proportional" RoPE turns the first pairs by frequencies of the whole head (RoPE.RotatedPairs), which GGUF says by divisors of 1e30.
//   - Values have no weights of their own if GGUF has no attn_v in a layer that does not share.
//   - 26B-A4B has a dense network and experts in each layer, if enable_moe_block is true; other sizes say numbers of experts that count for nothing. Its
//     router reads the residual stream by a norm of its own, and divides the logits by the root of the width. GGUF calls that norm's weights
//     ffn_gate_inp.scale, and the numbers that experts' weights are multiplied by ffn_down_exps.scale.
var gemma4s = []*Family{
	{
		Name: "gemma4", Type: "gemma4_text", Class: "Gemma4ForCausalLM", with: slices.Concat(gemma4Parts, perLayerParts),
		huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm", model.Router: "router.proj"}, unpaired: true, activation: geluTanh,
		window: windows{rule: exceptEvery, every: 6, types: true, size: 512}, scoreScale: 1, valueNorm: true, rootScaled: true, rope: gemma4RoPE, keys: (*walking).gemma4,
		experts: &expertRule{Experts: model.Experts{Normalized: true}, stacked: stackedRule{gateUp: "experts.gate_up_proj", down: "experts.down_proj"}, block: true,
			count: []string{"num_experts"}, width: []string{"moe_intermediate_size", "expert_intermediate_size"}}, // the latter in the first files
		defaults: defaults{tied: true, headDim: 256, heads: 8, kvHeads: 4, vocab: 262144, context: 131072},
	},
	{
		Name: "gemma4-unified", Type: "gemma4_unified_text", Class: "Gemma4UnifiedForCausalLM", gguf: "gemma4", unified: true, with: gemma4Parts,
		huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm"}, unpaired: true, activation: geluTanh,
		window: windows{rule: exceptEvery, every: 6, types: true, size: 1024}, scoreScale: 1, valueNorm: true, rootScaled: true, rope: gemma4RoPE, keys: (*walking).gemma4,
		defaults: defaults{tied: true, headDim: 256, heads: 8, kvHeads: 4, vocab: 262144, context: 262144},
	},
	// EmbeddingGemma 2 is Gemma 4's layers as an encoder. What each layer gets of its own is a projection of the token's embedding alone, without a table. States
	// are projected after the last norm.
	//
	//   - Folders say how many tokens a layer sees on each side of a token; GGUF has twice as many. Folders of programs older than the published model say
	//     use_bidirectional_attention, and mean half as many on each side, and one more.
	//   - The published model rotates whole heads in all layers, and the keys of its per_layer_config are padded: "05".
	{
		Name: "gemma-embedding2", Type: "embedding_gemma2_text", Class: "EmbeddingGemma2TextModel", with: slices.Concat(gemma4Parts, perLayerParts[1:]),
		huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm", model.PooledDense: "model.embedding_projection",
			model.PerLayerProjection: "model.ple.per_layer_model_projection", model.PerLayerNorm: "model.ple.per_layer_projection_norm",
			model.PerLayerGate: "ple_block.per_layer_input_gate", model.PerLayerUp: "ple_block.per_layer_projection", model.PerLayerPostNorm: "ple_block.post_per_layer_input_norm"},
		ggufNames: map[model.Part]string{model.PooledDense: "output"}, unpaired: true, activation: geluTanh,
		window: windows{rule: exceptEvery, every: 6, types: true, size: 512}, scoreScale: 1, valueNorm: true, rootScaled: true, rope: gemma4RoPE,
		keys: (*walking).embeddingGemma2, encoding: encoding{whole: true, projects: true},
		defaults: defaults{headDim: 256, heads: 4, kvHeads: 2, vocab: 262144, context: 262144},
	},
}

var (
	gemma4Parts   = []model.Part{model.QueryNorm, model.KeyNorm, model.AttentionPostNorm, model.FeedForwardPostNorm, model.LayerScale}
	perLayerParts = []model.Part{model.PerLayerEmbedding, model.PerLayerProjection, model.PerLayerNorm, model.PerLayerGate, model.PerLayerUp, model.PerLayerPostNorm}
)

// embeddingGemma2 walks over the sizes of layers, once it is known which layers have a window.
func (c *walking) embeddingGemma2(k *keys.Walk) {
	if !k.Reads() {
		c.gemma4ToFile(k)
		return
	}
	if c.Layers < 1 || c.Layers > model.MaxLayers || len(c.Windowed) != c.Layers {
		k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", k.Key("layer_types", windowPatternKey), len(c.Windowed), c.Layers))
		return
	}
	shared := 0
	if k.Int("num_kv_shared_layers", sharedLayersKey, &shared, 0); shared != 0 {
		c.refuse(k, k.Key("num_kv_shared_layers", sharedLayersKey))
		return
	}
	c.OwnSizes()
	if k.ReadsFile() {
		c.gemma4OfFile(k, 0)
	} else {
		out := 0
		k.Int("embedding_dim", "", &out, 768)
		k.Int("hidden_size_per_layer_input", "", &c.PerLayerWidth, 512)
		c.Dense = []model.Dense{{In: c.HiddenSize, Out: out}}
		size := min(max(c.Window, -1), model.MaxContext)
		if c.Window = 2 * size; k.Has("use_bidirectional_attention", "") {
			c.Window = size&^1 + 2
		}
		c.gemma4OfFolder(k, 0)
	}
	if slices.Contains(c.Mixers, model.TiedAttention) {
		k.Fail(unsupported.Errorf("values of attention are keys, which is not implemented for the architecture %s", c.family.Name))
	}
	c.Mixers = nil // all see the whole text
}

// gemma4RoPE has Gemma 4's if nothing is said.
var gemma4RoPE = func() ropes {
	quarter, theta, local := 0.25, 1000000.0, 10000.0
	return ropes{theta: theta, localTheta: local, parametersAlone: true, still: true,
		usual: &ropeJSON{Whole: &ropeJSON{Type: proportional, Partial: &quarter, Theta: &theta}, Local: &ropeJSON{Theta: &local}}}
}()

// The keys of GGUF's metadata for layers of several sizes.
const (
	sharedLayersKey     = "attention.shared_kv_layers"
	inputWidthKey       = "embedding_length_per_layer_input"
	localKeyLengthKey   = "attention.key_length_swa"
	localValueLengthKey = "attention.value_length_swa"
	localRotatedKey     = "rope.dimension_count_swa"
)

// gemma4 walks over the sizes of layers, once it is known which layers have a window.
func (c *walking) gemma4(k *keys.Walk) {
	k.Float("final_logit_softcapping", logitCapKey, &c.LogitCap, 0)
	if !k.Reads() {
		c.gemma4ToFile(k)
		return
	}
	c.imagesOf(k)
	if c.Layers < 1 || c.Layers > model.MaxLayers || len(c.Windowed) != c.Layers {
		k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", k.Key("layer_types", windowPatternKey), len(c.Windowed), c.Layers))
		return
	}
	shared := 0
	k.Int("num_kv_shared_layers", sharedLayersKey, &shared, 0)
	if shared < 0 || shared >= c.Layers {
		k.Fail(fmt.Errorf("%s is %d, of %d layers: the first layer has none to share with", k.Key("num_kv_shared_layers", sharedLayersKey), shared, c.Layers))
		return
	}
	c.OwnSizes()
	if k.ReadsFile() {
		c.gemma4OfFile(k, shared)
	} else {
		c.gemma4OfFolder(k, shared)
	}
}

// imagesOf notes how the rows of images see each other. GGUF has no key: models with inputs for each layer are causal, and the tower distinguishes the 12B.
func (c *walking) imagesOf(k *keys.Walk) {
	width := 0
	if !k.ReadsFolder() {
		if k.Int("", inputWidthKey, &width, 0); width == 0 {
			c.Together = model.InWindow
		}
		return
	}
	padding := 0
	k.Int("pad_token_id", "", &padding, 0)
	c.Padding = int32(padding)
	var kind any
	if k.Decode("use_bidirectional_attention", &kind); kind == "vision" { // ByType has refused other texts
		if c.Together = model.InWindow; c.family.unified {
			c.Together = model.Entirely
		}
	}
}

// gemma4OfFolder reads config.json.
func (c *walking) gemma4OfFolder(k *keys.Walk, shared int) {
	var blocks, doubleWide, keysAreValues bool
	if k.Bool("enable_moe_block", "", &blocks, false); blocks && c.family.experts == nil {
		k.Fail(unsupported.Errorf("enable_moe_block is true: experts are not implemented for the architecture %s", c.family.Name))
	}
	k.Bool("use_double_wide_mlp", "", &doubleWide, false) // of the layers that share
	k.Bool("attention_k_eq_v", "", &keysAreValues, false) // in layers without a window
	var globalHeadDim, globalKVHeads int
	k.Int("global_head_dim", "", &globalHeadDim, 512)
	k.Int("num_global_key_value_heads", "", &globalKVHeads, c.KVHeads)
	var own map[string]layerSizeJSON // by the layers' numbers, instead of the global sizes
	k.Decode("per_layer_config", &own)
	c.Windowed[c.Layers-1] = false // as transformers does, whatever layer_types says
	for i := range c.Sizes {
		s := &c.Sizes[i]
		if own == nil && !c.Windowed[i] {
			s.HeadDim = globalHeadDim
			if keysAreValues {
				s.KVHeads = globalKVHeads
			}
		}
		if doubleWide && i >= c.Layers-shared {
			s.IntermediateSize = 2 * min(s.IntermediateSize, model.MaxWidth)
		}
	}
	for key, of := range own {
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= c.Layers {
			k.Fail(fmt.Errorf("per_layer_config has %.100q, which is no layer of %d", key, c.Layers))
			return
		}
		s := &c.Sizes[i]
		for _, f := range []struct{ to, from *int }{{&s.HeadDim, of.HeadDim}, {&s.KVHeads, of.KVHeads}, {&s.IntermediateSize, of.IntermediateSize}} {
			if f.from != nil {
				*f.to = *f.from
			}
		}
	}
	c.setMixers(shared, func(layer int) bool { return keysAreValues && !c.Windowed[layer] })
	vocab := 0
	table := slices.Contains(c.family.with, model.PerLayerEmbedding)
	if table {
		k.Int("hidden_size_per_layer_input", "", &c.PerLayerWidth, 256)
	}
	if k.Int("vocab_size_per_layer_input", "", &vocab, 262144); table && c.PerLayerWidth != 0 && vocab != c.VocabSize {
		k.Fail(unsupported.Errorf("vocab_size_per_layer_input is %d, vocab_size %d: only the same number is implemented", vocab, c.VocabSize))
	}
}

// layerSizeJSON are the sizes of a layer that has its own. A member that is nothing known is an error.
type layerSizeJSON struct{ HeadDim, KVHeads, IntermediateSize *int }

// UnmarshalJSON reads an object.
func (l *layerSizeJSON) UnmarshalJSON(b []byte) error {
	var members map[string]json.RawMessage
	if err := modeljson.Unmarshal(b, &members); err != nil {
		return err
	}
	fields := map[string]**int{"head_dim": &l.HeadDim, "num_key_value_heads": &l.KVHeads, "intermediate_size": &l.IntermediateSize}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		field := fields[key]
		if field == nil {
			return unsupported.Errorf("%.100q of a layer's own configuration is not implemented; known are %v", key, slices.Sorted(maps.Keys(fields)))
		}
		if err := modeljson.Unmarshal(members[key], field); err != nil {
			return err
		}
	}
	return nil
}

// setMixers gives each layer its kind of attention: the last `shared` ones share, and those that tied names have no values of their own. Then it
// makes the configuration's sizes the largest of the layers'.
func (c *walking) setMixers(shared int, tied func(layer int) bool) {
	c.Mixers = make([]model.Mixer, c.Layers)
	c.IntermediateSize, c.KVHeads, c.HeadDim = 0, 0, 0
	for i, s := range c.Sizes {
		switch {
		case i >= c.Layers-shared:
			c.Mixers[i] = model.SharedAttention
		case tied(i):
			c.Mixers[i] = model.TiedAttention
		}
		c.IntermediateSize, c.KVHeads, c.HeadDim = max(c.IntermediateSize, s.IntermediateSize), max(c.KVHeads, s.KVHeads), max(c.HeadDim, s.HeadDim)
	}
}

// gemma4OfFile reads a GGUF file.
func (c *walking) gemma4OfFile(k *keys.Walk, shared int) {
	local := 0
	if k.Int("", localKeyLengthKey, &local, -1); local >= 0 {
		for i := range c.Sizes {
			if c.Windowed[i] {
				c.Sizes[i].HeadDim = local
			}
		}
		for _, key := range []string{localRotatedKey, localValueLengthKey} {
			n := 0
			if k.Int("", key, &n, local); n != local {
				k.Fail(unsupported.Errorf("%s is %d, and heads have %d elements; only the same number is implemented", k.Key("", key), n, local))
			}
		}
	}
	c.setMixers(shared, func(layer int) bool { return !k.HasTensor(GGUF(model.Value, layer, false)) })
	k.Int("", inputWidthKey, &c.PerLayerWidth, 0)
}

// gemma4ToFile writes a GGUF file's keys.
func (c *walking) gemma4ToFile(k *keys.Walk) {
	shared := 0
	for _, m := range c.Mixers {
		if m == model.SharedAttention {
			shared++
		}
	}
	_, local := c.HeadDims()
	k.Int("", sharedLayersKey, &shared, 0)
	k.Int("", inputWidthKey, &c.PerLayerWidth, 0)
	for _, key := range []string{localKeyLengthKey, localValueLengthKey, localRotatedKey} {
		k.Int("", key, &local, 0)
	}
}
