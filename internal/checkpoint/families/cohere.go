package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// coheres are Command R7B and A. Attention and the network of a layer read one norm, LayerNorm without a bias, and both are added. Layers without a window
// do not rotate. RoPE rotates neighbours. Logits are multiplied by a number, which in other families' files they are divided by.
var coheres = []*Family{
	{
		Name: "cohere2", Type: "cohere2", Class: "Cohere2ForCausalLM", without: []model.Part{model.FeedForwardNorm}, paired: true, parallel: true, logitFactor: 0.0625,
		encoding: encoding{centred: true}, window: windows{rule: exceptEvery, every: 4, types: true, size: 4096},
		keys: func(c *walking, k *keys.Walk) {
			if !k.Reads() {
				return
			}
			c.NoRoPE = everyNth(c.Layers, 1)
			for i, windowed := range c.Windowed {
				if i < len(c.NoRoPE) && c.Window > 0 {
					c.NoRoPE[i] = !windowed
				}
			}
		},
		defaults: defaults{tied: true, eps: 1e-5},
	},
}
