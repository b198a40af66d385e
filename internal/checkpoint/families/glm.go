package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// glms are GLM 4.5 and its like. They choose experts by score and correction, and weigh them by the score alone. Layers that predict ahead count as
// layers in GGUF's block_count. GGUF calls the norm before the network post_attention_norm. GLM 4 is dense, with norms after attention and the network, too,
// and rotates pairs of neighbours in the first half of each head. The model of text of GLM-OCR is a GLM 4 that rotates whole heads, by three positions (M-RoPE), and
// without biases.
var glms = []*Family{
	{
		Name: "glm4moe", Type: "glm4_moe", Class: "Glm4MoeForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, bare: true,
		huggingFace: map[model.Part]string{
			model.SharedGate: "mlp.shared_experts.gate_proj", model.SharedUp: "mlp.shared_experts.up_proj", model.SharedDown: "mlp.shared_experts.down_proj",
		},
		ggufNames: map[model.Part]string{model.FeedForwardNorm: "post_attention_norm"},
		experts: &expertRule{Experts: model.Experts{Count: 128, Chosen: 8, Width: 1408, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 1},
			each: eachQwen, stacked: stackedQwen, count: []string{"n_routed_experts"}, width: []string{"moe_intermediate_size"}, perShared: "n_shared_experts",
			normalized: true, scale: "routed_scaling_factor", leading: "first_k_dense_replace", dense: 1},
		rope: ropes{partial: 0.5}, defaults: defaults{eps: 1e-5}, ahead: aheadLayers,
		keys: func(c *walking, k *keys.Walk) {
			normed := k.HasTensor(GGUF(model.QueryNorm, 0, false))
			if k.ReadsFolder() {
				k.Bool("use_qk_norm", "", &normed, false)
			}
			c.Unnormed = !normed
		},
	},
	{
		Name: "glm4", Type: "glm4", Class: "Glm4ForCausalLM", with: []model.Part{model.AttentionPostNorm, model.FeedForwardPostNorm}, paired: true, bare: true,
		huggingFace: map[model.Part]string{model.AttentionPostNorm: "post_self_attn_layernorm", model.FeedForwardPostNorm: "post_mlp_layernorm"},
		fused:       map[model.Part]fusedPart{model.Gate: fusedFeedForward, model.Up: fusedFeedForward},
		rope:        ropes{partial: 0.5}, defaults: defaults{eps: 1.5625e-7, headDim: 128, biased: true},
	},
	{
		Name: "glmocr", Type: "glm_ocr_text", Class: "GlmOcrForConditionalGeneration", gguf: "glm4", textTypes: []string{"glm_ocr"}, paired: true, bare: true,
		with:        []model.Part{model.AttentionPostNorm, model.FeedForwardPostNorm},
		huggingFace: map[model.Part]string{model.AttentionPostNorm: "post_self_attn_layernorm", model.FeedForwardPostNorm: "post_mlp_layernorm"},
		fused:       map[model.Part]fusedPart{model.Gate: fusedFeedForward, model.Up: fusedFeedForward}, defaults: defaults{eps: 1e-5},
	},
}
