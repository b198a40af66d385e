package checkpoint

// Layer is what one layer of a model computes. The engine reads it and never asks for a family's name.
type Layer struct {
	Mixer       Mixer
	FeedForward FeedForward
	ScoreCap    float64 // what attention's scores s are limited to, ScoreCap·tanh(s/ScoreCap); 0: they are not
	Window      int     // how many positions Attention sees, the token's own included; 0: all
	Reach       int     // how many positions before and after the token's own TextAttention sees; 0: all
	RoPE        *RoPE   // by which angles attention rotates queries and keys, one of the configuration's; nil: it does not rotate them
}

// Mixer is how a layer lets tokens see each other.
type Mixer uint8

// The mixers.
const (
	Attention     Mixer = iota
	TextAttention       // sees the tokens after its own, too
)

// FeedForward is what a layer computes of each token by itself.
type FeedForward uint8

// The feed-forward networks.
const (
	Gated   FeedForward = iota // down(activation(gate(x))·up(x))
	Ungated                    // down(activation(up(x)))
)

// Layer returns what a layer computes, 0 ≤ n < Layers.
func (c *Config) Layer(n int) Layer {
	is := func(list []bool) bool { return list != nil && list[n] }
	l := Layer{Mixer: Attention, FeedForward: Gated, RoPE: &c.RoPE, ScoreCap: c.ScoreCap}
	if is(c.Windowed) {
		l.Window = c.Window
		if c.LocalRoPE.Theta != 0 {
			l.RoPE = &c.LocalRoPE
		}
	}
	if is(c.Unrotated) {
		l.RoPE = nil
	}
	if c.Whole {
		l.Mixer, l.Reach, l.Window = TextAttention, l.Window/2, 0
	}
	if familyOf(c.Family).plain {
		l.FeedForward = Ungated
	}
	if c.Positions > 0 {
		l.RoPE = nil
	}
	return l
}
