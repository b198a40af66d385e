package families

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// nemotrons are Nemotron-H and Nemotron 3. A layer is one thing alone: Mamba 2, attention without RoPE, a network without a gate, or experts, which may read
// and write a smaller width than the stream's. Activations are squares of ReLU. Mamba's norm is of the heads that share a head of C and B. config.json lists
// the layers by letters or by types, GGUF by 0 for the sizes of what a layer has not, and calls models with experts nemotron_h_moe.
var nemotrons = []*Family{
	{
		Name: "nemotron_h", Type: "nemotron_h", Class: "NemotronHForCausalLM", alsoGGUF: []string{"nemotron_h_moe"}, ggufRouted: "nemotron_h_moe", activation: relu2, unpaired: true,
		huggingFace: map[model.Part]string{
			model.Embedding: "model.embeddings", model.OutputNorm: "model.norm_f", model.AttentionNorm: "norm", model.FeedForwardNorm: "norm", model.Query: "mixer.q_proj",
			model.Key: "mixer.k_proj", model.Value: "mixer.v_proj", model.AttentionOutput: "mixer.o_proj", model.Up: "mixer.up_proj", model.Down: "mixer.down_proj",
			model.Router: "mixer.gate", model.RouterCorrection: "mixer.gate.e_score_correction_bias", model.LatentDown: "mixer.fc1_latent_proj",
			model.LatentUp: "mixer.fc2_latent_proj", model.SharedUp: "mixer.shared_experts.up_proj", model.SharedDown: "mixer.shared_experts.down_proj",
			model.StepBias: "mixer.dt_bias", model.Decay: "mixer.A_log", model.Skip: "mixer.D", model.RecurrentNorm: "mixer.norm", model.RecurrentOutput: "mixer.out_proj",
		},
		ggufNames: map[model.Part]string{model.FeedForwardNorm: "attn_norm"},
		fused: map[model.Part]fusedPart{
			model.RecurrentGate: mixerInput, model.RecurrentValue: mixerInput, model.RecurrentKey: mixerInput, model.RecurrentQuery: mixerInput, model.RecurrentStep: mixerInput,
			model.ValueFilter: mixerFilter, model.KeyFilter: mixerFilter, model.QueryFilter: mixerFilter,
		},
		experts: &expertRule{Experts: model.Experts{Count: 8, Chosen: 2, Width: 7688, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 1, Ungated: true},
			each: []string{"", "mixer.experts.#.up_proj.weight", "mixer.experts.#.down_proj.weight"}, stacked: stackedRule{gateUp: "mixer.experts.up_proj", down: "mixer.experts.down_proj"},
			count: []string{"n_routed_experts"}, width: []string{"moe_intermediate_size"}, shared: "moe_shared_expert_intermediate_size", sharedSize: 7688,
			normalized: true, scale: "routed_scaling_factor"},
		layersOf: (*walking).nemotronLayers, keys: (*walking).nemotron,
		defaults: defaults{eps: 1e-5, headDim: 128},
	},
}

var (
	mixerInput  = fusedPart{"mixer.in_proj", "ssm_in", mambaInput.parts, nil}
	mixerFilter = fusedPart{"mixer.conv1d", "ssm_conv1d", mambaFilter.parts, nil}
)

const latentWidthKey = "moe_latent_size"

// nemotronKinds are the kinds of layers by their names in config.json, as letters and as types.
var nemotronKinds = map[string]struct {
	mixer   model.Mixer
	network model.FeedForward
}{
	"M": {model.SelectiveScan, model.NoFeedForward}, mambaLayer: {model.SelectiveScan, model.NoFeedForward}, linearLayer: {model.SelectiveScan, model.NoFeedForward},
	"*": {model.Attention, model.NoFeedForward}, attentionLayer: {model.Attention, model.NoFeedForward}, wholeLayer: {model.Attention, model.NoFeedForward},
	"-": {model.NoMixer, model.Ungated}, "mlp": {model.NoMixer, model.Ungated},
	"E": {model.NoMixer, model.Routed}, "moe": {model.NoMixer, model.Routed},
}

// nemotronLayers reads which layers there are.
func (c *walking) nemotronLayers(k *keys.Walk) {
	switch {
	case k.ReadsFolder():
		k.Int(k.First("head_dim", "attention_head_dim"), "", &c.HeadDim, c.HeadDim)
		c.nemotronPattern(k)
	case k.ReadsFile():
		for i := range min(max(c.Layers, 0), model.MaxLayers) {
			sizes := model.LayerSizes{IntermediateSize: c.IntermediateSize, KVHeads: c.KVHeads}
			if i < len(c.Sizes) {
				sizes = c.Sizes[i]
			}
			kind := nemotronKinds["M"]
			switch {
			case sizes.KVHeads > 0:
				kind = nemotronKinds["*"]
			case sizes.IntermediateSize > 0 && k.HasTensor(GGUF(model.Router, i, false)):
				kind = nemotronKinds["E"]
			case sizes.IntermediateSize > 0:
				kind = nemotronKinds["-"]
			}
			c.Mixers, c.FeedForwards = append(c.Mixers, kind.mixer), append(c.FeedForwards, kind.network)
		}
		for i := range c.Sizes { // what a layer has not has the usual sizes
			s := &c.Sizes[i]
			if c.Mixers[i] != model.Attention {
				s.KVHeads = c.KVHeads
			}
			if c.FeedForwards[i] != model.Ungated {
				s.IntermediateSize = c.IntermediateSize
			}
		}
		c.settleSizes()
	}
}

// nemotronPattern reads config.json's list of layers.
func (c *walking) nemotronPattern(k *keys.Walk) {
	var kinds []string
	var letters string
	if !k.Decode("layers_block_type", &kinds) {
		k.Text("hybrid_override_pattern", "", &letters, "")
		for _, letter := range letters {
			kinds = append(kinds, string(letter))
		}
	}
	switch {
	case len(kinds) == 0:
		k.Fail(fmt.Errorf("neither layers_block_type nor hybrid_override_pattern lists the layers"))
	case c.Layers == 0:
		c.Layers = len(kinds)
	case c.Layers != len(kinds):
		k.Fail(fmt.Errorf("the list of layers has %d entries, the model %d layers", len(kinds), c.Layers))
	}
	for _, name := range kinds {
		kind, known := nemotronKinds[name]
		if !known {
			k.Fail(unsupported.Errorf("the list of layers has %.100q; known are M, *, -, E, %s, %s, %s, %s, mlp and moe", name, mambaLayer, linearLayer, attentionLayer, wholeLayer))
			return
		}
		c.Mixers, c.FeedForwards = append(c.Mixers, kind.mixer), append(c.FeedForwards, kind.network)
	}
}

// nemotron walks over the sizes of Mamba's layers and of experts.
func (c *walking) nemotron(k *keys.Walk) {
	routed, recurrent := slices.Contains(c.FeedForwards, model.Routed), slices.ContainsFunc(c.Mixers, model.Mixer.Recurrent)
	if k.Reads() {
		c.NoRoPE = everyNth(c.Layers, 1)
	}
	if k.ReadsFolder() {
		k.Float32("layer_norm_epsilon", "", &c.RMSNormEps, c.family.defaults.eps)
		c.nemotronStates(k, recurrent)
		shared := 1
		if k.Int("n_shared_experts", "", &shared, 1); routed && shared != 1 {
			k.Fail(unsupported.Errorf("n_shared_experts is %d; only 1 is implemented", shared))
		}
	} else if recurrent {
		c.stateSizes(k)
		for i, m := range c.Mixers {
			if m.Recurrent() && k.HasTensor(nameOf(model.ValueFilter, layersGGUF, i, mixerFilter.gguf, true)) {
				c.Recurrent.FilterBias = true
			}
		}
	}
	if routed && (k.Reads() || c.Experts.Latent > 0) {
		k.Int(latentWidthKey, latentWidthKey, &c.Experts.Latent, 0)
	}
}

// nemotronStates reads config.json's sizes of Mamba's layers.
func (c *walking) nemotronStates(k *keys.Walk, recurrent bool) {
	var r model.Recurrent
	var limits []any
	projections, act, network := false, "", ""
	k.Int("conv_kernel", "", &r.Taps, 4)
	k.Int("n_groups", "", &r.KeyHeads, 8)
	k.Int("mamba_num_heads", "", &r.Heads, 128)
	k.Int("mamba_head_dim", "", &r.ValueDim, 64)
	k.Int("ssm_state_size", "", &r.KeyDim, 128)
	k.Bool("use_conv_bias", "", &r.FilterBias, true)
	k.Bool(k.First("mamba_proj_bias", "use_bias"), "", &projections, false)
	k.Text("mamba_hidden_act", "", &act, silu)
	k.Text("mlp_hidden_act", "", &network, relu2)
	k.Decode("time_step_limit", &limits)
	switch {
	case network != relu2:
		k.Fail(unsupported.Errorf("mlp_hidden_act is %.100q; only %s is implemented", network, relu2))
	case !recurrent:
		return
	case projections:
		k.Fail(unsupported.Errorf("mamba_proj_bias is true; only projections without biases are implemented"))
	case act != silu:
		k.Fail(unsupported.Errorf("mamba_hidden_act is %.100q; only %s is implemented", act, silu))
	case len(limits) == 2 && (limits[0] != 0.0 || !infinite(limits[1])):
		k.Fail(unsupported.Errorf("time_step_limit is %v; only steps without limits are implemented", limits))
	}
	c.Recurrent = r
}
