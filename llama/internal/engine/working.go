package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend/host"
	"github.com/antigravity-go/antigravity/internal/model"
)

// workingBytes returns how many bytes passes of the default number of rows, and the operations that compute them, take beyond
// weights and caches, for conversations of capacity tokens. It is an estimate for any machine: it takes the number of workers as a constant, so
// that a model that loads on one machine loads on another.
func workingBytes(c *model.Config, capacity int) int64 {
	const workers, floatBytes = 8, 4
	choosing := 5 * int64(c.VocabSize) // of a session: logits on the device and the host, probabilities, and the candidates' tokens and values
	var states int64                   // of a conversation
	for i := range c.Layers {
		states += c.StateElements(c.Layer(i).Mixer)
	}
	return floatBytes*(states+(DefaultChunk+DefaultMost)*rowFloats(c)+GroupRows*int64(c.VocabSize)+choosing) + attentionScratch(c, capacity, workers)
}

// rowFloats returns how many floats of working memory a row of a pass takes.
func rowFloats(c *model.Config) int64 {
	q, kv := int64(c.Heads)*int64(c.HeadDim), int64(c.KVHeads)*int64(c.HeadDim)
	hidden, wide := int64(c.HiddenSize), int64(c.IntermediateSize)
	// The floats of a token's row: x, normed and product; q and out; k and v; gate and up; ropes and ropeHosts; those of experts.
	row := 3*hidden + 2*q + 2*kv + 2*wide + 2*int64(c.HeadDim)
	e := &c.Experts
	row += int64(e.Chosen)*(2*int64(e.Width)+hidden) + int64(e.Count) + 2*int64(e.SharedWidth) + 2*int64(e.Latent)
	if r := &c.Recurrent; r.Taps > 0 { // queries and keys; values, out and gate; beta, step and decay; and those of short convolutions
		row += 2*int64(r.KeyHeads)*int64(r.KeyDim) + 3*int64(r.Heads)*(int64(r.ValueDim)+1) + 3*hidden + q
	}
	if l := &c.Latent; l.Rank > 0 { // of each head rows, their parts, keys and values
		row += int64(c.Heads)*int64(c.HeadDim+l.KeyDim+l.ValueDim) + int64(c.HeadDim) + int64(l.QueryRank)
	}
	if n := int64(c.Streams); n > 0 { // the streams but the first, all as they were, and numbers
		row += (2*n-1)*hidden + n*n + 2*n
	}
	row += int64(c.LaurelRank)
	row += int64(c.PerLayerWidth) * int64(2*c.Layers+2)
	return row + max(hidden, q, wide)/2 // a product's activation, quantised: at most 2 bytes an element, half of a float
}

// attentionScratch returns the most that attention of any layer takes.
func attentionScratch(c *model.Config, capacity, workers int) (most int64) {
	of := c.Sizes
	if of == nil {
		of = []model.LayerSizes{{KVHeads: c.KVHeads, HeadDim: c.HeadDim}}
	}
	for _, s := range of {
		if s.KVHeads > 0 {
			most = max(most, host.AttentionScratch(c.Heads, s.KVHeads, s.HeadDim, capacity, workers))
		}
	}
	return most
}

// The working memory that a configuration may ask for: workingFree bytes in any case, which lets the smallest models in, and
// workingPerStored bytes for each byte of its weights. The models of this family stay far below that.
const (
	workingFree      = 32 << 20
	workingPerStored = 4
)

// CheckWorkingBytes refuses a configuration if its working memory, for conversations of capacity tokens, is out of proportion to its
// weights, which have stored bytes: a file must not make a program allocate many times its size.
func CheckWorkingBytes(c *model.Config, capacity int, stored int64) error {
	if need, limit := workingBytes(c, capacity), workingFree+workingPerStored*stored; need > limit {
		return fmt.Errorf("the configuration (%d heads of %d elements, widths of %d and %d, a vocabulary of %d) takes %d bytes of working memory, "+
			"out of proportion to weights of %d bytes", c.Heads, c.HeadDim, c.HiddenSize, c.IntermediateSize, c.VocabSize, need, stored)
	}
	return nil
}
