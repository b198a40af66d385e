package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// seeds are Seed-OSS. GGUF calls the norm before the network post_attention_norm. A bias of attention's output, which config.json may ask for, is refused:
// GGUF has no place for it.
var seeds = []*Family{
	{
		Name: "seed_oss", Type: "seed_oss", Class: "SeedOssForCausalLM", unpaired: true, bare: true,
		ggufNames: map[model.Part]string{model.FeedForwardNorm: "post_attention_norm"},
		keys: func(c *walking, k *keys.Walk) {
			biased := false
			if k.ReadsFolder() {
				k.Bool("attention_out_bias", "", &biased, false)
			}
			if biased {
				k.Fail(unsupported.Errorf("attention_out_bias is true; for the architecture %s only false is implemented", c.family.Name))
			}
		},
		defaults: defaults{headDim: 128, biased: true},
	},
}
