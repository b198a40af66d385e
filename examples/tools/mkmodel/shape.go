package main

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
)

// Shape is the size of a model and its few architectural choices.
type Shape struct {
	Hidden, Intermediate   int // widths of the residual stream and of the feed-forward layer
	Layers, Heads, KVHeads int
	HeadDim                int
	Vocab, Context         int
	Theta                  float64 // base of RoPE's frequencies
	Scaling                float64 // factor of RoPE's llama3 scaling; 0: none
	Eps                    float64 // of the norms
	Tied                   bool    // the output head is the embedding table
}

// shapes are the published sizes: the config.json of meta-llama's repositories. tiny is ours, for tests; its rows are whole
// blocks of every format.
var shapes = map[string]Shape{
	"llama-3.2-1b": {2048, 8192, 16, 32, 8, 64, 128256, 131072, 500000, 32, 1e-5, true},
	"llama-3.2-3b": {3072, 8192, 28, 24, 8, 128, 128256, 131072, 500000, 32, 1e-5, true},
	"llama-3.1-8b": {4096, 14336, 32, 32, 8, 128, 128256, 131072, 500000, 8, 1e-5, false},
	"llama-2-7b":   {4096, 11008, 32, 32, 32, 128, 32000, 4096, 10000, 0, 1e-5, false},
	"tiny":         {256, 512, 2, 4, 2, 64, 1024, 512, 500000, 32, 1e-5, true},
}

func shapeNames() string { return strings.Join(slices.Sorted(maps.Keys(shapes)), ", ") }

// shapeOf looks a shape up, and changes vocabulary and context where they are not 0.
func shapeOf(name string, vocab, context int) (Shape, error) {
	s, ok := shapes[name]
	if !ok {
		return s, cli.Usagef("unknown -shape %q: known are %s", name, shapeNames())
	}
	if vocab != 0 {
		s.Vocab = vocab
	}
	if context != 0 {
		s.Context = context
	}
	if s.Vocab < minVocab || s.Vocab > maxVocab {
		return s, cli.Usagef("-vocab %d must be between %d and %d", s.Vocab, minVocab, maxVocab)
	}
	if s.Context < 1 || s.Context > 1<<24 {
		return s, cli.Usagef("-context %d must be between 1 and %d", s.Context, 1<<24)
	}
	return s, nil
}

// The constants of RoPE's llama3 scaling, the same in every model that has it.
const (
	lowFreqFactor   = 1
	highFreqFactor  = 4
	originalContext = 8192
)

// divisors returns what llama3 scaling divides RoPE's frequencies by, nil without scaling: GGUF files carry these numbers as
// rope_freqs.weight. Wavelengths that the original context held many times stay, those it did not hold once are stretched
// by the whole factor, and those between are blended.
func (s Shape) divisors() []float32 {
	if s.Scaling == 0 {
		return nil
	}
	list := make([]float32, s.HeadDim/2)
	for i := range list {
		wavelength := 2 * math.Pi * math.Pow(s.Theta, float64(2*i)/float64(s.HeadDim))
		smooth := (originalContext/wavelength - lowFreqFactor) / (highFreqFactor - lowFreqFactor)
		smooth = min(max(smooth, 0), 1)
		list[i] = float32(1 / (float64((1-smooth)/s.Scaling) + smooth))
	}
	return list
}
