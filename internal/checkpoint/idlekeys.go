package checkpoint

import (
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/gguf"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Every key of a GGUF file that belongs to the model is accounted for: a walk over the keys notes which of them were asked for, and rest refuses the others by name,
// unless a list says that they have no effect. A key that is there and has a value that cannot be read is an error, too, and never a default. For example,
// of a file with
//
//	llama.block_count = 16.0           read: a number is a number, whatever its type
//	llama.block_count = "sixteen"      an error
//	llama.vocab_size = 128256          nobody asks: a list says that the table of embeddings has as many rows
//	llama.attention.clamp_kqv = 0      nobody asks: a list says that 0 has no effect
//	llama.attention.clamp_kqv = 8      an error
//	llama.something_new = 1            an error

// rest returns the keys that begin with a prefix after that of the walk, that nobody has asked for, and
// that have no effect by a list, and an error about the first one that may have.
func rest(k *keys.Walk, prefix string, f *gguf.File, c *model.Config, list []idleKey) (idle []Ignored, err error) {
	for key, v := range k.UnreadKeys {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		i := slices.IndexFunc(list, func(i idleKey) bool { return i.has(name) && i.fits(v, c) })
		if i < 0 {
			return nil, unsupported.Errorf("%s is %s, which nothing here reads: it is not implemented for the architecture %s", k.Key("", key), keys.ValueText(v), architectureOf(f))
		}
		idle = append(idle, Ignored{k.Key("", key), list[i].why})
	}
	return idle, nil
}

// Ignored is something in a model's files that is known to have no effect here, and why.
type Ignored struct{ Name, Why string }

// idleKey is a key that has no effect, or several that begin alike.
type idleKey struct {
	key  string                     // after the prefix; one that ends in a dot stands for all that begin so
	only []float64                  // the values without effect, which a list may have, too; nil: any
	when func(c *model.Config) bool // the models in question; nil: any
	why  string
}

func (i *idleKey) has(name string) bool {
	return name == i.key || strings.HasSuffix(i.key, ".") && strings.HasPrefix(name, i.key)
}

// fits reports whether a value has no effect in a model.
func (i *idleKey) fits(v gguf.Value, c *model.Config) bool {
	if i.when != nil && !i.when(c) {
		return false
	}
	if i.only == nil {
		return true
	}
	list := []float64{}
	if n, ok := v.Float(); ok {
		list = append(list, n)
	} else if b, ok := v.Bool(); ok {
		list = append(list, map[bool]float64{true: 1}[b])
	} else if n, is := v.Len(); is {
		for _, f := range v.Float32s() {
			list = append(list, float64(f))
		}
		if len(list) < n {
			return false
		}
	} else {
		return false
	}
	return !slices.ContainsFunc(list, func(n float64) bool { return !slices.Contains(i.only, n) })
}

// What whole groups of keys are about.
const (
	ofTowers    = "of a part that sees or hears, which is not loaded"
	ofSizes     = "a size that the tensors have"
	ofNoExperts = "of experts, and the model has none"
	ofNoState   = "of layers with a state, and the model has none"
	ofNoYaRN    = "of YaRN, by which this RoPE is not stretched"
	ofNothing   = "a value without effect"
)

func withoutExperts(c *model.Config) bool { return c.Experts.Count == 0 }
func withoutState(c *model.Config) bool {
	return !slices.ContainsFunc(c.Mixers, model.Mixer.Recurrent)
}
func withoutYaRN(c *model.Config) bool   { return c.RoPE.Scaling != model.YaRN }
func withoutWindow(c *model.Config) bool { return c.Windowed == nil }

var nothing, unit = []float64{0}, []float64{0, 1}

// idleModelKeys are the keys, after the architecture's name and a dot, that have no effect if nobody reads them. llama.cpp's llama-arch.cpp lists all keys.
var idleModelKeys = []idleKey{
	{"vocab_size", nil, nil, ofSizes},
	{"features_length", nil, nil, ofSizes},
	{"embedding_length_out", nil, nil, ofSizes},
	{"dense_2_feat_in", nil, nil, ofSizes},
	{"dense_2_feat_out", nil, nil, ofSizes},
	{"dense_3_feat_in", nil, nil, ofSizes},
	{"dense_3_feat_out", nil, nil, ofSizes},
	{"classifier.output_labels", nil, func(c *model.Config) bool { return !c.Head.Given() }, "labels of a head that the model has not"},
	{"tensor_data_layout", nil, nil, "how the file that this one was made from had its rows"},
	{"rope.mrope_interleaved", nil, nil, "the family says whether sections of positions alternate"},
	{"rope.scaling.finetuned", nil, nil, "how the model was trained"},
	{"attention.layer_norm_rms_epsilon", nil, func(c *model.Config) bool { return c.LayerNorm }, "of RMSNorm, and the norms are LayerNorm"},
	{"attention.layer_norm_epsilon", nil, func(c *model.Config) bool { return !c.LayerNorm }, "of LayerNorm, and the norms are RMSNorm"},
	{"vision.", nil, nil, ofTowers},
	{"audio.", nil, nil, ofTowers},
	{"mm.", nil, nil, ofTowers},
	{"deepstack_mapping", nil, nil, ofTowers},
	{"image_token_index", nil, nil, ofTowers},
	{"image_token_id", nil, nil, ofTowers},
	{"vision_start_token_id", nil, nil, ofTowers},
	{"spatial_merge_size", nil, nil, ofTowers},
	{"attention.temperature_length", nil, func(c *model.Config) bool { return c.RoPE.QueryScale == 0 }, "of scaled queries, which the model has not"},
	{"attention.shared_kv_layers", nothing, nil, ofNothing},
	{"embedding_length_per_layer_input", nothing, nil, ofNothing},
	{"use_parallel_residual", nothing, nil, ofNothing},
	{"attention.max_alibi_bias", nothing, nil, ofNothing},
	{"attention.clamp_kqv", nothing, nil, ofNothing},
	{"attn_logit_softcapping", nothing, nil, ofNothing},
	{"final_logit_softcapping", nothing, nil, ofNothing},
	{"attention.output_scale", unit, nil, ofNothing},
	{"attention.value_scale", unit, nil, ofNothing},
	{"router_logit_softcapping", nothing, nil, ofNothing},
	{"swiglu_clamp_exp", nothing, nil, ofNothing},
	{"swiglu_clamp_shexp", nothing, nil, ofNothing},
	{"moe_every_n_layers", nothing, nil, ofNothing},
	{"swin_norm", nothing, nil, ofNothing},
	{"ssm.dt_b_c_rms", nothing, nil, ofNothing},
	{"rope.scaling.alpha", unit, nil, ofNothing},
	{"rope.scaling.yarn_attn_factor", []float64{1}, nil, ofNothing},
	{"rope.scaling.yarn_ext_factor", nothing, withoutYaRN, ofNothing},
	{"rope.scaling.yarn_ext_factor", []float64{1}, func(c *model.Config) bool { return !withoutYaRN(c) }, ofNothing},
	{"rope.scaling.attn_factor", []float64{1}, nil, ofNothing},
	{"rope.scaling.yarn_beta_fast", nil, withoutYaRN, ofNoYaRN},
	{"rope.scaling.yarn_beta_slow", nil, withoutYaRN, ofNoYaRN},
	{"rope.scaling.yarn_log_multiplier", nil, withoutYaRN, ofNoYaRN},
	{"rope.scaling.yarn_truncate", nil, withoutYaRN, ofNoYaRN},
	{"expert_count", nothing, nil, ofNoExperts},
	{"expert_used_count", nil, withoutExperts, ofNoExperts},
	{"expert_feed_forward_length", nil, withoutExperts, ofNoExperts},
	{"expert_shared_count", nil, withoutExperts, ofNoExperts},
	{"expert_shared_feed_forward_length", nil, withoutExperts, ofNoExperts},
	{"expert_weights_scale", nil, withoutExperts, ofNoExperts},
	{"expert_weights_norm", nil, withoutExperts, ofNoExperts},
	{"expert_gating_func", nil, withoutExperts, ofNoExperts},
	{"expert_group_count", nil, withoutExperts, ofNoExperts},
	{"leading_dense_block_count", nil, withoutExperts, ofNoExperts},
	{"interleave_moe_layer_step", nil, withoutExperts, ofNoExperts},
	{"expert_group_used_count", unit, nil, "all experts are one group"},
	{"expert_group_scale", nil, nil, "all experts are one group"},
	{"experts_per_group", nil, nil, "all experts are one group"},
	{"ssm.", nil, withoutState, ofNoState},
	{"shortconv.l_cache", nil, withoutState, ofNoState},
	{"full_attention_interval", nil, withoutState, ofNoState},
	{"rope.freq_base_swa", nil, withoutWindow, "of layers with a window, and the model has none"},
	{"rope.dimension_count_swa", nil, withoutWindow, "of layers with a window, and the model has none"},
	{"attention.key_length_swa", nil, withoutWindow, "of layers with a window, and the model has none"},
	{"attention.value_length_swa", nil, withoutWindow, "of layers with a window, and the model has none"},
}

// idleTokenizerKeys are the same for the keys about the tokenizer, after tokenizerPrefix.
var idleTokenizerKeys = []idleKey{
	{"chat_template", nil, nil, "read with the templates"},
	{"chat_template.", nil, nil, "read with the templates"},
	{"chat_templates", nil, nil, "read with the templates"},
	{"ggml.padding_token_id", nil, nil, "texts are not padded"},
	{"ggml.mask_token_id", nil, nil, "no text is masked"},
	{"ggml.token_type_count", nil, nil, ofSizes},
	{"ggml.fim_pre_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.fim_suf_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.fim_mid_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.fim_pad_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.fim_rep_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.fim_sep_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.prefix_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.suffix_token_id", nil, nil, "no tokens are filled in"},
	{"ggml.middle_token_id", nil, nil, "no tokens are filled in"},
}

// tokenizerPrefix begins the keys about the tokenizer.
const tokenizerPrefix = "tokenizer."
