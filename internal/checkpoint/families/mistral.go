package families

import "github.com/antigravity-go/antigravity/internal/model"

// mistrals are Mistral and its mixture of experts. Ministral 3 scales queries by their positions, after RoPE, in steps of the original context. GGUF's
// mistral3 is Mistral Small 3 too, without that. Mixtral weighs experts by the softmax of the chosen ones' logits, which is the softmax of all divided by
// the sum of the chosen.
var mistrals = []*Family{
	{
		Name: "mistral", Type: "mistral", Class: "MistralForCausalLM", gguf: "llama", window: windows{rule: always},
	},
	{
		Name: "ministral3", Type: "ministral3", Class: "Ministral3ForCausalLM", gguf: "mistral3", adapts: "llama", window: windows{rule: always},
		rope: ropes{theta: 1000000, scalesQueries: true, logMultiplier: true, usual: &ropeJSON{
			Type: model.YaRN, Factor: 16, OriginalContext: 16384, MScale: 1, MScaleAll: 1, QueryScale: 0.1,
		}},
		defaults: defaults{eps: 1e-5, headDim: 128, heads: 32, kvHeads: 8, vocab: 131072, context: 262144},
	},
	{
		Name: "mixtral", Type: "mixtral", Class: "MixtralForCausalLM", gguf: "llama", window: windows{rule: always},
		huggingFace: map[model.Part]string{model.Router: "block_sparse_moe.gate"},
		experts: &expertRule{Experts: model.Experts{Count: 8, Chosen: 2, Normalized: true}, count: []string{"num_local_experts"}, stacked: stackedQwen,
			each: []string{"block_sparse_moe.experts.#.w1.weight", "block_sparse_moe.experts.#.w3.weight", "block_sparse_moe.experts.#.w2.weight"}},
		rope: ropes{theta: 1000000}, defaults: defaults{eps: 1e-5},
	},
}
