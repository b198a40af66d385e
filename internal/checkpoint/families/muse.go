package families

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// muses are Muse Glimmer: embeddings, queries and keys are normed without weights, the result of attention is gated, and three of four layers have a window.
// Only these rotate. Norms after a layer's halves have an epsilon of their own.
//
//   - Folders store norms of layers less one, but not the last norm.
//   - GGUF has the norm of queries with what they are multiplied by as its weights, and says nothing of the second epsilon.
var muses = []*Family{
	{
		Name: "muse-glimmer", Type: "muse_glimmer_text", Class: "MuseGlimmerForConditionalGeneration", plusOne: true, asStored: []model.Part{model.OutputNorm},
		with:        []model.Part{model.EmbeddingNorm, model.QueryNorm, model.KeyNorm, model.AttentionPostNorm, model.FeedForwardPostNorm},
		constants:   map[model.Part]float32{model.EmbeddingNorm: 1, model.QueryNorm: 1, model.KeyNorm: 1},
		huggingFace: map[model.Part]string{model.QueryGate: "self_attn.gate_proj", model.FeedForwardNorm: "pre_feedforward_layernorm"},
		ggufNames:   map[model.Part]string{model.QueryGate: "attn_gate"}, logitFactor: museLogits,
		window: windows{rule: exceptEvery, every: 4, types: true, size: 2048}, layersOf: (*walking).museLayers, keys: (*walking).muse,
		defaults: defaults{eps: 1e-5, headDim: 128, heads: 32, kvHeads: 2, vocab: 202048, context: 131072},
	},
}

// What Muse Glimmer's configuration need not say: logits, and queries after their norm, are multiplied by these numbers.
const (
	museLogits  = 0.19611613513818404
	museQueries = 3.87
	musePostEps = 1e-8
)

// museLayers notes that attention is gated. A file that is written has the scale of scores in the norm of queries.
func (c *walking) museLayers(k *keys.Walk) {
	if k.Reads() {
		c.Mixers = slices.Repeat([]model.Mixer{model.GatedAttention}, min(max(c.Layers, 0), model.MaxLayers))
	} else if k.WritesFile() {
		c.ScoreScale = 0
	}
}

// muse walks over the family's own keys.
func (c *walking) muse(k *keys.Walk) {
	c.limit(k, logitCapKey, &c.LogitCap, 20)
	if k.Folder() {
		queries := c.ScoreScale * math.Sqrt(float64(c.HeadDim))
		k.Float("qk_scale_factor", "", &queries, museQueries)
		k.Float("output_multiplier", "", &c.LogitScale, museLogits)
		k.Float32("post_norm_eps", "", &c.PostNormEps, musePostEps)
		if k.Reads() && c.HeadDim > 0 {
			c.ScoreScale = queries / math.Sqrt(float64(c.HeadDim))
		}
	} else {
		c.PostNormEps = musePostEps
	}
	if !k.Reads() {
		return
	}
	var thetas []float64
	listed := k.Decode("layer_rope_theta", &thetas)
	if !listed && k.ReadsFolder() && !k.Has("layer_types", "") && c.Layers%4 != 0 { // which transformers counts from the last layer
		k.Fail(unsupported.Errorf("neither layer_types nor layer_rope_theta lists the %d layers, which are not a multiple of 4", c.Layers))
	}
	c.NoRoPE = make([]bool, len(c.Windowed))
	for i, windowed := range c.Windowed {
		c.NoRoPE[i] = !windowed
		if !listed {
			continue
		}
		var parameters ropeJSON
		k.Decode("rope_parameters", &parameters)
		if i >= len(thetas) || thetas[i] != 0 && (parameters.Theta == nil || thetas[i] != *parameters.Theta) {
			k.Fail(unsupported.Errorf("layer_rope_theta is %v; each layer must have 0 or RoPE's own rope_theta", thetas))
			return
		}
		c.NoRoPE[i] = thetas[i] == 0
	}
}
