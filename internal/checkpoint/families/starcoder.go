package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// starcoders are StarCoder 2: LayerNorm with biases, biases of all projections, and a network without a gate.
var starcoders = []*Family{
	{
		Name: "starcoder2", Type: "starcoder2", Class: "Starcoder2ForCausalLM", unpaired: true, activation: geluTanh, window: windows{rule: always},
		encoding:    encoding{centred: true, normBiased: true, plain: true},
		huggingFace: map[model.Part]string{model.Up: "mlp.c_fc", model.Down: "mlp.c_proj"},
		keys: func(c *walking, k *keys.Walk) {
			biased := c.AttentionBias && c.MLPBias
			switch {
			case k.ReadsFile():
				c.MLPBias = k.HasTensor(GGUF(model.Up, 0, true))
			case k.Folder():
				if k.Bool("use_bias", "", &biased, true); k.Reads() {
					c.AttentionBias, c.MLPBias = biased, biased
				}
			}
		},
		defaults: defaults{tied: true, eps: 1e-5},
	},
}
