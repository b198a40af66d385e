package families

import "github.com/antigravity-go/antigravity/internal/model"

// qwens are Qwen 2 and 3, without and with experts. The models of text of Qwen's models that see are among them: their rotary positions have three parts
// (M-RoPE, sections.go), which are the same number in a text.
var qwens = []*Family{
	{
		Name: "qwen2", Type: "qwen2", Class: "Qwen2ForCausalLM", alsoGGUF: []string{"qwen2vl"}, ggufSeeing: "qwen2vl",
		textTypes: []string{"qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text"},
		biased:    true, bare: true, unpaired: true, window: windows{rule: fromLayer, use: true, from: true, types: true},
	},
	{
		Name: "qwen3", Type: "qwen3", Class: "Qwen3ForCausalLM", judges: true, textTypes: []string{"qwen3_vl_text"}, alsoGGUF: []string{"qwen3vl"}, ggufSeeing: "qwen3vl",
		with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, window: windows{rule: fromLayer, use: true, from: true, types: true},
		rope: ropes{interleaved: true}, keys: (*walking).deepstack, defaults: defaults{headDim: 128},
	},
	{
		Name: "qwen3moe", Type: "qwen3_moe", Class: "Qwen3MoeForCausalLM", textTypes: []string{"qwen3_vl_moe_text"}, alsoGGUF: []string{"qwen3vlmoe"}, ggufSeeing: "qwen3vlmoe", keys: (*walking).deepstack,
		with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, window: windows{rule: fromLayer, use: true, from: true}, rope: ropes{interleaved: true},
		experts: &expertRule{Experts: model.Experts{Count: 128, Chosen: 8, Width: 768}, each: eachQwen, stacked: stackedQwen,
			count: []string{"num_experts", "num_local_experts"}, width: []string{"moe_intermediate_size"}, normalized: true, step: "decoder_sparse_step"},
	},
}
