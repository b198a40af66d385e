package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// Every key of a GGUF file that belongs to the model is accounted for: a reader notes which keys it was asked for, and rest refuses the others by name,
// unless a list says that they have no effect. A key that is there and has a value that cannot be read is an error, too, and never a default. For example,
// of a file with
//
//	llama.block_count = 16.0           read: a number is a number, whatever its type
//	llama.block_count = "sixteen"      an error
//	llama.vocab_size = 128256          nobody asks: a list says that the table of embeddings has as many rows
//	llama.attention.clamp_kqv = 0      nobody asks: a list says that 0 has no effect
//	llama.attention.clamp_kqv = 8      an error
//	llama.something_new = 1            an error

// keyReader reads keys of a GGUF file.
type keyReader struct {
	file  *gguf.File
	asked map[string]bool // keys that somebody has looked for
	err   error           // about the first value that cannot be read
}

func newKeyReader(f *gguf.File) *keyReader { return &keyReader{file: f, asked: map[string]bool{}} }

// Value returns the value of a key, which then counts as read.
func (k *keyReader) Value(key string) (gguf.Value, bool) {
	k.asked[key] = true
	return k.file.Value(key)
}

// Tensor returns the tensor of a name.
func (k *keyReader) Tensor(name string) (gguf.Tensor, bool) { return k.file.Tensor(name) }

// refuse notes an error about a key's value.
func (k *keyReader) refuse(key string, v gguf.Value, want string) {
	if k.err == nil {
		k.err = fmt.Errorf("%s is %s, and must be %s", key, valueText(v), want)
	}
}

// valueOf returns the value of a key as another type; ok is false if there is no such key, or if the value cannot be read, which is then an error of k.
func valueOf[T any](k *keyReader, key string, as func(gguf.Value) (T, bool), want string) (v T, ok bool) {
	value, there := k.Value(key)
	if !there {
		return v, false
	}
	if v, ok = as(value); !ok {
		k.refuse(key, value, want)
	}
	return v, ok
}

func (k *keyReader) whole(key string) (uint64, bool) {
	return valueOf(k, key, gguf.Value.Uint, "a whole number that is not negative")
}
func (k *keyReader) number(key string) (float64, bool) {
	return valueOf(k, key, gguf.Value.Float, "a number")
}
func (k *keyReader) truth(key string) (value, ok bool) {
	return valueOf(k, key, gguf.Value.Bool, "true or false")
}
func (k *keyReader) text(key string) (string, bool) {
	return valueOf(k, key, gguf.Value.Text, "a text")
}

// listOf returns the list at a key, of elements of a type; nil if there is no such key.
func listOf[T any](k *keyReader, key string, as func(gguf.Value) []T, want string) []T {
	list, _ := valueOf(k, key, func(v gguf.Value) ([]T, bool) {
		n, is := v.Len()
		list := as(v)
		return list, is && len(list) == n
	}, want)
	return list
}

// The ways in which files write that there is no such token, besides leaving the key out.
var noToken = []int64{-1, 1<<32 - 1}

// token returns the token at a key; -1 if there is no such token.
func (k *keyReader) token(key string) int32 {
	n, ok := valueOf(k, key, gguf.Value.Int, "the number of a token")
	switch {
	case !ok || slices.Contains(noToken, n):
		return -1
	case n < 0 || n >= maxVocab:
		v, _ := k.file.Value(key)
		k.refuse(key, v, "the number of a token")
		return -1
	}
	return int32(n)
}

// valueText returns a value for messages.
func valueText(v gguf.Value) string {
	if s, ok := v.Text(); ok {
		return fmt.Sprintf("the text %.40q", s)
	}
	if n, ok := v.Len(); ok {
		return fmt.Sprintf("a list of %d", n)
	}
	if b, ok := v.Bool(); ok && v.Type() == gguf.BoolType {
		return fmt.Sprint(b)
	}
	n, _ := v.Float()
	return fmt.Sprintf("%g", n)
}

// rest returns the keys with a prefix that nobody has asked for and that have no effect by a list, and an error about the first one that may have.
func (k *keyReader) rest(prefix string, c *Config, list []idleKey) (idle []Ignored, err error) {
	for _, key := range k.file.Keys() {
		name, ok := strings.CutPrefix(key, prefix)
		if !ok || k.asked[key] {
			continue
		}
		v, _ := k.file.Value(key)
		i := slices.IndexFunc(list, func(i idleKey) bool { return i.has(name) && i.fits(v, c) })
		if i < 0 {
			return nil, unsupported("%s is %s, which nothing here reads: it is not implemented for the architecture %s", key, valueText(v), architectureOf(k.file))
		}
		idle = append(idle, Ignored{key, list[i].why})
	}
	return idle, nil
}

// Ignored is something in a model's files that is known to have no effect here, and why.
type Ignored struct{ Name, Why string }

// idleKey is a key that has no effect, or several that begin alike.
type idleKey struct {
	key  string               // after the prefix; one that ends in a dot stands for all that begin so
	only []float64            // the values without effect, which a list may have, too; nil: any
	when func(c *Config) bool // the models in question; nil: any
	why  string
}

func (i *idleKey) has(name string) bool {
	return name == i.key || strings.HasSuffix(i.key, ".") && strings.HasPrefix(name, i.key)
}

// fits reports whether a value has no effect in a model.
func (i *idleKey) fits(v gguf.Value, c *Config) bool {
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

func withoutExperts(c *Config) bool { return c.Experts.Count == 0 }
func withoutState(c *Config) bool {
	return !slices.ContainsFunc(c.Mixers, Mixer.Recurrent)
}
func withoutYaRN(c *Config) bool   { return c.RoPE.Scaling != yarn }
func withoutWindow(c *Config) bool { return c.Windowed == nil }

var nothing, unit = []float64{0}, []float64{0, 1}

// idleModelKeys are the keys, after the architecture's name and a dot, that have no effect if nobody reads them. llama.cpp's llama-arch.cpp lists all keys.
var idleModelKeys = []idleKey{
	{vocabSizeKey, nil, nil, ofSizes},
	{"features_length", nil, nil, ofSizes},
	{"embedding_length_out", nil, nil, ofSizes},
	{"dense_2_feat_in", nil, nil, ofSizes},
	{"dense_2_feat_out", nil, nil, ofSizes},
	{"dense_3_feat_in", nil, nil, ofSizes},
	{"dense_3_feat_out", nil, nil, ofSizes},
	{"classifier.output_labels", nil, nil, "the name of a score"},
	{"tensor_data_layout", nil, nil, "how the file that this one was made from had its rows"},
	{sectionsKey, nil, nil, "parts of positions of images, which in a text are the same number"},
	{"rope.mrope_section", nil, nil, "parts of positions of images, which in a text are the same number"},
	{"rope.mrope_interleaved", nil, nil, "parts of positions of images, which in a text are the same number"},
	{ropeThereKey, nil, nil, "how the model was trained"},
	{normEpsKey, nil, func(c *Config) bool { return c.LayerNorm }, "of RMSNorm, and the norms are LayerNorm"},
	{layerNormEpsKey, nil, func(c *Config) bool { return !c.LayerNorm }, "of LayerNorm, and the norms are RMSNorm"},
	{"vision.", nil, nil, ofTowers},
	{"audio.", nil, nil, ofTowers},
	{"mm.", nil, nil, ofTowers},
	{"n_deepstack_layers", nil, nil, ofTowers},
	{"deepstack_mapping", nil, nil, ofTowers},
	{"image_token_index", nil, nil, ofTowers},
	{"image_token_id", nil, nil, ofTowers},
	{"vision_start_token_id", nil, nil, ofTowers},
	{"spatial_merge_size", nil, nil, ofTowers},
	{temperatureLen, nil, func(c *Config) bool { return c.RoPE.QueryScale == 0 }, "of scaled queries, which the model has not"},
	{"attention.shared_kv_layers", nothing, nil, ofNothing},
	{inputWidthKey, nothing, nil, ofNothing},
	{"use_parallel_residual", nothing, nil, ofNothing},
	{"attention.max_alibi_bias", nothing, nil, ofNothing},
	{"attention.clamp_kqv", nothing, nil, ofNothing},
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
	{"rope.scaling.yarn_ext_factor", []float64{1}, func(c *Config) bool { return !withoutYaRN(c) }, ofNothing},
	{ropeAttentionKey, []float64{1}, nil, ofNothing},
	{ropeBetaFastKey, nil, withoutYaRN, ofNoYaRN},
	{ropeBetaSlowKey, nil, withoutYaRN, ofNoYaRN},
	{ropeLogKey, nil, withoutYaRN, ofNoYaRN},
	{ropeRoundedKey, nil, withoutYaRN, ofNoYaRN},
	{expertsKey, nothing, nil, ofNoExperts},
	{expertsUsedKey, nil, withoutExperts, ofNoExperts},
	{expertWidthKey, nil, withoutExperts, ofNoExperts},
	{expertSharedKey, nil, withoutExperts, ofNoExperts},
	{sharedWidthKey, nil, withoutExperts, ofNoExperts},
	{expertScaleKey, nil, withoutExperts, ofNoExperts},
	{expertNormKey, nil, withoutExperts, ofNoExperts},
	{expertScoresKey, nil, withoutExperts, ofNoExperts},
	{expertGroupsKey, nil, withoutExperts, ofNoExperts},
	{leadingDenseKey, nil, withoutExperts, ofNoExperts},
	{denseStepKey, nil, withoutExperts, ofNoExperts},
	{"expert_group_used_count", unit, nil, "all experts are one group"},
	{"expert_group_scale", nil, nil, "all experts are one group"},
	{"experts_per_group", nil, nil, "all experts are one group"},
	{"ssm.", nil, withoutState, ofNoState},
	{shortTapsKey, nil, withoutState, ofNoState},
	{fullEveryKey, nil, withoutState, ofNoState},
	{ropeLocalKey, nil, withoutWindow, "of layers with a window, and the model has none"},
	{localRotatedKey, nil, withoutWindow, "of layers with a window, and the model has none"},
	{localKeyLengthKey, nil, withoutWindow, "of layers with a window, and the model has none"},
	{localValueLengthKey, nil, withoutWindow, "of layers with a window, and the model has none"},
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
