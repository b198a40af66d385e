package checkpoint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/internal/gguf"
)

// An encoder's files are read as those of other models are, and Encoder has what differs. config.json says it with keys (setEncoder), GGUF
// by the tensors that there are (readEncoder). For example, these keys of an xlm-roberta become
//
//	"max_position_embeddings": 514, "pad_token_id": 1   Positions 512, PositionOffset 2; ContextLength 512
//	"type_vocab_size": 1                                Types 1
//	"layer_norm_eps": 1e-5                              Config.RMSNormEps 1e-5
//	"architectures": ["…ForSequenceClassification"],
//	"id2label": {"0": "LABEL_0"}                        Scores, ScoreDense, ScoreBias
//
// The first two rows of its table of positions belong to padding, and are skipped.

// Encoder is what a model has that reads a text as a whole, and makes a vector of it, or a score. The zero value is a model that reads a
// text token by token.
type Encoder struct {
	Whole          bool // attention sees the tokens after its own, too
	LayerNorm      bool // norms subtract the mean: they are LayerNorm (arXiv 1607.06450), and not RMSNorm
	NormBias       bool // norms have biases
	Positions      int  // rows of the table of learned positions; 0: no table
	PositionOffset int  // rows before them in a Hugging Face folder, which nothing uses
	Types          int  // rows of the table of the types of tokens, which say what text of a pair a token belongs to; 0: no table
	// Scores says that a head makes a score of the first token's state, or, with ScoreMean, of the mean of all. ScoreDense says that a layer comes
	// before it, with a bias if ScoreBias is set, and then tanh or, with ScoreNorm, GELU and a norm.
	Scores, ScoreDense, ScoreBias, ScoreNorm, ScoreMean bool
	Dense                                               []Dense // layers that follow pooling, in their order
	Poolings                                            int     // how many states pooling puts together for a vector; 0: 1
}

// Dense is a layer that follows pooling: x ↦ activation(x·weightᵀ + bias).
type Dense struct {
	Folder     string // of a Hugging Face folder
	In, Out    int
	Bias       bool
	Activation string // "tanh", or "" for no activation
}

// maxDense is the most layers that follow pooling: models have two.
const maxDense = 8

// validate checks that the sizes fit together.
func (e *Encoder) validate(c *Config) error {
	switch {
	case e.Positions != 0 && e.Positions < c.ContextLength:
		return fmt.Errorf("there are %d learned positions for texts of %d tokens", e.Positions, c.ContextLength)
	case e.PositionOffset < 0 || e.PositionOffset > maxVocab:
		return fmt.Errorf("pad_token_id is %d", e.PositionOffset-1)
	case e.Types < 0 || e.Types > maxHeads:
		return fmt.Errorf("type_vocab_size is %d, not between 0 and %d", e.Types, maxHeads)
	case len(e.Dense) > maxDense:
		return unsupported("%d layers follow pooling; at most %d are implemented", len(e.Dense), maxDense)
	}
	width := c.HiddenSize * max(e.Poolings, 1)
	for _, d := range e.Dense {
		if d.In != width || d.Out < 1 || d.Out > maxWidth {
			return fmt.Errorf("the layer %s makes %d numbers of %d, and gets %d", d.Folder, d.Out, d.In, width)
		}
		width = d.Out
	}
	return nil
}

// encoderJSON is what config.json says of encoders.
type encoderJSON struct {
	LayerNormEps     *float32          `json:"layer_norm_eps,omitempty"`
	LayerNormEpsilon *float32          `json:"layer_norm_epsilon,omitempty"`
	NormEps          *float32          `json:"norm_eps,omitempty"`
	NormBias         bool              `json:"norm_bias,omitempty"`
	Types            *int              `json:"type_vocab_size,omitempty" whole:"4.0"`
	Padding          *int              `json:"pad_token_id,omitempty" whole:"4.0"`
	Decoder          bool              `json:"is_decoder,omitempty"`
	LocalAttention   *int              `json:"local_attention,omitempty" whole:"4.0"`
	GlobalEvery      *int              `json:"global_attn_every_n_layers,omitempty" whole:"4.0"`
	GlobalTheta      *float64          `json:"global_rope_theta,omitempty"`
	WindowTheta      *float64          `json:"local_rope_theta,omitempty"`
	Labels           map[string]string `json:"id2label,omitempty"`
	NumLabels        *int              `json:"num_labels,omitempty" whole:"4.0"`
	Bidirectional    any               `json:"use_bidirectional_attention,omitempty"`
	ScorePooling     string            `json:"classifier_pooling,omitempty"`
	ScoreActivation  string            `json:"classifier_activation,omitempty"`
	ScoreBias        bool              `json:"classifier_bias,omitempty"`

	// As nomic-bert's own program calls them.
	NomicActivation  string   `json:"activation_function,omitempty"`
	NomicWidth       int      `json:"n_embd,omitempty"`
	NomicHeads       int      `json:"n_head,omitempty"`
	NomicLayers      int      `json:"n_layer,omitempty"`
	NomicInner       int      `json:"n_inner,omitempty"`
	NomicContext     int      `json:"n_positions,omitempty"`
	NomicTheta       *float64 `json:"rotary_emb_base,omitempty"`
	NomicFraction    *float64 `json:"rotary_emb_fraction,omitempty"`
	NomicScaling     *float64 `json:"rotary_scaling_factor,omitempty"`
	NomicInterleaved bool     `json:"rotary_emb_interleaved,omitempty"`
	NomicBias        bool     `json:"qkv_proj_bias,omitempty"`
	NomicUpBias      bool     `json:"mlp_fc1_bias,omitempty"`
	NomicDownBias    bool     `json:"mlp_fc2_bias,omitempty"`
	NomicPrenorm     bool     `json:"prenorm,omitempty"`
	NomicParallel    bool     `json:"parallel_block,omitempty"`
	NomicRMSNorm     bool     `json:"use_rms_norm,omitempty"`
	NomicExperts     int      `json:"moe_every_n_layers,omitempty"`
}

// rename gives what nomic-bert's own program and the first files of modernbert call otherwise its usual names.
func (j *configJSON) rename() error {
	if j.ModelType == "modernbert" {
		j.RoPETheta, j.LocalTheta = first(j.GlobalTheta, j.RoPETheta), first(j.WindowTheta, j.LocalTheta)
	}
	if j.ModelType != "nomic_bert" || j.NomicWidth == 0 {
		return nil
	}
	for _, s := range []struct {
		key   string
		wrong bool
	}{
		{"qkv_proj_bias", j.NomicBias}, {"mlp_fc1_bias", j.NomicUpBias}, {"mlp_fc2_bias", j.NomicDownBias}, {"prenorm", j.NomicPrenorm},
		{"parallel_block", j.NomicParallel}, {"use_rms_norm", j.NomicRMSNorm}, {"rotary_emb_interleaved", j.NomicInterleaved},
		{"moe_every_n_layers", j.NomicExperts > 0}, {"rotary_emb_fraction", or(j.NomicFraction, 1) != 1},
		{"activation_function", j.NomicActivation != "swiglu"},
	} {
		if s.wrong {
			return unsupported("%s has a value that is not implemented for the architecture nomic-bert", s.key)
		}
	}
	j.HiddenSize, j.Heads, j.Layers, j.IntermediateSize, j.ContextLength = j.NomicWidth, j.NomicHeads, j.NomicLayers, j.NomicInner, j.NomicContext
	j.RoPETheta, j.HiddenAct = j.NomicTheta, nil
	return nil
}

// setEncoder reads what distinguishes an encoder.
func (j *configJSON) setEncoder(c *Config, f *family) error {
	if !f.whole {
		return nil
	}
	e := &c.Encoder
	e.Whole, e.LayerNorm, e.NormBias = true, f.centred, f.normBiased || j.NormBias
	c.TiedEmbeddings, c.BOS, c.EOS = true, -1, nil // there is no head, and no answer that could end
	c.RMSNormEps = or(j.LayerNormEps, or(j.LayerNormEpsilon, or(j.NormEps, c.RMSNormEps)))
	c.MLPBias = c.MLPBias || f.biased && f.plain
	switch {
	case j.Decoder:
		return unsupported("is_decoder is true; the architecture %s is implemented as an encoder", f.name)
	case j.PositionType != "" && j.PositionType != "absolute" && f.positions:
		return unsupported("position_embedding_type is %.100q; only absolute is implemented", j.PositionType)
	}
	if slices.Contains(f.with, TypeEmbedding) {
		e.Types = or(j.Types, 2)
	}
	if f.positions {
		if f.padded {
			e.PositionOffset = or(j.Padding, 1) + 1
			c.ContextLength -= e.PositionOffset
		}
		e.Positions = c.ContextLength
	}
	if f.localAttention {
		c.setWindow(f, or(j.LocalAttention, 0), windowRule{every: or(j.GlobalEvery, f.defaults.every)})
	}
	return j.setScores(c, f)
}

// setScores notes the head of a model that classifies, which must have one class: then its logit is a score.
func (j *configJSON) setScores(c *Config, f *family) error {
	if !slices.ContainsFunc(j.Architectures, func(a string) bool { return strings.HasSuffix(a, "ForSequenceClassification") }) {
		return nil
	}
	labels := or(j.NumLabels, 2) // transformers' default
	if j.Labels != nil {
		labels = len(j.Labels)
	}
	switch {
	case f.huggingFace[ScoreOutput] == "":
		return unsupported("a head that classifies is not implemented for the architecture %s", f.name)
	case labels != 1:
		return unsupported("the model has %d classes; one that scores texts has 1", labels)
	}
	c.Scores, c.ScoreDense, c.ScoreBias = true, true, true
	if !f.hasPart(ScoreNorm) {
		return nil
	}
	c.ScoreNorm, c.ScoreBias, c.ScoreMean = true, j.ScoreBias, j.ScorePooling == "mean"
	switch {
	case !c.ScoreMean && j.ScorePooling != "" && j.ScorePooling != "cls":
		return unsupported("classifier_pooling is %.100q; cls and mean are implemented", j.ScorePooling)
	case j.ScoreActivation != "" && j.ScoreActivation != "gelu":
		return unsupported("classifier_activation is %.100q; only gelu is implemented", j.ScoreActivation)
	}
	return nil
}

// The keys of GGUF's metadata for encoders, after the architecture's name and a dot.
const (
	layerNormEpsKey = "attention.layer_norm_epsilon"
	causalKey       = "attention.causal"
)

// tokenTypesKey is the key of GGUF's metadata for the number of token types, without which llama.cpp loads no bert. It is not read: the table has as many rows.
const tokenTypesKey = "tokenizer.ggml.token_type_count"

// readEncoder is setEncoder for a GGUF file.
func (k metadata) readEncoder(c *Config, f *family) error {
	causal, said := k.has(causalKey)
	if said && causal == f.whole {
		return unsupported("%s is %v, which is not implemented for the architecture %s", k.prefix+causalKey, causal, f.architecture())
	}
	if !f.whole {
		return nil
	}
	rows := func(p Part) int {
		if t, ok := k.Tensor(p.GGUF(0, false)); ok && len(t.Shape) == 2 {
			return t.Shape[0]
		}
		return 0
	}
	has := func(name string) bool {
		_, ok := k.Tensor(name)
		return ok
	}
	e := &c.Encoder
	*e = Encoder{
		Whole: true, LayerNorm: f.centred, NormBias: has(EmbeddingNorm.GGUF(0, true)), Types: rows(TypeEmbedding), Positions: rows(PositionEmbedding),
		Scores: has(ScoreOutput.GGUF(0, false)), ScoreDense: has(ScoreDense.GGUF(0, false)),
		ScoreBias: has(ScoreDense.GGUF(0, true)), ScoreNorm: has(ScoreNorm.GGUF(0, false)) && f.hasPart(ScoreNorm),
	}
	if pooling := k.number(poolingKey, 0, 255); e.ScoreNorm && poolingTypes[uint64(pooling)] != FirstPooling { // llama.cpp takes the mean for them
		e.ScoreMean = true
	}
	c.TiedEmbeddings, c.BOS, c.EOS = true, -1, nil
	if f.centred {
		c.RMSNormEps = float32(k.float(layerNormEpsKey, first(float64(f.defaults.eps), defaultNormEps)))
	}
	if whole, ok := f.fused[Query]; ok {
		c.AttentionBias = c.AttentionBias || has(Query.name(layersGGUF, 0, whole.gguf, true))
	}
	if f.plain {
		c.MLPBias = has(Up.GGUF(0, true))
	}
	if slices.Contains(f.with, TypeEmbedding) && e.Types == 0 {
		return fmt.Errorf("the tensor %s is missing", TypeEmbedding.GGUF(0, false))
	}
	for n := 2; n < 2+maxDense; n++ {
		t, ok := k.Tensor(denseGGUF(n-2, false))
		if !ok || len(t.Shape) != 2 {
			break
		}
		e.Dense = append(e.Dense, Dense{In: t.Shape[1], Out: t.Shape[0], Bias: has(denseGGUF(n-2, true))})
	}
	return nil
}

// encoderMetadata describes an encoder in GGUF's keys.
func (c *Config) encoderMetadata(prefix string) (list []gguf.KeyValue) {
	if !c.Whole {
		return nil
	}
	list = append(list, gguf.KeyValue{Key: prefix + causalKey, Value: gguf.ValueOf(false)})
	if c.LayerNorm {
		list = append(list, gguf.KeyValue{Key: prefix + layerNormEpsKey, Value: gguf.ValueOf(c.RMSNormEps)})
	}
	for i, d := range c.Dense { // llama.cpp asks for these sizes
		list = append(list, gguf.KeyValue{Key: fmt.Sprintf("%sdense_%d_feat_in", prefix, i+2), Value: gguf.ValueOf(uint32(d.In))},
			gguf.KeyValue{Key: fmt.Sprintf("%sdense_%d_feat_out", prefix, i+2), Value: gguf.ValueOf(uint32(d.Out))})
	}
	if c.Types > 0 {
		list = append(list, gguf.KeyValue{Key: tokenTypesKey, Value: gguf.ValueOf(uint32(c.Types))})
	}
	return list
}

// denseGGUF returns GGUF's name for a layer that follows pooling, counted from 0.
func denseGGUF(n int, bias bool) string {
	if bias {
		return fmt.Sprintf("dense_%d.bias", n+2)
	}
	return fmt.Sprintf("dense_%d.weight", n+2)
}

// denseTensors lists the tensors of the layers that follow pooling. In a folder they are in files of their own.
func (c *Config) denseTensors() (list []Tensor) {
	for i, d := range c.Dense {
		list = append(list, Tensor{Part: PooledDense, Layer: i, HuggingFace: d.Folder + "/linear.weight", GGUF: denseGGUF(i, false), Shape: []int{d.Out, d.In}, Role: Pooled})
		if d.Bias {
			list = append(list, Tensor{Part: PooledDense, Layer: i, Bias: true, HuggingFace: d.Folder + "/linear.bias", GGUF: denseGGUF(i, true), Shape: []int{d.Out}, Role: Vector})
		}
	}
	return list
}
