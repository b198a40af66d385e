package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// bigcodes are StarCoder and SantaCoder: learned positions in place of RoPE, one head of keys and values, LayerNorm and projections with biases, and a network
// without a gate. config.json has GPT-2's names for sizes.
var bigcodes = []*Family{
	{
		Name: "starcoder", Type: "gpt_bigcode", Class: "GPTBigCodeForCausalLM", unpaired: true, biased: true, activation: geluTanh, layers: "model.h.",
		with: []model.Part{model.PositionEmbedding}, encoding: encoding{centred: true, normBiased: true, plain: true},
		huggingFace: map[model.Part]string{
			model.Embedding: "model.wte", model.PositionEmbedding: "model.wpe", model.OutputNorm: "model.ln_f", model.AttentionNorm: "ln_1", model.FeedForwardNorm: "ln_2",
			model.AttentionOutput: "attn.c_proj", model.Up: "mlp.c_fc", model.Down: "mlp.c_proj",
		},
		fused: map[model.Part]fusedPart{model.Query: oneAttention, model.Key: oneAttention, model.Value: oneAttention},
		keys:  (*walking).bigcode, defaults: defaults{tied: true, eps: 1e-5},
	},
}

var oneAttention = fusedPart{"attn.c_attn", "attn_qkv", []model.Part{model.Query, model.Key, model.Value}, nil}

// bigcode walks over GPT-2's names for sizes.
func (c *walking) bigcode(k *keys.Walk) {
	switch {
	case k.ReadsFile():
		c.AttentionBias, c.MLPBias = true, true
		if t, ok := k.Tensor(GGUF(model.PositionEmbedding, 0, false)); ok && len(t.Shape) == 2 {
			c.Positions = t.Shape[0]
		}
	case k.ReadsFolder():
		one, scaled, act := true, true, geluTanh
		c.MLPBias = true
		k.Int("n_embd", "", &c.HiddenSize, 768)
		k.Int("n_head", "", &c.Heads, 12)
		k.Int("n_layer", "", &c.Layers, 12)
		k.Int("n_inner", "", &c.IntermediateSize, 4*min(max(c.HiddenSize, 0), model.MaxWidth))
		k.Int("n_positions", "", &c.ContextLength, 1024)
		k.Bool("multi_query", "", &one, true)
		k.Bool("scale_attn_weights", "", &scaled, true)
		k.Text("activation_function", "", &act, geluTanh)
		switch {
		case !one:
			c.refuse(k, "multi_query")
		case !scaled:
			c.refuse(k, "scale_attn_weights")
		case act != geluTanh && act != geluNew:
			c.refuse(k, "activation_function")
		}
		if c.KVHeads = 1; c.Heads > 0 {
			c.HeadDim = c.HiddenSize / c.Heads
		}
		c.Positions = c.ContextLength
	}
}
