package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// phis are Phi 3 and 4, and Phi 1.5 and 2: in these attention and the network of a layer read one norm, LayerNorm, and all products have biases, that with
// the output head too.
var phis = []*Family{
	{
		Name: "phi3", Type: "phi3", Class: "Phi3ForCausalLM", unpaired: true, strips: true, window: windows{rule: always}, rope: ropes{partial: 1, originalContext: true},
		fused: map[model.Part]fusedPart{
			model.Query: fusedAttention, model.Key: fusedAttention, model.Value: fusedAttention, model.Gate: fusedFeedForward, model.Up: fusedFeedForward,
		},
		defaults: defaults{eps: 1e-5},
	},
	{
		Name: "phi2", Type: "phi", Class: "PhiForCausalLM", unpaired: true, biased: true, headBiased: true, parallel: true, activation: geluTanh,
		without: []model.Part{model.FeedForwardNorm}, encoding: encoding{centred: true, normBiased: true, plain: true}, rope: ropes{partial: 0.5},
		huggingFace: map[model.Part]string{
			model.OutputNorm: "model.final_layernorm", model.AttentionOutput: "self_attn.dense", model.Up: "mlp.fc1", model.Down: "mlp.fc2",
		},
		fusedGGUF: map[model.Part]fusedPart{model.Query: fusedAttention, model.Key: fusedAttention, model.Value: fusedAttention},
		keys: func(c *walking, k *keys.Walk) {
			if k.Reads() {
				c.AttentionBias, c.MLPBias = true, true
			}
		},
		defaults: defaults{eps: 1e-5},
	},
}

var (
	fusedAttention   = fusedPart{"self_attn.qkv_proj", "attn_qkv", []model.Part{model.Query, model.Key, model.Value}, nil}
	fusedFeedForward = fusedPart{"mlp.gate_up_proj", "ffn_up", []model.Part{model.Gate, model.Up}, nil}
)
