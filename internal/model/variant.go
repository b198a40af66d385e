package model

import (
	"fmt"
	"math"
	"slices"
)

// Variant has the differences of a model from Llama, besides its parts. The zero value is Llama.
type Variant struct {
	// Family is the architecture's name, for those who read and write files; "" stands for "llama". Nothing here depends on it.
	Family string
	Parts  PartSet // that the model may have; the zero value stands for Usual
	// FirstWithout are parts that the first layer has not.
	FirstWithout PartSet
	BareOutput   bool   // the output of attention has no bias, whatever AttentionBias is
	JointNorms   bool   // a norm of queries or keys is of all heads together, not of each head
	ValueNorm    bool   // see Layer.ValueNorm
	Ungated      bool   // layers have Ungated networks, if FeedForwards does not say otherwise
	Activation   string // of the feed-forward layer: "" for SiLU, "gelu_tanh", or "gelu" for that with the error function
	// Window is how many positions a token sees, itself included, in the layers that Windowed marks; 0: all positions. An encoder's sees
	// half as many before itself, and as many after itself.
	Window   int
	Windowed []bool // one for each layer; nil: no layer
	NoRoPE   []bool // layers without RoPE; nil: no such layer
	// Of each layer; nil: all have attention, the family's feed-forward network, and the sizes of Config.
	Mixers       []Mixer
	Recurrent    Recurrent
	FeedForwards []FeedForward
	Sizes        []LayerSizes
	Experts      Experts // of the layers with experts
	Unnormed     bool    // queries and keys have no norms, though the family may have them
	// PerLayerWidth is the width of inputs that each layer has of its own, which come from the tokens alone (Gemma 4's per-layer
	// embeddings); 0: no such inputs.
	PerLayerWidth int
	LocalRoPE     RoPE // of layers with a window; a Theta of 0: theirs is Config.RoPE
	// What embeddings, scores of attention, the results of a layer's two halves and logits are multiplied by; 0: 1, for ScoreScale
	// 1/√HeadDim.
	EmbeddingScale, ScoreScale, ResidualScale, LogitScale float64
	// What scores of attention and logits x are limited to, cap·tanh(x/cap) for a cap; 0: they are not limited.
	ScoreCap, LogitCap float64
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
	if v.LocalRoPE.Theta == 0 {
		return nil
	}
	return v.LocalRoPE.validate(headDim)
}

// The range of multipliers: they keep activations finite.
const (
	minScale = 1e-6
	maxScale = 1e6
)

// Normalize makes what changes nothing zero: a window that no layer has, multipliers that are 1.
func (c *Config) Normalize() {
	v := &c.Variant
	const rounding = 1e-6 // some formats have multipliers in 32 bits
	if d := v.ScoreScale*math.Sqrt(float64(c.HeadDim)) - 1; d > -rounding && d < rounding {
		v.ScoreScale = 0
	}
	for _, scale := range []*float64{&v.EmbeddingScale, &v.ResidualScale, &v.LogitScale} {
		if *scale == 1 {
			*scale = 0
		}
	}
	if v.Window == 0 || len(v.Windowed) == c.Layers && !slices.Contains(v.Windowed, true) {
		v.Window, v.Windowed, v.LocalRoPE = 0, nil, RoPE{}
	}
	if len(v.NoRoPE) == c.Layers && !slices.Contains(v.NoRoPE, true) { // Validate refuses other lengths
		v.NoRoPE = nil
	}
}
