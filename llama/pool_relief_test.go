package llama_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// scarce is a device that refuses memory from some allocation on, until a pool has given up some conversations.
type scarce struct {
	device backend.Backend
	pool   *llama.Pool  // nil: it is never enough
	given  int64        // how many it must give up
	calls  atomic.Int64 // that still succeed
	struck atomic.Bool  // memory was refused
}

// arm lets memory come to its end after some calls.
func (s *scarce) arm(calls int64, pool *llama.Pool, given int64) {
	s.pool, s.given = pool, given
	s.struck.Store(false)
	s.calls.Store(calls)
}

// plenty is calls that all succeed.
const plenty = 1 << 40

// before refuses memory.
func (s *scarce) before(call string, _ *tensor.Tensor) error {
	if call != "Alloc" || s.calls.Add(-1) >= 0 || s.pool != nil && s.pool.Stats().Evicted >= s.given {
		return nil
	}
	s.struck.Store(true)
	return fmt.Errorf("a test's own: %w", tensor.ErrNoMemory)
}

// TestPoolGivesUpIdleConversations refuses memory at each allocation of an answer in turn, while conversations are idle: the answer is what it
// is with any memory, and as few of the idle ones are given up as the answer needs. Without idle ones it fails, and the pool goes on.
func TestPoolGivesUpIdleConversations(t *testing.T) {
	effort.Turn(t, 8)
	s := &scarce{}
	s.arm(plenty, nil, 0)
	s.device = backendtest.NewDevice(cpu.New(1), s.before)
	m := otherModel(t, s.device)
	prompt := func(i int) []llama.Token { return stream(1000)[50*i:][:40] }
	params := llama.Params{MaxTokens: 100, Mask: endless{m}, Temperature: 1, Seed: 3}
	ask := func(p *llama.Pool) ([]llama.Token, error) {
		piece, err := llama.Collect(p.Generate(t.Context(), prompt(9), params))
		return piece.Tokens, err
	}
	want, err := ask(newPool(t, m, nil))
	if err != nil {
		t.Fatal(err)
	}
	const idle = 3
	calls := int64(0)
	for over := false; !over; calls += int64(effort.Of(4, 1, 1)) {
		given := 1 + calls%idle
		p := newPool(t, m, nil)
		for i := range idle {
			poolAnswer(t, p, prompt(i), llama.Params{MaxTokens: 1})
		}
		s.arm(calls, p, given)
		got, err := ask(p)
		over = !s.struck.Load()
		stats := p.Stats()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("no memory from allocation %d on: %v, and %v, want %v", calls, err, got, want)
		}
		if !over && stats.Evicted != given || over && stats.Evicted > 0 || stats.Idle+int(stats.Evicted) != idle+1 {
			t.Errorf("no memory from allocation %d on, until %d are given up: %+v", calls, given, stats)
		}
		s.arm(plenty, nil, 0)
		p.Close()

		// Nothing is idle, and nothing can be had.
		p = newPool(t, m, nil)
		s.arm(calls, nil, 0)
		if got, err := ask(p); s.struck.Load() != errors.Is(err, tensor.ErrNoMemory) {
			t.Errorf("no memory from allocation %d on, and nothing idle: %v, %v", calls, got, err)
		}
		s.arm(plenty, nil, 0)
		if got, err := ask(p); err != nil || !slices.Equal(got, want) {
			t.Errorf("memory is there again: %v, and %v, want %v", err, got, want)
		}
		p.Close()
	}
	if calls < 3 {
		t.Errorf("%d allocations were refused", calls)
	}
}
