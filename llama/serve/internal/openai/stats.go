package openai

import (
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// stats describe how the answers of a request were computed. They are ours, for programs that ask for them with
// stream_options.include_stats.
type stats struct {
	PromptMS        float64 `json:"prompt_ms"`         // computing the prompt
	AnswerMS        float64 `json:"answer_ms"`         // computing the answer
	TokensPerSecond float64 `json:"tokens_per_second"` // of the answer
	ReusedTokens    int     `json:"reused_tokens"`     // of the prompt, that were in the cache already
	DraftedTokens   int     `json:"drafted_tokens"`    // proposed, and computed ahead
	AcceptedTokens  int     `json:"accepted_tokens"`   // those of them that the answer went on with
	ForcedTokens    int     `json:"forced_tokens"`     // that the form of the answer left no alternative to
	CacheSlots      int     `json:"cache_slots"`       // in use when the answer ended
	CacheCapacity   int     `json:"cache_capacity"`
	Evictions       int     `json:"evictions"` // how often the cache was shrunk
	EvictedSlots    int     `json:"evicted_slots"`
	DroppedMessages int     `json:"dropped_messages"` // of the conversation, that were left out because it does not fit the context
	generated       int
	decoding        time.Duration
}

// add counts an answer.
func (s *stats) add(a llama.Stats) {
	s.PromptMS += milliseconds(a.PrefillTime)
	s.AnswerMS += milliseconds(a.DecodeTime)
	s.generated += a.GeneratedTokens
	if s.decoding += a.DecodeTime; s.decoding > 0 {
		s.TokensPerSecond = float64(s.generated) / s.decoding.Seconds()
	}
	s.ReusedTokens += a.ReusedTokens
	s.DraftedTokens += a.DraftedTokens
	s.AcceptedTokens += a.AcceptedTokens
	s.ForcedTokens += a.ForcedTokens
	s.CacheSlots += a.CacheSlots
	s.CacheCapacity += a.CacheCapacity
	s.Evictions += a.Evictions
	s.EvictedSlots += a.EvictedSlots
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
