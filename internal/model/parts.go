package model

import "slices"

// Part is what a tensor is in the computation of a model. The parts are in the order of computation.
type Part uint8

// The parts of a model. Those from AttentionNorm to LayerScale exist once in each layer.
const (
	Embedding Part = iota
	PositionEmbedding
	TypeEmbedding
	EmbeddingNorm
	RelativeEmbedding  // a row for each bucket of distances: see Relative
	RelativeNorm       // of RelativeEmbedding
	RelativeBias       // a number for each bucket of distances and each head: see Relative
	PerLayerEmbedding  // of all layers' own inputs: see Variant.PerLayerWidth
	PerLayerProjection // of the tokens' embeddings to the layers' own inputs
	PerLayerNorm       // of what PerLayerProjection gives, for each layer apart
	AheadTokenNorm     // of a token's embedding, in a head that predicts further tokens: see Config.Ahead
	AheadStateNorm     // of the final state that the head continues
	AheadProjection    // of both, one after the other, to the width of the residual stream
	AttentionNorm
	StreamNorm    // of what StreamRouter reads
	StreamRouter  // what the streams are mixed by: see Variant.Streams
	StreamPredict // of StreamRouter's numbers, to what each stream takes of each
	Query
	QueryGate // what the result of GatedAttention is multiplied by, after a sigmoid
	Key
	Value
	QueryNorm
	KeyNorm
	Sinks     // a score for each query head that joins attention's softmax and has no value
	QueryDown // LatentAttention's: to the width that queries are made of, if that is not the residual stream's
	QueryDownNorm
	LatentQuery  // the elements of queries that meet those of keys which are made of the cache's row
	RotatedQuery // and those that are rotated
	LatentRow    // the row that keys and values are made of, before LatentNorm
	RotatedKey   // the elements of the key that all heads share
	LatentNorm
	KeyUp            // transposed: makes a head's query of the row's length from one of the key's
	ValueUp          // makes a head's value of a row
	AttentionSubNorm // of attention's result, before AttentionOutput
	AttentionOutput
	RecurrentQuery
	RecurrentKey
	RecurrentValue
	RecurrentGate // what the result is multiplied by, after SiLU
	RecurrentBeta // how much of a token the state takes in
	RecurrentStep // how much of the state a token leaves, with StepBias and Decay
	QueryFilter   // of the convolution of RecurrentQuery
	KeyFilter
	ValueFilter
	StepBias
	Decay
	Skip
	RecurrentNorm
	RecurrentOutput
	InputGate // multiplied before the convolution, and
	OutputGate
	ConvolutionInput
	ConvolutionFilter
	ConvolutionOutput
	AttentionPostNorm
	AttentionSumNorm // of the residual stream, after attention was added to it
	LaurelDown       // of what attention reads, to a small width (arXiv 2411.07501)
	LaurelUp
	LaurelNorm
	FeedForwardNorm
	Gate
	Up
	FeedForwardSubNorm // of what Down reads
	Down
	DensePostNorm    // of the dense network's result, before that of the experts is added
	RouterNorm       // of what the router reads, if that is not what the experts read
	Router           // the scores of experts
	RouterCorrection // is added to the scores when experts are chosen
	LatentDown       // of what experts read to a smaller width, if they have one of their own
	ExpertScales     // what the weights of experts are multiplied by, or the products with ExpertDown: a number for each expert
	ExpertGateScales // what the products with ExpertGate are multiplied by
	ExpertUpScales
	ExpertNorm // of what experts read, if that is not what the dense network reads
	ExpertGate
	ExpertUp
	ExpertDown
	ExpertSumBias  // is added to the sum of the experts' results
	LatentUp       // of the sum of the experts' results back to the width of the residual stream
	ExpertPostNorm // of the sum of the experts' results
	SharedRouter   // what the result of the shared expert is multiplied by
	SharedGate
	SharedUp
	SharedDown
	FeedForwardPostNorm
	FeedForwardSumNorm
	StreamCorrect // of StreamRouter's numbers, to what each stream takes of what the layer has changed
	StreamScale   // what the first stream is multiplied by for PerLayerGate
	PerLayerGate
	PerLayerUp
	PerLayerPostNorm
	LayerScale // what a layer's result is multiplied by: one number
	OutputNorm
	OutputHead
	StreamSplit // makes a further stream of the first one; each has a number
	StreamMerge // makes of a further stream a term that is added to the first one after the last layer
	PooledDense // layers that follow pooling, which have numbers
	ScoreDense  // the first of two layers of a Head
	ScoreNorm   // of what ScoreDense gives
	ScoreOutput // the last layer of a Head
	NumParts
)

// Down reports whether the part is the last matrix of a feed-forward network.
func (p Part) Down() bool { return p == Down || p == ExpertDown || p == SharedDown }

// InLayers reports whether each layer has the part.
func (p Part) InLayers() bool { return p >= AttentionNorm && p <= LayerScale }

// perLayerParts are those of layers' own inputs.
var perLayerParts = []Part{PerLayerEmbedding, PerLayerProjection, PerLayerNorm, PerLayerGate, PerLayerUp, PerLayerPostNorm}

// optional are the parts that a model has only if its configuration says so. The others are Usual: those of a Llama.
var optional = []Part{
	PositionEmbedding, TypeEmbedding, EmbeddingNorm, RelativeEmbedding, RelativeNorm, RelativeBias, QueryNorm, KeyNorm, Sinks, AttentionSubNorm, FeedForwardSubNorm, AttentionPostNorm, AttentionSumNorm, ExpertSumBias, FeedForwardPostNorm, FeedForwardSumNorm,
	PerLayerEmbedding, PerLayerProjection, PerLayerNorm, PerLayerGate, PerLayerUp, PerLayerPostNorm, LayerScale,
	AheadTokenNorm, AheadStateNorm, AheadProjection, StreamNorm, StreamRouter, StreamPredict, StreamCorrect, StreamScale, StreamSplit, StreamMerge, LaurelDown, LaurelUp, LaurelNorm,
}

// PartSet is a set of parts.
type PartSet [(NumParts + 63) / 64]uint64

// Has reports whether the set has a part.
func (s PartSet) Has(p Part) bool { return s[p/64]>>(p%64)&1 != 0 }

// With returns the set with further parts.
func (s PartSet) With(parts ...Part) PartSet {
	for _, p := range parts {
		s[p/64] |= 1 << (p % 64)
	}
	return s
}

// Without returns the set without some parts.
func (s PartSet) Without(parts ...Part) PartSet {
	for _, p := range parts {
		s[p/64] &^= 1 << (p % 64)
	}
	return s
}

// Usual returns the parts of a Llama, together with those of the mixers and networks that it has not.
func Usual() (s PartSet) {
	for p := range NumParts {
		if !slices.Contains(optional, p) {
			s = s.With(p)
		}
	}
	return s
}

// partNames are the parts in words.
var partNames = [NumParts]string{
	Embedding:           "embedding",
	PositionEmbedding:   "position embedding",
	TypeEmbedding:       "type embedding",
	EmbeddingNorm:       "embedding norm",
	RelativeEmbedding:   "relative embedding",
	RelativeNorm:        "relative norm",
	RelativeBias:        "relative bias",
	PerLayerEmbedding:   "per layer embedding",
	PerLayerProjection:  "per layer projection",
	PerLayerNorm:        "per layer norm",
	AheadTokenNorm:      "ahead token norm",
	AheadStateNorm:      "ahead state norm",
	AheadProjection:     "ahead projection",
	AttentionNorm:       "attention norm",
	Query:               "query",
	QueryGate:           "query gate",
	Key:                 "key",
	Value:               "value",
	QueryNorm:           "query norm",
	KeyNorm:             "key norm",
	Sinks:               "sinks",
	QueryDown:           "query down",
	QueryDownNorm:       "query down norm",
	LatentQuery:         "latent query",
	RotatedQuery:        "rotated query",
	LatentRow:           "latent row",
	RotatedKey:          "rotated key",
	LatentNorm:          "latent norm",
	KeyUp:               "key up",
	ValueUp:             "value up",
	AttentionSubNorm:    "attention sub norm",
	AttentionOutput:     "attention output",
	RecurrentQuery:      "recurrent query",
	RecurrentKey:        "recurrent key",
	RecurrentValue:      "recurrent value",
	RecurrentGate:       "recurrent gate",
	RecurrentBeta:       "recurrent beta",
	RecurrentStep:       "recurrent step",
	QueryFilter:         "query filter",
	KeyFilter:           "key filter",
	ValueFilter:         "value filter",
	StepBias:            "step bias",
	Decay:               "decay",
	Skip:                "skip",
	RecurrentNorm:       "recurrent norm",
	RecurrentOutput:     "recurrent output",
	InputGate:           "input gate",
	OutputGate:          "output gate",
	ConvolutionInput:    "convolution input",
	ConvolutionFilter:   "convolution filter",
	ConvolutionOutput:   "convolution output",
	AttentionPostNorm:   "attention post norm",
	AttentionSumNorm:    "attention sum norm",
	FeedForwardNorm:     "feed forward norm",
	Gate:                "gate",
	Up:                  "up",
	FeedForwardSubNorm:  "feed forward sub norm",
	Down:                "down",
	DensePostNorm:       "dense post norm",
	RouterNorm:          "router norm",
	Router:              "router",
	RouterCorrection:    "router correction",
	LatentDown:          "latent down",
	ExpertScales:        "expert scales",
	ExpertGateScales:    "expert gate scales",
	ExpertUpScales:      "expert up scales",
	ExpertNorm:          "expert norm",
	ExpertGate:          "expert gate",
	ExpertUp:            "expert up",
	ExpertDown:          "expert down",
	ExpertSumBias:       "bias of the experts' sum",
	LatentUp:            "latent up",
	ExpertPostNorm:      "expert post norm",
	SharedRouter:        "shared router",
	SharedGate:          "shared gate",
	SharedUp:            "shared up",
	SharedDown:          "shared down",
	FeedForwardPostNorm: "feed forward post norm",
	FeedForwardSumNorm:  "feed forward sum norm",
	StreamNorm:          "stream norm",
	StreamRouter:        "stream router",
	StreamPredict:       "stream predict",
	StreamCorrect:       "stream correct",
	StreamScale:         "stream scale",
	StreamSplit:         "stream split",
	StreamMerge:         "stream merge",
	LaurelDown:          "laurel down",
	LaurelUp:            "laurel up",
	LaurelNorm:          "laurel norm",
	PerLayerGate:        "per layer gate",
	PerLayerUp:          "per layer up",
	PerLayerPostNorm:    "per layer post norm",
	LayerScale:          "layer scale",
	OutputNorm:          "output norm",
	OutputHead:          "head",
	PooledDense:         "pooled dense",
	ScoreDense:          "score dense",
	ScoreNorm:           "score norm",
	ScoreOutput:         "score output",
}

// String returns the part in words, such as "query norm".
func (p Part) String() string {
	if p.ofTower() {
		return p.towerName()
	}
	return partNames[p]
}
