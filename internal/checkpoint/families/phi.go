package families

import "github.com/antigravity-go/antigravity/internal/model"

// phis are Phi 3 and 4.
var phis = []*Family{
	{
		Name: "phi3", Type: "phi3", Class: "Phi3ForCausalLM", unpaired: true, strips: true, window: windows{rule: always}, rope: ropes{partial: 1, originalContext: true},
		fused: map[model.Part]fusedPart{
			model.Query: fusedAttention, model.Key: fusedAttention, model.Value: fusedAttention, model.Gate: fusedFeedForward, model.Up: fusedFeedForward,
		},
		defaults: defaults{eps: 1e-5},
	},
}

var (
	fusedAttention   = fusedPart{"self_attn.qkv_proj", "attn_qkv", []model.Part{model.Query, model.Key, model.Value}, nil}
	fusedFeedForward = fusedPart{"mlp.gate_up_proj", "ffn_up", []model.Part{model.Gate, model.Up}, nil}
)
