package model

import "cmp"

// The sizes of tensors, from those of the configuration and of the layer, and which configurations have biases. For example, Value of a layer with 8
// heads of keys and values of 64 elements in a model of a width of 2048 is [keys, hidden], which is [512, 2048].

// size is a dimension of a tensor of a layer; of one that belongs to no layer, of any.
type size func(c *Config, l *Layer) int

func hidden(c *Config, _ *Layer) int       { return c.HiddenSize }
func twoHidden(c *Config, _ *Layer) int    { return 2 * c.HiddenSize }
func intermediate(_ *Config, l *Layer) int { return l.IntermediateSize }
func vocab(c *Config, _ *Layer) int        { return c.VocabSize }
func queries(c *Config, l *Layer) int      { return c.Heads * l.HeadDim }
func keys(_ *Config, l *Layer) int         { return l.KVHeads * l.HeadDim }
func heads(c *Config, _ *Layer) int        { return c.Heads }
func inputs(c *Config, _ *Layer) int       { return c.Layers * c.PerLayerWidth }
func inputVocab(c *Config, _ *Layer) int   { return cmp.Or(c.PerLayerVocab, c.VocabSize) }
func streams(c *Config, _ *Layer) int      { return c.Streams }
func streamPairs(c *Config, _ *Layer) int  { return c.Streams * c.Streams }
func laurelRank(c *Config, _ *Layer) int   { return c.LaurelRank }
func input(c *Config, _ *Layer) int        { return c.PerLayerWidth }
func attentionBias(c *Config) bool         { return c.AttentionBias }
func mlpBias(c *Config) bool               { return c.MLPBias }
func headBias(c *Config) bool              { return c.HeadBias }
func normBias(c *Config) bool              { return c.NormBias }
func positions(c *Config, _ *Layer) int    { return c.Positions }
func distances(c *Config, _ *Layer) int    { return c.Relative.Buckets }
func types(c *Config, _ *Layer) int        { return c.Types }
func one(*Config, *Layer) int              { return 1 }

// The sizes of parts of layers with a state.
func recurrentKeys(c *Config, _ *Layer) int   { return c.Recurrent.KeyHeads * c.Recurrent.KeyDim }
func recurrentValues(c *Config, _ *Layer) int { return c.Recurrent.Heads * c.Recurrent.ValueDim }
func recurrentHeads(c *Config, _ *Layer) int  { return c.Recurrent.Heads }
func taps(c *Config, _ *Layer) int            { return c.Recurrent.Taps }
func filterBias(c *Config) bool               { return c.Recurrent.FilterBias }

// recurrentNorm is the length of RecurrentNorm: the gated delta rule norms each head, Mamba all together.
func recurrentNorm(c *Config, l *Layer) int {
	if l.Mixer.Scans() {
		return recurrentValues(c, l)
	}
	return c.Recurrent.ValueDim
}

func experts(c *Config, _ *Layer) int     { return c.Experts.Count }
func expertWidth(c *Config, _ *Layer) int { return c.Experts.Width }
func sharedWidth(c *Config, _ *Layer) int { return c.Experts.SharedWidth }
func latent(c *Config, _ *Layer) int      { return c.ExpertInput() }
func expertBias(c *Config) bool           { return c.Experts.Biased }

// queryNorm and keyNorm are the elements of norms of queries and keys: of a head, or of all together.
func queryNorm(c *Config, l *Layer) int {
	if c.JointNorms {
		return queries(c, l)
	}
	return l.HeadDim
}

func keyNorm(c *Config, l *Layer) int {
	if c.JointNorms {
		return keys(c, l)
	}
	return l.HeadDim
}
func outputBias(c *Config) bool { return c.AttentionBias && !c.BareOutput }
