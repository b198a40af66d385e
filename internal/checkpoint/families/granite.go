package families

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// granites are Granite 3 and 4, with multipliers of embeddings, scores, residuals and logits. Granite 4's models have layers with attention or with Mamba's
// selective scan, and a feed-forward network that experts may join. Folders call all of them granitemoehybrid, whether they have Mamba layers and experts
// or not; without position_embedding_type: rope no layer rotates, which GGUF says by rope.scaling.finetuned: false. In GGUF those without Mamba have
// other architectures: granite, or granitemoe with experts.
var granites = []*Family{
	{
		Name: "granite", Type: "granite", Class: "GraniteForCausalLM", keys: (*walking).granite,
	},
	{
		Name: "granitehybrid", Type: "granitemoehybrid", Class: "GraniteMoeHybridForCausalLM", ggufPlain: "granite", ggufMoE: "granitemoe", adapts: "granite",
		experts: graniteExperts("shared_intermediate_size"), keys: (*walking).graniteHybrid,
		huggingFace: map[model.Part]string{
			model.Down: "shared_mlp.output_linear", model.SharedDown: "shared_mlp.output_linear", model.Router: "block_sparse_moe.router.layer", model.StepBias: "mamba.dt_bias",
			model.Decay: "mamba.A_log", model.Skip: "mamba.D", model.RecurrentNorm: "mamba.norm", model.RecurrentOutput: "mamba.out_proj",
		},
		fused: map[model.Part]fusedPart{
			model.Gate: sharedFeedForward, model.Up: sharedFeedForward, model.RecurrentGate: mambaInput, model.RecurrentValue: mambaInput, model.RecurrentKey: mambaInput,
			model.RecurrentQuery: mambaInput, model.RecurrentStep: mambaInput, model.SharedGate: sharedExpert, model.SharedUp: sharedExpert, model.ValueFilter: mambaFilter,
			model.KeyFilter: mambaFilter, model.QueryFilter: mambaFilter,
		},
	},
	{
		Name: "granitemoe", Type: "granitemoe", Class: "GraniteMoeForCausalLM", experts: graniteExperts(""), keys: (*walking).granite,
		huggingFace: map[model.Part]string{model.Router: "block_sparse_moe.router.layer", model.SharedDown: "shared_mlp.output_linear"},
		fused:       map[model.Part]fusedPart{model.SharedGate: sharedExpert, model.SharedUp: sharedExpert},
	},
}

// graniteExperts is the rule of experts, weighed by the softmax of the chosen ones. shared is the key of the width of the network that all tokens share.
func graniteExperts(shared string) *expertRule {
	return &expertRule{Experts: model.Experts{Count: 8, Chosen: 2, Scores: model.SoftmaxChosen}, count: []string{"num_local_experts"}, shared: shared, sharedSize: 1024,
		stacked: stackedRule{gateUp: "block_sparse_moe.input_linear.weight", down: "block_sparse_moe.output_linear.weight"}}
}

var (
	// The network that all tokens share is called so without experts, too. GGUF has gate and up apart.
	sharedFeedForward = fusedPart{"shared_mlp.input_linear", "", []model.Part{model.Gate, model.Up}, nil}
	sharedExpert      = fusedPart{"shared_mlp.input_linear", "", []model.Part{model.SharedGate, model.SharedUp}, nil}
	mambaInput        = fusedPart{"mamba.in_proj", "ssm_in", []model.Part{model.RecurrentGate, model.RecurrentValue, model.RecurrentKey, model.RecurrentQuery, model.RecurrentStep}, nil}
	mambaFilter       = fusedPart{"mamba.conv1d", "ssm_conv1d", []model.Part{model.ValueFilter, model.KeyFilter, model.QueryFilter}, nil}
)

// granite walks over the multipliers.
func (c *walking) granite(k *keys.Walk) {
	if k.ReadsFolder() {
		k.Float("embedding_multiplier", "", &c.EmbeddingScale, 0)
		k.Float("attention_multiplier", "", &c.ScoreScale, 1)
		k.Float("residual_multiplier", "", &c.ResidualScale, 0)
		c.logitDivisor(k, "logits_scaling", 1)
	}
	if k.WritesFile() && c.NoRoPE == nil {
		return
	}
	rotates := c.NoRoPE == nil || slices.Contains(c.NoRoPE, false)
	if k.Bool("", ropeThereKey, &rotates, true); k.ReadsFile() && !rotates {
		c.NoRoPE = everyNth(c.Layers, 1)
	}
}

// graniteHybrid walks over Granite 4's keys.
func (c *walking) graniteHybrid(k *keys.Walk) {
	c.granite(k)
	switch {
	case k.ReadsFolder():
		position := ""
		if c.Experts.Count == 0 {
			k.Int("shared_intermediate_size", "", &c.IntermediateSize, 1024)
		}
		if k.Text("position_embedding_type", "", &position, ""); position != "rope" {
			c.NoRoPE = everyNth(c.Layers, 1)
		}
		c.mixersByType(k, model.Attention, model.SelectiveScan, func(int) string { return mambaLayer })
		c.scanOfFolder(k)
	case k.ReadsFile():
		if c.mixersByHeads(model.SelectiveScan); c.Mixers == nil {
			c.Family = "granite"
			return
		}
		c.stateSizes(k)
		for i, m := range c.Mixers {
			if m.Recurrent() && k.HasTensor(nameOf(model.ValueFilter, layersGGUF, i, mambaFilter.gguf, true)) {
				c.Recurrent.FilterBias = true
			}
		}
		if c.Recurrent.KeyHeads != 1 {
			k.Fail(unsupported.Errorf("%s is %d; only 1 is implemented", k.Key("", stateGroupsKey), c.Recurrent.KeyHeads))
		}
	case slices.ContainsFunc(c.Mixers, model.Mixer.Recurrent):
		c.stateSizes(k)
	}
}

// scanOfFolder reads the sizes of Mamba's layers.
func (c *walking) scanOfFolder(k *keys.Walk) {
	r, expand, biased := &c.Recurrent, 0, false
	var headDim any // a number, or "auto"
	var limits []any
	k.Int("mamba_d_conv", "", &r.Taps, 4)
	k.Int("mamba_n_groups", "", &r.KeyHeads, 1)
	k.Int("mamba_n_heads", "", &r.Heads, 128)
	k.Int("mamba_d_state", "", &r.KeyDim, 256)
	k.Bool("mamba_conv_bias", "", &r.FilterBias, true)
	k.Int("mamba_expand", "", &expand, 2)
	k.Bool("mamba_proj_bias", "", &biased, false)
	k.Decode("mamba_d_head", &headDim)
	k.Decode("time_step_limit", &limits)
	wide := min(expand, model.MaxSpread+1) * c.HiddenSize
	if r.Heads > 0 {
		r.ValueDim = wide / r.Heads
	}
	if n, ok := headDim.(float64); ok && n >= 0 && n <= model.MaxHeadDim+1 {
		r.ValueDim = int(n)
	}
	switch {
	case c.Mixers == nil:
		*r = model.Recurrent{} // the keys have defaults
	case r.KeyHeads != 1:
		k.Fail(unsupported.Errorf("mamba_n_groups is %d; only 1 is implemented", r.KeyHeads))
	case biased:
		k.Fail(unsupported.Errorf("mamba_proj_bias is true; only projections without biases are implemented"))
	case r.Heads*r.ValueDim != wide:
		k.Fail(fmt.Errorf("%d heads of %d elements (mamba_n_heads, mamba_d_head) are not mamba_expand times hidden_size, which is %d", r.Heads, r.ValueDim, wide))
	case len(limits) == 2 && (limits[0] != 0.0 || !infinite(limits[1])):
		k.Fail(unsupported.Errorf("time_step_limit is %v; only steps without limits are implemented", limits))
	}
}

// infinite reports whether a value of a configuration is infinity, as Python and transformers write it.
func infinite(v any) bool {
	if object, ok := v.(map[string]any); ok {
		v = object["__float__"]
	}
	return v == "Infinity"
}
