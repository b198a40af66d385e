package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// ernies are ERNIE 4.5, a Llama that rotates pairs of neighbours in both formats. use_bias is of all projections. Those with experts choose them by the
// softmax of all logits and a correction, and weigh them by the softmax alone.
var ernies = []*Family{
	{
		Name: "ernie4_5", Type: "ernie4_5", Class: "Ernie4_5ForCausalLM", paired: true, rope: ropes{theta: 500000}, keys: (*walking).ernie,
		defaults: defaults{tied: true, eps: 1e-5, headDim: 128},
	},
	{
		Name: "ernie4_5-moe", Type: "ernie4_5_moe", Class: "Ernie4_5_MoeForCausalLM", paired: true, rope: ropes{theta: 500000},
		huggingFace: map[model.Part]string{
			model.SharedGate: "mlp.shared_experts.gate_proj", model.SharedUp: "mlp.shared_experts.up_proj", model.SharedDown: "mlp.shared_experts.down_proj",
			model.RouterCorrection: "mlp.moe_statics.e_score_correction_bias",
		},
		experts: &expertRule{Experts: model.Experts{Count: 64, Chosen: 6, Width: 1536, Normalized: true, Corrected: true}, each: eachQwen, stacked: stackedQwen,
			count: []string{"moe_num_experts"}, width: []string{"moe_intermediate_size"}, perShared: "moe_num_shared_experts", leading: "moe_layer_start_index", dense: 1,
			step: "moe_layer_interval"},
		keys: func(c *walking, k *keys.Walk) {
			c.ernie(k)
			last, step := -1, 1
			if k.ReadsFolder() {
				k.Int("moe_layer_end_index", "", &last, -1)
			}
			if last != -1 && last != c.Layers-1 {
				k.Fail(unsupported.Errorf("moe_layer_end_index is %d, of %d layers: only experts to the last layer are implemented", last, c.Layers))
			}
			if k.WritesFile() {
				k.Int("", sharedWidthKey, &c.Experts.SharedWidth, 0)
				k.Int("", denseStepKey, &step, 1)
			}
		},
		defaults: defaults{tied: true, eps: 1e-5},
	},
}

// ernie walks over use_bias.
func (c *walking) ernie(k *keys.Walk) {
	biased := c.AttentionBias && c.MLPBias
	if k.Folder() {
		k.Bool("use_bias", "", &biased, false)
	}
	if k.ReadsFolder() && biased {
		c.AttentionBias, c.MLPBias = true, true
	}
}
