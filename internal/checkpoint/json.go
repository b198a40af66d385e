package checkpoint

import (
	"encoding/json"
	"fmt"
)

// configJSON is config.json as transformers writes it: the keys in alphabetical order. Pointers tell "absent" from zero.
type configJSON struct {
	Architectures     []string  `json:"architectures,omitempty"` // only written
	AttentionBias     bool      `json:"attention_bias"`
	BOS               tokenList `json:"bos_token_id,omitempty"`
	EOS               tokenList `json:"eos_token_id,omitempty"`
	HeadDim           *int      `json:"head_dim"`
	HiddenAct         *string   `json:"hidden_act"`
	HiddenSize        int       `json:"hidden_size"`
	IntermediateSize  int       `json:"intermediate_size"`
	ContextLength     int       `json:"max_position_embeddings"`
	MLPBias           bool      `json:"mlp_bias"`
	ModelType         string    `json:"model_type"`
	Heads             int       `json:"num_attention_heads"`
	Layers            int       `json:"num_hidden_layers"`
	KVHeads           *int      `json:"num_key_value_heads"`
	PartialRoPEFactor *float64  `json:"partial_rotary_factor,omitempty"`
	RMSNormEps        *float32  `json:"rms_norm_eps"`
	RoPEParameters    *ropeJSON `json:"rope_parameters,omitempty"` // transformers 5: theta and scaling in one
	RoPEScaling       *ropeJSON `json:"rope_scaling,omitempty"`
	RoPETheta         *float64  `json:"rope_theta"`
	TiedEmbeddings    bool      `json:"tie_word_embeddings"`
	DType             string    `json:"torch_dtype,omitempty"` // only written
	VocabSize         int       `json:"vocab_size"`
}

// ropeJSON is how config.json tells of RoPE.
type ropeJSON struct {
	Factor          float64  `json:"factor"`
	HighFreqFactor  float64  `json:"high_freq_factor,omitempty"`
	LowFreqFactor   float64  `json:"low_freq_factor,omitempty"`
	OriginalContext int      `json:"original_max_position_embeddings,omitempty"`
	Theta           *float64 `json:"rope_theta,omitempty"`
	Type            string   `json:"rope_type,omitempty"`
	OldType         string   `json:"type,omitempty"` // before transformers 4.43
}

// generationJSON is what counts of generation_config.json.
type generationJSON struct {
	EOS tokenList `json:"eos_token_id"`
}

// The values that stand for the architecture in both formats, and for its activation.
const (
	architecture = "llama"
	activation   = "silu"
)

// tokenList is one token id, several, or null.
type tokenList []int32

// UnmarshalJSON reads a number, a list of numbers, or null.
func (l *tokenList) UnmarshalJSON(b []byte) error {
	var one *int32
	if json.Unmarshal(b, &one) == nil {
		*l = nil
		if one != nil {
			*l = tokenList{*one}
		}
		return nil
	}
	var many []int32
	if err := json.Unmarshal(b, &many); err != nil {
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
	var j configJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, err
	}
	c, err := j.config()
	if err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.EOS = distinct(c.EOS)
	return c, nil
}

// addGeneration reads generation_config.json, whose end-of-sequence ids join those of config.json.
func (c *Config) addGeneration(data []byte) error {
	var g generationJSON
	if err := json.Unmarshal(data, &g); err != nil {
		return err
	}
	if err := c.checkTokens(g.EOS...); err != nil {
		return err
	}
	c.EOS = distinct(append(c.EOS, g.EOS...))
	return nil
}

func (j *configJSON) config() (*Config, error) {
	if j.ModelType != architecture {
		return nil, unsupported("model_type is %.100q; only the llama architecture is implemented", j.ModelType)
	}
	if j.HiddenAct != nil && *j.HiddenAct != activation {
		return nil, unsupported("hidden_act is %.100q; only silu is implemented", *j.HiddenAct)
	}
	if j.PartialRoPEFactor != nil && *j.PartialRoPEFactor != 1 {
		return nil, unsupported("partial_rotary_factor is %g; Llama rotates whole heads", *j.PartialRoPEFactor)
	}
	c := &Config{
		HiddenSize: j.HiddenSize, IntermediateSize: j.IntermediateSize, Layers: j.Layers,
		Heads: j.Heads, KVHeads: j.Heads, VocabSize: j.VocabSize, ContextLength: j.ContextLength,
		RMSNormEps: 1e-6, RoPE: RoPE{Theta: 10000}, // transformers' defaults
		AttentionBias: j.AttentionBias, MLPBias: j.MLPBias, TiedEmbeddings: j.TiedEmbeddings,
		BOS: -1, EOS: j.EOS,
	}
	if len(j.BOS) > 0 {
		c.BOS = j.BOS[0]
	}
	if j.KVHeads != nil {
		c.KVHeads = *j.KVHeads
	}
	if j.HeadDim != nil {
		c.HeadDim = *j.HeadDim
	} else if j.Heads > 0 {
		c.HeadDim = j.HiddenSize / j.Heads
	}
	if j.RMSNormEps != nil {
		c.RMSNormEps = *j.RMSNormEps
	}
	if j.RoPETheta != nil {
		c.RoPE.Theta = *j.RoPETheta
	}
	for _, r := range []*ropeJSON{j.RoPEScaling, j.RoPEParameters} {
		if r != nil {
			r.apply(&c.RoPE)
		}
	}
	return c, nil
}

func (j *ropeJSON) apply(r *RoPE) {
	if j.Theta != nil {
		r.Theta = *j.Theta
	}
	r.Scaling = j.Type
	if r.Scaling == "" {
		r.Scaling = j.OldType
	}
	if r.Scaling == "default" {
		r.Scaling = ""
	}
	r.Factor, r.LowFreqFactor, r.HighFreqFactor, r.OriginalContext = j.Factor, j.LowFreqFactor, j.HighFreqFactor, j.OriginalContext
}

// JSON returns config.json for weights of a type that PyTorch knows by the name dtype. RoPE.Divisors are left out: the format
// has no place for them.
func (c *Config) JSON(dtype string) ([]byte, error) {
	act := activation
	j := configJSON{
		Architectures: []string{"LlamaForCausalLM"}, ModelType: architecture, DType: dtype, HiddenAct: &act,
		HiddenSize: c.HiddenSize, IntermediateSize: c.IntermediateSize, Layers: c.Layers,
		Heads: c.Heads, KVHeads: &c.KVHeads, HeadDim: &c.HeadDim, VocabSize: c.VocabSize, ContextLength: c.ContextLength,
		RMSNormEps: &c.RMSNormEps, RoPETheta: &c.RoPE.Theta,
		AttentionBias: c.AttentionBias, MLPBias: c.MLPBias, TiedEmbeddings: c.TiedEmbeddings, EOS: c.EOS,
	}
	if c.BOS >= 0 {
		j.BOS = tokenList{c.BOS}
	}
	if r := &c.RoPE; r.Scaling != "" {
		j.RoPEScaling = &ropeJSON{Type: r.Scaling, Factor: r.Factor, LowFreqFactor: r.LowFreqFactor,
			HighFreqFactor: r.HighFreqFactor, OriginalContext: r.OriginalContext}
	}
	return json.Marshal(&j)
}
