package families

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// falcons are Falcon-H1: each layer has attention and Mamba 2 side by side, and most products are multiplied by numbers. GGUF has these in the matrices.
// Mamba's results have a norm only if mamba_rms_norm says so.
var falcons = []*Family{
	{
		Name: "falcon-h1", Type: "falcon_h1", Class: "FalconH1ForCausalLM", unpaired: true, folds: true,
		huggingFace: map[model.Part]string{
			model.FeedForwardNorm: "pre_ff_layernorm", model.OutputNorm: "model.final_layernorm", model.Gate: "feed_forward.gate_proj", model.Up: "feed_forward.up_proj",
			model.Down: "feed_forward.down_proj", model.StepBias: "mamba.dt_bias", model.Decay: "mamba.A_log", model.Skip: "mamba.D", model.RecurrentNorm: "mamba.norm",
			model.RecurrentOutput: "mamba.out_proj",
		},
		fused: map[model.Part]fusedPart{
			model.RecurrentGate: mambaInput, model.RecurrentValue: mambaInput, model.RecurrentKey: mambaInput, model.RecurrentQuery: mambaInput, model.RecurrentStep: mambaInput,
			model.ValueFilter: mambaFilter, model.KeyFilter: mambaFilter, model.QueryFilter: mambaFilter,
		},
		layersOf: (*walking).falconLayers, keys: (*walking).falcon, rope: ropes{theta: 100000}, defaults: defaults{eps: 1e-5},
	},
}

// falconLayers notes which layers there are. A file that is written has no multipliers of embeddings and logits.
func (c *walking) falconLayers(k *keys.Walk) {
	if k.Reads() {
		c.Mixers = slices.Repeat([]model.Mixer{model.AttentionAndScan}, min(max(c.Layers, 0), model.MaxLayers))
		c.Multiplied = c.Multiplied.With(model.Query, model.Key, model.Value, model.AttentionOutput, model.Gate, model.Down, model.RecurrentGate, model.RecurrentValue,
			model.RecurrentKey, model.RecurrentQuery, model.RecurrentStep, model.RecurrentOutput, model.OutputHead)
	} else if k.WritesFile() {
		c.EmbeddingScale, c.LogitScale = 0, 0
	}
}

// falcon walks over the sizes of Mamba, and the multipliers.
func (c *walking) falcon(k *keys.Walk) {
	if k.ReadsFolder() {
		c.falconStates(k)
		c.falconMultipliers(k)
		return
	}
	if k.Folder() {
		return
	}
	c.stateSizes(k)
	if k.ReadsFile() {
		c.Recurrent.FilterBias = k.HasTensor(nameOf(model.ValueFilter, layersGGUF, 0, mambaFilter.gguf, true))
		c.Recurrent.Unnormed = !k.HasTensor(GGUF(model.RecurrentNorm, 0, false))
	}
}

// falconStates reads config.json's sizes of Mamba.
func (c *walking) falconStates(k *keys.Walk) {
	r := &c.Recurrent
	inner, expand, normed, before, inputs, outputs := 0, 0, false, false, false, false
	var headDim any // a number, or "auto"
	var limits []any
	k.Int("mamba_d_conv", "", &r.Taps, 4)
	k.Int("mamba_n_groups", "", &r.KeyHeads, 1)
	k.Int("mamba_n_heads", "", &r.Heads, 128)
	k.Int("mamba_d_state", "", &r.KeyDim, 256)
	k.Int("mamba_d_ssm", "", &inner, 1024)
	k.Int("mamba_expand", "", &expand, 2)
	k.Bool("mamba_conv_bias", "", &r.FilterBias, true)
	k.Bool("mamba_rms_norm", "", &normed, false)
	k.Bool("mamba_norm_before_gate", "", &before, true)
	k.Bool("mamba_proj_bias", "", &inputs, false)
	k.Bool("projectors_bias", "", &outputs, false)
	k.Decode("mamba_d_head", &headDim)
	k.Decode("time_step_limit", &limits)
	if k.Null("mamba_d_ssm") {
		inner = min(expand, model.MaxSpread+1) * c.HiddenSize
	}
	if r.Heads > 0 {
		r.ValueDim = inner / r.Heads
	}
	r.Unnormed = !normed
	switch n, given := headDim.(float64); {
	case inputs || outputs:
		k.Fail(unsupported.Errorf("mamba_proj_bias is %v and projectors_bias %v; only projections without biases are implemented", inputs, outputs))
	case normed && before:
		k.Fail(unsupported.Errorf("mamba_norm_before_gate is true; only a norm after the gate is implemented"))
	case r.Heads*r.ValueDim != inner || given && n != float64(r.ValueDim):
		k.Fail(fmt.Errorf("mamba_n_heads is %d and mamba_d_head %v, which do not make mamba_d_ssm, %d", r.Heads, headDim, inner))
	case len(limits) == 2 && (limits[0] != 0.0 || !infinite(limits[1])):
		k.Fail(unsupported.Errorf("time_step_limit is %v; only steps without limits are implemented", limits))
	}
}

// falconMultipliers reads config.json's multipliers.
func (c *walking) falconMultipliers(k *keys.Walk) {
	list := func(key string, n int) []float64 {
		values := slices.Repeat([]float64{1}, n)
		if given := []float64(nil); k.Decode(key, &given) {
			if len(given) != n {
				k.Fail(fmt.Errorf("%s has %d numbers, not %d", key, len(given), n))
				return values
			}
			values = given
		}
		return values
	}
	one := func(key string) float64 {
		v := 1.0
		k.Float(key, "", &v, 1)
		return v
	}
	network, scan := list("mlp_multipliers", 2), list("ssm_multipliers", 5)
	in, out, key, scanIn, scanOut := one("attention_in_multiplier"), one("attention_out_multiplier"), one("key_multiplier"), one("ssm_in_multiplier"), one("ssm_out_multiplier")
	c.EmbeddingScale, c.LogitScale = one("embedding_multiplier"), one("lm_head_multiplier")
	c.Scales = map[model.Place]float32{}
	for _, m := range []struct {
		part model.Part
		by   float64
	}{
		{model.Query, in}, {model.Key, in * key}, {model.Value, in}, {model.AttentionOutput, out}, {model.Gate, network[0]}, {model.Down, network[1]},
		{model.RecurrentGate, scanIn * scan[0]}, {model.RecurrentValue, scanIn * scan[1]}, {model.RecurrentKey, scanIn * scan[2]},
		{model.RecurrentQuery, scanIn * scan[3]}, {model.RecurrentStep, scanIn * scan[4]}, {model.RecurrentOutput, scanOut},
	} {
		if !(m.by >= 1e-6 && m.by <= 1e6) {
			k.Fail(unsupported.Errorf("a product of multipliers is %g, not between 1e-6 and 1e6", m.by))
		}
		for i := range c.Mixers {
			c.Scales[model.Place{Part: m.part, Layer: i}] = float32(m.by)
		}
	}
}
