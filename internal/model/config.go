package model

// Config describes a model: its sizes and the few choices that its architecture leaves open.
type Config struct {
	HiddenSize       int // width of the residual stream
	IntermediateSize int // width of the feed-forward layer: the largest, if layers differ; see Variant.Sizes
	Layers           int
	Heads            int // query heads
	KVHeads          int // key and value heads, each shared by Heads/KVHeads query heads: the most, if layers differ
	HeadDim          int // the largest, if layers differ
	VocabSize        int
	ContextLength    int // tokens the model was trained for
	RMSNormEps       float32
	RoPE             RoPE
	AttentionBias    bool // of queries, keys and values, and of the output, unless BareOutput is set
	MLPBias          bool
	TiedEmbeddings   bool     // the output head is the embedding table
	BOS              int32    // begin of text; -1: no such token
	EOS              []int32  // each ends a turn
	Padding          int32    // the token by which an image's rows look up what layers get from tokens
	Deepstack        int      // how many of the first layers add features of images to their rows
	Together         Together // in which layers the rows of an image see each other
	Variant                   // how the family differs from Llama
	Encoder                   // of a model that reads a text as a whole
	Head             Head     // that puts labels on texts or tokens
	Ahead            *Config  // the head that predicts further tokens, as a model of one layer: see AheadConfig; nil: there is no such head
	After            int      // of such a head, the layers of the model that it continues; 0: the model is no such head
	Sampling         Sampling // how its authors recommend that tokens are drawn
	// Biases are the projections with biases, if those are others than AttentionBias and MLPBias say; nil: they are not.
	Biases     map[Place]bool
	Scales     map[Place]float32 // what the products with weights are multiplied by before biases are added; those of 1 are left out
	Multiplied PartSet           // the projections that the family multiplies, by Scales or within a file's matrices: an adapter's share would have to be, too
	// ExpertScaled are the places of ExpertScales, ExpertGateScales and ExpertUpScales that the model has; nil: those that it always has.
	ExpertScaled map[Place]bool
}

// Together says in which layers each row of an image sees all rows of that image; otherwise it sees those before it, as tokens of a text do.
type Together int

// Layers in which the rows of an image see each other.
const (
	Never    Together = iota
	InWindow          // in layers with a sliding window, as far as the window lets them see back: Gemma 4's 26B and 31B
	Always            // in all layers, with a window as far as that: Gemma 3
	Entirely          // in all layers, whatever the window: Gemma 4's 12B
)

// Place is a part of a layer, or of the model as a whole with the layer 0.
type Place struct {
	Part  Part
	Layer int
}
