package families

import "github.com/antigravity-go/antigravity/internal/model"

// olmos are OLMo 2 and 3, with norms after attention and the network alone. OLMo 3's layers with a window have RoPE without YaRN, though older files have
// one rope_scaling for all.
var olmos = []*Family{
	{
		Name: "olmo2", Type: "olmo2", Class: "Olmo2ForCausalLM", with: olmoWith, without: olmoWithout, jointNorms: true, unpaired: true,
		rope: ropes{unstretched: true}, defaults: defaults{eps: 1e-5},
	},
	{
		Name: "olmo3", Type: "olmo3", Class: "Olmo3ForCausalLM", gguf: "olmo2", with: olmoWith, without: olmoWithout, jointNorms: true, unpaired: true,
		window: windows{rule: exceptEvery, every: 4, types: true}, rope: ropes{theta: 500000, unstretched: true, scaledTypes: scaledWhole}, defaults: defaults{eps: 1e-5},
	},
}

var (
	olmoWith    = []model.Part{model.QueryNorm, model.KeyNorm, model.AttentionPostNorm, model.FeedForwardPostNorm}
	olmoWithout = []model.Part{model.AttentionNorm, model.FeedForwardNorm}
)
