package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/unsupported"
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
	if err := c.Latent.validate(c); err != nil {
		return err
	}
	if err := c.Experts.validate(c.RoutedLayers() > 0); err != nil {
		return err
	}
	if err := c.Encoder.validate(c); err != nil {
		return err
	}
	if err := c.Relative.validate(c); err != nil {
		return err
	}
	if err := c.Head.validate(c); err != nil {
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

// validate checks that the sizes fit together, for a number of layers and the length of a head.
func (v *Variant) validate(layers, headDim int) error {
	if v.Window < 0 || v.Window > MaxContext {
		return fmt.Errorf("sliding_window is %d, not between 1 and %d", v.Window, MaxContext)
	}
	for _, list := range [][]bool{v.Windowed, v.NoRoPE} {
		if list != nil && len(list) != layers {
			return fmt.Errorf("a list of layers has %d entries, the model %d layers", len(list), layers)
		}
	}
	for _, s := range []struct {
		name  string
		value float64
	}{
		{"the multiplier of embeddings", v.EmbeddingScale}, {"the multiplier of attention's scores", v.ScoreScale},
		{"the multiplier of residuals", v.ResidualScale}, {"the multiplier of logits", v.LogitScale},
		{"the limit of attention's scores", v.ScoreCap}, {"the limit of logits", v.LogitCap},
	} {
		if s.value != 0 && !(s.value >= minScale && s.value <= maxScale) {
			return fmt.Errorf("%s is %g, not between %g and %g", s.name, s.value, minScale, maxScale)
		}
	}
	if v.Sparsity != nil && len(v.Sparsity) != layers {
		return fmt.Errorf("%d layers have a sparsity, of %d", len(v.Sparsity), layers)
	}
	for i, s := range v.Sparsity {
		if !(s > -maxDeviations && s < maxDeviations) {
			return fmt.Errorf("the sparsity of layer %d is %g standard deviations", i, s)
		}
	}
	if v.Streams < 0 || v.Streams > maxStreams || v.LaurelRank < 0 || v.LaurelRank > MaxWidth || v.PerLayerVocab < 0 || v.PerLayerVocab > MaxVocab {
		return fmt.Errorf("%d streams, a bypass of width %d, and %d rows of layers' inputs", v.Streams, v.LaurelRank, v.PerLayerVocab)
	}
	if err := validateCurves(v.Curves, layers); err != nil {
		return err
	}
	if v.LocalRoPE.Theta == 0 {
		return nil
	}
	return v.LocalRoPE.validate(headDim)
}

// The most streams of a model, and standard deviations above which no number of a gate would count.
const (
	maxStreams    = 16
	maxDeviations = 100
)

// validate checks that the sizes fit together.
func (r *Recurrent) validate(c *Config) error {
	recurrent, attends := false, c.Mixers == nil
	for i, m := range c.Mixers {
		if int(m) >= len(mixerParts) {
			return fmt.Errorf("the mixer of layer %d is of kind %d", i, m)
		}
		recurrent, attends = recurrent || m.Recurrent(), attends || m.Attends()
	}
	if !attends {
		return unsupported.Errorf("no layer has attention, which is not implemented")
	}
	if !recurrent {
		return nil
	}
	if r.Taps < 2 || r.Taps > maxTaps {
		return fmt.Errorf("the convolutions have %d taps, not between 2 and %d", r.Taps, maxTaps)
	}
	if !slices.ContainsFunc(c.Mixers, func(m Mixer) bool { return m == DeltaRule || m.Scans() }) {
		return nil
	}
	for _, f := range []struct {
		name       string
		value, max int
	}{{"key heads", r.KeyHeads, MaxHeads}, {"value heads", r.Heads, MaxHeads}, {"elements of a key head", r.KeyDim, MaxHeadDim}, {"elements of a value head", r.ValueDim, MaxHeadDim}} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("layers with a state have %d %s, not between 1 and %d", f.value, f.name, f.max)
		}
	}
	widest := max(r.Heads*r.ValueDim, r.KeyHeads*r.KeyDim)
	switch {
	case r.Heads%r.KeyHeads != 0:
		return fmt.Errorf("%d value heads cannot share %d key heads evenly", r.Heads, r.KeyHeads)
	case widest > MaxWidth || widest > MaxSpread*c.HiddenSize:
		return fmt.Errorf("%d heads of %d and %d heads of %d elements are too wide for hidden_size, which is %d", r.Heads, r.ValueDim, r.KeyHeads, r.KeyDim, c.HiddenSize)
	}
	return nil
}

// validate checks that the sizes fit together.
func (e *Encoder) validate(c *Config) error {
	switch {
	case e.Positions != 0 && e.Positions < c.ContextLength:
		return fmt.Errorf("there are %d learned positions for texts of %d tokens", e.Positions, c.ContextLength)
	case e.PositionOffset < 0 || e.PositionOffset > MaxVocab:
		return fmt.Errorf("pad_token_id is %d", e.PositionOffset-1)
	case e.Types < 0 || e.Types > MaxHeads:
		return fmt.Errorf("type_vocab_size is %d, not between 0 and %d", e.Types, MaxHeads)
	case len(e.Dense) > MaxDense:
		return unsupported.Errorf("%d layers follow pooling; at most %d are implemented", len(e.Dense), MaxDense)
	}
	width := c.HiddenSize * max(e.Poolings, 1)
	for _, d := range e.Dense {
		if d.In != width || d.Out < 1 || d.Out > MaxWidth {
			return fmt.Errorf("the layer %s makes %d numbers of %d, and gets %d", d.Folder, d.Out, d.In, width)
		}
		width = d.Out
	}
	return nil
}
