package model

import ()

// Variant has the differences of a model from Llama, besides its parts. The zero value is Llama.
type Variant struct {
	// Family is the architecture's name, for those who read and write files; "" stands for "llama". Nothing here depends on it.
	Family string
	Parts  PartSet // that the model may have; the zero value stands for Usual
	// FirstWithout are parts that the first layer has not.
	FirstWithout PartSet
	BareOutput   bool // the output of attention has no bias, whatever AttentionBias is
	JointNorms   bool // a norm of queries or keys is of all heads together, not of each head
	ValueNorm    bool // see Layer.ValueNorm
	Parallel     bool // a layer's network reads what its mixer reads, and both results are added
	HeadBias     bool // logits have biases
	LateNorms    bool // queries and keys are normed after RoPE has rotated them, and not before
	Ungated      bool // layers have Ungated networks, if FeedForwards does not say otherwise
	// Activation is of the feed-forward layer: "" for SiLU, "gelu_tanh", "gelu" for that with the error function, "relu2" for the square of ReLU, or "xielu" for
	// xIELU, which has a curve of its own in each layer.
	Activation string
	Curves     []Curve // of each layer with the activation "xielu"
	// Window is how many positions a token sees, itself included, in the layers that Windowed marks; 0: all positions. An encoder's sees
	// half as many before itself, and as many after itself.
	Window   int
	Windowed []bool // one for each layer; nil: no layer
	NoRoPE   []bool // layers without RoPE; nil: no such layer
	// Of each layer; nil: all have attention, the family's feed-forward network, and the sizes of Config.
	Mixers       []Mixer
	Recurrent    Recurrent
	Latent       Latent // of LatentAttention
	FeedForwards []FeedForward
	Sizes        []LayerSizes
	Experts      Experts // of the layers with experts
	Unnormed     bool    // queries and keys have no norms, though the family may have them
	// PerLayerWidth is the width of inputs that each layer has of its own, which come from the tokens alone (Gemma 4's per-layer
	// embeddings); 0: no such inputs.
	PerLayerWidth int
	PerLayerVocab int // rows of the table of such inputs, if it has fewer than the vocabulary: later tokens have that of token 0
	// Streams is how many residual streams there are (AltUp, arXiv 2301.13310), which each layer mixes and corrects; 0: one.
	Streams int
	// LaurelRank is the width of a bypass of attention (LAuReL, arXiv 2411.07501); 0: attention has no bypass.
	LaurelRank int
	// Sparsity, of each layer, is how many standard deviations above their mean the gate's numbers of a token count at all; 0: all count. nil: in all layers.
	Sparsity  []float32
	LocalRoPE RoPE // of layers with a window; a Theta of 0: theirs is Config.RoPE
	// What embeddings, scores of attention, the results of a layer's two halves and logits are multiplied by; 0: 1, for ScoreScale
	// 1/√HeadDim.
	EmbeddingScale, ScoreScale, ResidualScale, LogitScale float64
	// What scores of attention and logits x are limited to, cap·tanh(x/cap) for a cap; 0: they are not limited.
	ScoreCap, LogitCap float64
	Relative           Relative // what attention adds to scores by distances
	PostNormEps        float32  // of the norms of a layer's two results; 0: it is Config.RMSNormEps
	Rounding           Rounding // of weights and activations, as in BitNet
}
