package families

import "github.com/antigravity-go/antigravity/internal/checkpoint/keys"

// ernies are ERNIE 4.5 without experts, a Llama that rotates pairs of neighbours in both formats. use_bias is of all projections.
var ernies = []*Family{
	{
		Name: "ernie4_5", Type: "ernie4_5", Class: "Ernie4_5ForCausalLM", paired: true, rope: ropes{theta: 500000},
		keys: func(c *walking, k *keys.Walk) {
			biased := c.AttentionBias && c.MLPBias
			if k.Folder() {
				k.Bool("use_bias", "", &biased, false)
			}
			if k.ReadsFolder() && biased {
				c.AttentionBias, c.MLPBias = true, true
			}
		},
		defaults: defaults{tied: true, eps: 1e-5, headDim: 128},
	},
}
