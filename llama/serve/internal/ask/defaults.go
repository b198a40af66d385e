package ask

// Defaults are the values of parameters that a request does not have, by the names of OpenAI's parameters.
type Defaults struct {
	Temperature float32 `json:"temperature"`
	TopP        float32 `json:"top_p"` // 1: all tokens
	TopK        int     `json:"top_k"` // 0: all tokens
	MinP        float32 `json:"min_p"`
	MaxTokens   *int    `json:"max_completion_tokens"` // null: as many as fit the context
	Seed        *int64  `json:"seed"`                  // null: another one for each request
}

// Defaults returns the service's.
func (s *Service) Defaults() Defaults {
	d := Defaults{Temperature: defaultTemperature, TopP: 1}
	if s.MaxTokens > 0 {
		d.MaxTokens = &s.MaxTokens
	}
	return d
}
