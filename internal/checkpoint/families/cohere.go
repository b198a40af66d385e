package families

import (
	"cmp"
	"maps"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// coheres are Command R7B and A. Attention and the network of a layer read one norm, LayerNorm without a bias, and both are added. Layers without a window
// do not rotate. RoPE rotates neighbours. Logits are multiplied by a number, which in other families' files they are divided by.
//
// North, with experts, takes the mean of the experts' sum and the shared network's result, which GGUF does not say, and its leading dense layers rotate in any
// case.
var coheres = []*Family{
	{
		Name: "cohere2", Type: "cohere2", Class: "Cohere2ForCausalLM", without: []model.Part{model.FeedForwardNorm}, paired: true, parallel: true, logitFactor: 0.0625,
		encoding: encoding{centred: true}, window: windows{rule: exceptEvery, every: 4, types: true, size: 4096}, keys: (*walking).cohere,
		defaults: defaults{tied: true, eps: 1e-5},
	},
	{
		Name: "cohere2moe", Type: "cohere2_moe", Class: "Cohere2MoeForCausalLM", without: []model.Part{model.FeedForwardNorm}, paired: true, parallel: true, logitFactor: 0.0625,
		huggingFace: map[model.Part]string{
			model.SharedGate: "mlp.shared_experts.gate_proj", model.SharedUp: "mlp.shared_experts.up_proj", model.SharedDown: "mlp.shared_experts.down_proj",
		},
		experts: &expertRule{Experts: model.Experts{Count: 8, Chosen: 2, Scores: model.SoftmaxChosen}, each: eachQwen, stacked: stackedQwen, count: []string{"num_experts"},
			perShared: "num_shared_experts"},
		encoding: encoding{centred: true}, window: windows{rule: exceptEvery, every: 4, types: true, size: 4096}, keys: (*walking).cohereExperts,
		layersOf: func(c *walking, k *keys.Walk) {
			if k.WritesFile() && c.Experts.SharedWidth > 0 { // see halve
				c.Experts.Scale *= 2
			}
		},
		defaults: defaults{tied: true, eps: 1e-5, headDim: 128},
	},
}

// cohere notes which layers do not rotate.
func (c *walking) cohere(k *keys.Walk) {
	if !k.Reads() {
		return
	}
	c.NoRoPE = everyNth(c.Layers, 1)
	for i, windowed := range c.Windowed {
		if i < len(c.NoRoPE) && c.Window > 0 {
			c.NoRoPE[i] = !windowed
		}
	}
}

// cohereExperts walks over what North has besides.
func (c *walking) cohereExperts(k *keys.Walk) {
	c.cohere(k)
	if k.ReadsFolder() {
		function, mean, pattern := "", "", 1
		k.Text("expert_selection_fn", "", &function, "softmax")
		k.Text("shared_expert_combination_strategy", "", &mean, "average")
		k.Int("prefix_dense_sliding_window_pattern", "", &pattern, 1)
		k.Int("prefix_dense_intermediate_size", "", &c.IntermediateSize, c.IntermediateSize)
		switch normalized := true; {
		case k.Has("rms_norm_eps", ""):
			c.refuse(k, "rms_norm_eps")
		case pattern != 1:
			c.refuse(k, "prefix_dense_sliding_window_pattern")
		case mean != "average" && c.Experts.SharedWidth > 0:
			k.Fail(unsupported.Errorf("shared_expert_combination_strategy is %.60q; only average is implemented", mean))
		case function == "sigmoid":
			k.Bool("norm_topk_prob", "", &normalized, true)
			c.Experts.Scores, c.Experts.Normalized = model.Sigmoid, normalized
		case function != "softmax":
			c.refuse(k, "expert_selection_fn")
		default:
			k.Has("norm_topk_prob", "") // which counts for sigmoids alone
		}
	}
	if !k.Reads() {
		return
	}
	for i := range c.NoRoPE {
		if c.FeedForwards != nil && i < len(c.FeedForwards) && c.FeedForwards[i] == model.Gated {
			c.NoRoPE[i] = false
		}
	}
	c.halve()
}

// halve makes the sum of the experts' results and the shared network's their mean.
func (c *walking) halve() {
	if c.Experts.SharedWidth == 0 {
		return
	}
	c.Experts.Scale = cmp.Or(c.Experts.Scale, 1) / 2
	c.Scales = maps.Clone(c.Scales)
	if c.Scales == nil {
		c.Scales = map[model.Place]float32{}
	}
	for i, f := range c.FeedForwards {
		if f == model.Routed {
			c.Scales[model.Place{Part: model.SharedDown, Layer: i}] = 0.5
			c.Multiplied = c.Multiplied.With(model.SharedDown)
		}
	}
}
