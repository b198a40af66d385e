package metrics

import (
	"strconv"
	"time"

	"github.com/antigravity-go/antigravity/llama"
)

// span measures one request. Its methods are serve.Span's, called one at a time.
type span struct {
	figures  *figures
	endpoint string
	key      string // name of the request's key, or ""
	began    time.Time

	model string
	last  map[int]time.Time // when an answer's latest token was computed, by the answer's number
}

func (s *span) Model(name string) {
	s.model = name
	s.last = map[int]time.Time{}
}

func (s *span) Begin(_ int, waited time.Duration) {
	s.figures.wait.WithLabelValues(s.model).Observe(waited.Seconds())
}

func (s *span) Tokens(answer, _ int) {
	now := time.Now()
	if before, ok := s.last[answer]; ok {
		s.figures.gap.WithLabelValues(s.model).Observe(now.Sub(before).Seconds())
	} else {
		s.figures.firstToken.WithLabelValues(s.model).Observe(now.Sub(s.began).Seconds())
	}
	s.last[answer] = now
}

func (s *span) End(_ int, stop llama.StopReason, stats llama.Stats) {
	f := s.figures
	why := "early"
	if stop != 0 {
		why = stop.FinishReason()
	}
	f.answers.WithLabelValues(s.model, why).Inc()
	f.prompt.WithLabelValues(s.model).Add(float64(stats.PromptTokens))
	f.reused.WithLabelValues(s.model).Add(float64(stats.ReusedTokens))
	f.generated.WithLabelValues(s.model).Add(float64(stats.GeneratedTokens))
	f.drafted.WithLabelValues(s.model).Add(float64(stats.DraftedTokens))
	f.accepted.WithLabelValues(s.model).Add(float64(stats.AcceptedTokens))
	f.forced.WithLabelValues(s.model).Add(float64(stats.ForcedTokens))
	f.evictions.WithLabelValues(s.model).Add(float64(stats.Evictions))
	f.evicted.WithLabelValues(s.model).Add(float64(stats.EvictedSlots))
	if s.key != "" {
		f.keyTokens.WithLabelValues(s.key).Add(float64(stats.PromptTokens + stats.GeneratedTokens))
	}
}

func (s *span) Done(status int, _ error) {
	f := s.figures
	f.running.WithLabelValues(s.endpoint).Dec()
	f.requests.WithLabelValues(s.endpoint, s.model, strconv.Itoa(status)).Inc()
	f.duration.WithLabelValues(s.endpoint, s.model).Observe(time.Since(s.began).Seconds())
	if s.key != "" {
		f.keyRequests.WithLabelValues(s.key, strconv.Itoa(status)).Inc()
	}
}
