package model

import (
	"fmt"
	"slices"
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
	PerHead             // a matrix for each head, [heads, out, in], that activations are multiplied by
)

// Tensor is one tensor of a model. Where files have it, and how it lies there, is known to those who read them.
type Tensor struct {
	Part  Part
	Layer int // 0 for a part that belongs to no layer
	Bias  bool
	Shape []int // outermost dimension first; a matrix is [out, in], those of experts and heads [experts, out, in] and their biases [experts, out]
	Role  Role
}

// String returns in words which tensor it is, such as "the weights of query in layer 3".
func (t *Tensor) String() string {
	kind := "weights"
	if t.Bias {
		kind = "bias"
	}
	if t.Part == StreamSplit || t.Part == StreamMerge {
		return fmt.Sprintf("the %s of %v %d", kind, t.Part, t.Layer)
	}
	if !t.Part.InLayers() {
		return fmt.Sprintf("the %s of %v", kind, t.Part)
	}
	return fmt.Sprintf("the %s of %v in layer %d", kind, t.Part, t.Layer)
}

// parts says of each part what its tensor is for and how large it is, and which models have a bias of it.
var parts = [NumParts]struct {
	role    Role
	out, in size // in is nil for vectors
	biased  func(c *Config) bool
}{
	Embedding:           {Lookup, vocab, hidden, nil},
	PositionEmbedding:   {Lookup, positions, hidden, nil},
	TypeEmbedding:       {Lookup, types, hidden, nil},
	EmbeddingNorm:       {Vector, hidden, nil, normBias},
	RelativeEmbedding:   {Vector, distances, hidden, nil},
	RelativeNorm:        {Vector, hidden, nil, normBias},
	RelativeBias:        {Vector, distances, heads, nil},
	PerLayerEmbedding:   {Lookup, inputVocab, inputs, nil},
	PerLayerProjection:  {Linear, inputs, hidden, nil},
	PerLayerNorm:        {Vector, input, nil, nil},
	AheadTokenNorm:      {Vector, hidden, nil, nil},
	AheadStateNorm:      {Vector, hidden, nil, nil},
	AheadProjection:     {Linear, hidden, twoHidden, nil},
	AttentionNorm:       {Vector, hidden, nil, normBias},
	Query:               {Linear, queries, hidden, attentionBias},
	Key:                 {Linear, keys, hidden, attentionBias},
	Value:               {Linear, keys, hidden, attentionBias},
	QueryGate:           {Linear, queries, hidden, attentionBias},
	RecurrentQuery:      {Linear, recurrentKeys, hidden, nil},
	RecurrentKey:        {Linear, recurrentKeys, hidden, nil},
	RecurrentValue:      {Linear, recurrentValues, hidden, nil},
	RecurrentGate:       {Linear, recurrentValues, hidden, nil},
	RecurrentBeta:       {Linear, recurrentHeads, hidden, nil},
	RecurrentStep:       {Linear, recurrentHeads, hidden, nil},
	QueryFilter:         {Vector, recurrentKeys, taps, filterBias},
	KeyFilter:           {Vector, recurrentKeys, taps, filterBias},
	ValueFilter:         {Vector, recurrentValues, taps, filterBias},
	StepBias:            {Vector, recurrentHeads, nil, nil},
	Decay:               {Vector, recurrentHeads, nil, nil},
	Skip:                {Vector, recurrentHeads, nil, nil},
	RecurrentNorm:       {Vector, recurrentNorm, nil, nil},
	RecurrentOutput:     {Linear, hidden, recurrentValues, nil},
	InputGate:           {Linear, hidden, hidden, nil},
	OutputGate:          {Linear, hidden, hidden, nil},
	ConvolutionInput:    {Linear, hidden, hidden, nil},
	ConvolutionFilter:   {Vector, hidden, taps, nil},
	ConvolutionOutput:   {Linear, hidden, hidden, nil},
	QueryNorm:           {Vector, queryNorm, nil, nil},
	KeyNorm:             {Vector, keyNorm, nil, nil},
	Sinks:               {Vector, heads, nil, nil},
	QueryDown:           {Linear, latentQueryRank, hidden, nil},
	QueryDownNorm:       {Vector, latentQueryRank, nil, nil},
	LatentQuery:         {Linear, latentQueries, latentQueryIn, nil},
	RotatedQuery:        {Linear, latentRotated, latentQueryIn, nil},
	LatentRow:           {Linear, latentRank, hidden, nil},
	RotatedKey:          {Linear, latentKey, hidden, nil},
	LatentNorm:          {Vector, latentRank, nil, nil},
	KeyUp:               {PerHead, latentRank, latentKeyDim, nil},
	ValueUp:             {PerHead, latentValueDim, latentRank, nil},
	AttentionSubNorm:    {Vector, attended, nil, nil},
	AttentionOutput:     {Linear, hidden, attended, outputBias},
	AttentionPostNorm:   {Vector, hidden, nil, nil},
	AttentionSumNorm:    {Vector, hidden, nil, normBias},
	FeedForwardNorm:     {Vector, hidden, nil, normBias},
	Gate:                {Linear, intermediate, hidden, mlpBias},
	Up:                  {Linear, intermediate, hidden, mlpBias},
	FeedForwardSubNorm:  {Vector, intermediate, nil, nil},
	Down:                {Linear, hidden, intermediate, mlpBias},
	Router:              {Routing, experts, hidden, expertBias},
	RouterCorrection:    {Vector, experts, nil, nil},
	LatentDown:          {Linear, latent, hidden, nil},
	DensePostNorm:       {Vector, hidden, nil, nil},
	RouterNorm:          {Vector, hidden, nil, nil},
	ExpertScales:        {Vector, experts, nil, nil},
	ExpertGateScales:    {Vector, experts, one, nil},
	ExpertUpScales:      {Vector, experts, one, nil},
	ExpertNorm:          {Vector, hidden, nil, nil},
	ExpertPostNorm:      {Vector, hidden, nil, nil},
	ExpertGate:          {Expert, expertWidth, latent, expertBias},
	ExpertUp:            {Expert, expertWidth, latent, expertBias},
	ExpertDown:          {Expert, latent, expertWidth, expertBias},
	ExpertSumBias:       {Vector, hidden, nil, nil},
	LatentUp:            {Linear, hidden, latent, nil},
	SharedRouter:        {Routing, one, hidden, nil},
	SharedGate:          {Linear, sharedWidth, hidden, nil},
	SharedUp:            {Linear, sharedWidth, hidden, nil},
	SharedDown:          {Linear, hidden, sharedWidth, nil},
	FeedForwardPostNorm: {Vector, hidden, nil, nil},
	FeedForwardSumNorm:  {Vector, hidden, nil, normBias},
	StreamNorm:          {Vector, hidden, nil, nil},
	StreamRouter:        {Routing, streams, hidden, nil},
	StreamPredict:       {Routing, streamPairs, streams, nil},
	StreamCorrect:       {Routing, streams, streams, nil},
	StreamScale:         {Vector, hidden, nil, nil},
	StreamSplit:         {Linear, hidden, hidden, nil},
	StreamMerge:         {Linear, hidden, hidden, nil},
	LaurelDown:          {Linear, laurelRank, hidden, nil},
	LaurelUp:            {Linear, hidden, laurelRank, nil},
	LaurelNorm:          {Vector, hidden, nil, nil},
	PerLayerGate:        {Linear, input, hidden, nil},
	PerLayerUp:          {Linear, hidden, input, nil},
	PerLayerPostNorm:    {Vector, hidden, nil, nil},
	LayerScale:          {Vector, one, nil, nil},
	OutputNorm:          {Vector, hidden, nil, normBias},
	OutputHead:          {Logits, vocab, hidden, headBias},
	PooledDense:         {Pooled, nil, nil, nil}, // see denseTensors
	ScoreDense:          {Pooled, nil, nil, nil}, // see Head.tensors
	ScoreNorm:           {Vector, nil, nil, nil},
	ScoreOutput:         {Pooled, nil, nil, nil},
}

// Tensors lists every tensor of the model, in the order of computation.
func (c *Config) Tensors() []Tensor {
	var list []Tensor
	has := c.Parts
	if has == (PartSet{}) {
		has = Usual()
	}
	if c.PerLayerWidth == 0 {
		has = has.Without(perLayerParts...)
	}
	add := func(p Part, layer int) {
		if !has.Has(p) || layer == 0 && c.FirstWithout.Has(p) {
			return
		}
		is := c.Layer(layer)
		if !is.has(p) || c.lacks(p) || c.unscaled(p, &is, layer) {
			return
		}
		list = append(list, c.tensor(p, layer, &is, false))
		if c.Biased(p, layer) {
			list = append(list, c.tensor(p, layer, &is, true))
		}
	}
	for p := Embedding; p < AttentionNorm; p++ {
		add(p, 0)
	}
	numbered := func(p Part) {
		for i := range max(c.Streams-1, 0) {
			list = append(list, c.tensor(p, i, &Layer{}, false))
		}
	}
	numbered(StreamSplit)
	for layer := range c.Layers {
		for p := AttentionNorm; p <= LayerScale; p++ {
			add(p, layer)
		}
	}
	numbered(StreamMerge)
	add(OutputNorm, 0)
	if !c.TiedEmbeddings {
		add(OutputHead, 0)
	}
	for i, d := range c.Dense {
		list = append(list, Tensor{Part: PooledDense, Layer: i, Shape: []int{d.Out, d.In}, Role: Pooled})
		if d.Bias {
			list = append(list, Tensor{Part: PooledDense, Layer: i, Bias: true, Shape: []int{d.Out}, Role: Vector})
		}
	}
	return append(list, c.Head.tensors()...)
}

// unscaled reports whether a part of a layer is a scale of experts that there is not. Networks side by side always have those of ExpertDown.
func (c *Config) unscaled(p Part, is *Layer, layer int) bool {
	scale := p == ExpertScales || p == ExpertGateScales || p == ExpertUpScales
	return scale && !c.ExpertScaled[Place{p, layer}] && (p != ExpertScales || is.FeedForward != GatedAndRouted)
}

// Biased reports whether a part has a bias.
func (c *Config) Biased(p Part, layer int) bool {
	if c.Biases != nil && p.Biasable() {
		return c.Biases[Place{p, layer}]
	}
	return parts[p].biased != nil && parts[p].biased(c)
}

// tensor describes one tensor of a layer; of a part that belongs to no layer, any layer serves.
func (c *Config) tensor(p Part, layer int, is *Layer, bias bool) Tensor {
	part := &parts[p]
	t := Tensor{Part: p, Layer: layer, Bias: bias, Shape: []int{c.Rows(p, is)}, Role: part.role}
	switch {
	case bias:
		t.Role = Vector
	case part.in != nil:
		t.Shape = append(t.Shape, part.in(c, is))
	}
	switch part.role {
	case Expert:
		t.Shape = append([]int{c.Experts.Count}, t.Shape...)
	case PerHead:
		t.Shape = append([]int{c.Heads}, t.Shape...)
	}
	if p == Embedding && c.TiedEmbeddings {
		t.Role = Logits
	}
	return t
}

// BiasOf describes the bias of a tensor's part, whether the model has it or not.
func (c *Config) BiasOf(t *Tensor) Tensor {
	is := c.Layer(t.Layer)
	return c.tensor(t.Part, t.Layer, &is, true)
}

// Rows returns the length of the first dimension of a layer's part, or of each expert's.
func (c *Config) Rows(p Part, is *Layer) int { return parts[p].out(c, is) }

// Biasable reports whether the part is a projection of a layer that may have a bias in any model: see Config.Biases.
func (p Part) Biasable() bool { return slices.Contains(biasable, p) }

// biasable are the projections of a layer that may have a bias in any family.
var biasable = []Part{Query, QueryGate, Key, Value, AttentionOutput, Gate, Up, Down}
