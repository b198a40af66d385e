package model

import (
	"cmp"
	"fmt"
)

// Latent is the sizes of LatentAttention (arXiv 2405.04434): keys and values of all heads are made of one row of Rank elements for each token, which the cache
// has, with RotatedDim elements of a key that all heads share and RoPE rotates. So a layer with it has one head of keys of Rank+RotatedDim elements, which is
// HeadDim. The zero value is of models without.
type Latent struct {
	Rank       int // of keys and values
	QueryRank  int // the width that queries are made of; 0: that of the residual stream
	KeyDim     int // the elements of a head's key that are made of the row
	RotatedDim int
	ValueDim   int // of a head
}

// validate checks that the sizes fit together.
func (l *Latent) validate(c *Config) error {
	if *l == (Latent{}) {
		return nil
	}
	for _, f := range []struct {
		name            string
		value, min, max int
	}{
		{"kv_lora_rank", l.Rank, 2, MaxHeadDim}, {"q_lora_rank", l.QueryRank, 0, MaxWidth}, {"qk_nope_head_dim", l.KeyDim, 1, MaxHeadDim},
		{"qk_rope_head_dim", l.RotatedDim, 2, MaxHeadDim}, {"v_head_dim", l.ValueDim, 1, MaxHeadDim},
	} {
		if f.value < f.min || f.value > f.max {
			return fmt.Errorf("%s is %d, not between %d and %d", f.name, f.value, f.min, f.max)
		}
	}
	switch {
	case l.Rank%2 != 0 || l.RotatedDim%2 != 0:
		return fmt.Errorf("kv_lora_rank is %d and qk_rope_head_dim %d: both must be even", l.Rank, l.RotatedDim)
	case c.RoPE.Rotated != l.RotatedDim:
		return fmt.Errorf("RoPE rotates %d of %d elements that are to be rotated", c.RoPE.Rotated, l.RotatedDim)
	case c.KVHeads != 1 || c.HeadDim != l.Rank+l.RotatedDim:
		return fmt.Errorf("%d heads of %d elements in a cache of rows of %d and %d", c.KVHeads, c.HeadDim, l.Rank, l.RotatedDim)
	case c.Heads*max(l.KeyDim+l.RotatedDim, l.ValueDim) > MaxSpread*c.HiddenSize:
		return fmt.Errorf("%d heads of %d and %d elements are too wide for hidden_size, which is %d", c.Heads, l.KeyDim+l.RotatedDim, l.ValueDim, c.HiddenSize)
	}
	return nil
}

// The sizes of parts of LatentAttention.
func latentRank(c *Config, _ *Layer) int      { return c.Latent.Rank }
func latentQueryRank(c *Config, _ *Layer) int { return c.Latent.QueryRank }
func latentQueryIn(c *Config, _ *Layer) int   { return cmp.Or(c.Latent.QueryRank, c.HiddenSize) }
func latentQueries(c *Config, _ *Layer) int   { return c.Heads * c.Latent.KeyDim }
func latentRotated(c *Config, _ *Layer) int   { return c.Heads * c.Latent.RotatedDim }
func latentKeyDim(c *Config, _ *Layer) int    { return c.Latent.KeyDim }
func latentKey(c *Config, _ *Layer) int       { return c.Latent.RotatedDim }
func latentValueDim(c *Config, _ *Layer) int  { return c.Latent.ValueDim }

// attended is the width of what AttentionOutput reads.
func attended(c *Config, l *Layer) int {
	if l.Mixer == LatentAttention {
		return c.Heads * c.Latent.ValueDim
	}
	return queries(c, l)
}
