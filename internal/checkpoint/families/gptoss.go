package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// gptosses are OpenAI's open models. In folders gate and up of experts take turns in the rows of one tensor, biases too; GGUF has them apart, and calls
// the norm before the network post_attention_norm. YaRN is not rounded to whole pairs (truncate: false in config.json, and so the model was trained). GGUF
// has no key for it that llama.cpp reads, and llama.cpp rounds: our logits of GGUF files are those of transformers, and not quite llama.cpp's. A file that
// has rope.scaling.yarn_truncate, which some programs write, decides for itself.
//
// openai-privacy-filter is a gpt-oss that reads a text as a whole, and labels its tokens. All layers have a window, with as many tokens on each side of a token;
// RoPE rotates neighbours, the rows of gate come before those of up, and matrices of experts are transposed. GGUF files are those of LocalAI, which adds the
// architecture to llama.cpp: YaRN's frequencies lie in rope_freqs.weight as divisors.
var gptosses = []*Family{
	{
		Name: "gpt-oss", Type: "gpt_oss", Class: "GptOssForCausalLM", with: []model.Part{model.Sinks}, unpaired: true, biased: true,
		window:      windows{rule: exceptEvery, every: 2, types: true},
		huggingFace: map[model.Part]string{model.Router: "mlp.router"}, ggufNames: map[model.Part]string{model.FeedForwardNorm: "post_attention_norm"},
		experts: &expertRule{Experts: model.Experts{Count: 128, Chosen: 4, Scores: model.SoftmaxChosen, Limit: 7, Biased: true},
			count: []string{"num_local_experts"}, limit: "swiglu_limit", stacked: stackedRule{gateUp: "mlp.experts.gate_up_proj", down: "mlp.experts.down_proj",
				blocks: "_blocks", scales: "_scales", bias: "_bias", alternate: true}},
		rope: ropes{theta: 150000, unrounded: true, usual: &ropeJSON{Type: model.YaRN, Factor: 32, OriginalContext: 4096, BetaFast: 32, BetaSlow: 1, Truncate: new(bool)}},
		keys: func(c *walking, k *keys.Walk) {
			var quantization struct { // of experts, which the names of their tensors say
				Method string `json:"quant_method"`
			}
			if k.Decode("quantization_config", &quantization) && quantization.Method != "mxfp4" {
				k.Fail(unsupported.Errorf("quant_method of quantization_config is %.100q, which is not implemented for the architecture %s, only mxfp4", quantization.Method, c.family.Name))
			}
		},
		defaults: defaults{eps: 1e-5, headDim: 64},
	},
	{
		Name: "openai-privacy-filter", Type: "openai_privacy_filter", Class: "OpenAIPrivacyFilterModel", with: []model.Part{model.Sinks}, paired: true, biased: true,
		window:      windows{rule: always, size: 128, eachWay: true},
		huggingFace: map[model.Part]string{model.Router: "mlp.router"}, ggufNames: map[model.Part]string{model.FeedForwardNorm: "post_attention_norm"},
		experts: &expertRule{Experts: model.Experts{Count: 128, Chosen: 4, Scores: model.SoftmaxChosen, Limit: 7, Biased: true},
			count: []string{"num_local_experts"}, stacked: stackedRule{gateUp: "mlp.experts.gate_up_proj", down: "mlp.experts.down_proj", bias: "_bias", transposed: true}},
		rope:     ropes{theta: 150000, unrounded: true, divided: true, usual: &ropeJSON{Type: model.YaRN, Factor: 32, OriginalContext: 4096, BetaFast: 32, BetaSlow: 1, Truncate: new(bool)}},
		encoding: encoding{whole: true, heads: headRules{tokens: &headRule{output: "score", pooling: model.EachPooling, path: true}}},
		defaults: defaults{eps: 1e-5, headDim: 64, vocab: 200064, context: 131072},
	},
}
