package families

import (
	"cmp"

	"github.com/antigravity-go/antigravity/internal/checkpoint/keys"
	"github.com/antigravity-go/antigravity/internal/model"
)

// Family is what an architecture has that Llama has not, and the other way round. The zero value, but for its names, is Llama. For example, the entry of
// qwen2 says
//
//	biased, bare: AttentionOutput           queries, keys and values have biases, the output of attention has no bias
//	unpaired                                GGUF has the rows of queries and keys in Hugging Face's order
//	window: {rule: fromLayer, …}            with use_sliding_window, layers from max_window_layers on have a window
//
// and of gemma3, with the rule exceptEvery and 6 for every, layers 0 to 4 have a window, layer 5 sees all positions, and so on.
type Family struct {
	Name  string // GGUF's name of the architecture, with which its keys begin
	Type  string // config.json's model_type
	Class string // what config.json calls the program

	textTypes []string // other values of it, of models of text within wrappers and of wrappers that have the keys of text among their own

	gguf       string   // GGUF's name of the architecture if it is another one; "": it is Name
	alsoGGUF   []string // other names there that differ in nothing that counts for text
	ggufPlain  string   // that if all layers have attention and no layer has experts; "": the usual one
	ggufMoE    string   // that if all layers have attention, and some have experts
	ggufSeeing string   // that of models of text with positions of images; "": the usual one
	ggufRouted string   // that if some layers have experts, whatever the others have; "": the usual one
	adapts     string   // another architecture, if its adapters fit

	// Parts.
	with        []model.Part               // that Llama has not
	without     []model.Part               // that Llama has
	huggingFace map[model.Part]string      // names other than those of the table of names
	ggufNames   map[model.Part]string      // the same for GGUF
	constants   map[model.Part]float32     // parts that folders do not have, and the number that all their elements are
	asStored    []model.Part               // norms with weights that plusOne does not mean
	fused       map[model.Part]fusedPart   // parts that are some of the rows of a tensor
	fusedGGUF   map[model.Part]fusedPart   // the same for GGUF alone
	layers      string                     // with what the names of the parts of layers begin in folders; "": as Llama's
	bare        bool                       // the output of attention has no bias, though queries, keys and values may have
	biased      bool                       // queries, keys and values always have biases
	headBiased  bool                       // logits have biases
	unpaired    bool                       // GGUF has the rows of queries and keys in Hugging Face's order
	paired      bool                       // both formats have these rows in pairs, see storage.Paired
	plusOne     bool                       // Hugging Face stores the weights of norms less one
	unified     bool                       // an image's rows see each other in all layers, whatever the window
	jointNorms  bool                       // a norm of queries or keys is of all heads together, not of each head
	parallel    bool                       // see model.Variant.Parallel
	lateNorms   bool                       // see model.Variant.LateNorms
	valueNorm   bool                       // see model.Layer.ValueNorm
	tiled       bool                       // GGUF has value heads in another order: see model.Tiling
	folderOnly  bool                       // GGUF has no such architecture
	folds       bool                       // GGUF has multipliers of products in the matrices, and those of embeddings and logits too
	rounds      bool                       // folders may say that products round as BitNet's do, and GGUF files of quantised matrices always mean it
	strips      bool                       // added tokens of SentencePiece vocabularies take the white space after them, which GGUF does not say
	judges      bool                       // its reranker scores texts by the tokens yes and no, also if its files do not say so
	activation  string                     // of the feed-forward layer, as Hugging Face names it; "": silu
	rootScaled  bool                       // embeddings are multiplied by the square root of the width, rounded to BF16
	logitFactor float64                    // what logits are multiplied by if nothing is said, and then logit_scale says it; 0: GGUF's key has what they are divided by
	scoreScale  float64                    // what scores of attention are always multiplied by; 0: a file says it, or nothing does
	encoding                               // of a family that reads a text as a whole
	window      windows                    // which layers have a sliding window
	rope        ropes                      // what distinguishes RoPE
	experts     *expertRule                // nil: the family has no layers with experts
	layersOf    func(*walking, *keys.Walk) // which layers there are, if other keys depend on it; nil: the usual keys say it
	keys        func(*walking, *keys.Walk) // its own keys; nil: there are no such keys
	ahead       *aheadRule                 // how folders have a head that predicts further tokens; nil: such heads are not read
	numbers     numbers                    // what folders have in tensors of one element, and GGUF among its keys; nil: there are no such tensors

	defaults defaults
}

// numbers notes in a configuration what a folder has in tensors of one element. read returns such an element.
type numbers func(c *model.Config, read func(name string) (float32, error)) error

// ReadNumbers notes in a configuration what a folder has in tensors of one element and GGUF among its keys, by a function that returns such an element.
func (f *Family) ReadNumbers(c *model.Config, read func(name string) (float32, error)) error {
	if f.numbers != nil {
		if err := f.numbers(c, read); err != nil {
			return err
		}
	}
	return f.readScales(c, read)
}

// defaults are what config.json need not say.
type defaults struct {
	tied                           bool
	biased                         bool // queries, keys and values have biases
	eps                            float32
	headDim                        int
	heads, kvHeads, vocab, context int // of families with wrappers that leave out usual values
}

// architecture returns GGUF's name.
func (f *Family) architecture() string { return cmp.Or(f.gguf, f.Name) }

// describe notes in a configuration what all models of the family have.
func (f *Family) describe(c *model.Config) {
	c.Parts = model.Usual().With(f.with...).Without(f.without...)
	c.FirstWithout = model.PartSet{}.With(f.firstWithout...)
	c.BareOutput, c.JointNorms, c.ValueNorm, c.Ungated = f.bare, f.jointNorms, f.valueNorm, f.plain
	c.LateNorms, c.Parallel, c.HeadBias = f.lateNorms, f.parallel, f.headBiased
}

// Biased reports whether the projections of the family's layers always have their biases.
func (f *Family) Biased() bool { return f.biased }

// Strips reports whether added tokens of the family's SentencePiece vocabularies take the white space after them, which GGUF does not say.
func (f *Family) Strips() bool { return f.strips }

// Judges reports whether the family's reranker scores texts by the tokens yes and no, also if its files do not say so.
func (f *Family) Judges() bool { return f.judges }

// Whole reports whether the family's models read a text as a whole.
func (f *Family) Whole() bool { return f.whole }

// llama is the family that a configuration without a name has.
const llama = "llama"

// walking is a configuration that is read or written.
type walking struct {
	*model.Config
	family *Family
}

// windows says which layers of a family have a sliding window, and which keys of config.json say it. The zero value: no layer, whatever a folder says.
type windows struct {
	rule    func(*windowRule) bool // whether a layer has a window, if the configuration has one
	every   int                    // each such layer has no window; 0: not given
	types   bool                   // layer_types lists the layers
	use     bool                   // use_sliding_window says whether there is a window
	from    bool                   // max_window_layers says from which layer on
	size    int                    // of the window if nothing is said; 0: there is no window
	eachWay bool                   // the keys have how many tokens before its own a token sees, and after it: half of model.Variant.Window
	key     string                 // that has the size, if it is not sliding_window
	letters bool                   // sliding_window_pattern may be letters, L for a layer with a window and G for one without
}

// windowRule is what decides whether a layer has a sliding window.
type windowRule struct {
	layer int
	use   bool // use_sliding_window
	from  int  // max_window_layers
	every int  // each such layer has no window; 0: not given
}

// ropes is what distinguishes a family's RoPE.
type ropes struct {
	theta           float64   // the base if nothing is said; 0: 10000
	localTheta      float64   // that of layers with a window, if it is another one
	thetaKeys       []string  // of the base in config.json, the first that is there; nil: rope_theta
	localKeys       []string  // of that in layers with a window; nil: there is no such key
	partial         float64   // which part of a head is rotated if nothing is said, and then partial_rotary_factor says it; 0: all is
	usual           *ropeJSON // if config.json says nothing of RoPE; nil: it is not stretched
	scaledTypes     []string  // the types of layers that rope_scaling changes, if each type has parameters of its own
	parametersAlone bool      // rope_scaling counts for nothing, as transformers reads it, and is refused
	unstretched     bool      // layers with a window have RoPE's base and no scaling
	unrounded       bool      // YaRN is not rounded to whole pairs, which GGUF does not say
	still           bool      // the last pairs of a head's elements may stand still, which GGUF says by divisors of 1e30
	interleaved     bool      // sections of pairs that turn by each of a row's positions alternate
	scalesQueries   bool      // queries may be scaled by their positions
	alpha           bool      // the scaling "dynamic" with an alpha stretches the base
	latent          bool      // scores are multiplied by the square of YaRN's factor by mscale_all_dim, which GGUF has a tenth of as rope.scaling.yarn_log_multiplier
	divided         bool      // GGUF has the frequencies that YaRN makes as divisors, too
	logMultiplier   bool      // GGUF has YaRN's factor of attention as rope.scaling.yarn_log_multiplier if it is 1
	originalContext bool      // config.json may have original_max_position_embeddings apart from RoPE's object
}

// ropeJSON is RoPE's part of config.json.
type ropeJSON struct {
	Factor          float64   `json:"factor"`
	HighFreqFactor  float64   `json:"high_freq_factor,omitempty"`
	LowFreqFactor   float64   `json:"low_freq_factor,omitempty"`
	OriginalContext int       `json:"original_max_position_embeddings,omitempty" whole:"4.0"`
	Theta           *float64  `json:"rope_theta,omitempty"`
	Type            string    `json:"rope_type,omitempty"`
	OldType         string    `json:"type,omitempty"` // before transformers 4.43
	Attention       float64   `json:"attention_factor,omitempty"`
	BetaFast        float64   `json:"beta_fast,omitempty"`
	BetaSlow        float64   `json:"beta_slow,omitempty"`
	MScale          float64   `json:"mscale,omitempty"` // YaRN's attention factor is a quotient of two, by this
	MScaleAll       float64   `json:"mscale_all_dim,omitempty"`
	Truncate        *bool     `json:"truncate,omitempty"`
	QueryScale      float64   `json:"llama_4_scaling_beta,omitempty"`
	Sections        []int32   `json:"mrope_section,omitempty"`
	Interleaved     *bool     `json:"mrope_interleaved,omitempty"`
	Short           []float32 `json:"short_factor,omitempty"`
	Long            []float32 `json:"long_factor,omitempty"`
	Alpha           float64   `json:"alpha,omitempty"` // by which the base is stretched
	Partial         *float64  `json:"partial_rotary_factor,omitempty"`
	Whole           *ropeJSON `json:"full_attention,omitempty"`    // of the layers without a window, if the others are rotated otherwise
	Local           *ropeJSON `json:"sliding_attention,omitempty"` // of the layers with a window
}

// expertRule is what a family's files have of experts.
type expertRule struct {
	model.Experts             // what config.json need not say; what no key of the family says is always so
	each          []string    // names of one expert's gate, up and down, with a number in place of storage.EachExpert
	stacked       stackedRule // of the experts of a layer together
	block         bool        // the model has experts if enable_moe_block is true, and then next to a dense network in each layer

	// The keys of config.json; "" or nil: there is no such key.
	count      []string // of Count, by any of several names
	width      []string // of Width; nil: it is intermediate_size, or in GGUF expert_feed_forward_length
	shared     string   // of SharedWidth
	perShared  string   // of how many experts are as wide as the shared network
	sharedSize int      // SharedWidth if nothing is said, if it has a key
	normalized bool     // norm_topk_prob
	scale      string   // of Scale
	limit      string   // of Limit
	leading    string   // of how many of the first layers have no experts
	dense      int      // how many if nothing is said
	groups     bool     // n_group and topk_group may be others than 1
	step       string   // each such layer has experts
}

// stackedRule has the names of tensors with all experts of a layer, suffixes included.
type stackedRule struct {
	gateUp, down string // of weights [experts, 2·width, hidden] and [experts, hidden, width]
	blocks       string // of MXFP4 the names end in this, and those of the exponents in scales
	scales       string
	bias         string // ends the names of biases
	alternate    bool   // gate and up take turns in the rows of gateUp; else all of gate come first
	transposed   bool   // matrices are [experts, hidden, 2·width] and [experts, width, hidden]
	flat         bool   // both are [experts·width, hidden], so that down is transposed; there is no gate
}

// fusedPart is a part that is some of the rows of a tensor.
type fusedPart struct {
	huggingFace, gguf string                    // names, without the layer and what follows; gguf is "" if GGUF has the parts apart
	parts             []model.Part              // that the tensor has, in their order
	groups            func(c *model.Config) int // how many groups the rows lie in, each with an equal share of each part; nil: one
}

// encoding has the parts of families that read a text as a whole: see model.Encoder.
type encoding struct {
	whole        bool
	centred      bool // norms are LayerNorm
	normBiased   bool // norms always have biases
	plain        bool // the feed-forward network has no gate
	positions    bool // positions are learned
	padded       bool // those of a folder begin after that of padding
	projects     bool // states are projected: PooledDense is the first layer of model.Encoder's Dense
	firstWithout []model.Part
	heads        headRules
}

// activations are the names of activations by what Hugging Face calls them.
const (
	silu     = "silu"
	gelu     = "gelu"
	geluTanh = "gelu_pytorch_tanh"
	geluNew  = "gelu_new" // another name of it
	relu2    = "relu2"
	xielu    = "xielu"
)
