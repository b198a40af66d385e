package families

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// qwensWithStates are Qwen 3.5 and Qwen 3 Next, in which most layers have the gated delta rule and the others gated attention.
//
//   - Norms are stored less one, but for the norm of the delta rule's heads.
//   - GGUF calls the norm before the feed-forward network post_attention_norm.
//   - Value heads of qwen35 are in another order in GGUF, by llama.cpp's conversion: the first of each key head, then the second of each
//     (model.Tiling). Columns of the output projection are left so. qwen3next has Hugging Face's order in both.
var qwensWithStates = []*Family{
	{
		Name: "qwen35", Type: "qwen3_5_text", Class: "Qwen3_5ForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, plusOne: true, tiled: true,
		ggufNames: deltaGGUF, fused: deltaFused, keys: (*walking).delta, ahead: aheadOfQwen, rope: ropes{partial: 0.25, interleaved: true},
		defaults: defaults{headDim: 256, heads: 16, kvHeads: 4, vocab: 248320, context: 32768},
	},
	{
		Name: "qwen35moe", Type: "qwen3_5_moe_text", Class: "Qwen3_5MoeForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, plusOne: true,
		tiled: true, ggufNames: deltaGGUF, fused: deltaFused, keys: (*walking).delta, ahead: aheadOfQwen, rope: ropes{partial: 0.25, interleaved: true}, experts: gatedExperts(false),
		defaults: defaults{headDim: 256, heads: 16, kvHeads: 2, vocab: 248320, context: 32768},
	},
	{
		Name: "qwen3next", Type: "qwen3_next", Class: "Qwen3NextForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true, plusOne: true,
		ggufNames: deltaGGUF, keys: (*walking).plainDelta, ahead: aheadOfQwen, rope: ropes{partial: 0.25, interleaved: true}, experts: gatedExperts(true),
		fused: map[model.Part]fusedPart{
			model.Query: gatedQuery, model.QueryGate: gatedQuery, model.RecurrentQuery: nextInput, model.RecurrentKey: nextInput, model.RecurrentValue: nextInput,
			model.RecurrentGate: nextInput, model.RecurrentBeta: nextRates, model.RecurrentStep: nextRates, model.QueryFilter: deltaFilter, model.KeyFilter: deltaFilter,
			model.ValueFilter: deltaFilter,
		},
		fusedGGUF: map[model.Part]fusedPart{model.RecurrentQuery: deltaInput, model.RecurrentKey: deltaInput, model.RecurrentValue: deltaInput},
		defaults:  defaults{headDim: 256, heads: 16, kvHeads: 2, vocab: 151936, context: 32768},
	},
}

// gatedExperts is the rule of experts with a shared one that is gated. chosen says that config.json says whether weights are normalised, and which layers
// have experts.
func gatedExperts(chosen bool) *expertRule {
	r := &expertRule{Experts: model.Experts{Count: 512, Chosen: 10, Width: 512, SharedGated: true, Normalized: true}, each: eachQwen, stacked: stackedQwen,
		count: []string{"num_experts", "num_local_experts"}, width: []string{"moe_intermediate_size"}, shared: "shared_expert_intermediate_size", sharedSize: 512}
	if chosen {
		r.normalized, r.step = true, "decoder_sparse_step"
	}
	return r
}

var (
	gatedQuery = fusedPart{"self_attn.q_proj", "attn_q", []model.Part{model.Query, model.QueryGate}, func(c *model.Config) int { return c.Heads }}
	deltaInput = fusedPart{"linear_attn.in_proj_qkv", "attn_qkv", []model.Part{model.RecurrentQuery, model.RecurrentKey, model.RecurrentValue}, nil}
	deltaGGUF  = map[model.Part]string{model.FeedForwardNorm: "post_attention_norm"}
	deltaFused = map[model.Part]fusedPart{
		model.Query: gatedQuery, model.QueryGate: gatedQuery, model.RecurrentQuery: deltaInput, model.RecurrentKey: deltaInput, model.RecurrentValue: deltaInput,
		model.QueryFilter: deltaFilter, model.KeyFilter: deltaFilter, model.ValueFilter: deltaFilter,
	}
	deltaFilter = fusedPart{"linear_attn.conv1d", "ssm_conv1d", []model.Part{model.QueryFilter, model.KeyFilter, model.ValueFilter}, nil}
	nextInput   = fusedPart{"linear_attn.in_proj_qkvz", "", []model.Part{model.RecurrentQuery, model.RecurrentKey, model.RecurrentValue, model.RecurrentGate},
		func(c *model.Config) int { return c.Recurrent.KeyHeads }}
	nextRates = fusedPart{"linear_attn.in_proj_ba", "ssm_ba", []model.Part{model.RecurrentBeta, model.RecurrentStep},
		func(c *model.Config) int { return c.Recurrent.KeyHeads }}
)

// The keys of GGUF's metadata for layers with the gated delta rule, after the architecture's name and a dot.
const (
	fullEveryKey     = "full_attention_interval"
	recurrentListKey = "attention.recurrent_layers" // a truth for each layer
)

// delta walks over the keys of a family with a config.json that may say that attention has a gate.
func (c *walking) delta(k *keys.Walk) {
	gate := true
	if k.ReadsFolder() {
		if k.Bool("attn_output_gate", "", &gate, true); !gate {
			k.Fail(unsupported.Errorf("attn_output_gate is false; attention without a gate is not implemented for the architecture %s", c.family.Name))
		}
	}
	c.plainDelta(k)
}

// plainDelta walks over which layers have the gated delta rule, and of what sizes.
func (c *walking) plainDelta(k *keys.Walk) {
	const usualEvery = 4
	r, every := &c.Recurrent, 0
	switch {
	case k.ReadsFolder():
		k.Int("full_attention_interval", "", &every, usualEvery)
		every = max(every, 1)
		c.mixersByType(k, model.GatedAttention, model.DeltaRule, func(layer int) string {
			if (layer+1)%every == 0 {
				return wholeLayer
			}
			return linearLayer
		})
		k.Int("linear_conv_kernel_dim", "", &r.Taps, 4)
		k.Int("linear_num_key_heads", "", &r.KeyHeads, 16)
		k.Int("linear_num_value_heads", "", &r.Heads, 32)
		k.Int("linear_key_head_dim", "", &r.KeyDim, 128)
		k.Int("linear_value_head_dim", "", &r.ValueDim, 128)
	case k.ReadsFile():
		k.Int("", fullEveryKey, &every, 0)
		n := min(max(c.Layers, 0), model.MaxLayers)
		attends, states := everyNth(n, max(cmp.Or(every, usualEvery), 1)), []bool(nil)
		if k.Has("", recurrentListKey) {
			if k.Bools(recurrentListKey, &states); len(states) < n {
				k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", k.Key("", recurrentListKey), len(states), n))
				return
			}
		}
		for i, full := range attends {
			if states != nil {
				full = !states[i]
			}
			c.Mixers = append(c.Mixers, map[bool]model.Mixer{false: model.DeltaRule, true: model.GatedAttention}[full])
		}
		c.settleSizes()
		c.stateSizes(k)
		r.Tiled = c.family.tiled
	default:
		c.stateSizes(k)
		every = slices.IndexFunc(c.Mixers, func(m model.Mixer) bool { return !m.Recurrent() }) + 1
		attends, states, uneven := everyNth(c.Layers, every), make([]bool, c.Layers), false
		for i, m := range c.Mixers {
			states[i] = m.Recurrent()
			uneven = uneven || states[i] == attends[i]
		}
		k.Int("", fullEveryKey, &every, 0)
		if uneven {
			k.Bools(recurrentListKey, &states)
		}
	}
}
