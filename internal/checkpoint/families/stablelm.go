package families

import "github.com/antigravity-go/antigravity/internal/checkpoint/keys"

// stablelms are StableLM 3B and StableLM 2 1.6B: LayerNorm with biases, a quarter of each head is rotated, and use_qkv_bias says whether there are biases. The
// 12B, with a norm for each head and both halves of a layer side by side, is refused by the keys that say so.
var stablelms = []*Family{
	{
		Name: "stablelm", Type: "stablelm", Class: "StableLmForCausalLM", unpaired: true, bare: true, encoding: encoding{centred: true, normBiased: true},
		rope: ropes{partial: 0.25},
		keys: func(c *walking, k *keys.Walk) {
			if k.Folder() {
				k.Bool("use_qkv_bias", "", &c.AttentionBias, false)
				return
			}
			parallel := false
			if k.Bool("", "use_parallel_residual", &parallel, false); k.ReadsFile() && parallel {
				c.refuse(k, "use_parallel_residual")
			}
		},
		defaults: defaults{eps: 1e-5},
	},
}
