package ollama

import (
	"context"

	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/serve/internal/ask"
	"github.com/antigravity-go/antigravity/llama/serve/internal/wire"
)

// options are the parameters that choose tokens.
type options struct {
	NumCtx           *int        `json:"num_ctx"`
	NumPredict       *int        `json:"num_predict"` // negative: no bound
	Temperature      *float32    `json:"temperature"`
	TopK             *int        `json:"top_k"` // 0 or less: all
	TopP             *float32    `json:"top_p"`
	MinP             *float32    `json:"min_p"`
	Seed             *int64      `json:"seed"` // negative: a random one
	Stop             ask.Strings `json:"stop"`
	RepeatPenalty    *float32    `json:"repeat_penalty"`
	RepeatLastN      *int        `json:"repeat_last_n"`
	PenalizeNewline  *bool       `json:"penalize_newline"`
	PresencePenalty  *float32    `json:"presence_penalty"`
	FrequencyPenalty *float32    `json:"frequency_penalty"`
}

// Rules are those of the options that have no field. What says how a model is run, and on what, cannot change an answer here.
func (options) Rules() wire.Rules { return optionRules }

var optionRules = wire.Rules{
	"num_batch": wire.Ignored(), "num_gpu": wire.Ignored(), "main_gpu": wire.Ignored(), "num_thread": wire.Ignored(), "num_gqa": wire.Ignored(),
	"use_mmap": wire.Ignored(), "use_mlock": wire.Ignored(), "numa": wire.Ignored(), "low_vram": wire.Ignored(), "f16_kv": wire.Ignored(),
	"logits_all": wire.Ignored(),
	"num_keep":   wire.Ignored(), // of a context that is shifted, which never happens here
	// A draft never changes an answer.
	"draft_num_predict": wire.Ignored(),
	"vocab_only":        wire.Refused("a model is loaded as a whole", "false"),
	"embedding_only":    wire.Refused("a model is loaded as a whole", "false"),
	"typical_p":         wire.Refused("use top_p or min_p", "1", "0"),
	"tfs_z":             wire.Refused("use top_p or min_p", "1"),
	"mirostat":          wire.Refused("use top_p or min_p", "0"),
	"mirostat_tau":      wire.Ignored(), // which mirostat alone looks at
	"mirostat_eta":      wire.Ignored(),
	// Angles are what the model's files say.
	"rope_frequency_base":  wire.Refused("the model's files say it", "0"),
	"rope_frequency_scale": wire.Refused("the model's files say it", "0"),
}

// defaults are Ollama's, for models that recommend nothing.
var defaults = llama.Params{Temperature: 0.8, TopK: 40, TopP: 0.9}

// params returns the parameters of an answer. Errors name them as members of "options".
func (o *options) params(ctx context.Context) (llama.Params, error) {
	s, err := o.sampling()
	if err != nil {
		return llama.Params{}, err
	}
	p, err := s.ParamsOr(ctx, defaults)
	if e, ok := err.(*wire.Error); ok {
		return p, e.Within("options")
	}
	switch n := o.NumPredict; {
	case n != nil && *n == 0:
		return p, wire.Invalid("options.num_predict", "options.num_predict is 0; it must be 1 or more, or -1 for no bound")
	case n != nil && *n > 0:
		p.MaxTokens = *n
	}
	if o.NumCtx != nil && *o.NumCtx < 1 {
		return p, wire.Invalid("options.num_ctx", "options.num_ctx is %d; it must be 1 or more", *o.NumCtx)
	}
	return p, err
}

// sampling returns the parameters that choose tokens as the other interfaces have them.
func (o *options) sampling() (*ask.Sampling, error) {
	s := &ask.Sampling{
		Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP, MinP: o.MinP, Seed: o.Seed, Stop: o.Stop, RepeatPenalty: o.RepeatPenalty,
		PresencePenalty: o.PresencePenalty, FrequencyPenalty: o.FrequencyPenalty, RepeatLastN: o.RepeatLastN,
	}
	if o.TopK != nil {
		s.TopK = new(max(0, *o.TopK))
	}
	if o.Seed != nil && *o.Seed < 0 {
		s.Seed = nil
	}
	if v := o.RepeatPenalty; v != nil && *v != 1 && *v != 0 && o.PenalizeNewline != nil && !*o.PenalizeNewline {
		return nil, wire.Unsupported("options.penalize_newline", "options.penalize_newline is false; repeat_penalty is for all tokens alike")
	}
	return s, nil
}

// recommend puts what the model's authors recommend in place of Ollama's defaults.
func (o *options) recommend(m *ask.Model, p *llama.Params) error {
	s, err := o.sampling()
	if err != nil {
		return err
	}
	err = m.Recommend(p, s)
	if e, ok := err.(*wire.Error); ok {
		return e.Within("options")
	}
	return err
}
