package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/examples/internal/cli"
	"github.com/antigravity-go/antigravity/internal/checkpoint"
)

// shapes are the published sizes: the config.json of meta-llama's repositories. tiny is ours, for tests; its rows are whole
// blocks of every format.
var shapes = map[string]checkpoint.Config{
	"llama-3.2-1b": {HiddenSize: 2048, IntermediateSize: 8192, Layers: 16, Heads: 32, KVHeads: 8, HeadDim: 64,
		VocabSize: 128256, ContextLength: 131072, RoPE: llama3(32), TiedEmbeddings: true},
	"llama-3.2-3b": {HiddenSize: 3072, IntermediateSize: 8192, Layers: 28, Heads: 24, KVHeads: 8, HeadDim: 128,
		VocabSize: 128256, ContextLength: 131072, RoPE: llama3(32), TiedEmbeddings: true},
	"llama-3.1-8b": {HiddenSize: 4096, IntermediateSize: 14336, Layers: 32, Heads: 32, KVHeads: 8, HeadDim: 128,
		VocabSize: 128256, ContextLength: 131072, RoPE: llama3(8)},
	"llama-2-7b": {HiddenSize: 4096, IntermediateSize: 11008, Layers: 32, Heads: 32, KVHeads: 32, HeadDim: 128,
		VocabSize: 32000, ContextLength: 4096, RoPE: checkpoint.RoPE{Theta: 10000}},
	"tiny": {HiddenSize: 256, IntermediateSize: 512, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 64,
		VocabSize: 1024, ContextLength: 512, RoPE: llama3(32), TiedEmbeddings: true},
}

// normEps is every shape's.
const normEps = 1e-5

// llama3 is the RoPE of Llama 3.1 and later, stretched by a factor.
func llama3(factor float64) checkpoint.RoPE {
	return checkpoint.RoPE{Theta: 500000, Scaling: "llama3", Factor: factor, LowFreqFactor: 1, HighFreqFactor: 4, OriginalContext: 8192}
}

func shapeNames() string { return strings.Join(slices.Sorted(maps.Keys(shapes)), ", ") }

// shapeOf looks a shape up, and changes vocabulary and context where they are not 0.
func shapeOf(name string, vocab, context int) (*checkpoint.Config, error) {
	c, ok := shapes[name]
	if !ok {
		return nil, cli.Usagef("unknown -shape %q: known are %s", name, shapeNames())
	}
	c.RMSNormEps = normEps
	if vocab != 0 {
		c.VocabSize = vocab
	}
	if context != 0 {
		c.ContextLength = context
	}
	if c.VocabSize < minVocab || c.VocabSize > maxVocab {
		return nil, cli.Usagef("-vocab %d must be between %d and %d", c.VocabSize, minVocab, maxVocab)
	}
	if c.ContextLength < 1 || c.ContextLength > 1<<24 {
		return nil, cli.Usagef("-context %d must be between 1 and %d", c.ContextLength, 1<<24)
	}
	return &c, nil
}
