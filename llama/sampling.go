package llama

// Sampling returns how the model's authors recommend to draw tokens: Temperature, TopK, TopP, MinP and the penalties, as
// generation_config.json or the keys general.sampling.… of a GGUF file have them. It is the zero value, which is greedy, if the files say
// nothing. A Temperature that they leave open is 1 if they say how to draw. If they say that tokens are not drawn (do_sample is false), it
// is 0. A penalty that they leave open is 0.
//
// The result is a copy for the program to go on with:
//
//	params := model.Sampling()
//	params.MaxTokens = 200
//
// What the files recommend besides, such as mirostat or no_repeat_ngram_size, is not followed; LoadOptions.Logger gets a line about it.
// RepeatPenalty looks at the last 64 tokens, in other programs perhaps at all. Bounds of the answer's length are not taken over.
func (m *Model) Sampling() Params {
	s := &m.config.Sampling
	return Params{
		Temperature: s.Temperature, TopK: s.TopK, TopP: s.TopP, MinP: s.MinP, RepeatPenalty: s.RepeatPenalty,
		FrequencyPenalty: s.FrequencyPenalty, PresencePenalty: s.PresencePenalty,
	}
}

// HasSampling reports whether the model's files say how tokens are drawn, or that the likeliest token is to be chosen. If not, Sampling has
// at most penalties, and a program that wants lively answers chooses a temperature itself.
func (m *Model) HasSampling() bool { return m.config.Sampling.Draws }
