package families

import (
	"math"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// gemmas are Gemma 1 to 3 and EmbeddingGemma.
//
//   - The first files say hidden_act: gelu and mean the approximation by tanh.
//   - Gemma 2's limits of scores and logits are 50 and 30 if nothing is said, and there is no limit if null is said.
//   - The 27B of Gemma 2 and 3 scale scores by the width over the heads, which GGUF does not say: llama.cpp knows these sizes by their number of layers.
//   - What a wrapper leaves out is transformers' default of the inner class, not zero: Gemma 3's text_config has no number of heads.
//   - EmbeddingGemma is Gemma 3 by its model_type: use_bidirectional_attention makes it another family.
var gemmas = []*Family{
	{
		Name: "gemma", Type: "gemma", Class: "GemmaForCausalLM", unpaired: true, plusOne: true, activation: geluTanh, rootScaled: true,
		defaults: defaults{tied: true, headDim: 256},
	},
	{
		Name: "gemma2", Type: "gemma2", Class: "Gemma2ForCausalLM", with: []model.Part{model.AttentionPostNorm, model.FeedForwardPostNorm},
		huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm"}, unpaired: true, plusOne: true, activation: geluTanh, rootScaled: true,
		window: windows{rule: exceptEvery, every: 2, types: true}, defaults: defaults{tied: true, headDim: 256},
		keys: func(c *walking, k *keys.Walk) {
			c.limit(k, attentionCapKey, &c.ScoreCap, 50)
			c.limit(k, logitCapKey, &c.LogitCap, 30)
			c.queryScalar(k, 46)
		},
	},
	{
		Name: "gemma3", Type: "gemma3_text", Class: "Gemma3ForCausalLM", with: gemma3Parts, huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm"},
		unpaired: true, plusOne: true, activation: geluTanh, rootScaled: true, window: windows{rule: exceptEvery, every: 6, types: true}, rope: gemma3RoPE,
		keys: func(c *walking, k *keys.Walk) {
			c.Together = model.Always
			c.queryScalar(k, gemma3Wide)
		},
		defaults: defaults{tied: true, headDim: 256, heads: 8, kvHeads: 4, vocab: 262208, context: 131072},
	},
	{
		Name: "gemma-embedding", Type: "gemma3_text", Class: "Gemma3TextModel", with: gemma3Parts,
		huggingFace: map[model.Part]string{model.FeedForwardNorm: "pre_feedforward_layernorm"}, unpaired: true, plusOne: true, activation: geluTanh, rootScaled: true,
		window: windows{rule: exceptEvery, every: 6, types: true}, rope: gemma3RoPE, encoding: encoding{whole: true},
		keys: func(c *walking, k *keys.Walk) {
			k.Has("use_bidirectional_attention", "") // ByType has read it
			c.queryScalar(k, 0)
		},
		defaults: defaults{tied: true, headDim: 256, heads: 8, kvHeads: 4, vocab: 262208, context: 131072},
	},
}

var (
	gemma3Parts = []model.Part{model.QueryNorm, model.KeyNorm, model.AttentionPostNorm, model.FeedForwardPostNorm}
	gemma3RoPE  = ropes{theta: 1000000, localTheta: 10000, localKeys: []string{"rope_local_base_freq"}, scaledTypes: scaledWhole}
)

// gemma3Wide is the number of layers of the 27B.
const gemma3Wide = 62

// The keys of limits, in both formats.
const (
	attentionCapKey = "attn_logit_softcapping"
	logitCapKey     = "final_logit_softcapping"
)

// limit walks over a limit. null says that there is no limit; an absent key says nothing.
func (c *walking) limit(k *keys.Walk, key string, v *float64, otherwise float64) {
	if k.Float(key, key, v, otherwise); k.ReadsFolder() && k.Null(key) {
		*v = 0
	}
}

// queryScalar walks over what scores are divided by the root of: in models of a number of layers wideLayers it is HiddenSize/Heads, which GGUF does not say.
func (c *walking) queryScalar(k *keys.Walk, wideLayers int) {
	switch {
	case k.ReadsFolder():
		scalar := 0.0
		k.Float("query_pre_attn_scalar", "", &scalar, float64(c.HeadDim))
		c.ScoreScale = 1 / math.Sqrt(scalar)
	case k.ReadsFile() && c.ScoreScale == 0 && c.Layers == wideLayers && c.Heads > 0 && c.HiddenSize >= c.Heads:
		c.ScoreScale = 1 / math.Sqrt(float64(c.HiddenSize/c.Heads))
	}
}
