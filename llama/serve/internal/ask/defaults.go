package ask

import (
	"cmp"

	"github.com/antigravity-go/antigravity/llama/serve/internal/models"
)

// Defaults are the values of parameters that a request in OpenAI's interfaces does not have, by their names.
type Defaults struct {
	Temperature      float32 `json:"temperature"`
	TopP             float32 `json:"top_p"` // 1: all tokens
	TopK             int     `json:"top_k"` // 0: all tokens
	MinP             float32 `json:"min_p"`
	RepeatPenalty    float32 `json:"repeat_penalty"` // 1: no penalty
	FrequencyPenalty float32 `json:"frequency_penalty"`
	PresencePenalty  float32 `json:"presence_penalty"`
	MaxTokens        *int    `json:"max_completion_tokens"` // null: as many as fit the context
	Seed             *int64  `json:"seed"`                  // null: another one for each request
	// Recommended says that the model's authors recommend the values, and not OpenAI.
	Recommended bool `json:"recommended"`
}

// Defaults returns those of a model with these facts; nil: nothing is known of it.
func (s *Service) Defaults(f *models.Facts) Defaults {
	p, recommended := openAI, false
	if f != nil && !s.PlainSampling {
		Follow(&p, f.Sampling, f.HasSampling)
		recommended = f.HasSampling
	}
	d := Defaults{
		Temperature: p.Temperature, TopP: cmp.Or(p.TopP, 1), TopK: p.TopK, MinP: p.MinP, RepeatPenalty: cmp.Or(p.RepeatPenalty, 1),
		FrequencyPenalty: p.FrequencyPenalty, PresencePenalty: p.PresencePenalty, Recommended: recommended,
	}
	if s.MaxTokens > 0 {
		d.MaxTokens = &s.MaxTokens
	}
	return d
}
