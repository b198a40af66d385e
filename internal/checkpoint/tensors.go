package checkpoint

import (
	"slices"
	"strconv"
	"strings"
)

// Tensors lists all tensors of a model from its Config. The table parts has for each part its names in both formats, its role and its
// sizes; the family says what it has otherwise. For example, a Llama with HiddenSize 2048, 32 heads of 64 elements and 8 key heads has in
// layer 0
//
//	part    Hugging Face                              GGUF                  shape         role     HeadDim
//	Query   model.layers.0.self_attn.q_proj.weight    blk.0.attn_q.weight   [2048 2048]   Linear   64
//	Key     model.layers.0.self_attn.k_proj.weight    blk.0.attn_k.weight   [512 2048]    Linear   64
//	Value   model.layers.0.self_attn.v_proj.weight    blk.0.attn_v.weight   [512 2048]    Linear   0
//
// HeadDim says that the formats have the rows in different orders: rows 1 and 33 of a head, which RoPE rotates together, are GGUF's rows 2
// and 3 (PairedRow).

// Part is what a tensor is in the computation of a model. The parts are in the order of computation.
type Part uint8

// The parts of a model. Those from AttentionNorm to LayerScale exist once in each layer.
const (
	Embedding Part = iota
	PositionEmbedding
	TypeEmbedding
	EmbeddingNorm
	PerLayerEmbedding  // of all layers' own inputs: see Variant.PerLayerWidth
	PerLayerProjection // of the tokens' embeddings to the layers' own inputs
	PerLayerNorm       // of what PerLayerProjection gives, for each layer apart
	AttentionNorm
	Query
	QueryGate // what the result of GatedAttention is multiplied by, after a sigmoid
	Key
	Value
	QueryNorm
	KeyNorm
	Sinks // a score for each query head that joins attention's softmax and has no value
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
	FeedForwardNorm
	Gate
	Up
	Down
	DensePostNorm    // of the dense network's result, before that of the experts is added
	RouterNorm       // of what the router reads, if that is not what the experts read
	Router           // the scores of experts
	RouterCorrection // is added to the scores when experts are chosen
	ExpertScales     // what the weights of experts are multiplied by, or the products with ExpertDown: a number for each expert
	ExpertGateScales // what the products with ExpertGate are multiplied by
	ExpertUpScales
	ExpertNorm // of what experts read, if that is not what the dense network reads
	ExpertGate
	ExpertUp
	ExpertDown
	ExpertPostNorm // of the sum of the experts' results
	SharedRouter   // what the result of the shared expert is multiplied by
	SharedGate
	SharedUp
	SharedDown
	FeedForwardPostNorm
	FeedForwardSumNorm
	PerLayerGate
	PerLayerUp
	PerLayerPostNorm
	LayerScale // what a layer's result is multiplied by: one number
	OutputNorm
	Head
	PooledDense // layers that follow pooling, which have numbers
	ScoreDense
	ScoreNorm
	ScoreOutput
	numParts
)

// Role says how a tensor is used.
type Role uint8

// The roles of tensors.
const (
	Linear  Role = iota // a matrix that activations are multiplied by
	Logits              // the matrix that gives the logits: the output head, or the embedding that serves as one too
	Lookup              // an embedding that is only looked up
	Vector              // a norm's weights, or a bias
	Pooled              // a matrix that a text's vector is multiplied by, which is kept as it is stored
	Routing             // a matrix that scores experts, which is kept as it is stored
	Expert              // a matrix for each expert, [experts, out, in], that activations are multiplied by
)

// Tensor is one tensor of a model.
type Tensor struct {
	Part              Part
	Layer             int // 0 for a part that belongs to no layer
	Bias              bool
	HuggingFace, GGUF string // its names
	Shape             []int  // outermost dimension first; a matrix is [out, in], those of experts [experts, out, in] and their biases [experts, out]
	Role              Role
	// HeadDim, if it is not 0, says that the rows belong to heads of HeadDim elements, which RoPE rotates: their order differs between the
	// formats, see PairedRow.
	HeadDim int
	// Partial, if its Rotated is not 0, says that RoPE rotates only some of each head's elements: see Row.
	Partial Partial
	// Within says that the tensor may be some of the rows of a larger one.
	Within Within
	// Forms are the ways in which files may have the tensor of a part with experts; empty for other parts.
	Forms Forms
	// PlusOne says that Hugging Face stores the elements less one.
	PlusOne bool
	// Change is the operation on the elements of a vector or a filter when they are read.
	Change Change
	Times  int    // how often Repeated repeats each element
	Tiled  Tiling // which of GGUF's rows or columns are in another order than Hugging Face's
	// GGUFShape is the shape that GGUF has, if it is another one: dimensions of 1 do not count when a file is read.
	GGUFShape []int
}

// Names returns the names of the tensors of files that have the tensor, or some of it, in either format.
func (t *Tensor) Names() []string {
	names := []string{t.HuggingFace, t.GGUF, t.Within.HuggingFace.Name, t.Within.GGUF.Name}
	for _, forms := range [][]Form{t.Forms.HuggingFace, t.Forms.GGUF} {
		for i := range forms {
			f := &forms[i]
			names = append(names, f.Of(0), f.Exponents)
			for e := 1; f.Each() && e < t.Shape[0]; e++ {
				names = append(names, f.Of(e))
			}
		}
	}
	return names
}

// size is a dimension of a tensor of a layer; of one that belongs to no layer, of any.
type size func(c *Config, l *Layer) int

func hidden(c *Config, _ *Layer) int       { return c.HiddenSize }
func intermediate(_ *Config, l *Layer) int { return l.IntermediateSize }
func vocab(c *Config, _ *Layer) int        { return c.VocabSize }
func queries(c *Config, l *Layer) int      { return c.Heads * l.HeadDim }
func keys(_ *Config, l *Layer) int         { return l.KVHeads * l.HeadDim }
func headDim(_ *Config, l *Layer) int      { return l.HeadDim }
func heads(c *Config, _ *Layer) int        { return c.Heads }

func inputs(c *Config, _ *Layer) int { return c.Layers * c.PerLayerWidth }
func input(c *Config, _ *Layer) int  { return c.PerLayerWidth }

func attentionBias(c *Config) bool { return c.AttentionBias }
func mlpBias(c *Config) bool       { return c.MLPBias }
func normBias(c *Config) bool      { return c.NormBias }
func scoreBias(c *Config) bool     { return c.ScoreBias }
func biasedAlways(*Config) bool    { return true }

func positions(c *Config, _ *Layer) int { return c.Positions }
func types(c *Config, _ *Layer) int     { return c.Types }
func one(*Config, *Layer) int           { return 1 }

// parts is the table of all that a checkpoint holds.
var parts = [numParts]struct {
	huggingFace, gguf string // names, without the layer and what follows
	role              Role
	out, in           size // in is nil for vectors, and out for norms with a size that depends on the family
	biased            func(c *Config) bool
	rotated           bool
}{
	Embedding:           {"model.embed_tokens", "token_embd", Lookup, vocab, hidden, nil, false},
	PositionEmbedding:   {"model.embeddings.position_embeddings", "position_embd", Lookup, positions, hidden, nil, false},
	TypeEmbedding:       {"model.embeddings.token_type_embeddings", "token_types", Lookup, types, hidden, nil, false},
	EmbeddingNorm:       {"model.embeddings.LayerNorm", "token_embd_norm", Vector, hidden, nil, normBias, false},
	PerLayerEmbedding:   {"model.embed_tokens_per_layer", "per_layer_token_embd", Lookup, vocab, inputs, nil, false},
	PerLayerProjection:  {"model.per_layer_model_projection", "per_layer_model_proj", Linear, inputs, hidden, nil, false},
	PerLayerNorm:        {"model.per_layer_projection_norm", "per_layer_proj_norm", Vector, input, nil, nil, false},
	AttentionNorm:       {"input_layernorm", "attn_norm", Vector, hidden, nil, normBias, false},
	Query:               {"self_attn.q_proj", "attn_q", Linear, queries, hidden, attentionBias, true},
	Key:                 {"self_attn.k_proj", "attn_k", Linear, keys, hidden, attentionBias, true},
	Value:               {"self_attn.v_proj", "attn_v", Linear, keys, hidden, attentionBias, false},
	QueryGate:           {"self_attn.q_gate", "attn_q_gate", Linear, queries, hidden, attentionBias, false},
	RecurrentQuery:      {"linear_attn.in_proj_q", "ssm_q", Linear, recurrentKeys, hidden, nil, false},
	RecurrentKey:        {"linear_attn.in_proj_k", "ssm_k", Linear, recurrentKeys, hidden, nil, false},
	RecurrentValue:      {"linear_attn.in_proj_v", "ssm_v", Linear, recurrentValues, hidden, nil, false},
	RecurrentGate:       {"linear_attn.in_proj_z", "attn_gate", Linear, recurrentValues, hidden, nil, false},
	RecurrentBeta:       {"linear_attn.in_proj_b", "ssm_beta", Linear, recurrentHeads, hidden, nil, false},
	RecurrentStep:       {"linear_attn.in_proj_a", "ssm_alpha", Linear, recurrentHeads, hidden, nil, false},
	QueryFilter:         {"linear_attn.conv1d_q", "ssm_conv1d_q", Vector, recurrentKeys, taps, filterBias, false},
	KeyFilter:           {"linear_attn.conv1d_k", "ssm_conv1d_k", Vector, recurrentKeys, taps, filterBias, false},
	ValueFilter:         {"linear_attn.conv1d_v", "ssm_conv1d_v", Vector, recurrentValues, taps, filterBias, false},
	StepBias:            {"linear_attn.dt_bias", "ssm_dt.bias", Vector, recurrentHeads, nil, nil, false},
	Decay:               {"linear_attn.A_log", "ssm_a", Vector, recurrentHeads, nil, nil, false},
	Skip:                {"linear_attn.D", "ssm_d", Vector, recurrentHeads, nil, nil, false},
	RecurrentNorm:       {"linear_attn.norm", "ssm_norm", Vector, recurrentNorm, nil, nil, false},
	RecurrentOutput:     {"linear_attn.out_proj", "ssm_out", Linear, hidden, recurrentValues, nil, false},
	InputGate:           {"conv.in_proj_b", "shortconv.in_proj_b", Linear, hidden, hidden, nil, false},
	OutputGate:          {"conv.in_proj_c", "shortconv.in_proj_c", Linear, hidden, hidden, nil, false},
	ConvolutionInput:    {"conv.in_proj_x", "shortconv.in_proj_x", Linear, hidden, hidden, nil, false},
	ConvolutionFilter:   {"conv.conv", "shortconv.conv", Vector, hidden, taps, nil, false},
	ConvolutionOutput:   {"conv.out_proj", "shortconv.out_proj", Linear, hidden, hidden, nil, false},
	QueryNorm:           {"self_attn.q_norm", "attn_q_norm", Vector, nil, nil, nil, false},
	KeyNorm:             {"self_attn.k_norm", "attn_k_norm", Vector, nil, nil, nil, false},
	Sinks:               {"self_attn.sinks", "attn_sinks", Vector, heads, nil, nil, false},
	AttentionOutput:     {"self_attn.o_proj", "attn_output", Linear, hidden, queries, attentionBias, false},
	AttentionPostNorm:   {afterAttention, "post_attention_norm", Vector, hidden, nil, nil, false},
	AttentionSumNorm:    {"attention.output.LayerNorm", "attn_output_norm", Vector, hidden, nil, normBias, false},
	FeedForwardNorm:     {afterAttention, "ffn_norm", Vector, hidden, nil, normBias, false},
	Gate:                {"mlp.gate_proj", "ffn_gate", Linear, intermediate, hidden, mlpBias, false},
	Up:                  {"mlp.up_proj", "ffn_up", Linear, intermediate, hidden, mlpBias, false},
	Down:                {"mlp.down_proj", "ffn_down", Linear, hidden, intermediate, mlpBias, false},
	Router:              {"mlp.gate", "ffn_gate_inp", Routing, experts, hidden, expertBias, false},
	RouterCorrection:    {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias", Vector, experts, nil, nil, false},
	DensePostNorm:       {afterFeedForward + "_1", "post_ffw_norm_1", Vector, hidden, nil, nil, false},
	RouterNorm:          {"router.scale", "ffn_gate_inp.scale", Vector, hidden, nil, nil, false},
	ExpertScales:        {"router.per_expert_scale", "ffn_down_exps.scale", Vector, experts, nil, nil, false},
	ExpertGateScales:    {"mlp.experts.gate_proj.scale", "ffn_gate_exps.scale", Vector, experts, one, nil, false},
	ExpertUpScales:      {"mlp.experts.up_proj.scale", "ffn_up_exps.scale", Vector, experts, one, nil, false},
	ExpertNorm:          {"pre_feedforward_layernorm_2", "pre_ffw_norm_2", Vector, hidden, nil, nil, false},
	ExpertPostNorm:      {afterFeedForward + "_2", "post_ffw_norm_2", Vector, hidden, nil, nil, false},
	ExpertGate:          {"mlp.experts.gate_proj", "ffn_gate_exps", Expert, expertWidth, hidden, expertBias, false},
	ExpertUp:            {"mlp.experts.up_proj", "ffn_up_exps", Expert, expertWidth, hidden, expertBias, false},
	ExpertDown:          {"mlp.experts.down_proj", "ffn_down_exps", Expert, hidden, expertWidth, expertBias, false},
	SharedRouter:        {"mlp.shared_expert_gate", "ffn_gate_inp_shexp", Routing, one, hidden, nil, false},
	SharedGate:          {"mlp.shared_expert.gate_proj", "ffn_gate_shexp", Linear, sharedWidth, hidden, nil, false},
	SharedUp:            {"mlp.shared_expert.up_proj", "ffn_up_shexp", Linear, sharedWidth, hidden, nil, false},
	SharedDown:          {"mlp.shared_expert.down_proj", "ffn_down_shexp", Linear, hidden, sharedWidth, nil, false},
	FeedForwardPostNorm: {afterFeedForward, "post_ffw_norm", Vector, hidden, nil, nil, false},
	FeedForwardSumNorm:  {"output.LayerNorm", "layer_output_norm", Vector, hidden, nil, normBias, false},
	PerLayerGate:        {"per_layer_input_gate", "inp_gate", Linear, input, hidden, nil, false},
	PerLayerUp:          {"per_layer_projection", "proj", Linear, hidden, input, nil, false},
	PerLayerPostNorm:    {"post_per_layer_input_norm", "post_norm", Vector, hidden, nil, nil, false},
	LayerScale:          {"layer_scalar", "layer_output_scale", Vector, one, nil, nil, false},
	OutputNorm:          {"model.norm", "output_norm", Vector, hidden, nil, normBias, false},
	Head:                {"lm_head", "output", Logits, vocab, hidden, nil, false},
	PooledDense:         {"linear", "dense", Pooled, nil, nil, nil, false}, // see denseTensors
	ScoreDense:          {"classifier.dense", "cls", Pooled, hidden, hidden, scoreBias, false},
	ScoreNorm:           {"head.norm", "cls.norm", Vector, hidden, nil, normBias, false},
	ScoreOutput:         {"classifier.out_proj", "cls.output", Pooled, one, hidden, biasedAlways, false},
}

// perLayerParts are those of layers' own inputs.
var perLayerParts = []Part{PerLayerEmbedding, PerLayerProjection, PerLayerNorm, PerLayerGate, PerLayerUp, PerLayerPostNorm}

// unsuffixed are the parts with names that do not end in .weight in Hugging Face's files.
var unsuffixed = []Part{LayerScale}

// DivisorsGGUF is the name of a tensor that only GGUF files have: what RoPE's frequencies are divided by. See RoPE.Divisors.
const DivisorsGGUF = "rope_freqs.weight"

// The names of longrope's divisors.
const (
	longDivisorsGGUF  = "rope_factors_long.weight"
	shortDivisorsGGUF = "rope_factors_short.weight"
)

// With what the names of the parts of layers begin.
const (
	layersGGUF        = "blk."
	layersHuggingFace = modelPrefix + layersPart
	layersPart        = "layers."
)

// Down reports whether the part is the last matrix of a feed-forward network.
func (p Part) Down() bool { return p == Down || p == ExpertDown || p == SharedDown }

// inLayers reports whether each layer has the part.
func (p Part) inLayers() bool { return p >= AttentionNorm && p <= LayerScale }

// GGUF returns the name in GGUF's terms; layer counts only for the parts of layers.
func (p Part) GGUF(layer int, bias bool) string {
	return p.name(layersGGUF, layer, parts[p].gguf, bias)
}

// HuggingFace returns the name in Hugging Face's terms, for Llama; layer counts only for the parts of layers.
func (p Part) HuggingFace(layer int, bias bool) string {
	return p.name(layersHuggingFace, layer, parts[p].huggingFace, bias)
}

func (p Part) name(layers string, layer int, name string, bias bool) string {
	if p.inLayers() {
		name = layers + strconv.Itoa(layer) + "." + name
	}
	if p.bare() || p == Sinks && layers != layersGGUF {
		return name
	}
	if bias {
		return name + ".bias"
	}
	return name + ".weight"
}

// Tensors lists every tensor of the model, in the order of computation.
func (c *Config) Tensors() []Tensor {
	var list []Tensor
	f := familyOf(c.Family)
	add := func(p Part, layer int) {
		if !f.hasPart(p) || c.PerLayerWidth == 0 && slices.Contains(perLayerParts, p) || layer == 0 && slices.Contains(f.firstWithout, p) {
			return
		}
		is := c.Layer(layer)
		if !is.has(p) || c.lacks(p) || c.unscaled(p, &is, layer) {
			return
		}
		list = append(list, c.tensor(p, layer, &is, false))
		if c.biased(f, p, layer) {
			list = append(list, c.tensor(p, layer, &is, true))
		}
	}
	add(Embedding, 0)
	for p := PositionEmbedding; p < AttentionNorm; p++ {
		add(p, 0)
	}
	for layer := range c.Layers {
		for p := AttentionNorm; p <= LayerScale; p++ {
			add(p, layer)
		}
	}
	add(OutputNorm, 0)
	if !c.TiedEmbeddings {
		add(Head, 0)
	}
	list = append(list, c.denseTensors()...)
	if c.ScoreDense {
		add(ScoreDense, 0)
	}
	if c.ScoreNorm {
		add(ScoreNorm, 0)
	}
	if c.Scores {
		add(ScoreOutput, 0)
	}
	return list
}

// biased reports whether a part has a bias.
func (c *Config) biased(f *family, p Part, layer int) bool {
	if c.Biases != nil && slices.Contains(biasable, p) {
		return c.Biases[Place{p, layer}]
	}
	biased := parts[p].biased
	return biased != nil && biased(c) && !slices.Contains(f.bare, p)
}

// tensor describes one tensor of a layer; of a part that belongs to no layer, any layer serves.
func (c *Config) tensor(p Part, layer int, is *Layer, bias bool) Tensor {
	part, f := &parts[p], familyOf(c.Family)
	t := Tensor{Part: p, Layer: layer, Bias: bias, HuggingFace: f.tensorName(p, layer, bias), GGUF: f.ggufName(p, layer, bias),
		Shape: []int{c.rows(f, p, is)}, Role: part.role}
	switch {
	case bias:
		t.Role = Vector
	case part.in != nil:
		t.Shape = append(t.Shape, part.in(c, is))
	default:
		t.PlusOne = f.plusOne && !is.Mixer.owns(p)
	}
	if t.Forms = c.forms(f, p, layer, bias); t.Forms.GGUF != nil {
		t.Shape = append([]int{c.Experts.Count}, t.Shape...)
		t.HuggingFace = t.Forms.HuggingFace[0].Of(0)
	}
	switch p {
	case SharedRouter:
		t.GGUFShape = []int{c.HiddenSize}
	case ExpertGateScales, ExpertUpScales:
		t.GGUFShape = []int{c.Experts.Count}
	}
	if p == Embedding && c.TiedEmbeddings {
		t.Role = Logits
	}
	if part.rotated && !f.unpaired {
		t.HeadDim = is.HeadDim
	}
	if p == PositionEmbedding && f.padded { // the first rows are of padding
		t.Within.HuggingFace = Whole{Name: t.HuggingFace, Rows: c.Positions + c.PositionOffset, First: c.PositionOffset}
	}
	if part.rotated || p == QueryNorm || p == KeyNorm {
		if r := is.RoPE; r != nil && r.Rotated != 0 {
			t.Partial = Partial{is.HeadDim, r.Rotated}
		}
	}
	if whole, ok := f.fused[p]; ok {
		t.Within.HuggingFace = c.whole(f, &whole, p, is, p.name(first(f.layers, layersHuggingFace), layer, whole.huggingFace, bias))
		if whole.gguf != "" {
			t.Within.GGUF = c.whole(f, &whole, p, is, p.name(layersGGUF, layer, whole.gguf, bias))
		}
	}
	if whole, ok := f.fusedGGUF[p]; ok {
		t.Within.GGUF = c.whole(f, &whole, p, is, p.name(layersGGUF, layer, whole.gguf, bias))
	}
	c.setRecurrentTensor(f, &t)
	return t
}

// rows returns the length of the first dimension of a layer's part.
func (c *Config) rows(f *family, p Part, is *Layer) int {
	if out := f.normOf[p]; out != nil {
		return out(c, is)
	}
	return parts[p].out(c, is)
}

// tensorName returns a part's name in Hugging Face's terms.
func (f *family) tensorName(p Part, layer int, bias bool) string {
	name, other := f.huggingFace[p]
	if !other {
		name = parts[p].huggingFace
	}
	name = p.name(first(f.layers, layersHuggingFace), layer, name, bias)
	if slices.Contains(unsuffixed, p) {
		name = strings.TrimSuffix(name, ".weight")
	}
	return name
}

// ggufName returns a part's name in GGUF's terms.
func (f *family) ggufName(p Part, layer int, bias bool) string {
	return p.name(layersGGUF, layer, first(f.ggufNames[p], parts[p].gguf), bias)
}

// PairedRow returns GGUF's row for Hugging Face's row of a tensor with Tensor.HeadDim = headDim. RoPE rotates pairs of a head's elements.
// For Hugging Face a pair is an element of the head's first half and the one in the same place of its second half; for GGUF it is two
// neighbours. The elements of a bias move as rows do.
func PairedRow(row, headDim int) int {
	in, half := row%headDim, headDim/2
	return row - in + in%half*2 + in/half
}

// Partial is heads of HeadDim elements. RoPE rotates the first Rotated ones.
type Partial struct{ HeadDim, Rotated int }

// Row returns the files' row of queries or keys for the row in the order that is wanted for computing: there a pair is an element of the
// head's first half and the one in the same place of its second half, whether RoPE rotates it or not. Of 8 elements, 4 of them rotated in
// the pairs (0, 2) and (1, 3), the wanted order is 0 1 4 5 2 3 6 7.
func (p Partial) Row(row int) int {
	in, half, pairs := row%p.HeadDim, p.HeadDim/2, p.Rotated/2
	at, second := in%half, in/half // which pair, and which element of it
	if at < pairs {
		return row - in + second*pairs + at
	}
	return row - in + p.Rotated + second*(half-pairs) + at - pairs
}

// HalvedRow is the inverse of PairedRow: it returns where Hugging Face has a row, given where GGUF has it.
func HalvedRow(row, headDim int) int {
	in := row % headDim
	return row - in + in%2*(headDim/2) + in/2
}
