package families

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Both formats' keys become model.Experts. For example, a qwen3_moe with "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768 and
// "norm_topk_prob": true has
//
//	Experts{Count: 128, Chosen: 8, Width: 768, Normalized: true}

// ofQwen is how Qwen's folders name experts, and others' too: a tensor each, or, as transformers 5 keeps them, all of a layer together.
var (
	eachQwen    = []string{"mlp.experts.#.gate_proj.weight", "mlp.experts.#.up_proj.weight", "mlp.experts.#.down_proj.weight"}
	stackedQwen = stackedRule{gateUp: "mlp.experts.gate_up_proj", down: "mlp.experts.down_proj"}
)

// The keys of GGUF's metadata for experts, after the architecture's name and a dot.
const (
	ExpertsKey          = "expert_count"
	expertsUsedKey      = "expert_used_count"
	expertWidthKey      = "expert_feed_forward_length"
	expertSharedKey     = "expert_shared_count"
	sharedWidthKey      = "expert_shared_feed_forward_length"
	expertScaleKey      = "expert_weights_scale"
	expertNormKey       = "expert_weights_norm"
	expertScoresKey     = "expert_gating_func"
	expertGroupsKey     = "expert_group_count"
	expertGroupsUsedKey = "expert_group_used_count"
	leadingDenseKey     = "leading_dense_block_count"
	denseStepKey        = "interleave_moe_layer_step"
)

// experts walks over which layers have experts, and what those are.
func (c *walking) experts(k *keys.Walk) {
	rule := c.family.experts
	e := c.Experts
	if k.Reads() && rule != nil {
		e = rule.Experts
	}
	switch {
	case k.ReadsFolder():
		blocks := false
		if rule != nil && rule.block {
			k.Bool("enable_moe_block", "", &blocks, false)
		}
		if rule == nil || rule.block && !blocks {
			if rule != nil {
				rule.idle(k)
			}
			return
		}
		if k.Int(k.First(rule.count...), "", &e.Count, e.Count); e.Count == 0 && !blocks {
			rule.idle(k) // Granite 4 without experts
			return
		}
	default:
		if k.Reads() {
			k.Int("", ExpertsKey, &e.Count, 0)
		}
		if e.Count == 0 {
			return
		}
		if rule == nil {
			k.Fail(unsupported.Errorf("a mixture of %d experts, which is not implemented for the architecture %s", e.Count, c.family.Name))
			return
		}
		if !k.Reads() {
			k.Int("", ExpertsKey, &e.Count, 0)
		}
	}
	otherwise := e
	if k.ReadsFile() {
		otherwise.Chosen, otherwise.Width, otherwise.SharedWidth = 0, 0, 0
		otherwise.Normalized = e.Scores == model.SoftmaxAll // Qwen's files and Mixtral's, as llama.cpp takes them
	}
	k.Int(k.First("num_experts_per_tok", "top_k_experts", "moe_k", "moe_top_k"), expertsUsedKey, &e.Chosen, otherwise.Chosen)
	width := "intermediate_size"
	if rule.width != nil {
		width = k.First(rule.width...)
	} else if k.ReadsFolder() && otherwise.Width == 0 {
		otherwise.Width = c.IntermediateSize
	}
	if k.Int(width, expertWidthKey, &e.Width, otherwise.Width); k.ReadsFile() {
		if e.Width == 0 {
			if e.Width = c.IntermediateSize; rule.width != nil && e.Chosen > 0 {
				e.Width /= e.Chosen // llama.cpp's rule for early files
			}
		}
		if c.IntermediateSize < 1 {
			c.IntermediateSize = e.Width // nothing else has the width of dense networks
		}
	}
	c.sharedExpert(k, rule, &e)
	key := ""
	if rule.normalized {
		key = "norm_topk_prob"
	}
	k.Bool(key, expertNormKey, &e.Normalized, otherwise.Normalized)
	k.Float(rule.scale, expertScaleKey, &e.Scale, otherwise.Scale)
	if k.ReadsFolder() {
		k.Float(rule.limit, "", &e.Limit, otherwise.Limit)
	}
	scores := int(e.Scores) + 1
	if k.Int("", expertScoresKey, &scores, scores); scores > int(model.SoftmaxChosen)+1 {
		k.Fail(unsupported.Errorf("%s is %d, which is not implemented", k.Key("", expertScoresKey), scores))
	} else if scores != 0 {
		e.Scores = model.Scores(scores - 1)
	}
	c.routed(k, rule, &e)
}

// idle reads the keys that count for nothing in a model without experts.
func (r *expertRule) idle(k *keys.Walk) {
	for _, key := range append([]string{r.shared, r.perShared, r.scale, r.limit}, r.count...) {
		k.Has(key, "")
	}
}

// sharedExpert walks over the width of the network that every token passes through.
func (c *walking) sharedExpert(k *keys.Walk, rule *expertRule, e *model.Experts) {
	perWidth := 1
	if e.Width > 0 {
		perWidth = e.SharedWidth / e.Width
	}
	switch {
	case k.ReadsFolder() && rule.perShared != "":
		k.Int(rule.perShared, "", &perWidth, 1)
		e.SharedWidth = e.Width * max(min(perWidth, model.MaxExperts), 0)
	case k.ReadsFolder() && rule.shared != "":
		k.Int(rule.shared, "", &e.SharedWidth, rule.sharedSize)
	case k.ReadsFile():
		k.Int("", expertSharedKey, &perWidth, 0)
		k.Int("", sharedWidthKey, &e.SharedWidth, min(min(perWidth, model.MaxExperts)*min(e.Width, model.MaxWidth+1), model.MaxWidth+1))
	case e.SharedWidth > 0 && rule.perShared != "":
		k.Int("", expertSharedKey, &perWidth, 0)
	case e.SharedWidth > 0:
		k.Int("", sharedWidthKey, &e.SharedWidth, 0)
	}
}

// routed walks over which layers have experts. The others have the family's dense network, and a model without such a layer has no experts.
func (c *walking) routed(k *keys.Walk, rule *expertRule, e *model.Experts) {
	leading, step := 0, 1
	var dense []int
	switch {
	case k.ReadsFolder():
		groups, chosen := 1, 1
		k.Int("n_group", "", &groups, 1)
		switch k.Int("topk_group", "", &chosen, 1); {
		case groups > 1 && rule.groups:
			e.Groups, e.ChosenGroups = groups, chosen
		case groups != 1 || chosen != 1:
			k.Fail(unsupported.Errorf("n_group is %d and topk_group %d: groups of experts are not implemented, only 1 and 1", groups, chosen))
		}
		if rule.leading != "" {
			k.Int(rule.leading, "", &leading, rule.dense)
		}
		if rule.step != "" {
			k.Int(rule.step, "", &step, 1)
		}
		k.Decode("mlp_only_layers", &dense)
		c.networkTypes(k)
	case k.ReadsFile():
		groups := 0
		switch k.Int("", expertGroupsKey, &groups, 0); {
		case groups > 1 && rule.groups:
			e.Groups = groups
			k.Int("", expertGroupsUsedKey, &e.ChosenGroups, 0)
		case groups > 1:
			k.Fail(unsupported.Errorf("%s is %d: groups of experts are not implemented", k.Key("", expertGroupsKey), groups))
		}
		k.Int("", leadingDenseKey, &leading, 0)
		if k.Int("", denseStepKey, &step, 1); step != 1 {
			k.Fail(unsupported.Errorf("%s is %d, which is not implemented", k.Key("", denseStepKey), step))
		}
	default:
		if e.Groups > 1 {
			k.Int("", expertGroupsKey, &e.Groups, 0)
			k.Int("", expertGroupsUsedKey, &e.ChosenGroups, 0)
		}
		if leading = slices.Index(c.FeedForwards, model.Routed); leading > 0 && !slices.Contains(c.FeedForwards, model.NoFeedForward) {
			k.Int("", leadingDenseKey, &leading, 0)
		}
		return
	}
	if c.FeedForwards != nil {
		if slices.Contains(c.FeedForwards, model.Routed) {
			c.Experts = *e
		}
		return
	}
	network := model.Routed
	if rule.block {
		network = model.GatedAndRouted
	}
	list, some := make([]model.FeedForward, min(max(c.Layers, 0), model.MaxLayers)), false
	for i := range list {
		if i >= leading && step > 0 && (i+1)%step == 0 && !slices.Contains(dense, i) {
			list[i], some = network, true
		}
	}
	if some {
		c.FeedForwards, c.Experts = list, *e
	}
}

// networkTypes reads config.json's list of the layers' networks.
func (c *walking) networkTypes(k *keys.Walk) {
	var kinds []string
	if !k.Decode("mlp_layer_types", &kinds) || c.FeedForwards != nil {
		return
	}
	if len(kinds) != c.Layers {
		k.Fail(fmt.Errorf("mlp_layer_types has %d entries, the model %d layers", len(kinds), c.Layers))
		return
	}
	networks := map[string]model.FeedForward{"dense": model.Gated, "sparse": model.Routed}
	for _, kind := range kinds {
		network, known := networks[kind]
		if !known {
			k.Fail(unsupported.Errorf("mlp_layer_types has %.100q; known are dense and sparse", kind))
			return
		}
		c.FeedForwards = append(c.FeedForwards, network)
	}
}
