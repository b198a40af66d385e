package model

import (
	"cmp"
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/internal/unsupported"
)

// Config describes a model: its sizes and the few choices that its architecture leaves open.
type Config struct {
	HiddenSize       int // width of the residual stream
	IntermediateSize int // width of the feed-forward layer: the largest, if layers differ; see Variant.Sizes
	Layers           int
	Heads            int // query heads
	KVHeads          int // key and value heads, each shared by Heads/KVHeads query heads: the most, if layers differ
	HeadDim          int // the largest, if layers differ
	VocabSize        int
	ContextLength    int // tokens the model was trained for
	RMSNormEps       float32
	RoPE             RoPE
	AttentionBias    bool // of queries, keys and values, and of the output, unless BareOutput is set
	MLPBias          bool
	TiedEmbeddings   bool     // the output head is the embedding table
	BOS              int32    // begin of text; -1: no such token
	EOS              []int32  // each ends a turn
	Variant                   // how the family differs from Llama
	Encoder                   // of a model that reads a text as a whole
	Sampling         Sampling // how its authors recommend that tokens are drawn
	// Biases are the projections with biases, if those are others than AttentionBias and MLPBias say; nil: they are not.
	Biases map[Place]bool
	Scales map[Place]float32 // what the products with weights are multiplied by before biases are added; those of 1 are left out
	// ExpertScaled are the places of ExpertScales, ExpertGateScales and ExpertUpScales that the model has; nil: those that it always has.
	ExpertScaled map[Place]bool
}

// Place is a part of a layer, or of the model as a whole with the layer 0.
type Place struct {
	Part  Part
	Layer int
}

// Limits that no model of this family comes near, so that absurd files are refused before anything is allocated: the largest
// Llama has 16384, 53248, 126 layers and 128 heads of 128 elements.
const (
	MaxWidth   = 1 << 18 // of the residual stream, the feed-forward layer, and all heads together
	MaxLayers  = 1 << 10
	MaxHeads   = 1 << 10
	MaxHeadDim = 1 << 10
	MaxVocab   = 1 << 24
	MaxContext = 1 << 30
	MaxSpread  = 16 // all query heads together, in widths of the residual stream; models come up to 4. Attention's work would
	// otherwise be out of proportion to the file: 1024 heads over a stream of one element
)

// Validate checks that the sizes fit together.
func (c *Config) Validate() error {
	for _, f := range []struct {
		name       string
		value, max int
	}{
		{"hidden_size", c.HiddenSize, MaxWidth}, {"intermediate_size", c.IntermediateSize, MaxWidth},
		{"num_hidden_layers", c.Layers, MaxLayers}, {"num_attention_heads", c.Heads, MaxHeads},
		{"num_key_value_heads", c.KVHeads, MaxHeads}, {"head_dim", c.HeadDim, MaxHeadDim},
		{"vocab_size", c.VocabSize, MaxVocab}, {"max_position_embeddings", c.ContextLength, MaxContext},
	} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("%s is %d, not between 1 and %d", f.name, f.value, f.max)
		}
	}
	longest := max(c.VocabSize, c.IntermediateSize, c.Heads*c.HeadDim)
	if e := &c.Experts; e.Count > 0 && e.Width > 0 && longest <= MaxWidth*64 {
		longest = max(longest, min(e.Count, MaxExperts)*min(e.Width, MaxWidth))
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("%d query heads cannot share %d key and value heads evenly", c.Heads, c.KVHeads)
	case c.HeadDim%2 != 0:
		return fmt.Errorf("head_dim is %d: RoPE needs an even one", c.HeadDim)
	case c.Heads*c.HeadDim > MaxWidth:
		return fmt.Errorf("%d heads of %d elements are too wide", c.Heads, c.HeadDim)
	case c.Heads*c.HeadDim > MaxSpread*c.HiddenSize:
		return fmt.Errorf("%d heads of %d elements are more than %d times as wide as hidden_size, which is %d", c.Heads, c.HeadDim, MaxSpread, c.HiddenSize)
	case longest > math.MaxInt/4/c.HiddenSize: // on a system of 32 bits
		return fmt.Errorf("matrices of %d by %d elements are more than this system can address", longest, c.HiddenSize)
	case !(c.RMSNormEps >= 0 && c.RMSNormEps < 1):
		return fmt.Errorf("rms_norm_eps is %g, not between 0 and 1", c.RMSNormEps)
	}
	if err := c.validateLayers(); err != nil {
		return err
	}
	if err := c.CheckTokens(c.BOS); err != nil {
		return err
	}
	if err := c.CheckTokens(c.EOS...); err != nil {
		return err
	}
	if err := c.Variant.validate(c.Layers, c.HeadDim); err != nil {
		return err
	}
	if err := c.Experts.validate(c.RoutedLayers() > 0); err != nil {
		return err
	}
	if err := c.Encoder.validate(c); err != nil {
		return err
	}
	return c.RoPE.validate(c.HeadDim)
}

// validateLayers checks the sizes of the layers. None is above the configuration's own, which have been checked.
func (c *Config) validateLayers() error {
	if c.Sizes != nil && len(c.Sizes) != c.Layers || c.Mixers != nil && len(c.Mixers) != c.Layers || c.FeedForwards != nil && len(c.FeedForwards) != c.Layers {
		return fmt.Errorf("a list of layers has not the model's %d layers", c.Layers)
	}
	for i, m := range c.Mixers {
		if m != SharedAttention {
			continue
		}
		from := c.sourceOf(i)
		if from < 0 {
			return fmt.Errorf("layer %d shares keys and values with no earlier layer: none has its kind of attention and its own", i)
		}
		if a, b := c.layerSizes(i), c.layerSizes(from); a.KVHeads != b.KVHeads || a.HeadDim != b.HeadDim {
			return fmt.Errorf("layer %d has %d key and value heads of %d elements and shares those of layer %d, %d of %d", i, a.KVHeads, a.HeadDim, from, b.KVHeads, b.HeadDim)
		}
	}
	if err := c.Recurrent.validate(c); err != nil {
		return err
	}
	for i, s := range c.Sizes {
		if s.KVHeads == 0 {
			return unsupported.Errorf("layer %d has no key and value heads: a layer without attention is not implemented for the architecture %s", i, cmp.Or(c.Family, "llama"))
		}
		for _, f := range []struct {
			name       string
			value, max int
		}{{"intermediate_size", s.IntermediateSize, c.IntermediateSize}, {"num_key_value_heads", s.KVHeads, c.KVHeads}, {"head_dim", s.HeadDim, c.HeadDim}} {
			if f.value < 1 || f.value > f.max {
				return fmt.Errorf("%s of layer %d is %d, not between 1 and %d", f.name, i, f.value, f.max)
			}
		}
		switch {
		case c.Heads%s.KVHeads != 0:
			return fmt.Errorf("%d query heads cannot share %d key and value heads of layer %d evenly", c.Heads, s.KVHeads, i)
		case 2*c.ropeOf(i).RotatedPairs > s.HeadDim:
			return fmt.Errorf("%d pairs of elements turn in heads of %d elements of layer %d", c.ropeOf(i).RotatedPairs, s.HeadDim, i)
		case s.HeadDim%2 != 0:
			return fmt.Errorf("head_dim of layer %d is %d: RoPE needs an even one", i, s.HeadDim)
		}
	}
	return nil
}

// CheckTokens refuses ids outside the vocabulary, and more than it has; -1 stands for no token.
func (c *Config) CheckTokens(ids ...int32) error {
	if len(ids) > c.VocabSize {
		return fmt.Errorf("a list has %d token ids, the vocabulary only %d", len(ids), c.VocabSize)
	}
	for _, t := range ids {
		if t < -1 || int(t) >= c.VocabSize {
			return fmt.Errorf("token id %d is outside the vocabulary of %d", t, c.VocabSize)
		}
	}
	return nil
}
