package llama

import (
	"encoding/json"
	"fmt"
	"math"
)

// Config describes a model of the Llama family: its sizes and the few choices that the architecture leaves open.
type Config struct {
	HiddenSize       int // width of the residual stream
	IntermediateSize int // width of the feed-forward layer
	Layers           int
	Heads            int // query heads
	KVHeads          int // key and value heads, each shared by Heads/KVHeads query heads (grouped queries, GQA)
	HeadDim          int
	VocabSize        int
	ContextLength    int // tokens the model was trained for
	RMSNormEps       float32
	RoPE             RoPE
	AttentionBias    bool
	MLPBias          bool
	TiedEmbeddings   bool    // the output head is the embedding table
	BOS              Token   // begin of text; -1: none
	EOS              []Token // each ends a turn
}

// RoPE says how positions turn into angles: the base of the frequencies and how they were stretched for long contexts.
type RoPE struct {
	Theta   float64
	Scaling string // "", "linear" or "llama3"
	Factor  float64
	// For "llama3": wavelengths longer than OriginalContext/LowFreqFactor are stretched by Factor, those shorter than
	// OriginalContext/HighFreqFactor are left alone, those between are blended.
	LowFreqFactor, HighFreqFactor float64
	OriginalContext               int
	// Divisors, when not nil, has one divisor for each of the HeadDim/2 frequencies and stands for the above: GGUF files
	// carry them as rope_freqs.weight.
	Divisors []float32
}

// Limits that no model of this family comes near, so that absurd files are refused before anything is allocated: the largest
// Llama has 16384, 53248, 126 layers and 128 heads of 128 elements.
const (
	maxWidth   = 1 << 18 // of the residual stream, the feed-forward layer, and all heads together
	maxLayers  = 1 << 10
	maxHeads   = 1 << 10
	maxHeadDim = 1 << 10
	maxVocab   = 1 << 24
	maxContext = 1 << 30
)

// validate checks that the sizes fit together.
func (c *Config) validate() error {
	for _, f := range []struct {
		name       string
		value, max int
	}{
		{"hidden_size", c.HiddenSize, maxWidth}, {"intermediate_size", c.IntermediateSize, maxWidth},
		{"num_hidden_layers", c.Layers, maxLayers}, {"num_attention_heads", c.Heads, maxHeads},
		{"num_key_value_heads", c.KVHeads, maxHeads}, {"head_dim", c.HeadDim, maxHeadDim},
		{"vocab_size", c.VocabSize, maxVocab}, {"max_position_embeddings", c.ContextLength, maxContext},
	} {
		if f.value < 1 || f.value > f.max {
			return fmt.Errorf("%s is %d, not between 1 and %d", f.name, f.value, f.max)
		}
	}
	switch {
	case c.Heads%c.KVHeads != 0:
		return fmt.Errorf("%d query heads cannot share %d key and value heads evenly", c.Heads, c.KVHeads)
	case c.HeadDim%2 != 0:
		return fmt.Errorf("head_dim is %d: RoPE needs an even one", c.HeadDim)
	case c.Heads*c.HeadDim > maxWidth:
		return fmt.Errorf("%d heads of %d elements are too wide", c.Heads, c.HeadDim)
	case max(c.VocabSize, c.IntermediateSize, c.Heads*c.HeadDim) > math.MaxInt/4/c.HiddenSize: // on a system of 32 bits
		return fmt.Errorf("matrices of %d by %d elements are more than this system can address", max(c.VocabSize, c.IntermediateSize, c.Heads*c.HeadDim), c.HiddenSize)
	case !(c.RMSNormEps >= 0 && c.RMSNormEps < 1):
		return fmt.Errorf("rms_norm_eps is %g, not between 0 and 1", c.RMSNormEps)
	}
	if err := c.checkTokens(c.BOS); err != nil {
		return err
	}
	if err := c.checkTokens(c.EOS...); err != nil {
		return err
	}
	return c.RoPE.validate(c.HeadDim)
}

// checkTokens refuses ids outside the vocabulary, and more than it has; -1 stands for none.
func (c *Config) checkTokens(ids ...Token) error {
	if len(ids) > c.VocabSize {
		return fmt.Errorf("a list has %d token ids, the vocabulary only %d", len(ids), c.VocabSize)
	}
	for _, t := range ids {
		if t < -1 || int(t) >= c.VocabSize {
			return fmt.Errorf("token id %d is outside the vocabulary of %d", t, c.VocabSize)
		}
	}
	return nil
}

// The range of what stretches RoPE's frequencies, and of its base: they keep every angle a number.
const (
	minStretch = 1e-3
	maxStretch = 1e9
	maxTheta   = 1e30
)

func (r *RoPE) validate(headDim int) error {
	stretch := func(v float64) bool { return v >= minStretch && v <= maxStretch }
	if !(r.Theta >= 1 && r.Theta <= maxTheta) {
		return fmt.Errorf("rope_theta is %g, not between 1 and %g", r.Theta, maxTheta)
	}
	if r.Divisors != nil {
		if len(r.Divisors) != headDim/2 {
			return fmt.Errorf("%d RoPE frequency divisors for a head of %d elements: there must be %d", len(r.Divisors), headDim, headDim/2)
		}
		for _, d := range r.Divisors {
			if !stretch(float64(d)) {
				return fmt.Errorf("a RoPE frequency divisor is %g, not between %g and %g", d, minStretch, maxStretch)
			}
		}
	}
	switch r.Scaling {
	case "":
		return nil
	case "linear":
		if !stretch(r.Factor) {
			return fmt.Errorf("the RoPE scaling factor is %g, not between %g and %g", r.Factor, minStretch, maxStretch)
		}
		return nil
	case "llama3":
		if !stretch(r.Factor) || !stretch(r.LowFreqFactor) || !stretch(r.HighFreqFactor) || r.LowFreqFactor >= r.HighFreqFactor ||
			r.OriginalContext < 1 || r.OriginalContext > maxContext {
			return fmt.Errorf("RoPE scaling llama3 with factor %g, low_freq_factor %g, high_freq_factor %g, original_max_position_embeddings %d: "+
				"the factors must be between %g and %g and low below high, the context positive",
				r.Factor, r.LowFreqFactor, r.HighFreqFactor, r.OriginalContext, minStretch, maxStretch)
		}
		return nil
	}
	return fmt.Errorf("RoPE scaling of type %.100q: known are linear and llama3: %w", r.Scaling, ErrUnsupported)
}

// ParseConfig reads a Hugging Face config.json, and generation_config.json where it is not nil: the latter's end-of-sequence
// ids join the former's.
func ParseConfig(config, generation []byte) (*Config, error) {
	c, err := parseConfig(config)
	if err != nil {
		return nil, brief(fmt.Errorf("%s: %w", configFile, err))
	}
	if err := c.addGeneration(generation); err != nil {
		return nil, brief(fmt.Errorf("%s: %w", generationFile, err))
	}
	return c, nil
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
	if err := c.validate(); err != nil {
		return nil, err
	}
	c.EOS = distinct(c.EOS)
	return c, nil
}

// addGeneration reads generation_config.json; nil is a file that does not exist.
func (c *Config) addGeneration(data []byte) error {
	if data == nil {
		return nil
	}
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

// configJSON is config.json as transformers writes it; pointers tell "absent" from zero.
type configJSON struct {
	ModelType         string    `json:"model_type"`
	HiddenAct         *string   `json:"hidden_act"`
	HiddenSize        int       `json:"hidden_size"`
	IntermediateSize  int       `json:"intermediate_size"`
	Layers            int       `json:"num_hidden_layers"`
	Heads             int       `json:"num_attention_heads"`
	KVHeads           *int      `json:"num_key_value_heads"`
	HeadDim           *int      `json:"head_dim"`
	VocabSize         int       `json:"vocab_size"`
	ContextLength     int       `json:"max_position_embeddings"`
	RMSNormEps        *float64  `json:"rms_norm_eps"`
	RoPETheta         *float64  `json:"rope_theta"`
	RoPEScaling       *ropeJSON `json:"rope_scaling"`
	RoPEParameters    *ropeJSON `json:"rope_parameters"` // transformers 5: theta and scaling in one
	AttentionBias     bool      `json:"attention_bias"`
	MLPBias           bool      `json:"mlp_bias"`
	TiedEmbeddings    bool      `json:"tie_word_embeddings"`
	BOS               tokenList `json:"bos_token_id"`
	EOS               tokenList `json:"eos_token_id"`
	PartialRoPEFactor *float64  `json:"partial_rotary_factor"`
}

// generationJSON is what we need of generation_config.json.
type generationJSON struct {
	EOS tokenList `json:"eos_token_id"`
}

type ropeJSON struct {
	Theta           *float64 `json:"rope_theta"`
	Type            string   `json:"rope_type"`
	OldType         string   `json:"type"` // before transformers 4.43
	Factor          float64  `json:"factor"`
	LowFreqFactor   float64  `json:"low_freq_factor"`
	HighFreqFactor  float64  `json:"high_freq_factor"`
	OriginalContext int      `json:"original_max_position_embeddings"`
}

// tokenList is one token id, several, or null.
type tokenList []Token

// UnmarshalJSON reads a number, a list of numbers, or null.
func (l *tokenList) UnmarshalJSON(b []byte) error {
	var one *Token
	if json.Unmarshal(b, &one) == nil {
		*l = nil
		if one != nil {
			*l = tokenList{*one}
		}
		return nil
	}
	var many []Token
	if err := json.Unmarshal(b, &many); err != nil {
		return fmt.Errorf("a token id, or a list of them, cannot be %.40s", b)
	}
	*l = many
	return nil
}

func (j *configJSON) config() (*Config, error) {
	if j.ModelType != "llama" {
		return nil, fmt.Errorf("model_type is %.100q; this package runs the llama architecture: %w", j.ModelType, ErrUnsupported)
	}
	if j.HiddenAct != nil && *j.HiddenAct != "silu" {
		return nil, fmt.Errorf("hidden_act is %.100q; this package computes silu: %w", *j.HiddenAct, ErrUnsupported)
	}
	if j.PartialRoPEFactor != nil && *j.PartialRoPEFactor != 1 {
		return nil, fmt.Errorf("partial_rotary_factor is %g; Llama rotates whole heads: %w", *j.PartialRoPEFactor, ErrUnsupported)
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
		c.RMSNormEps = float32(*j.RMSNormEps)
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

// distinct returns the different ones of a list of tokens, in the order in which they come first; nil for an empty list.
func distinct(list []Token) (result []Token) {
	seen := make(map[Token]bool)
	for _, t := range list {
		if !seen[t] {
			seen[t] = true
			result = append(result, t)
		}
	}
	return result
}
