package checkpoint

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/modeljson"
)

// config.json is decoded to a configJSON, and with the family's entry in the table families that becomes a Config. Keys that are absent get
// the family's defaults. Keys of other families are an error, unless their values ask for nothing. For example, of Gemma 2
//
//	"model_type": "gemma2"                   Family "gemma2"
//	"hidden_size": 2304                      HiddenSize 2304, EmbeddingScale 48
//	"num_hidden_layers": 26                  Layers 26
//	"sliding_window": 4096                   Window 4096, of the layers 0, 2, 4 … 24
//	"final_logit_softcapping": 30.0          LogitCap 30
//	"query_pre_attn_scalar": 256             ScoreScale 0: 1/√256 is the usual one
//	no "head_dim"                            HeadDim 256
//	no "hidden_act"                          Activation "gelu_tanh"

// configJSON is config.json as transformers writes it: the keys in alphabetical order. Nil pointers are absent keys.
type configJSON struct {
	Architectures     []string  `json:"architectures,omitempty"` // only written
	AttentionBias     bool      `json:"attention_bias"`
	BOS               tokenList `json:"bos_token_id,omitempty"`
	EOS               tokenList `json:"eos_token_id,omitempty"`
	HeadDim           *int      `json:"head_dim" whole:"4.0"`
	HiddenAct         *string   `json:"hidden_act"`
	HiddenSize        int       `json:"hidden_size" whole:"4.0"`
	IntermediateSize  int       `json:"intermediate_size" whole:"4.0"`
	ContextLength     int       `json:"max_position_embeddings" whole:"4.0"`
	MLPBias           bool      `json:"mlp_bias"`
	ModelType         string    `json:"model_type"`
	Heads             int       `json:"num_attention_heads" whole:"4.0"`
	Layers            int       `json:"num_hidden_layers" whole:"4.0"`
	KVHeads           *int      `json:"num_key_value_heads" whole:"4.0"`
	PartialRoPEFactor *float64  `json:"partial_rotary_factor,omitempty"`
	RMSNormEps        *float32  `json:"rms_norm_eps"`
	RoPE              *ropeJSON `json:"rope_scaling,omitempty"` // read by chooseRoPE
	RoPETheta         *float64  `json:"rope_theta"`
	TiedEmbeddings    *bool     `json:"tie_word_embeddings"`
	DType             string    `json:"torch_dtype,omitempty"` // only written
	VocabSize         int       `json:"vocab_size" whole:"4.0"`
	familyJSON
	expertJSON
	layersJSON
	encoderJSON
	recurrentJSON
}

// familyJSON has the keys of config.json of some families alone, and only they read: see special. None of it is written.
type familyJSON struct {
	AttentionCap        capJSON   `json:"attn_logit_softcapping,omitzero"`
	AttentionMultiplier *float64  `json:"attention_multiplier,omitempty"`
	EmbeddingMultiplier *float64  `json:"embedding_multiplier,omitempty"`
	HiddenActivation    *string   `json:"hidden_activation,omitempty"` // Gemma's hidden_act
	LayerTypes          []string  `json:"layer_types,omitempty"`
	LocalTheta          *float64  `json:"rope_local_base_freq,omitempty"`
	LogitCap            capJSON   `json:"final_logit_softcapping,omitzero"`
	LogitsScaling       *float64  `json:"logits_scaling,omitempty"`
	MaxWindowLayers     *int      `json:"max_window_layers,omitempty" whole:"4.0"`
	NoRoPEInterval      *int      `json:"no_rope_layer_interval,omitempty" whole:"4.0"`
	NoRoPELayers        []float64 `json:"no_rope_layers,omitempty"` // 0: the layer has no RoPE
	OriginalContext     *int      `json:"original_max_position_embeddings,omitempty" whole:"4.0"`
	PositionType        string    `json:"position_embedding_type,omitempty"`
	QueryScalar         *float64  `json:"query_pre_attn_scalar,omitempty"`
	ResidualMultiplier  *float64  `json:"residual_multiplier,omitempty"`
	UseWindow           *bool     `json:"use_sliding_window,omitempty"`
	Window              *int      `json:"sliding_window,omitempty" whole:"4.0"`
	WindowPattern       *int      `json:"sliding_window_pattern,omitempty" whole:"4.0"`
	WindowPattern5      *int      `json:"_sliding_window_pattern,omitempty" whole:"4.0"` // as transformers 5 writes it
}

// capJSON is a limit. null says that there is no limit; an absent key says nothing.
type capJSON struct {
	given bool
	value float64
}

// UnmarshalJSON reads a number or null.
func (c *capJSON) UnmarshalJSON(b []byte) error {
	*c = capJSON{given: true}
	return modeljson.Unmarshal(b, &c.value)
}

// or returns the limit; if nothing is said, otherwise.
func (c *capJSON) or(otherwise float64) float64 {
	if c.given {
		return c.value
	}
	return otherwise
}

// generationJSON has the keys of generation_config.json that count.
type generationJSON struct {
	EOS tokenList `json:"eos_token_id"`
}

// tokenList is one token id, several, or null.
type tokenList []int32

// UnmarshalJSON reads a number, a list of numbers, or null.
func (l *tokenList) UnmarshalJSON(b []byte) error {
	var one *int32
	if modeljson.Unmarshal(b, &one) == nil {
		*l = nil
		if one != nil {
			*l = tokenList{*one}
		}
		return nil
	}
	var many []int32
	if err := modeljson.Unmarshal(b, &many); err != nil {
		return fmt.Errorf("a token id, or a list of them, cannot be %.40s", b)
	}
	*l = many
	return nil
}

// MarshalJSON writes one token id as a number, several as a list.
func (l tokenList) MarshalJSON() ([]byte, error) {
	if len(l) == 1 {
		return json.Marshal(l[0])
	}
	return json.Marshal([]int32(l))
}

// parseConfig reads config.json.
func parseConfig(data []byte) (*Config, error) {
	bare, err := headless(data)
	if err != nil {
		return nil, err
	}
	if data, err = textConfig(data); err != nil {
		return nil, err
	}
	var j configJSON
	if err := modeljson.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	f, err := familyBy("model_type", first(textTypes[j.ModelType], j.ModelType), func(f *family) string { return f.model })
	if err != nil {
		return nil, err
	}
	if err := j.rename(); err != nil {
		return nil, err
	}
	if f, err = f.bidirectional(j.Bidirectional); err != nil {
		return nil, err
	}
	if err := f.checkSpecial(data); err != nil {
		return nil, err
	}
	j.RoPE = nil
	if err := j.chooseRoPE(data, f); err != nil {
		return nil, err
	}
	c, err := j.config(f)
	if err != nil {
		return nil, err
	}
	if bare {
		c.TiedEmbeddings = true // there is no head to load; see Pipeline.Headless
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.EOS = distinct(c.EOS)
	return c, nil
}

// addGeneration reads generation_config.json. Its end-of-sequence ids join those of config.json.
func (c *Config) addGeneration(data []byte) error {
	var g generationJSON
	if err := modeljson.Unmarshal(data, &g); err != nil {
		return err
	}
	if err := c.checkTokens(g.EOS...); err != nil {
		return err
	}
	c.EOS = distinct(append(c.EOS, g.EOS...))
	var err error
	c.Sampling, err = readSampling(data)
	return err
}

func (j *configJSON) config(f *family) (*Config, error) {
	activation, err := f.activationOf(j.HiddenAct, j.HiddenActivation)
	if err != nil {
		return nil, err
	}
	d := &f.defaults
	c := &Config{
		HiddenSize: j.HiddenSize, IntermediateSize: j.IntermediateSize, Layers: j.Layers,
		Heads: first(j.Heads, d.heads), KVHeads: or(j.KVHeads, first(j.Heads, d.kvHeads)), HeadDim: d.headDim,
		VocabSize: first(j.VocabSize, d.vocab), ContextLength: first(j.ContextLength, d.context),
		RMSNormEps: or(j.RMSNormEps, first(float32(d.eps), 1e-6)), RoPE: RoPE{Theta: or(j.RoPETheta, first(d.theta, 10000))}, // transformers' defaults
		AttentionBias: j.AttentionBias || f.biased, MLPBias: j.MLPBias, TiedEmbeddings: or(j.TiedEmbeddings, d.tied),
		BOS: -1, EOS: j.EOS, Variant: Variant{Activation: activation},
	}
	if f != &families[0] {
		c.Family = f.name
	}
	if len(j.BOS) > 0 {
		c.BOS = j.BOS[0]
	}
	if j.HeadDim != nil {
		c.HeadDim = *j.HeadDim
	} else if c.HeadDim == 0 && j.Heads > 0 {
		c.HeadDim = j.HiddenSize / j.Heads
	}
	if err := j.setVariant(c, f); err != nil {
		return nil, err
	}
	if err := j.setExperts(c, f); err != nil {
		return nil, err
	}
	if err := j.setEncoder(c, f); err != nil {
		return nil, err
	}
	if err := j.setRecurrent(c, f); err != nil {
		return nil, err
	}
	if err := j.setRoPE(c, f); err != nil {
		return nil, err
	}
	c.normalize()
	return c, nil
}

// activationOf returns the activation in the terms of Config.
func (f *family) activationOf(names ...*string) (string, error) {
	want := first(f.activation, silu)
	for _, name := range names {
		if name != nil && *name != want && !(want == geluTanh && *name == "gelu") { // Gemma's first files say gelu and mean this
			return "", unsupported("the activation is %.100q; for the architecture %s only %s is implemented", *name, f.name, want)
		}
	}
	return activationNames[want], nil
}

// activationNames are Variant.Activation's values by Hugging Face's names.
var activationNames = map[string]string{silu: "", geluTanh: "gelu_tanh", gelu: "gelu"}

// or returns what p points to; if it is nil, otherwise.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// first returns the first value that is not zero.
func first[T comparable](values ...T) (v T) {
	for _, v = range values {
		var zero T
		if v != zero {
			break
		}
	}
	return v
}

// The values of layer_types.
const (
	wholeLayer  = "full_attention"
	windowLayer = "sliding_attention"
)

// setVariant reads what distinguishes the family.
func (j *configJSON) setVariant(c *Config, f *family) error {
	has := func(key string) bool { return slices.Contains(f.keys, key) }
	if has("layer_types") && j.LayerTypes != nil {
		c.Windowed = make([]bool, 0, len(j.LayerTypes))
		for _, kind := range j.LayerTypes {
			if kind != wholeLayer && kind != windowLayer {
				return unsupported("layer_types has %.100q; known are %s and %s", kind, wholeLayer, windowLayer)
			}
			c.Windowed = append(c.Windowed, kind == windowLayer)
		}
	}
	if has(sharedWidthName) {
		if err := j.setHybrid(c); err != nil {
			return err
		}
	}
	if has("sliding_window") {
		every := first(or(j.WindowPattern, 0), or(j.WindowPattern5, 0), f.defaults.every)
		c.setWindow(f, or(j.Window, f.defaultWindow()), windowRule{use: or(j.UseWindow, false), from: or(j.MaxWindowLayers, 0), every: every})
	}
	if has("no_rope_layers") {
		if every := or(j.NoRoPEInterval, f.defaults.every); every > 0 {
			c.NoRoPE = everyNth(c.Layers, every)
		}
		if j.NoRoPELayers != nil {
			c.NoRoPE = make([]bool, 0, len(j.NoRoPELayers))
			for _, rotated := range j.NoRoPELayers {
				c.NoRoPE = append(c.NoRoPE, rotated == 0)
			}
		}
	}
	if has(sharedLayersName) {
		if err := j.setLayers(c, f); err != nil {
			return err
		}
	}
	if has("embedding_multiplier") {
		c.EmbeddingScale, c.ScoreScale, c.ResidualScale = or(j.EmbeddingMultiplier, 0), or(j.AttentionMultiplier, 1), or(j.ResidualMultiplier, 0)
		c.LogitScale = 1 / or(j.LogitsScaling, 1)
	}
	if f.embedding {
		c.EmbeddingScale = embeddingScale(c.HiddenSize)
	}
	if has("attn_logit_softcapping") {
		c.ScoreCap = j.AttentionCap.or(f.defaults.scoreCap)
	}
	if has("final_logit_softcapping") {
		c.LogitCap = j.LogitCap.or(f.defaults.logitCap)
	}
	if f.unscaled {
		c.ScoreScale = 1
	}
	if has("query_pre_attn_scalar") {
		c.ScoreScale = 1 / math.Sqrt(or(j.QueryScalar, float64(c.HeadDim)))
	}
	return nil
}

// embeddingScale returns the square root of a width, rounded to BF16, as Gemma's embeddings are scaled.
func embeddingScale(width int) float64 {
	bits := math.Float32bits(float32(math.Sqrt(float64(width))))
	bits += 0x7fff + bits>>16&1 // half to even
	return float64(math.Float32frombits(bits &^ 0xffff))
}

// JSON returns config.json for weights of a type that PyTorch knows by the name dtype, of a Llama: other families are an error.
// RoPE.Divisors are left out: the format has no place for them.
func (c *Config) JSON(dtype string) ([]byte, error) {
	if c.Family != "" || c.Windowed != nil || c.NoRoPE != nil {
		return nil, unsupported("a config.json of the architecture %s", familyOf(c.Family).name)
	}
	act, f := silu, &families[0]
	j := configJSON{
		Architectures: []string{f.class}, ModelType: f.model, DType: dtype, HiddenAct: &act,
		HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers,
		Heads: c.Heads, KVHeads: &c.KVHeads, HeadDim: &c.HeadDim, VocabSize: c.VocabSize, ContextLength: c.ContextLength,
		RMSNormEps: &c.RMSNormEps, RoPETheta: &c.RoPE.Theta,
		AttentionBias: c.AttentionBias, MLPBias: c.MLPBias, TiedEmbeddings: &c.TiedEmbeddings, EOS: c.EOS,
	}
	if c.BOS >= 0 {
		j.BOS = tokenList{c.BOS}
	}
	if r := &c.RoPE; r.Scaling != "" {
		j.RoPE = &ropeJSON{Type: r.Scaling, Factor: r.Factor, LowFreqFactor: r.LowFreqFactor,
			HighFreqFactor: r.HighFreqFactor, OriginalContext: r.OriginalContext, Attention: r.Attention, BetaFast: r.BetaFast, BetaSlow: r.BetaSlow}
		if r.Unrounded {
			j.RoPE.Truncate = new(bool)
		}
	}
	return json.Marshal(&j)
}
