package selection

import "slices"

// Choices are some of a vocabulary's tokens, each with a value. Both slices have the same length.
type Choices struct {
	Tokens []int32
	Values []float32 // Values[i] is the logit, the weight or the probability of Tokens[i]
}

// Reserve makes the choices n tokens long, of any content, and returns them. It allocates only if they were never as long.
func (c *Choices) Reserve(n int) *Choices {
	c.Tokens, c.Values = slices.Grow(c.Tokens[:0], n)[:n], slices.Grow(c.Values[:0], n)[:n]
	return c
}

// Within reports whether all of the choices are allowed: whether bit t%64 of word t/64 of allowed is 1 for each token t. If allowed is nil,
// all tokens are.
func (c *Choices) Within(allowed []uint64) bool {
	return allowed == nil || !slices.ContainsFunc(c.Tokens, func(t int32) bool { return allowed[t/64]>>(t%64)&1 == 0 })
}
