package families

import "github.com/antigravity-go/antigravity/internal/checkpoint/keys"

// smollms are SmolLM 3, in which every fourth layer is without RoPE.
var smollms = []*Family{
	{
		Name: "smollm3", Type: "smollm3", Class: "SmolLM3ForCausalLM", window: windows{rule: fromLayer, use: true, every: 4, types: true},
		rope: ropes{theta: 2000000}, defaults: defaults{tied: true},
		keys: func(c *walking, k *keys.Walk) {
			every, rotates := 4, []float64(nil) // 0: the layer has no RoPE
			if k.ReadsFolder() {
				k.Int("no_rope_layer_interval", "", &every, every)
			}
			if k.Reads() && every > 0 {
				c.NoRoPE = everyNth(c.Layers, every)
			}
			if k.ReadsFolder() && k.Decode("no_rope_layers", &rotates) {
				c.NoRoPE = make([]bool, 0, len(rotates))
				for _, r := range rotates {
					c.NoRoPE = append(c.NoRoPE, r == 0)
				}
			}
		},
	},
}
