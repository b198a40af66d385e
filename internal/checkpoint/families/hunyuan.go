package families

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// hunyuans are Hunyuan's dense models. Queries and keys are normed after they have been rotated, and the base of RoPE is stretched by alpha, which GGUF has in
// the base.
var hunyuans = []*Family{
	{
		Name: "hunyuan-dense", Type: "hunyuan_v1_dense", Class: "HunYuanDenseV1ForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, lateNorms: true,
		huggingFace: map[model.Part]string{model.QueryNorm: "self_attn.query_layernorm", model.KeyNorm: "self_attn.key_layernorm"}, rope: ropes{alpha: true},
		keys: func(c *walking, k *keys.Walk) {
			if !k.ReadsFolder() {
				return
			}
			normed, shares, experts := true, false, 1
			k.Bool("use_qk_norm", "", &normed, true)
			k.Bool("use_cla", "", &shares, false)
			k.Int("num_experts", "", &experts, 1)
			switch c.Unnormed = !normed; {
			case shares:
				k.Fail(unsupported.Errorf("use_cla is true; only false is implemented"))
			case experts > 1:
				k.Fail(unsupported.Errorf("num_experts is %d, which is not implemented for the architecture %s", experts, c.family.Name))
			}
		},
		defaults: defaults{eps: 1e-5},
	},
}
