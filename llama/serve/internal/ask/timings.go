package ask

import "github.com/antigravity-go/antigravity/llama"

// Timings say how long the answers of a request took, in llama-server's words. Several answers are added up: those that are computed at
// once count each for itself.
type Timings struct {
	Cached        int     `json:"cache_n"`  // tokens of the prompt that were in the cache
	PromptN       int     `json:"prompt_n"` // the other tokens of the prompt, which were computed
	PromptMS      float64 `json:"prompt_ms"`
	PromptRate    float64 `json:"prompt_per_second"`
	PredictedN    int     `json:"predicted_n"` // tokens of the answer
	PredictedMS   float64 `json:"predicted_ms"`
	PredictedRate float64 `json:"predicted_per_second"`
}

// Add counts an answer. A nil *Timings, which nobody asked for, stays nil.
func (t *Timings) Add(s llama.Stats) {
	if t == nil {
		return
	}
	t.Cached += s.ReusedTokens
	t.PromptN += s.PromptTokens - s.ReusedTokens
	t.PromptMS += 1e3 * s.PrefillTime.Seconds()
	t.PromptRate = perSecond(t.PromptN, t.PromptMS)
	t.PredictedN += s.GeneratedTokens
	t.PredictedMS += 1e3 * s.DecodeTime.Seconds()
	t.PredictedRate = perSecond(t.PredictedN, t.PredictedMS)
}

// perSecond returns a rate, 0 if no time was measured.
func perSecond(n int, milliseconds float64) float64 {
	if milliseconds <= 0 {
		return 0
	}
	return 1e3 * float64(n) / milliseconds
}
