package families

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/internal/modeljson"
	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// The keys of every family: sizes, tokens, multipliers, and what a GGUF file says by its tensors. For example, of Gemma 2's config.json
//
//	"model_type": "gemma2"                   Family "gemma2"
//	"hidden_size": 2304                      HiddenSize 2304, EmbeddingScale 48
//	"num_hidden_layers": 26                  Layers 26
//	"sliding_window": 4096                   Window 4096, of the layers 0, 2, 4 … 24
//	"final_logit_softcapping": 30.0          LogitCap 30
//	"query_pre_attn_scalar": 256             ScoreScale 0: 1/√256 is the usual one
//	no "head_dim"                            HeadDim 256
//	no "hidden_act"                          Activation "gelu_tanh"
//
// and of a GGUF file of Llama 3.2 1B
//
//	llama.block_count 16                     Layers 16
//	llama.rope.freq_base 500000              RoPE.Theta 500000
//	the tensor rope_freqs.weight [32]        RoPE.Divisors, one for each pair of a head's elements
//	no tensor output.weight                  TiedEmbeddings

// Walk reads or writes the keys of a model of the family. What it reads is to be checked. A configuration that is written stays as it is.
func (f *Family) Walk(k *keys.Walk, c *model.Config) error {
	w := &walking{c, f}
	if k.Reads() {
		*c = model.Config{BOS: -1}
		if f.Name != llama {
			c.Family = f.Name
		}
		f.describe(c)
	} else {
		copied := *c
		w.Config = &copied
		k.Put("architectures", "", []string{f.Class}, keys.None)
		k.Put("model_type", "", f.Type, keys.None)
	}
	w.sizes(k)
	if f.layersOf != nil && k.Err() == nil {
		f.layersOf(w, k)
	}
	w.choices(k)
	w.multipliers(k)
	w.windows(k)
	w.experts(k)
	w.encoder(k)
	if f.rounds && k.Err() == nil {
		w.rounding(k)
	}
	if f.keys != nil && k.Err() == nil {
		f.keys(w, k)
	}
	w.head(k)
	w.ropes(k)
	if k.Err() == nil && k.Reads() {
		c.Normalize()
	}
	w.ahead(k)
	return k.Err()
}

// The keys of GGUF's metadata for sizes that may differ from layer to layer, after the architecture's name and a dot.
const (
	feedForwardKey = "feed_forward_length"
	keyHeadsKey    = "attention.head_count_kv"
	valueLengthKey = "attention.value_length"
	aheadKey       = "nextn_predict_layers" // layers of heads that predict further tokens, which block_count counts
)

// sizes walks over the sizes of the model.
func (c *walking) sizes(k *keys.Walk) {
	d := &c.family.defaults
	scalar := func(folder, file string, v *int, otherwise int) {
		var list []int
		if k.ReadsFile() {
			otherwise = 0
		}
		k.Sizes(folder, file, v, &list, otherwise)
		if list != nil {
			k.Fail(unsupported.Errorf("%s has different numbers for the layers, %d to %d, which is not implemented", k.Key("", file), slices.Min(list), *v))
		}
		if k.ReadsFolder() && *v == 0 {
			*v = otherwise
		}
	}
	layers := c.Layers
	if c.Ahead != nil && k.WritesFile() {
		layers++
	}
	if scalar("num_hidden_layers", "block_count", &layers, 0); k.Reads() {
		c.Layers = layers
	}
	scalar("max_position_embeddings", "context_length", &c.ContextLength, d.context)
	scalar("hidden_size", "embedding_length", &c.HiddenSize, 0)
	scalar("num_attention_heads", "attention.head_count", &c.Heads, 0)
	heads, headDim := cmp.Or(c.Heads, d.kvHeads), 0
	if c.Heads > 0 {
		headDim = c.HiddenSize / c.Heads
	}
	if k.ReadsFolder() {
		c.Heads, headDim = cmp.Or(c.Heads, d.heads), cmp.Or(d.headDim, headDim)
	}
	var feed, kv []int
	if !k.Reads() {
		feed = firstList(sizesOf(c.Config, func(l *model.LayerSizes) int { return l.IntermediateSize }), networkList(c.Config))
		kv = firstList(sizesOf(c.Config, func(l *model.LayerSizes) int { return l.KVHeads }), keyHeadList(c.Config))
		headDim = c.HeadDim
		if k.WritesFile() {
			headDim, _ = c.HeadDims()
		}
	}
	k.Sizes("intermediate_size", feedForwardKey, &c.IntermediateSize, &feed, 0)
	k.Sizes("num_key_value_heads", keyHeadsKey, &c.KVHeads, &kv, heads)
	k.Int("head_dim", "attention.key_length", &headDim, headDim)
	value := headDim
	if c.Latent.Rank > 0 {
		value = c.Latent.Rank
	}
	if k.Int("", valueLengthKey, &value, headDim); value != headDim && !c.family.rope.latent {
		k.Fail(unsupported.Errorf("%s is %d and %s %d; only the same number is implemented", k.Key("", valueLengthKey), value, k.Key("", "attention.key_length"), headDim))
	}
	if !k.ReadsFile() { // its table of embeddings has as many rows
		k.Int("vocab_size", "vocab_size", &c.VocabSize, d.vocab)
	}
	if !k.Reads() {
		return
	}
	c.HeadDim, c.VocabSize = headDim, cmp.Or(c.VocabSize, d.vocab)
	ahead := 0
	if k.ReadsFile() {
		if table, ok := k.Tensor(GGUF(model.Embedding, 0, false)); ok && len(table.Shape) == 2 {
			c.VocabSize = table.Shape[0]
		}
		if k.Int("", aheadKey, &ahead, 0); ahead < c.Layers {
			c.Layers -= ahead // they stand after the others, and predict tokens ahead
		}
	}
	for _, s := range []struct {
		key   string
		list  []int
		field func(l *model.LayerSizes) *int
	}{
		{feedForwardKey, feed, func(l *model.LayerSizes) *int { return &l.IntermediateSize }},
		{keyHeadsKey, kv, func(l *model.LayerSizes) *int { return &l.KVHeads }},
	} {
		if s.list == nil {
			continue
		}
		if len(s.list) == c.Layers+min(ahead, model.MaxLayers) {
			s.list = s.list[:max(c.Layers, 0)]
		}
		if len(s.list) != c.Layers {
			k.Fail(fmt.Errorf("%s has %d entries, the model %d layers", s.key, len(s.list), c.Layers))
			return
		}
		c.OwnSizes()
		for i := range c.Sizes {
			*s.field(&c.Sizes[i]) = s.list[i]
		}
	}
}

// firstList returns the first list that is not nil.
func firstList(a, b []int) []int {
	if a != nil {
		return a
	}
	return b
}

// sizesOf returns a size of each layer, nil if the layers have the same.
func sizesOf(c *model.Config, field func(l *model.LayerSizes) int) (list []int) {
	for i := range c.Sizes {
		list = append(list, field(&c.Sizes[i]))
	}
	if !slices.ContainsFunc(list, func(n int) bool { return n != list[0] }) {
		return nil
	}
	return list
}

// choices walks over tokens, biases and the other choices that every model has.
func (c *walking) choices(k *keys.Walk) {
	f, d := c.family, &c.family.defaults
	eps := d.eps
	if k.ReadsFile() {
		eps = 1e-5
	}
	if !f.centred {
		k.Float32("rms_norm_eps", "attention.layer_norm_rms_epsilon", &c.RMSNormEps, cmp.Or(eps, 1e-6))
	}
	switch {
	case k.ReadsFile():
		c.TiedEmbeddings = !k.HasTensor(GGUF(model.OutputHead, 0, false))
		c.AttentionBias, c.MLPBias = k.HasTensor(GGUF(model.Query, 0, true)), k.HasTensor(GGUF(model.Gate, 0, true))
		c.Activation = activationNames[cmp.Or(f.activation, silu)]
	case k.Folder():
		k.Bool("tie_word_embeddings", "", &c.TiedEmbeddings, d.tied)
		k.Bool("attention_bias", "", &c.AttentionBias, d.biased)
		k.Bool("mlp_bias", "", &c.MLPBias, false)
		c.tokens(k)
		c.activationOf(k)
		if k.Reads() {
			c.AttentionBias = c.AttentionBias || f.biased
		}
	}
}

// tokens walks over config.json's tokens.
func (c *walking) tokens(k *keys.Walk) {
	var begin, end TokenList
	if k.Reads() {
		k.Decode("bos_token_id", &begin)
		k.Decode("eos_token_id", &end)
		if c.EOS = end; len(begin) > 0 {
			c.BOS = begin[0]
		}
		return
	}
	if c.BOS >= 0 {
		k.Put("bos_token_id", "", c.BOS, keys.None)
	}
	if len(c.EOS) > 0 {
		k.Put("eos_token_id", "", TokenList(c.EOS), keys.None)
	}
}

// TokenList is one token id, several, or null.
type TokenList []int32

// UnmarshalJSON reads a number, a list of numbers, or null.
func (l *TokenList) UnmarshalJSON(b []byte) error {
	var one *int32
	if modeljson.Unmarshal(b, &one) == nil {
		*l = nil
		if one != nil {
			*l = TokenList{*one}
		}
		return nil
	}
	var many []int32
	if err := modeljson.Unmarshal(b, &many); err != nil {
		return fmt.Errorf("a token id, or a list of them, cannot be %.40s", b)
	}
	*l = many
	return nil
}

// MarshalJSON writes one token id as a number, several as a list.
func (l TokenList) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]int32(l))
}

// activationNames are Variant.Activation's values by Hugging Face's names.
var activationNames = map[string]string{silu: "", geluTanh: "gelu_tanh", gelu: "gelu", relu2: "relu2", xielu: "xielu"}

// activationOf walks over the names of the activation in config.json. Each family has one activation.
func (c *walking) activationOf(k *keys.Walk) {
	want := cmp.Or(c.family.activation, silu)
	if !k.Reads() {
		k.Put("hidden_act", "", want, keys.None)
		return
	}
	c.Activation = activationNames[want]
	for _, key := range []string{"hidden_act", "hidden_activation"} {
		var name string
		if k.Text(key, "", &name, want); name != want && !(want == geluTanh && (name == gelu || name == geluNew)) { // Gemma's first files say gelu and mean this
			k.Fail(unsupported.Errorf("the activation is %.100q; for the architecture %s only %s is implemented", name, c.family.Name, want))
		}
	}
}

// multipliers walks over GGUF's multipliers, which are those of any family.
func (c *walking) multipliers(k *keys.Walk) {
	f, embedding := c.family, c.EmbeddingScale
	k.Float("", embeddingKey, &embedding, 0)
	if k.Reads() {
		c.EmbeddingScale = embedding
	}
	if f.rootScaled && k.Reads() {
		own := rootScale(c.HiddenSize)
		if embedding != 0 && math.Abs(embedding/own-1) > 0.01 {
			k.Fail(unsupported.Errorf("%s is %g; for the architecture %s only the root of the width is implemented, %g", k.Key("", embeddingKey), embedding, f.Name, own))
		}
		c.EmbeddingScale = own
	}
	switch {
	case f.rope.latent: // see latentScale
	case f.scoreScale == 0:
		k.Float("", scoreScaleKey, &c.ScoreScale, 0)
	case k.Reads():
		if k.Float("", scoreScaleKey, &c.ScoreScale, f.scoreScale); c.ScoreScale != f.scoreScale && c.ScoreScale != 0 {
			k.Fail(unsupported.Errorf("%s is %g; for the architecture %s only %g is implemented", k.Key("", scoreScaleKey), c.ScoreScale, f.Name, f.scoreScale))
		}
		c.ScoreScale = f.scoreScale
	}
	k.Float("", "residual_scale", &c.ResidualScale, 0)
	if f.logitFactor == 0 {
		c.logitDivisor(k, "", 0)
		return
	}
	k.Float("logit_scale", "logit_scale", &c.LogitScale, f.logitFactor)
}

// The keys of GGUF's metadata for multipliers, after the architecture's name and a dot.
const (
	scoreScaleKey = "attention.scale"
	embeddingKey  = "embedding_scale"
)

// logitDivisor walks over what logits are divided by.
func (c *walking) logitDivisor(k *keys.Walk, folder string, otherwise float64) {
	divisor := 0.0
	if c.LogitScale != 0 {
		divisor = 1 / c.LogitScale
	}
	k.Float(folder, "logit_scale", &divisor, otherwise)
	if k.Reads() && (divisor != 0 || folder != "" && k.ReadsFolder()) {
		c.LogitScale = 1 / divisor
	}
}

// rootScale returns the square root of a width, rounded to BF16, as Gemma's embeddings are scaled.
func rootScale(width int) float64 {
	bits := math.Float32bits(float32(math.Sqrt(float64(width))))
	bits += 0x7fff + bits>>16&1 // half to even
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// everyNth returns a list of layers in which every every-th one is set.
func everyNth(layers, every int) []bool {
	list := make([]bool, min(max(layers, 0), model.MaxLayers))
	for i := range list {
		list[i] = (i+1)%every == 0
	}
	return list
}
