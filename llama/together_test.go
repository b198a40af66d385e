package llama_test

import (
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/cost"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
)

// TestWaitingSessionsSleep lets a session's pass take long, while many others have tokens to compute: they wait without using a
// processor.
func TestWaitingSessionsSleep(t *testing.T) {
	if cost.Seconds() == 0 {
		t.Skip("the system does not tell how long processors worked")
	}
	const waiters = 100
	var held atomic.Bool
	began, release := make(chan struct{}), make(chan struct{})
	m := watched(t, func(int) error {
		if held.CompareAndSwap(true, false) {
			close(began)
			<-release
		}
		return nil
	})
	sessions := make([]*llama.Session, waiters+1)
	for i := range sessions {
		sessions[i] = newSession(t, m, nil)
		if err := sessions[i].Prefill(t.Context(), stream(3)); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	answer := func(s *llama.Session) {
		all.Go(func() {
			if _, err := llama.Collect(s.Generate(t.Context(), nil, llama.Params{MaxTokens: 3})); err != nil {
				t.Error(err)
			}
		})
	}
	held.Store(true)
	answer(sessions[0])
	<-began
	for _, s := range sessions[1:] {
		answer(s)
	}
	time.Sleep(200 * time.Millisecond) // until all wait, and the threads that computed the prompts sleep
	before := cost.Seconds()
	time.Sleep(300 * time.Millisecond)
	if used := cost.Seconds() - before; used > 0.05 {
		t.Errorf("%d waiting sessions took %.3f s of processors in 0.3 s", waiters, used)
	}
	close(release)
	all.Wait()
}

// TestDecodingTogetherDoesNotAllocate computes tokens of one session and of sixteen at once: given one by one, and chosen in answers,
// where all that is allocated is what the caller is given, a piece's tokens and text.
func TestDecodingTogetherDoesNotAllocate(t *testing.T) {
	effort.Turn(t, 8)
	const before, counted = 20, 100 // tokens; the first ones make room, and the others need no further page
	given := func(s *llama.Session, n int) error {
		one := []llama.Token{5}
		for range n {
			if err := s.Prefill(t.Context(), one); err != nil {
				return err
			}
		}
		return nil
	}
	chosen := func(s *llama.Session, n int) error {
		for n > 0 { // also past an end of turn
			had := n
			for p, err := range s.Generate(t.Context(), nil, llama.Params{MaxTokens: n}) {
				if err != nil {
					return err
				}
				n -= len(p.Tokens)
			}
			if n == had {
				n--
				if err := given(s, 1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for _, c := range []struct {
		name     string
		compute  func(s *llama.Session, n int) error
		sessions int
		most     float64 // allocations a token
	}{
		{"given", given, 1, 0.1}, {"given", given, 16, 0.1},
		{"chosen", chosen, 1, 1.5}, {"chosen", chosen, 16, 1.5},
	} {
		t.Run(c.name+" "+strconv.Itoa(c.sessions), func(t *testing.T) {
			var ready, all sync.WaitGroup
			begin := make(chan struct{})
			for i := range c.sessions {
				s := newSession(t, pebbleModel(t), nil)
				if err := s.Prefill(t.Context(), stream(backend.PageSlots + 2 + i)[i:]); err != nil {
					t.Fatal(err)
				}
				ready.Add(1)
				all.Go(func() {
					err := c.compute(s, before)
					ready.Done()
					<-begin
					if err == nil {
						err = c.compute(s, counted)
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
			ready.Wait()
			var was, is runtime.MemStats
			runtime.ReadMemStats(&was)
			close(begin)
			all.Wait()
			runtime.ReadMemStats(&is)
			each := float64(is.Mallocs-was.Mallocs) / float64(c.sessions*counted)
			t.Logf("%.3f allocations a token", each)
			if each > c.most {
				t.Errorf("%.2f allocations a token, want at most %g", each, c.most)
			}
		})
	}
}
