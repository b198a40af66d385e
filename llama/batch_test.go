package llama_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/antigravity-go/antigravity/backend/backendtest"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// watched loads Pebble on a device that calls watch with the number of rows of each pass, and fails the pass if watch returns an error.
func watched(t testing.TB, watch func(rows int) error) *llama.Model {
	t.Helper()
	inner := cpu.New(0)
	t.Cleanup(func() { inner.Close() })
	var m *llama.Model
	device := backendtest.NewDevice(inner, func(call string, operand *tensor.Tensor) error {
		if call == "RMSNorm" && m != nil {
			return nil
		}
		if call == "NormMatMul" && m != nil && operand.Shape().NDim() == 2 {
			return watch(operand.Shape().Dim(0))
		}
		return nil
	})
	m = otherModel(t, device)
	return m
}

// TestSessionsShareTheirPasses counts the passes of sessions that answer at once: each pass computes a token of most of them.
func TestSessionsShareTheirPasses(t *testing.T) {
	effort.Turn(t, 8)
	const sessions, tokens = 8, 40
	var calls, rows atomic.Int64
	m := watched(t, func(n int) error {
		if n <= sessions { // not a prompt
			time.Sleep(time.Millisecond / 2) // a device so slow that the sessions are back in time on a busy machine too
			calls.Add(1)
			rows.Add(int64(n))
		}
		return nil
	})
	var ready, all sync.WaitGroup
	ready.Add(sessions)
	begin := make(chan struct{})
	for i := range sessions {
		all.Go(func() {
			s := newSession(t, m, nil)
			err := s.Prefill(t.Context(), stream(20 + i)[i:])
			ready.Done()
			<-begin
			if err != nil {
				t.Error(err)
				return
			}
			for left := tokens; left > 0; { // also past an end of turn
				p, err := llama.Collect(s.Generate(t.Context(), nil, llama.Params{MaxTokens: left, Temperature: 1, Seed: uint64(i)}))
				if err == nil && len(p.Tokens) == 0 {
					err, left = s.Prefill(t.Context(), stream(1)), left-1
				}
				if left -= len(p.Tokens); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	ready.Wait()
	calls.Store(0)
	rows.Store(0)
	close(begin)
	all.Wait()
	if mean := float64(rows.Load()) / float64(calls.Load()); mean < 2 { // on a machine with nothing else to do, nearly all
		t.Errorf("a pass computes %.1f tokens of %d sessions", mean, sessions)
	}
}

// TestOneFailsAlone lets the device fail whenever a session's tokens, which are as many as nobody else has, are computed without
// others', and any pass that is shared with others: only the one session gets an error.
func TestOneFailsAlone(t *testing.T) {
	const unlucky = 13
	m := watched(t, func(rows int) error {
		if rows >= unlucky && rows != 16 && rows != 17 {
			return fmt.Errorf("%d rows: %w", rows, errDevice)
		}
		return nil
	})
	want := newSession(t, pebbleModel(t), nil)
	if err := want.Prefill(t.Context(), stream(16)); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		var all sync.WaitGroup
		for _, n := range []int{16, unlucky, 16, 16} {
			all.Go(func() {
				s := newSession(t, m, nil)
				switch err := s.Prefill(t.Context(), stream(n)); {
				case n == unlucky && (!errors.Is(err, errDevice) || s.Position() != 0):
					t.Errorf("%d tokens: %v, and %d are in the conversation", n, err, s.Position())
				case n != unlucky && (err != nil || !slices.Equal(logitsOf(s), logitsOf(want))):
					t.Errorf("%d tokens beside others that fail: %v", n, err)
				}
			})
		}
		all.Wait()
	}
}

// TestWaitingEndsWithTheContext cancels a session that waits for a pass of another one, which does not end.
func TestWaitingEndsWithTheContext(t *testing.T) {
	stuck, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	m := watched(t, func(int) error {
		once.Do(func() { close(stuck) })
		<-release
		return nil
	})
	var all sync.WaitGroup
	all.Go(func() {
		if err := newSession(t, m, nil).Prefill(t.Context(), stream(5)); err != nil {
			t.Error(err)
		}
	})
	<-stuck
	ctx, cancel := context.WithCancel(t.Context())
	waiting, ended := newSession(t, m, nil), make(chan error)
	go func() { ended <- waiting.Prefill(ctx, stream(5)) }()
	go cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || waiting.Position() != 0 {
		t.Errorf("%v", err)
	}
	close(release)
	all.Wait()
	if err := waiting.Prefill(t.Context(), stream(5)); err != nil {
		t.Error(err)
	}
}

// TestMaxBatch bounds the rows of answers in a pass, and changes no answer.
func TestMaxBatch(t *testing.T) {
	if _, err := llama.Load("testdata", &llama.LoadOptions{MaxBatch: -1}); err == nil {
		t.Error("a batch of -1 rows")
	}
}
