package llama

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/model"
)

// Config describes a model: its sizes and the few choices that its architecture leaves open.
type Config struct {
	HiddenSize       int // width of the residual stream
	IntermediateSize int // width of the feed-forward layer: the largest, if layers differ; see Variant.Sizes
	Layers           int
	Heads            int // query heads
	KVHeads          int // key and value heads, each shared by Heads/KVHeads query heads (grouped queries, GQA): the most, if layers differ
	HeadDim          int // the largest, if layers differ
	VocabSize        int
	ContextLength    int // tokens the model was trained for
	RMSNormEps       float32
	RoPE             RoPE
	AttentionBias    bool // of queries, keys and values, and of the output if the family has one
	MLPBias          bool
	TiedEmbeddings   bool     // the output head is the embedding table
	BOS              Token    // begin of text; -1: no such token
	EOS              []Token  // each ends a turn
	Variant                   // how the family differs from Llama
	Encoder                   // of a model that reads a text as a whole
	Labels           []string // that the model puts on texts or, if LabelsTokens is set, on tokens; nil: it has no labels
	LabelsTokens     bool
}

// Encoder is what a model has that reads a text as a whole, and makes a vector of it. The zero value is a model that reads a
// text token by token.
type Encoder struct {
	Whole     bool // attention sees the tokens after its own, too
	LayerNorm bool // norms are LayerNorm (arXiv 1607.06450), which subtracts the mean, and not RMSNorm; RMSNormEps is their epsilon
	NormBias  bool // norms have biases
	Positions int  // rows of the table of learned positions; 0: no table
	// PositionOffset is how many rows of a Hugging Face folder's table come before that of the first position. Nothing uses them.
	PositionOffset int
	Types          int     // rows of the table of the types of tokens, which say what text of a pair a token belongs to; 0: no table
	Dense          []Dense // layers that follow pooling, in their order
	Poolings       int     // how many states pooling puts together for a vector; 0: 1
}

// Dense is a layer that follows pooling: x ↦ activation(x·weightᵀ + bias).
type Dense struct {
	Folder     string // of a Hugging Face folder
	In, Out    int
	Bias       bool
	Activation string // "tanh", or "" for no activation
}

// Variant has the differences of a model from Llama, besides the biases and norms of its layers. The zero value is Llama.
type Variant struct {
	Family     string // the architecture's name; "" stands for "llama"
	Activation string // of the feed-forward layer: "" for SiLU, "gelu_tanh", "gelu" for that with the error function, "relu2" for the square of ReLU, or "xielu"
	// Window is how many positions a token sees, itself included, in the layers that Windowed marks; 0: all positions. An encoder's sees
	// half as many before itself, and as many after itself.
	Window   int
	Windowed []bool // one for each layer; nil: no layer
	NoRoPE   []bool // layers without RoPE; nil: no such layer
	// StateBytes are the bytes that a conversation's state takes in each layer that has a state of fixed size instead of a cache, or next to one; 0 for layers
	// with attention alone. nil: all have attention alone.
	StateBytes []int64
	// Sizes are those of each layer, if layers differ; nil: all have Config's.
	Sizes []LayerSizes
	// Shared marks the layers without keys and values of their own. Such a layer reads those of the last layer before it that has the same window and
	// has its own; nil: all layers have their own.
	Shared []bool
	// PerLayerWidth is the width of inputs that each layer has of its own, which come from the tokens alone (Gemma 4's per-layer embeddings); 0: there
	// are no such inputs.
	PerLayerWidth int
	LocalRoPE     RoPE // of layers with a window; a Theta of 0: theirs is Config.RoPE
	// What embeddings, scores of attention, the results of a layer's two halves and logits are multiplied by; 0: 1, for ScoreScale
	// 1/√HeadDim.
	EmbeddingScale, ScoreScale, ResidualScale, LogitScale float64
	// What scores of attention and logits x are limited to, cap·tanh(x/cap) for a cap; 0: they are not limited.
	ScoreCap, LogitCap float64
	Experts            Experts
}

// Experts says which layers have a mixture of experts for a feed-forward network. The zero value means no layer.
type Experts struct {
	Count       int // experts of each of these layers
	Chosen      int // how many of them compute a token
	Width       int // of an expert's network, as IntermediateSize is that of the other layers'
	SharedWidth int // of the network that computes every token; 0: no such network
	Layers      int // how many layers have experts
}

// LayerSizes are the sizes in which layers of one model may differ; see Config's fields of these names.
type LayerSizes struct {
	IntermediateSize, KVHeads, HeadDim int
}

// RoPE says how positions turn into angles: the base of the frequencies and how they were stretched for long contexts.
type RoPE struct {
	Theta   float64
	Scaling string // "", "linear", "llama3", "longrope" or "yarn"
	Factor  float64
	// For "llama3": wavelengths longer than OriginalContext/LowFreqFactor are stretched by Factor, those shorter than
	// OriginalContext/HighFreqFactor are left alone, those between are blended.
	LowFreqFactor, HighFreqFactor float64
	OriginalContext               int
	// Divisors, when not nil, has one divisor for each of the HeadDim/2 frequencies and stands for the above: GGUF files
	// carry them as rope_freqs.weight.
	Divisors []float32
	// For "longrope" (arXiv 2402.13753) Divisors are those for conversations of up to OriginalContext tokens, and Long those for longer
	// ones: which a session uses depends on how long it may become (Session.Capacity), not on how long it is. Cosines and sines are
	// multiplied by Attention; 0: 1.
	Long      []float32
	Attention float64
	// For "yarn" (arXiv 2309.00071): frequencies with more than BetaFast turns in OriginalContext are left alone, those with fewer than
	// BetaSlow are divided by Factor, those between are blended. The blend's ends are rounded to whole pairs, unless Unrounded. Cosines and
	// sines are multiplied by Attention.
	BetaFast, BetaSlow float64
	Unrounded          bool
	// Rotated is how many elements of a head are rotated, the first ones; the others are left alone. 0: all.
	Rotated int
	// RotatedPairs is how many pairs of a head's elements are rotated, the first ones, by frequencies of the whole head; the others are left alone. 0:
	// all. Pairs are (i, i+HeadDim/2), which they are not if Rotated is set.
	RotatedPairs int
	// Sections are how many pairs turn by each of a row's three positions: time, row and column of an image (M-RoPE, arXiv 2409.12191). In a text the three
	// are one number. All 0: every pair turns by the first. Interleaved says that the sections alternate pair by pair.
	Sections    [3]int
	Interleaved bool
	// QueryScale, if it is not 0, scales queries by their position p, by 1 + QueryScale·ln(1+⌊p/OriginalContext⌋) (Ministral 3).
	QueryScale float64
}

// configOf returns what a model's files say in the terms of this package. It shares nothing with c.
func configOf(c *model.Config) Config {
	return Config{
		HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads,
		HeadDim: c.HeadDim, VocabSize: c.VocabSize, ContextLength: c.ContextLength, RMSNormEps: c.RMSNormEps, RoPE: ropeOf(&c.RoPE),
		AttentionBias: c.AttentionBias, MLPBias: c.MLPBias, TiedEmbeddings: c.TiedEmbeddings, BOS: Token(c.BOS), EOS: fromInt32(slices.Clone(c.EOS)),
		Variant: Variant{
			Family: c.Family, Activation: c.Activation, Window: c.Window, Windowed: slices.Clone(c.Windowed), NoRoPE: slices.Clone(c.NoRoPE),
			LocalRoPE: ropeOf(&c.LocalRoPE), EmbeddingScale: c.EmbeddingScale, ScoreScale: c.ScoreScale, ResidualScale: c.ResidualScale, LogitScale: c.LogitScale,
			ScoreCap: c.ScoreCap, LogitCap: c.LogitCap, PerLayerWidth: c.PerLayerWidth, Sizes: sizesOf(c.Sizes), Shared: sharedOf(c.Mixers), StateBytes: statesOf(c),
			Experts: Experts{Count: c.Experts.Count, Chosen: c.Experts.Chosen, Width: c.Experts.Width, SharedWidth: c.Experts.SharedWidth, Layers: c.RoutedLayers()},
		},
		Encoder: encoderOf(&c.Encoder), Labels: slices.Clone(c.Head.Labels), LabelsTokens: c.Head.Each(),
	}
}

// statesOf returns the bytes of each layer's state.
func statesOf(c *model.Config) (list []int64) {
	if !slices.ContainsFunc(c.Mixers, model.Mixer.Recurrent) {
		return nil
	}
	for _, m := range c.Mixers {
		const floatBytes = 4
		list = append(list, floatBytes*c.StateElements(m))
	}
	return list
}

// sizesOf is configOf for the sizes of layers.
func sizesOf(list []model.LayerSizes) (result []LayerSizes) {
	for _, s := range list {
		result = append(result, LayerSizes(s))
	}
	return result
}

// sharedOf is configOf for the layers without keys and values of their own.
func sharedOf(mixers []model.Mixer) []bool {
	without := func(m model.Mixer) bool { return m == model.SharedAttention || m == model.NoMixer }
	if !slices.ContainsFunc(mixers, without) {
		return nil
	}
	list := make([]bool, len(mixers))
	for i, m := range mixers {
		list[i] = without(m)
	}
	return list
}

// encoderOf is configOf for what encoders have.
func encoderOf(e *model.Encoder) Encoder {
	result := Encoder{
		Whole: e.Whole, LayerNorm: e.LayerNorm, NormBias: e.NormBias, Positions: e.Positions, PositionOffset: e.PositionOffset, Types: e.Types, Poolings: e.Poolings,
	}
	for _, d := range e.Dense {
		result.Dense = append(result.Dense, Dense(d))
	}
	return result
}

// ropeOf is configOf for RoPE.
func ropeOf(r *model.RoPE) RoPE {
	result := RoPE(*r)
	result.Divisors, result.Long = slices.Clone(r.Divisors), slices.Clone(r.Long)
	return result
}
