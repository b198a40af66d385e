package checkpoint

import (
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/bpe"
	"github.com/antigravity-go/antigravity/internal/format"
	"github.com/antigravity-go/antigravity/internal/gguf"
)

// A GGUF file says its configuration in keys that begin with the architecture's name; some of it only its tensors say. ConfigOf reads it:
// the sizes first, then experts, layers with a state, RoPE, and what differs in the family. Metadata writes the same keys. For example, a
// file of Llama 3.2 1B has
//
//	general.architecture "llama"             Family ""
//	llama.block_count 16                     Layers 16
//	llama.embedding_length 2048              HiddenSize 2048
//	llama.attention.head_count 32            Heads 32
//	llama.attention.head_count_kv 8          KVHeads 8
//	llama.rope.freq_base 500000              RoPE.Theta 500000
//	llama.attention.key_length 64            HeadDim 64
//	the tensor rope_freqs.weight [32]        RoPE.Divisors, one for each pair of a head's elements
//	no tensor output.weight                  TiedEmbeddings

// The keys of GGUF's metadata about a model as a whole.
const (
	ArchitectureKey        = "general.architecture"
	TypeKey                = "general.type"
	NameKey                = "general.name"
	DescriptionKey         = "general.description"
	FileTypeKey            = "general.file_type"            // see FileType
	QuantizationVersionKey = "general.quantization_version" // of ggml's block layouts: QuantizationVersion
)

// QuantizationVersion is the version of ggml's block layouts that this module reads and writes.
const QuantizationVersion uint32 = 2

// The keys of GGUF's metadata about the tokenizer.
const (
	TokenizerModelKey = "tokenizer.ggml.model" // what package bpe calls …Model, or NoTokenizer
	SplitRuleKey      = "tokenizer.ggml.pre"
	TokensKey         = "tokenizer.ggml.tokens"
	ScoresKey         = "tokenizer.ggml.scores"
	TokenTypesKey     = "tokenizer.ggml.token_type"
	TypeCountKey      = "tokenizer.ggml.token_type_count" // of two texts in one: see Part.Type of package postprocess
	MergesKey         = "tokenizer.ggml.merges"
	CharsmapKey       = "tokenizer.ggml.precompiled_charsmap"
	BOSKey            = "tokenizer.ggml.bos_token_id"
	EOSKey            = "tokenizer.ggml.eos_token_id"
	SEPKey            = "tokenizer.ggml.seperator_token_id" // as llama.cpp spells it
	CLSKey            = "tokenizer.ggml.cls_token_id"
	EndsKey           = "tokenizer.ggml.eos_token_ids" // a list, as Ollama writes it
	EndOfTurnKey      = "tokenizer.ggml.eot_token_id"
	EndOfMessageKey   = "tokenizer.ggml.eom_token_id"
	UnknownKey        = "tokenizer.ggml.unknown_token_id"
	PaddingKey        = "tokenizer.ggml.padding_token_id"
	MaskKey           = "tokenizer.ggml.mask_token_id"
	AddBOSKey         = "tokenizer.ggml.add_bos_token"
	AddEOSKey         = "tokenizer.ggml.add_eos_token"
	SuppressKey       = "tokenizer.ggml.suppress_tokens" // tokens that no answer has
	AddSEPKey         = "tokenizer.ggml.add_sep_token"
	AddSpacePrefixKey = "tokenizer.ggml.add_space_prefix"
	MergeSpacesKey    = "tokenizer.ggml.remove_extra_whitespaces"
	LowerKey          = "tokenizer.ggml.normalizer.lowercase"
	StripAccentsKey   = "tokenizer.ggml.normalizer.strip_accents"
	WholeTokenizerKey = "tokenizer.huggingface.json" // the tokenizer.json, as text
)

// NoTokenizer is the value of TokenizerModelKey in a file without a vocabulary.
const NoTokenizer = "none"

// The tokens that end a turn and a message in Llama 3's chat format.
const (
	EndOfTurn    = "<|eot_id|>"
	EndOfMessage = "<|eom_id|>"
)

// endTexts are the texts of tokens that end a turn or a text, in the families' chat formats: files name only one.
var endTexts = []string{
	EndOfTurn, EndOfMessage, "<|end_of_text|>", "<|im_end|>", "<|endoftext|>", "</s>", "<end_of_turn>", "<|end|>", "<eos>", "<EOT>", "[EOT]", "<turn|>", "<|tool_response>",
	"<｜end▁of▁sentence｜>", harmonyReturn, "<|call|>",
}

// Of a vocabulary that has harmonyReturn, harmonyEnd ends a message, after which others of the same turn may come.
const (
	harmonyReturn = "<|return|>"
	harmonyEnd    = "<|end|>"
)

// endTypes are the types of tokens that may end a turn by their texts. Phi-3's </s>, say, is no control token.
var endTypes = []int32{bpe.TypeControl, bpe.TypeUserDefined}

// strippingArchitecture is the architecture of models with SentencePiece vocabularies in which added tokens take the white space after
// them. GGUF does not say so.
const strippingArchitecture = "phi3"

// sizes are the keys of GGUF's metadata, after the architecture's name and a dot, for the sizes of a model. byLayer is where those go that may be a list
// with one for each layer; Config then has the largest.
var sizes = []struct {
	key     string
	field   func(c *Config) *int
	byLayer func(l *LayerSizes) *int
}{
	{"block_count", func(c *Config) *int { return &c.Layers }, nil},
	{"context_length", func(c *Config) *int { return &c.ContextLength }, nil},
	{"embedding_length", func(c *Config) *int { return &c.HiddenSize }, nil},
	{"feed_forward_length", func(c *Config) *int { return &c.IntermediateSize }, func(l *LayerSizes) *int { return &l.IntermediateSize }},
	{"attention.head_count", func(c *Config) *int { return &c.Heads }, nil},
	{keyHeadsKey, func(c *Config) *int { return &c.KVHeads }, func(l *LayerSizes) *int { return &l.KVHeads }},
	{keyLengthKey, func(c *Config) *int { return &c.HeadDim }, nil},
}

// The other keys of GGUF's metadata for a configuration, after the architecture's name and a dot.
const (
	keyLengthKey     = "attention.key_length"
	aheadLayersKey   = "nextn_predict_layers" // layers that predict several tokens at once, which block_count counts
	valueLengthKey   = "attention.value_length"
	normEpsKey       = "attention.layer_norm_rms_epsilon"
	windowKey        = "attention.sliding_window"
	windowPatternKey = "attention.sliding_window_pattern" // a number: each such layer has no window; or a truth for each layer
	scoreScaleKey    = "attention.scale"
	embeddingKey     = "embedding_scale"
	residualKey      = "residual_scale"
	logitKey         = "logit_scale" // what logits are divided by
	attentionCapKey  = "attn_logit_softcapping"
	logitCapKey      = "final_logit_softcapping"
	temperatureKey   = "attention.temperature_scale"  // llama_4_scaling_beta of config.json
	temperatureLen   = "attention.temperature_length" // the positions that share a factor; without it, the original context
	ropeThetaKey     = "rope.freq_base"
	ropeLocalKey     = "rope.freq_base_swa"
	ropeRotatedKey   = "rope.dimension_count"
	ropeScalingKey   = "rope.scaling.type"
	ropeFactorKey    = "rope.scaling.factor"
	ropeLinearKey    = "rope.scale_linear" // what old files call the factor
	ropeContextKey   = "rope.scaling.original_context_length"
	ropeAttentionKey = "rope.scaling.attn_factor"
	ropeBetaFastKey  = "rope.scaling.yarn_beta_fast"
	ropeBetaSlowKey  = "rope.scaling.yarn_beta_slow"
	ropeRoundedKey   = "rope.scaling.yarn_truncate"       // truncate of config.json; llama.cpp does not know it
	ropeLogKey       = "rope.scaling.yarn_log_multiplier" // mscale_all_dim of config.json
	ropeThereKey     = "rope.scaling.finetuned"           // Granite's models are without RoPE if it is false
	vocabSizeKey     = "vocab_size"
)

const (
	splitFilesKey   = "split.count"
	defaultNormEps  = 1e-5 // if a file does not say
	defaultTheta    = 10000
	unscaledScaling = "none"
	linear          = "linear"
)

// ConfigOf reads a GGUF file's metadata, and the divisors of RoPE's frequencies. The result is valid.
func ConfigOf(f *gguf.File) (*Config, error) {
	family, err := ggufFamily(f)
	if err != nil {
		return nil, err
	}
	k := metadata{newKeyReader(f), architectureOf(f) + ".", family.unrounded}
	c, err := k.config(family)
	if k.keyReader.err != nil { // what it led to is no reason
		return nil, k.keyReader.err
	}
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	k.Value(k.prefix + poolingKey) // PipelineOf reads it
	if c.Idle, err = k.rest(k.prefix, c, idleModelKeys); err != nil {
		return nil, err
	}
	c.readBiases(f)
	c.findExpertScales(f)
	return c, c.readScales(f)
}

// config reads the configuration of a model of a family.
func (k metadata) config(family *family) (*Config, error) {
	f := k.file
	has := func(p Part, bias bool) bool {
		_, ok := f.Tensor(p.GGUF(0, bias))
		return ok
	}
	c := &Config{
		RMSNormEps: float32(k.float(normEpsKey, defaultNormEps)), RoPE: RoPE{Theta: k.float(ropeThetaKey, defaultTheta)},
		TiedEmbeddings: !has(Head, false), AttentionBias: has(Query, true), MLPBias: has(Gate, true),
		Variant: Variant{Activation: activationNames[first(family.activation, silu)]},
	}
	if family != &families[0] {
		c.Family = family.name
	}
	lists := make([][]int, len(sizes))
	for i, s := range sizes {
		field := s.field(c)
		v, list, err := k.size(s.key)
		switch {
		case err != nil:
			return nil, err
		case len(list) > 0 && s.byLayer == nil:
			return nil, unsupported("%s has different numbers for the layers, %d to %d, which is not implemented", k.prefix+s.key, slices.Min(list), v)
		case v >= 0:
			*field, lists[i] = v, list
		case field == &c.KVHeads:
			c.KVHeads = c.Heads
		case field == &c.HeadDim && c.Heads > 0:
			c.HeadDim = c.HiddenSize / c.Heads
		}
	}
	if v := k.number(valueLengthKey, c.HeadDim, maxContext+1); v != c.HeadDim {
		return nil, unsupported("%s is %d and %s %d; only the same number is implemented", k.prefix+valueLengthKey, v, k.prefix+keyLengthKey, c.HeadDim)
	}
	ahead := k.number(aheadKey, 0, maxLayers)
	if ahead < c.Layers {
		c.Layers -= ahead // they stand after the others, and predict tokens ahead
	}
	for i, s := range sizes {
		if lists[i] != nil {
			if len(lists[i]) == c.Layers+ahead {
				lists[i] = lists[i][:max(c.Layers, 0)]
			}
			if err := c.setSizes(s.key, lists[i], s.byLayer); err != nil {
				return nil, err
			}
		}
	}
	if err := k.readExperts(c, family); err != nil {
		return nil, err
	}
	if err := k.readRecurrent(c, family); err != nil {
		return nil, err
	}
	c.VocabSize, _ = embeddingRows(f)
	c.BOS, c.EOS = k.token(BOSKey), k.endTokens()
	var err error
	if c.Sampling, err = samplingOf(f); err != nil {
		return nil, err
	}
	if err := k.readScaling(&c.RoPE, c.ContextLength); err != nil {
		return nil, err
	}
	if err := k.readQueryScale(c, family); err != nil {
		return nil, err
	}
	if err := k.readVariant(c, family); err != nil {
		return nil, err
	}
	if err := k.readEncoder(c, family); err != nil {
		return nil, err
	}
	if rotated := k.number(ropeRotatedKey, c.HeadDim, maxContext+1); rotated != c.HeadDim {
		if c.LocalRoPE.Theta != 0 {
			if err := c.setRotated(family, &c.LocalRoPE, rotated); err != nil {
				return nil, err
			}
		}
		return c, c.setRotated(family, &c.RoPE, rotated)
	}
	return c, nil
}

// metadata reads the keys of an architecture.
type metadata struct {
	*keyReader
	prefix    string
	unrounded bool // the family's
}

// float returns the number at a key.
func (k metadata) float(key string, otherwise float64) float64 {
	v, ok := k.keyReader.number(k.prefix + key)
	if !ok {
		return otherwise
	}
	if value, _ := k.Value(k.prefix + key); v == 0 && value.Type() != gguf.Float32Type && value.Type() != gguf.Float64Type {
		k.refuse(k.prefix+key, value, "a number with its fraction")
	}
	return v
}

// number returns the whole number at a key, at most most.
func (k metadata) number(key string, otherwise, most int) int {
	if v, ok := k.whole(k.prefix + key); ok {
		return int(min(v, uint64(most)))
	}
	return otherwise
}

// has returns the truth value at a key, and whether there is one.
func (k metadata) has(key string) (value, said bool) { return k.truth(k.prefix + key) }

// size returns the number at a key; -1: no such key. If the key has a list with different numbers for the layers, size returns the largest
// and the list.
func (k metadata) size(key string) (v int, list []int, err error) {
	const most = maxContext + 1 // Validate refuses it
	value, there := k.Value(k.prefix + key)
	n, isList := value.Len()
	switch {
	case !there:
		return -1, nil, nil
	case n > maxLayers:
		return 0, nil, fmt.Errorf("%s has %d entries, more than any model has layers", k.prefix+key, n)
	case !isList || n == 1:
		return k.number(key, -1, most), nil, nil
	}
	v = -1
	for _, n := range listOf(k.keyReader, k.prefix+key, gguf.Value.Int32s, "a whole number, or one for each layer") {
		if n < 0 {
			return 0, nil, fmt.Errorf("%s has %d, which is no size", k.prefix+key, n)
		}
		v = max(v, min(int(n), most))
		list = append(list, min(int(n), most))
	}
	if !slices.ContainsFunc(list, func(n int) bool { return n != v }) {
		list = nil
	}
	return v, list, nil
}

// setSizes gives each layer its own of a list of sizes.
func (c *Config) setSizes(key string, list []int, field func(l *LayerSizes) *int) error {
	if len(list) != c.Layers {
		return fmt.Errorf("%s has %d entries, the model %d layers", key, len(list), c.Layers)
	}
	c.makeSizes()
	for i := range c.Sizes {
		*field(&c.Sizes[i]) = list[i]
	}
	return nil
}

// sizesOf returns a size of each layer, nil if the layers have the same.
func (c *Config) sizesOf(field func(l *LayerSizes) *int) (list []int32) {
	if field == nil {
		return nil
	}
	same := true
	for i := range c.Sizes {
		v := int32(*field(&c.Sizes[i]))
		same = same && (i == 0 || v == list[0])
		list = append(list, v)
	}
	if same {
		return nil
	}
	return list
}

// readVariant reads what distinguishes the family.
func (k metadata) readVariant(c *Config, f *family) error {
	c.EmbeddingScale, c.ScoreScale, c.ResidualScale = k.float(embeddingKey, 0), k.float(scoreScaleKey, 0), k.float(residualKey, 0)
	c.ScoreCap, c.LogitCap = k.float(attentionCapKey, f.defaults.scoreCap), k.float(logitCapKey, f.defaults.logitCap)
	caps := func(key string, v float64) bool { return v == 0 || slices.Contains(f.keys, key) }
	if !caps("attn_logit_softcapping", c.ScoreCap) || !caps("final_logit_softcapping", c.LogitCap) {
		return unsupported("%s is %g and %s is %g, which are not implemented for the architecture %s",
			k.prefix+attentionCapKey, c.ScoreCap, k.prefix+logitCapKey, c.LogitCap, f.name)
	}
	if divisor := k.float(logitKey, 0); divisor != 0 {
		c.LogitScale = 1 / divisor
	}
	if f.embedding {
		own := embeddingScale(c.HiddenSize)
		if c.EmbeddingScale != 0 && math.Abs(c.EmbeddingScale/own-1) > 0.01 {
			return unsupported("%s is %g; for the architecture %s only the root of the width is implemented, %g", k.prefix+embeddingKey, c.EmbeddingScale, f.name, own)
		}
		c.EmbeddingScale = own
	}
	if f.unscaled && c.ScoreScale != 0 && c.ScoreScale != 1 {
		return unsupported("%s is %g; for the architecture %s only 1 is implemented", k.prefix+scoreScaleKey, c.ScoreScale, f.name)
	}
	if c.ScoreScale == 0 && c.Layers == f.defaults.wideLayers && c.Heads > 0 && c.HiddenSize >= c.Heads {
		c.ScoreScale = 1 / math.Sqrt(float64(c.HiddenSize/c.Heads))
	}
	switch {
	case f.defaults.localTheta != 0:
		c.LocalRoPE.Theta = k.float(ropeLocalKey, f.defaults.localTheta)
	case f.unstretched:
		c.LocalRoPE.Theta = k.float(ropeLocalKey, c.RoPE.Theta)
	}
	if f.hasNoRoPE() {
		c.NoRoPE = everyNth(c.Layers, f.defaults.every)
	}
	if there, ok := k.has(ropeThereKey); ok && !there && slices.Contains(f.keys, "attention_multiplier") {
		c.NoRoPE = everyNth(c.Layers, 1)
	}
	window := k.number(windowKey, 0, maxContext+1)
	w := windowRule{use: true, every: f.defaults.every}
	if v, there := k.Value(k.prefix + windowPatternKey); there && v.Type() != gguf.ArrayType {
		if w.every = k.number(windowPatternKey, w.every, maxLayers); w.every < 2 {
			return unsupported("%s is %d: then all layers have a window, or none has, which is not said so", k.prefix+windowPatternKey, w.every)
		}
	} else if there {
		if c.Windowed = listOf(k.keyReader, k.prefix+windowPatternKey, gguf.Value.Bools, "a number, or a truth for each layer"); len(c.Windowed) < c.Layers {
			return fmt.Errorf("%s has %d entries, the model %d layers", k.prefix+windowPatternKey, len(c.Windowed), c.Layers)
		}
		c.Windowed = c.Windowed[:max(c.Layers, 0)]
	}
	rule := *f
	if rule.window == nil {
		rule.window = always
	}
	c.setWindow(&rule, window, w)
	if f.unscaled {
		c.ScoreScale = 1
		if err := k.readLayers(c, f); err != nil {
			return err
		}
	}
	c.normalize()
	return nil
}

// hasNoRoPE reports whether some layers of the family have no RoPE.
func (f *family) hasNoRoPE() bool { return slices.Contains(f.keys, "no_rope_layers") }

// ggufFamily returns the family of a file, and an error if it is unknown.
func ggufFamily(f *gguf.File) (*family, error) {
	name := architectureOf(f)
	if experts, _ := f.Uint(name + "." + expertsKey); experts > 0 && expertArchitectures[name] != "" {
		return familyOf(expertArchitectures[name]), nil
	}
	return familyBy(ArchitectureKey, first(textArchitectures[name], name), (*family).architecture)
}

// CheckArchitecture refuses a file of an unknown architecture.
func CheckArchitecture(f *gguf.File) error {
	_, err := ggufFamily(f)
	return err
}

// CheckWhole refuses a file that is one of the parts into which a model was split.
func CheckWhole(f *gguf.File) error {
	if n, _ := f.Uint(splitFilesKey); n > 1 {
		return unsupported("the file is one of %d parts of a model; join them first, with llama.cpp's gguf-split", n)
	}
	return nil
}

// embeddingRows returns how many rows the embedding table has, and whether there is such a matrix.
func embeddingRows(f *gguf.File) (int, bool) {
	if table, ok := f.Tensor(Embedding.GGUF(0, false)); ok && len(table.Shape) == 2 {
		return table.Shape[0], true
	}
	return 0, false
}

// readScaling reads how RoPE was stretched: by a factor, or by divisors for each frequency, which is llama3's way, and longrope's, where
// there are two of each. A factor without the name of a scaling is that of a linear one.
func (k metadata) readScaling(r *RoPE, context int) (err error) {
	factor := k.float(ropeFactorKey, k.float(ropeLinearKey, 0))
	kind, said := k.text(k.prefix + ropeScalingKey)
	switch {
	case said && kind != unscaledScaling:
		r.Scaling, r.Factor = kind, factor
	case !said && factor != 0 && factor != 1:
		r.Scaling, r.Factor = linear, factor
	}
	original := k.number(ropeContextKey, 0, maxContext+1)
	if r.Scaling == yarn {
		r.Unrounded = k.unrounded
		if rounded, said := k.has(ropeRoundedKey); said {
			r.Unrounded = !rounded
		}
		r.OriginalContext = first(original, context)
		r.BetaFast, r.BetaSlow = k.float(ropeBetaFastKey, defaultBetaFast), k.float(ropeBetaSlowKey, defaultBetaSlow)
		r.Attention = k.float(ropeAttentionKey, 1) * yarnAttention(r.Factor, 1)
		if all := k.float(ropeLogKey, 0); all != 0 {
			r.Attention /= yarnAttention(r.Factor, all)
		}
	}
	if r.Divisors, err = k.divisors(DivisorsGGUF); err != nil {
		return err
	}
	if r.Long, err = k.divisors(longDivisorsGGUF); err != nil || r.Long == nil {
		return err
	}
	if r.Divisors, err = k.divisors(shortDivisorsGGUF); err != nil {
		return err
	}
	if factor != 0 && factor != 1 && (r.Scaling == linear || r.Scaling == yarn) {
		return unsupported("%s is %g beside the tensor %s: RoPE that is stretched in two ways is not implemented", k.prefix+ropeFactorKey, factor, longDivisorsGGUF)
	}
	r.Scaling, r.Factor, r.OriginalContext = longRoPE, 0, original
	r.Attention = k.float(ropeAttentionKey, r.attentionOf(context))
	return nil
}

// readQueryScale reads how queries are scaled by their positions.
func (k metadata) readQueryScale(c *Config, f *family) error {
	scale, r := k.float(temperatureKey, 0), &c.RoPE
	if scale == 0 {
		return nil
	}
	if !slices.Contains(f.keys, queryScaleName) {
		return unsupported("%s is %g; for the architecture %s queries are not scaled by their positions", k.prefix+temperatureKey, scale, f.name)
	}
	length, original := k.number(temperatureLen, 0, maxContext+1), k.number(ropeContextKey, 0, maxContext+1)
	if length != 0 && original != 0 && length != original {
		return unsupported("%s is %d, %s is %d; only the same number is implemented", k.prefix+temperatureLen, length, k.prefix+ropeContextKey, original)
	}
	r.QueryScale, r.OriginalContext = scale, first(original, length, c.ContextLength)
	return nil
}

// divisors reads a tensor of divisors of frequencies, or nil.
func (k metadata) divisors(name string) ([]float32, error) {
	t, ok := k.Tensor(name)
	if !ok {
		return nil, nil
	}
	return shortTensor(&t, maxHeadDim/2, "there is one divisor for each pair of a head's elements")
}

// shortTensor reads the elements of a tensor that has at most a number of them, by a rule.
func shortTensor(t *gguf.Tensor, most int, rule string) ([]float32, error) {
	numbers := t.DType.Format()
	if !numbers.Valid() {
		return nil, unsupported("the tensor %s has the type %v, which cannot be read", t.Name, t.Type)
	}
	n := 1
	for _, d := range t.Shape {
		if d > most || n*d > most {
			return nil, format.Errorf(t.Offset, "the tensor %s has the shape %v: %s", t.Name, t.Shape, rule)
		}
		n *= d
	}
	list := make([]float32, n)
	if err := numbers.Dequantize(list, t.Data); err != nil {
		return nil, format.Errorf(t.Offset, "the tensor %s: %w", t.Name, err)
	}
	return list, nil
}

// endTokens returns the tokens that end a turn.
func (k metadata) endTokens() (list []int32) {
	for _, key := range []string{EOSKey, EndOfTurnKey, EndOfMessageKey} {
		if id := k.token(key); id >= 0 {
			list = append(list, id)
		}
	}
	list = append(list, listOf(k.keyReader, EndsKey, gguf.Value.Int32s, "a list of tokens")...)
	types, tokens := k.file.Int32s(TokenTypesKey), k.file.Strings(TokensKey) // VocabularyOf refuses what cannot be read
	harmony := slices.Contains(tokens, harmonyReturn)
	for id, text := range tokens {
		if harmony && text == harmonyEnd {
			continue
		}
		if id < len(types) && slices.Contains(endTypes, types[id]) && slices.Contains(endTexts, text) {
			list = append(list, int32(id))
		}
	}
	return distinct(list)
}

// Metadata describes the configuration in GGUF's keys: the general ones with the model's name, then general, then those of
// the architecture. RoPE.Divisors and Long and the scaling llama3 have no keys: see GGUFDivisors.
func (c *Config) Metadata(name string, general ...gguf.KeyValue) []gguf.KeyValue {
	f := familyOf(c.Family)
	prefix := c.architecture() + "."
	list := append([]gguf.KeyValue{
		{Key: ArchitectureKey, Value: gguf.ValueOf(c.architecture())},
		{Key: TypeKey, Value: gguf.ValueOf("model")},
		{Key: NameKey, Value: gguf.ValueOf(name)},
	}, general...)
	list = append(list, c.Sampling.metadata()...)
	add := func(key string, v gguf.Value) { list = append(list, gguf.KeyValue{Key: prefix + key, Value: v}) }
	number := func(key string, v int) { add(key, gguf.ValueOf(uint32(v))) }
	float := func(key string, v float64) { add(key, gguf.ValueOf(float32(v))) }
	headDim, _ := c.headDims()
	for _, s := range sizes {
		list := c.sizesOf(s.byLayer)
		if s.key == keyHeadsKey && list == nil {
			list = c.keyHeadList(f)
		}
		switch {
		case list != nil:
			add(s.key, gguf.ArrayOf(list))
		case s.key == keyLengthKey:
			number(s.key, headDim)
		default:
			number(s.key, *s.field(c))
		}
	}
	list = append(list, c.recurrentMetadata(f, prefix)...)
	number(valueLengthKey, headDim)
	c.expertMetadata(number, float, func(key string, v bool) { add(key, gguf.ValueOf(v)) })
	list = append(list, c.layersMetadata(prefix)...)
	if !c.LayerNorm {
		float(normEpsKey, float64(c.RMSNormEps))
	}
	list = append(list, c.encoderMetadata(prefix)...)
	float(ropeThetaKey, c.RoPE.Theta)
	number(ropeRotatedKey, first(c.RoPE.Rotated, headDim))
	number(vocabSizeKey, c.VocabSize)
	if r := &c.RoPE; r.QueryScale != 0 {
		float(temperatureKey, r.QueryScale)
		number(temperatureLen, r.OriginalContext)
	}
	switch c.RoPE.Scaling {
	case linear:
		add(ropeScalingKey, gguf.ValueOf(c.RoPE.Scaling))
		float(ropeFactorKey, c.RoPE.Factor)
	case longRoPE:
		number(ropeContextKey, c.RoPE.OriginalContext)
		float(ropeAttentionKey, c.RoPE.Attention)
	case yarn:
		add(ropeScalingKey, gguf.ValueOf(c.RoPE.Scaling))
		float(ropeFactorKey, c.RoPE.Factor)
		number(ropeContextKey, c.RoPE.OriginalContext)
		float(ropeBetaFastKey, c.RoPE.BetaFast)
		float(ropeBetaSlowKey, c.RoPE.BetaSlow)
		if slices.Contains(f.keys, queryScaleName) && c.RoPE.Attention == 1 { // as llama.cpp writes it for this architecture alone
			float(ropeLogKey, 1)
		} else {
			float(ropeAttentionKey, c.RoPE.Attention/yarnAttention(c.RoPE.Factor, 1))
		}
	}
	if c.Windowed != nil {
		number(windowKey, c.Window)
		add(windowPatternKey, gguf.ArrayOf(c.Windowed))
	}
	if c.LocalRoPE.Theta != 0 {
		float(ropeLocalKey, c.LocalRoPE.Theta)
	}
	if c.NoRoPE != nil && !slices.Contains(c.NoRoPE, false) {
		add(ropeThereKey, gguf.ValueOf(false))
	}
	for _, s := range []struct {
		key   string
		value float64
	}{{embeddingKey, c.EmbeddingScale}, {scoreScaleKey, c.ScoreScale}, {residualKey, c.ResidualScale}, {attentionCapKey, c.ScoreCap}, {logitCapKey, c.LogitCap}} {
		if s.value != 0 && !(f.unscaled && s.key == scoreScaleKey) {
			float(s.key, s.value)
		}
	}
	if c.LogitScale != 0 {
		float(logitKey, 1/c.LogitScale)
	}
	return list
}

// Divisors are a GGUF file's divisors of RoPE's frequencies.
type Divisors struct {
	Name string // the tensor's
	List []float32
}

// GGUFDivisors returns the tensors that GGUF has for RoPE's scaling besides those of Tensors. The format has no place for YaRN that is not
// rounded to whole pairs, nor for parameters of layers with a window alone other than the base: these are errors.
func (c *Config) GGUFDivisors() ([]Divisors, error) {
	if err := c.checkExpertsInGGUF(); err != nil {
		return nil, err
	}
	switch r, local := &c.RoPE, &c.LocalRoPE; {
	case local.Theta != 0 && (local.Scaling != "" || local.QueryScale != 0 || local.Rotated != r.Rotated):
		return nil, unsupported("RoPE of layers with a window that differs by more than its base has no place in GGUF")
	case r.RotatedPairs != 0:
		whole, _ := c.headDims()
		return []Divisors{{DivisorsGGUF, r.stillDivisors(whole)}}, nil
	case r.Scaling == longRoPE:
		return []Divisors{{longDivisorsGGUF, r.Long}, {shortDivisorsGGUF, r.Divisors}}, nil
	case r.Divisors != nil:
		return []Divisors{{DivisorsGGUF, r.Divisors}}, nil
	case r.StretchDivisors(c.HeadDim) != nil:
		return []Divisors{{DivisorsGGUF, r.StretchDivisors(c.HeadDim)}}, nil
	case r.Unrounded != familyOf(c.Family).unrounded && r.Scaling == yarn:
		return nil, unsupported("whether YaRN is rounded to whole pairs has no place in GGUF, and is %v here", !r.Unrounded)
	}
	return nil, nil
}
