package checkpoint

import (
	"fmt"
	"slices"
	"strconv"
)

// Both formats' keys become Experts (setExperts, readExperts), and forms lists the ways in which files may have an expert's matrices: one
// tensor for each expert, one for all, or one in which gate and up lie together. For example, a qwen3_moe with "num_experts": 128,
// "num_experts_per_tok": 8, "moe_intermediate_size": 768 and "norm_topk_prob": true has
//
//	Experts{Count: 128, Chosen: 8, Width: 768, Normalized: true}
//
// and its part ExpertUp of layer 0 is one of
//
//	model.layers.0.mlp.experts.#.up_proj.weight     768 rows, # is the expert
//	model.layers.0.mlp.experts.gate_up_proj         of 1536 rows of each expert those from 768 on
//	blk.0.ffn_up_exps.weight                        768 rows of each expert
//	blk.0.ffn_up.#.weight                           768 rows, # is the expert
//	blk.0.ffn_gate_up_exps.weight                   of 1536 rows of each expert those from 768 on

// Experts describes the feed-forward networks of layers with Routed or GatedAndRouted: a router gives each of Count networks a score for a token, and the
// Chosen ones with the largest scores compute it. The zero value: no layer has experts.
type Experts struct {
	Count, Chosen int
	Width         int     // of one expert's network
	SharedWidth   int     // of the network for every token; its result is added to the experts'; 0: no such network
	SharedGated   bool    // the shared network's result is multiplied by a number for each token, the sigmoid of a product
	Scores        Scores  // what the router's logits become
	Normalized    bool    // the scores of the chosen experts are divided by their sum
	Corrected     bool    // experts are chosen by their scores plus a number for each expert, which the weights do not have
	Scale         float64 // what the weights of the chosen experts are multiplied by; 0: 1
	Limit         float64 // what gate and up are limited to, for gpt-oss's activation; 0: the activation is that of dense networks
	Biased        bool    // the router and the experts have biases
}

// Scores is the function of a router's logits. The values are those of GGUF's expert_gating_func less one.
type Scores uint8

// The kinds of scores.
const (
	SoftmaxAll    Scores = iota // the softmax of all logits
	Sigmoid                     // the sigmoid of each logit
	SoftmaxChosen               // the softmax of the logits of the chosen experts
)

// Limits that no model comes near.
const (
	maxExperts = 1 << 12
	maxChosen  = 1 << 8
)

// validate checks the sizes of experts, for a model in which some layers have experts, or no layer.
func (e *Experts) validate(some bool) error {
	if some != (e.Count > 0) {
		return fmt.Errorf("the model has %d experts, and layers with experts: %v", e.Count, some)
	}
	if *e == (Experts{}) {
		return nil
	}
	for _, f := range []struct {
		name            string
		value, min, max int
	}{
		{"the number of experts", e.Count, 1, maxExperts}, {"the number of experts for a token", e.Chosen, 1, min(e.Count, maxChosen)},
		{"the width of an expert", e.Width, 1, maxWidth}, {"the width of the shared expert", e.SharedWidth, 0, maxWidth},
	} {
		if f.value < f.min || f.value > f.max {
			return fmt.Errorf("%s is %d, not between %d and %d", f.name, f.value, f.min, f.max)
		}
	}
	if e.Scale != 0 && !(e.Scale >= minScale && e.Scale <= maxScale) || e.Limit != 0 && !(e.Limit >= minScale && e.Limit <= maxScale) {
		return fmt.Errorf("experts are scaled by %g and limited to %g, not between %g and %g", e.Scale, e.Limit, minScale, maxScale)
	}
	return nil
}

// lacks reports whether the networks of layers with experts do without a part that others have.
func (e *Experts) lacks(p Part) bool {
	switch p {
	case RouterCorrection:
		return !e.Corrected
	case SharedRouter:
		return !e.SharedGated || e.SharedWidth == 0
	case SharedGate, SharedUp, SharedDown:
		return e.SharedWidth == 0
	}
	return false
}

func experts(c *Config, _ *Layer) int     { return c.Experts.Count }
func expertWidth(c *Config, _ *Layer) int { return c.Experts.Width }
func sharedWidth(c *Config, _ *Layer) int { return c.Experts.SharedWidth }
func expertBias(c *Config) bool           { return c.Experts.Biased }

// expertRule is what a family's files have of experts.
type expertRule struct {
	Experts             // what config.json need not say; what no key of the family says is always so
	each    []string    // names of one expert's gate, up and down, with a number in place of eachExpert
	stacked stackedRule // of the experts of a layer together
	moeKey  bool        // moe_intermediate_size is the width, not intermediate_size
	block   bool        // the model has experts if enable_moe_block is true, and then next to a dense network in each layer
}

// stackedRule has the names of tensors with all experts of a layer, suffixes included.
type stackedRule struct {
	gateUp, down string // of weights [experts, 2·width, hidden] and [experts, hidden, width]
	blocks       string // of MXFP4 the names end in this, and those of the exponents in scales
	scales       string
	bias         string // ends the names of biases
	alternate    bool   // gate and up take turns in the rows of gateUp; else all of gate come first
}

// eachExpert stands in a name for the number of an expert.
const eachExpert = "#"

var (
	eachQwen     = []string{"mlp.experts.#.gate_proj.weight", "mlp.experts.#.up_proj.weight", "mlp.experts.#.down_proj.weight"}
	stackedQwen  = stackedRule{gateUp: "mlp.experts.gate_up_proj", down: "mlp.experts.down_proj"} // as transformers 5 keeps them
	qwenExperts  = expertRule{Experts: Experts{Count: 128, Chosen: 8, Width: 768}, each: eachQwen, stacked: stackedQwen, moeKey: true}
	gatedExperts = expertRule{Experts: Experts{Count: 512, Chosen: 10, Width: 512, SharedWidth: 512, SharedGated: true, Normalized: true},
		each: eachQwen, stacked: stackedQwen, moeKey: true}
	mixedExperts = expertRule{Experts: Experts{Count: 8, Chosen: 2, Normalized: true}, stacked: stackedQwen,
		each: []string{"block_sparse_moe.experts.#.w1.weight", "block_sparse_moe.experts.#.w3.weight", "block_sparse_moe.experts.#.w2.weight"}}
	graniteExperts = expertRule{Experts: Experts{Count: 8, Chosen: 2, Scores: SoftmaxChosen},
		stacked: stackedRule{gateUp: "block_sparse_moe.input_linear.weight", down: "block_sparse_moe.output_linear.weight"}}
	glmExperts = expertRule{Experts: Experts{Count: 128, Chosen: 8, Width: 1408, SharedWidth: 1, Scores: Sigmoid, Normalized: true, Corrected: true, Scale: 1},
		each: eachQwen, stacked: stackedQwen, moeKey: true}
	gptExperts = expertRule{Experts: Experts{Count: 128, Chosen: 4, Scores: SoftmaxChosen, Limit: 7, Biased: true},
		stacked: stackedRule{gateUp: "mlp.experts.gate_up_proj", down: "mlp.experts.down_proj", blocks: "_blocks", scales: "_scales", bias: "_bias", alternate: true}}
	gemmaExperts       = expertRule{Experts: Experts{Normalized: true}, stacked: stackedRule{gateUp: "experts.gate_up_proj", down: "experts.down_proj"}, moeKey: true, block: true}
	graniteExpertNames = map[Part]string{Router: "block_sparse_moe.router.layer", SharedDown: "shared_mlp.output_linear"}
	sharedExpert       = fusedPart{"shared_mlp.input_linear", "", []Part{SharedGate, SharedUp}, nil}
)

// expertJSON is what config.json says of experts.
type expertJSON struct {
	Experts       *int        `json:"num_experts,omitempty" whole:"4.0"`
	LocalExperts  *int        `json:"num_local_experts,omitempty" whole:"4.0"`
	RoutedExperts *int        `json:"n_routed_experts,omitempty" whole:"4.0"`
	ExpertWidth   *int        `json:"moe_intermediate_size,omitempty" whole:"4.0"`
	ExpertsChosen *int        `json:"num_experts_per_tok,omitempty" whole:"4.0"`
	GemmaChosen   *int        `json:"top_k_experts,omitempty" whole:"4.0"`
	GemmaWidth    *int        `json:"expert_intermediate_size,omitempty" whole:"4.0"` // that of the first files
	Normalized    *bool       `json:"norm_topk_prob,omitempty"`
	SparseStep    *int        `json:"decoder_sparse_step,omitempty" whole:"4.0"`
	DenseLayers   []int       `json:"mlp_only_layers,omitempty"`
	FirstDense    *int        `json:"first_k_dense_replace,omitempty" whole:"4.0"`
	ExpertScale   *float64    `json:"routed_scaling_factor,omitempty"`
	Groups        *int        `json:"n_group,omitempty" whole:"4.0"`
	ChosenGroups  *int        `json:"topk_group,omitempty" whole:"4.0"`
	SharedExperts *int        `json:"n_shared_experts,omitempty" whole:"4.0"`
	ExpertLimit   *float64    `json:"swiglu_limit,omitempty"`
	SharedWidth   *int        `json:"shared_intermediate_size,omitempty" whole:"4.0"`
	SharedWidth3  *int        `json:"shared_expert_intermediate_size,omitempty" whole:"4.0"` // Qwen's
	QueryKeyNorm  *bool       `json:"use_qk_norm,omitempty"`
	Quantization  *methodJSON `json:"quantization_config,omitempty"`
}

// methodJSON has the keys of a quantization_config that count: gpt-oss's experts are MXFP4, which the names of their tensors say.
type methodJSON struct {
	Method string `json:"quant_method"`
}

// setExperts reads which layers have experts, and what those are.
func (j *configJSON) setExperts(c *Config, f *family) error {
	rule := f.experts
	if rule == nil || rule.block && !j.MoEBlock {
		return nil
	}
	e := rule.Experts
	count := first(j.Experts, j.LocalExperts, j.RoutedExperts)
	if e.Count = or(count, e.Count); e.Count == 0 && !rule.block {
		return nil // Granite 4 without experts
	}
	e.Chosen = or(first(j.ExpertsChosen, j.GemmaChosen), e.Chosen)
	if rule.moeKey {
		e.Width = or(first(j.ExpertWidth, j.GemmaWidth), e.Width)
	} else {
		e.Width = j.IntermediateSize
	}
	has := func(key string) bool { return slices.Contains(f.keys, key) }
	if has("norm_topk_prob") {
		e.Normalized = or(j.Normalized, e.Normalized)
	}
	switch {
	case has("n_shared_experts"):
		e.SharedWidth = e.Width * max(min(or(j.SharedExperts, 1), maxExperts), 0)
	case has(sharedWidthName):
		e.SharedWidth = or(j.SharedWidth, 1024)
	case has("shared_expert_intermediate_size"):
		e.SharedWidth = or(j.SharedWidth3, e.SharedWidth)
	}
	if has("routed_scaling_factor") {
		e.Scale = or(j.ExpertScale, e.Scale)
	}
	if has("swiglu_limit") {
		e.Limit = or(j.ExpertLimit, e.Limit)
	}
	if groups, chosen := or(j.Groups, 1), or(j.ChosenGroups, 1); groups != 1 || chosen != 1 {
		return unsupported("n_group is %d and topk_group %d: groups of experts are not implemented, only 1 and 1", groups, chosen)
	}
	if j.Quantization != nil && j.Quantization.Method != "mxfp4" {
		return unsupported("quant_method of quantization_config is %.100q, which is not implemented for the architecture %s, only mxfp4", j.Quantization.Method, f.name)
	}
	if has("use_qk_norm") {
		c.Unnormed = !or(j.QueryKeyNorm, false)
	}
	leading, step := 0, 1
	if has("first_k_dense_replace") {
		leading = or(j.FirstDense, 1)
	}
	if has("decoder_sparse_step") {
		step = or(j.SparseStep, 1)
	}
	c.Experts = e
	c.setRouted(rule, func(layer int) bool {
		return layer >= leading && step > 0 && (layer+1)%step == 0 && !slices.Contains(j.DenseLayers, layer)
	})
	return nil
}

// RoutedLayers returns how many layers have experts.
func (c *Config) RoutedLayers() (n int) {
	for _, f := range c.FeedForwards {
		if f.routed() {
			n++
		}
	}
	return n
}

// setRouted gives layers experts, the others the family's dense network. A model without such a layer has no experts.
func (c *Config) setRouted(rule *expertRule, is func(layer int) bool) {
	network := Routed
	if rule.block {
		network = GatedAndRouted
	}
	c.FeedForwards = make([]FeedForward, min(max(c.Layers, 0), maxLayers))
	some := false
	for i := range c.FeedForwards {
		if is(i) {
			c.FeedForwards[i], some = network, true
		}
	}
	if !some {
		c.FeedForwards, c.Experts = nil, Experts{}
	}
}

// forms returns the ways in which files have a part of a layer with experts. For any other part it returns no forms.
func (c *Config) forms(f *family, p Part, layer int, bias bool) (list Forms) {
	at := slices.Index(expertParts, p)
	if at < 0 || f.experts == nil {
		return list
	}
	rule := f.experts
	rows, fused := c.Experts.Width, 2*c.Experts.Width
	gateUp := Form{Name: rule.stacked.gateUp, Rows: fused, First: at * rows, Step: 1}
	switch {
	case p == ExpertDown:
		rows = c.HiddenSize
		gateUp = Form{Name: rule.stacked.down, Rows: rows, Step: 1}
	case rule.stacked.alternate:
		gateUp.First, gateUp.Step = at, 2
	}
	prefix := first(f.layers, layersHuggingFace) + strconv.Itoa(layer) + "."
	switch stacked := gateUp; {
	case bias:
		stacked.Name = prefix + stacked.Name + rule.stacked.bias
		list.HuggingFace = []Form{stacked}
	case rule.stacked.blocks != "":
		stacked.Name, stacked.Exponents = prefix+gateUp.Name+rule.stacked.blocks, prefix+gateUp.Name+rule.stacked.scales
		list.HuggingFace = []Form{stacked}
	default:
		if rule.each != nil {
			list.HuggingFace = []Form{{Name: prefix + rule.each[at], Rows: rows, Step: 1}}
		}
		stacked.Name = prefix + stacked.Name
		list.HuggingFace = append(list.HuggingFace, stacked)
	}
	prefix = layersGGUF + strconv.Itoa(layer) + "."
	list.GGUF = []Form{{Name: p.GGUF(layer, bias), Rows: rows, Step: 1}}
	if !bias {
		list.GGUF = append(list.GGUF, Form{Name: prefix + []string{"ffn_gate", "ffn_up", "ffn_down"}[at] + "." + eachExpert + ".weight", Rows: rows, Step: 1})
	}
	if p != ExpertDown {
		end := ".weight"
		if bias {
			end = ".bias"
		}
		both := Form{Name: prefix + "ffn_gate_up_exps" + end, Rows: fused, First: at * rows, Step: 1}
		if rule.block {
			list.GGUF = slices.Insert(list.GGUF, 0, both)
		} else {
			list.GGUF = append(list.GGUF, both)
		}
	}
	return list
}

// expertParts are the matrices of experts, in the order of expertRule.each.
var expertParts = []Part{ExpertGate, ExpertUp, ExpertDown}

// The keys of GGUF's metadata for experts, after the architecture's name and a dot.
const (
	expertsKey      = "expert_count"
	expertsUsedKey  = "expert_used_count"
	expertWidthKey  = "expert_feed_forward_length"
	expertSharedKey = "expert_shared_count"
	sharedWidthKey  = "expert_shared_feed_forward_length"
	expertScaleKey  = "expert_weights_scale"
	expertNormKey   = "expert_weights_norm"
	expertScoresKey = "expert_gating_func"
	expertGroupsKey = "expert_group_count"
	leadingDenseKey = "leading_dense_block_count"
	denseStepKey    = "interleave_moe_layer_step"
)

// readExperts reads what experts there are, after the sizes.
func (k metadata) readExperts(c *Config, f *family) error {
	count := k.number(expertsKey, 0, maxExperts+1)
	if count == 0 {
		return nil
	}
	if f.experts == nil {
		return unsupported("a mixture of %d experts, which is not implemented for the architecture %s", count, f.name)
	}
	const most = maxWidth + 1 // Validate refuses it
	e := f.experts.Experts
	e.Count, e.Chosen, e.SharedWidth = count, k.number(expertsUsedKey, 0, maxChosen+1), 0
	if e.Width = k.number(expertWidthKey, 0, most); e.Width == 0 {
		if e.Width = c.IntermediateSize; f.experts.moeKey && e.Chosen > 0 {
			e.Width /= e.Chosen // llama.cpp's rule for early files
		}
	}
	if c.IntermediateSize < 1 {
		c.IntermediateSize = e.Width // nothing else has the width of dense networks
	}
	if shared := k.number(expertSharedKey, 0, maxExperts); shared > 0 {
		e.SharedWidth = min(shared*e.Width, most)
	}
	e.SharedWidth = k.number(sharedWidthKey, e.SharedWidth, most)
	e.Scale = k.float(expertScaleKey, e.Scale)
	normalized, said := k.has(expertNormKey)
	if e.Normalized = normalized; !said {
		e.Normalized = e.Scores == SoftmaxAll // Qwen's files and Mixtral's, as llama.cpp takes them
	}
	if scores := k.number(expertScoresKey, 0, 255); scores != 0 {
		if scores > int(SoftmaxChosen)+1 {
			return unsupported("%s is %d, which is not implemented", k.prefix+expertScoresKey, scores)
		}
		e.Scores = Scores(scores - 1)
	}
	if groups := k.number(expertGroupsKey, 0, maxExperts); groups > 1 {
		return unsupported("%s is %d: groups of experts are not implemented", k.prefix+expertGroupsKey, groups)
	}
	dense := k.number(leadingDenseKey, 0, maxLayers)
	if step := k.number(denseStepKey, 1, maxLayers); step != 1 {
		return unsupported("%s is %d, which is not implemented", k.prefix+denseStepKey, step)
	}
	c.Experts = e
	if slices.Contains(f.keys, "use_qk_norm") {
		_, normed := k.Tensor(QueryNorm.GGUF(0, false))
		c.Unnormed = !normed
	}
	c.setRouted(f.experts, func(layer int) bool { return layer >= dense })
	return nil
}

// expertMetadata yields the keys for experts.
func (c *Config) expertMetadata(number func(key string, v int), float func(key string, v float64), truth func(key string, v bool)) {
	e := &c.Experts
	if e.Count == 0 {
		return
	}
	number(expertsKey, e.Count)
	number(expertsUsedKey, e.Chosen)
	number(expertWidthKey, e.Width)
	switch {
	case e.SharedWidth > 0 && slices.Contains(familyOf(c.Family).keys, "n_shared_experts"):
		number(expertSharedKey, e.SharedWidth/e.Width)
	case e.SharedWidth > 0:
		number(sharedWidthKey, e.SharedWidth)
	}
	if e.Scale != 0 {
		float(expertScaleKey, e.Scale)
	}
	truth(expertNormKey, e.Normalized)
	number(expertScoresKey, int(e.Scores)+1)
	if dense := slices.Index(c.FeedForwards, Routed); dense > 0 {
		number(leadingDenseKey, dense)
	}
}

// checkExpertsInGGUF refuses what GGUF has no keys for.
func (c *Config) checkExpertsInGGUF() error {
	if dense := slices.Index(c.FeedForwards, Routed); dense >= 0 && slices.ContainsFunc(c.FeedForwards[dense:], func(f FeedForward) bool { return f != Routed }) {
		return unsupported("layers without experts after the first one with experts have no place in GGUF")
	}
	return nil
}
