package llama

import "github.com/antigravity-go/antigravity/internal/checkpoint"

// Config describes a model of the Llama family: its sizes and the few choices that the architecture leaves open.
type Config struct {
	HiddenSize       int // width of the residual stream
	IntermediateSize int // width of the feed-forward layer
	Layers           int
	Heads            int // query heads
	KVHeads          int // key and value heads, each shared by Heads/KVHeads query heads (grouped queries, GQA)
	HeadDim          int
	VocabSize        int
	ContextLength    int // tokens the model was trained for
	RMSNormEps       float32
	RoPE             RoPE
	AttentionBias    bool
	MLPBias          bool
	TiedEmbeddings   bool    // the output head is the embedding table
	BOS              Token   // begin of text; -1: none
	EOS              []Token // each ends a turn
}

// RoPE says how positions turn into angles: the base of the frequencies and how they were stretched for long contexts.
type RoPE struct {
	Theta   float64
	Scaling string // "", "linear" or "llama3"
	Factor  float64
	// For "llama3": wavelengths longer than OriginalContext/LowFreqFactor are stretched by Factor, those shorter than
	// OriginalContext/HighFreqFactor are left alone, those between are blended.
	LowFreqFactor, HighFreqFactor float64
	OriginalContext               int
	// Divisors, when not nil, has one divisor for each of the HeadDim/2 frequencies and stands for the above: GGUF files
	// carry them as rope_freqs.weight.
	Divisors []float32
}

// configOf returns what a model's files say in the terms of this package.
func configOf(c *checkpoint.Config) Config {
	return Config{
		HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers, Heads: c.Heads, KVHeads: c.KVHeads,
		HeadDim: c.HeadDim, VocabSize: c.VocabSize, ContextLength: c.ContextLength, RMSNormEps: c.RMSNormEps, RoPE: RoPE(c.RoPE),
		AttentionBias: c.AttentionBias, MLPBias: c.MLPBias, TiedEmbeddings: c.TiedEmbeddings, BOS: Token(c.BOS), EOS: fromInt32(c.EOS),
	}
}
