package model

import (
	"cmp"
	"math"
	"slices"
)

// Layer returns what a layer computes, 0 ≤ n < Layers.
func (c *Config) Layer(n int) Layer {
	is := func(list []bool) bool { return list != nil && list[n] }
	l := Layer{Mixer: Attention, FeedForward: Gated, LayerSizes: c.layerSizes(n), RoPE: &c.RoPE, ScoreCap: c.ScoreCap}
	if c.Mixers != nil {
		l.Mixer = c.Mixers[n]
	}
	l.ValueNorm = c.ValueNorm
	if l.Mixer == SharedAttention {
		l.Source = c.sourceOf(n)
	}
	if is(c.Windowed) {
		l.Window = c.Window
		if c.LocalRoPE.Theta != 0 {
			l.RoPE = &c.LocalRoPE
		}
	}
	if is(c.NoRoPE) {
		l.RoPE = nil
	}
	if c.Whole {
		l.Mixer, l.Reach, l.Window = TextAttention, l.Window/2, 0
	}
	if c.Ungated {
		l.FeedForward = Ungated
	}
	if c.FeedForwards != nil {
		l.FeedForward = c.FeedForwards[n]
	}
	if c.Positions > 0 || !l.Mixer.Attends() {
		l.RoPE = nil
	}
	return l
}

// lacks reports whether the model has not a part that others of its family have.
func (c *Config) lacks(p Part) bool {
	return c.Unnormed && (p == QueryNorm || p == KeyNorm) || c.Latent.QueryRank == 0 && (p == QueryDown || p == QueryDownNorm) || c.Recurrent.Unnormed && p == RecurrentNorm || c.Experts.lacks(p)
}

// layerSizes returns the sizes of a layer.
func (c *Config) layerSizes(n int) LayerSizes {
	if c.Sizes != nil {
		return c.Sizes[n]
	}
	return LayerSizes{c.IntermediateSize, c.KVHeads, c.HeadDim}
}

// sourceOf returns the layer that has the keys and values which a layer with SharedAttention reads: the last one before it that has its own and
// sees as much, a window or all; -1 if there is no such layer.
func (c *Config) sourceOf(n int) int {
	windowed := func(i int) bool { return c.Windowed != nil && c.Windowed[i] }
	for i := n - 1; i >= 0; i-- {
		if c.Mixers[i] != SharedAttention && windowed(i) == windowed(n) {
			return i
		}
	}
	return -1
}

// OwnSizes gives each layer sizes of its own, those of all so far.
func (c *Config) OwnSizes() {
	if c.Sizes != nil {
		return
	}
	c.Sizes = make([]LayerSizes, min(max(c.Layers, 0), MaxLayers))
	for i := range c.Sizes {
		c.Sizes[i] = LayerSizes{c.IntermediateSize, c.KVHeads, c.HeadDim}
	}
}

// ropeOf returns the RoPE of a layer, one without any turn if the layer does not rotate.
func (c *Config) ropeOf(layer int) *RoPE {
	if l := c.Layer(layer); l.RoPE != nil {
		return l.RoPE
	}
	return &RoPE{}
}

// HeadDims returns the lengths of heads of layers without and with a window; if there are no such layers, the largest.
func (c *Config) HeadDims() (whole, local int) {
	for i, s := range c.Sizes {
		if c.Windowed != nil && c.Windowed[i] {
			local = s.HeadDim
		} else {
			whole = s.HeadDim
		}
	}
	return cmp.Or(whole, c.HeadDim), cmp.Or(local, c.HeadDim)
}

// RoutedLayers returns how many layers have experts.
func (c *Config) RoutedLayers() (n int) {
	for _, f := range c.FeedForwards {
		if f.Routed() {
			n++
		}
	}
	return n
}

// StateElements returns how many elements the states of a conversation have in a layer's mixer.
func (c *Config) StateElements(m Mixer) int64 {
	r := &c.Recurrent
	past := int64(r.Taps - 1)
	switch m {
	case ShortConvolution:
		return past * int64(c.HiddenSize)
	case DeltaRule, SelectiveScan, AttentionAndScan:
		const block = 16 // columns lie in blocks: see backend.StateShape
		wide := int64(r.Heads) * int64(r.ValueDim)
		return past*(wide+2*int64(r.KeyHeads)*int64(r.KeyDim)) + int64(r.Heads)*int64((r.ValueDim+block-1)/block*block)*int64(r.KeyDim)
	}
	return 0
}

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
