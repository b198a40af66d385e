package families

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// counting are the keys of config.json that change what a model computes and that not every family has, with the values that change nothing. If a family
// does not read such a key, its value must be one of these, so that nothing is ignored which counts.
var counting = []struct {
	key     string
	neutral []string // as JSON without spaces; null and false are always neutral
}{
	{"partial_rotary_factor", []string{"1", "1.0"}},
	{"rotary_pct", []string{"1", "1.0"}},
	{"attn_logit_softcapping", nil},
	{"final_logit_softcapping", nil},
	{"use_bidirectional_attention", nil},
	{"num_experts", []string{"0"}},
	{"num_local_experts", []string{"0"}},
	{"n_routed_experts", []string{"0"}},
	{"attention_sinks", nil},
	{"clip_qkv", nil},
	{"use_qk_norm", nil},
	{"n_shared_experts", []string{"0"}},
	{"swiglu_limit", nil},
	{"qk_layernorm", nil},
	{"quantization_config", nil},
	{"logit_scale", []string{"1", "1.0"}},
	{"rope_ratio", []string{"1", "1.0"}},
	{"embedding_multiplier", []string{"1", "1.0"}},
	{"attention_multiplier", nil},
	{"residual_multiplier", []string{"1", "1.0"}},
	{"logits_scaling", []string{"1", "1.0"}},
	{"query_pre_attn_scalar", nil},
	{"no_rope_layers", []string{"[]"}},
	{"use_sliding_window", nil},
	{"rope_local_base_freq", nil},
	{"attn_output_gate", nil},
	{"alibi", nil},
	{"parallel_attn", nil},
	{"use_parallel_residual", nil},
	{"attention_chunk_size", nil},
	{"add_cross_attention", nil},
	{"is_encoder_decoder", nil},
	{"scale_attn_by_inverse_layer_idx", nil},
	{"pruned_heads", []string{"{}"}},
	{"num_kv_shared_layers", []string{"0"}},
	{"hidden_size_per_layer_input", []string{"0"}},
	{"moe_every_n_layers", []string{"0", "-1"}},
	{"rope_interleave", nil},
	{"rope_interleaved", nil},
	{"compression_config", nil},
	{"sparsity_config", nil},
}

// Refuse refuses the first key of config.json that counts, that the walk has not read, and that has a value which changes something.
func (f *Family) Refuse(k *keys.Walk) error {
	for _, s := range counting {
		value := k.Unread(s.key)
		if value == nil {
			continue
		}
		var short bytes.Buffer
		if err := json.Compact(&short, value); err != nil {
			return err
		}
		if text := short.String(); text != "null" && text != "false" && !slices.Contains(s.neutral, text) {
			return unsupported.Errorf("%s is %.100s, which is not implemented for the architecture %s", s.key, text, f.Name)
		}
	}
	return nil
}
