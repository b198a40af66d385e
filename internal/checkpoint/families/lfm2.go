package families

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// lfm2s are LFM 2, in which most layers have a short convolution, and LFM 2 with experts in all layers but the first. GGUF calls the last norm token_embd_norm, as llama.cpp's first files did.
var lfm2s = []*Family{
	{
		Name: "lfm2", Type: "lfm2", Class: "Lfm2ForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true,
		huggingFace: shortNames, ggufNames: map[model.Part]string{model.OutputNorm: "token_embd_norm"}, fused: shortFused, keys: (*walking).lfm2,
		rope: ropes{theta: 1000000, thetaKeys: []string{"rope_theta", "theta"}}, defaults: defaults{tied: true, eps: 1e-5, heads: 32, kvHeads: 8, vocab: 65536, context: 128000},
	},
	{
		Name: "lfm2moe", Type: "lfm2_moe", Class: "Lfm2MoeForCausalLM", with: []model.Part{model.QueryNorm, model.KeyNorm}, unpaired: true,
		huggingFace: shortNames, ggufNames: map[model.Part]string{model.OutputNorm: "token_embd_norm"}, fused: shortFused, keys: (*walking).lfm2,
		rope: ropes{theta: 1000000, thetaKeys: []string{"rope_theta", "theta"}}, defaults: defaults{tied: true, eps: 1e-5, heads: 32, kvHeads: 8, vocab: 65536, context: 128000},
		experts: &expertRule{Experts: model.Experts{Count: 32, Chosen: 4, Width: 1792, Scores: model.Sigmoid, Normalized: true, Corrected: true, Scale: 1},
			each:    []string{"feed_forward.experts.#.w1.weight", "feed_forward.experts.#.w3.weight", "feed_forward.experts.#.w2.weight"},
			stacked: stackedRule{gateUp: "feed_forward.experts.gate_up_proj", down: "feed_forward.experts.down_proj"}, count: []string{"num_experts"},
			width: []string{"moe_intermediate_size"}, normalized: true, scale: "routed_scaling_factor", leading: "num_dense_layers", dense: 2},
	},
}

var (
	shortNames = map[model.Part]string{
		model.AttentionNorm: "operator_norm", model.FeedForwardNorm: "ffn_norm", model.QueryNorm: "self_attn.q_layernorm", model.KeyNorm: "self_attn.k_layernorm",
		model.AttentionOutput: "self_attn.out_proj", model.Gate: "feed_forward.w1", model.Up: "feed_forward.w3", model.Down: "feed_forward.w2",
		model.OutputNorm: "model.embedding_norm", model.Router: "feed_forward.gate", model.RouterCorrection: "feed_forward.expert_bias",
	}
	shortFused = map[model.Part]fusedPart{model.InputGate: shortInput, model.OutputGate: shortInput, model.ConvolutionInput: shortInput}
)

var shortInput = fusedPart{"conv.in_proj", "shortconv.in_proj", []model.Part{model.InputGate, model.OutputGate, model.ConvolutionInput}, nil}

const shortTapsKey = "shortconv.l_cache"

// lfm2 walks over which layers have attention, the convolutions' sizes, and the other names of keys.
func (c *walking) lfm2(k *keys.Walk) {
	r := &c.Recurrent
	switch {
	case k.ReadsFolder():
		var full []int
		listed := k.Decode("full_attn_idxs", &full)
		c.mixersByType(k, model.Attention, model.ShortConvolution, func(layer int) string {
			if !listed || slices.Contains(full, layer) {
				return wholeLayer
			}
			return shortLayer
		})
		biased, width := false, 0
		k.Bool("conv_bias", "", &biased, false)
		if k.Int("conv_dim", "", &width, c.HiddenSize); biased || width != c.HiddenSize {
			k.Fail(unsupported.Errorf("conv_bias is %v and conv_dim %d; only convolutions without biases that are as wide as hidden_size, %d, are implemented", biased, width, c.HiddenSize))
		}
		k.Int("conv_L_cache", "", &r.Taps, 3)
		k.Float32("norm_eps", "", &c.RMSNormEps, c.family.defaults.eps)
		k.Bool(k.First("tie_word_embeddings", "tie_embedding"), "", &c.TiedEmbeddings, true)
		if c.family.experts == nil {
			c.shortFeedForward(k)
			return
		}
		corrected := true
		if k.Bool("use_expert_bias", "", &corrected, true); !corrected {
			c.Experts.Corrected = false
		}
	case k.ReadsFile():
		if c.mixersByHeads(model.ShortConvolution); c.Mixers != nil {
			k.Int("", shortTapsKey, &r.Taps, 0)
		}
		if e := &c.Experts; e.Count > 0 {
			e.Corrected = k.HasTensor(GGUF(model.RouterCorrection, max(slices.Index(c.FeedForwards, model.Routed), 0), false))
			k.Bool("", expertNormKey, &e.Normalized, true) // which the usual files do not say
		}
	case slices.ContainsFunc(c.Mixers, model.Mixer.Recurrent):
		k.Int("", shortTapsKey, &r.Taps, 0)
	}
}

// shortFeedForward reads the width of feed-forward networks, which files give before it is made two thirds of itself and a multiple of a number, unless
// they say that it is not.
func (c *walking) shortFeedForward(k *keys.Walk) {
	width, adjusts, times, multiple := c.IntermediateSize, true, 1.0, 256
	k.Int("block_ff_dim", "", &width, width)
	k.Bool("block_auto_adjust_ff_dim", "", &adjusts, true)
	k.Float("block_ffn_dim_multiplier", "", &times, 1)
	k.Int("block_multiple_of", "", &multiple, multiple)
	if adjusts && width <= 2*model.MaxWidth {
		multiple = max(multiple, 1)
		width = (min(int(times*float64(2*width/3)), 2*model.MaxWidth) + multiple - 1) / multiple * multiple
	}
	c.IntermediateSize = width
}
