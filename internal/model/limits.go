package model

// Limits that no model of this family comes near, so that absurd files are refused before anything is allocated: the largest
// Llama has 16384, 53248, 126 layers and 128 heads of 128 elements.
const (
	MaxWidth   = 1 << 18 // of the residual stream, the feed-forward layer, and all heads together
	MaxLayers  = 1 << 10
	MaxHeads   = 1 << 10
	MaxHeadDim = 1 << 10
	MaxVocab   = 1 << 24
	MaxContext = 1 << 30
	MaxSpread  = 16 // all query heads together, in widths of the residual stream; models come up to 4. Attention's work would
	// otherwise be out of proportion to the file: 1024 heads over a stream of one element
)

// Limits that no model comes near.
const (
	MaxExperts = 1 << 12
	MaxChosen  = 1 << 8
)

// maxTaps is a limit that no model comes near.
const maxTaps = 16

// MaxDense is the most layers that follow pooling: models have two.
const MaxDense = 8

// The range of multipliers: they keep activations finite.
const (
	minScale = 1e-6
	maxScale = 1e6
)
