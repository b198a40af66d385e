//go:build opencl && (amd64 || arm64)

package opencl

import (
	"context"
	"errors"
	"testing"

	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestCancelledPrepare cancels between the parts of a table that is sent in several: nothing stays allocated.
func TestCancelledPrepare(t *testing.T) {
	b := openTest(t, Options{maxAlloc: 64 << 10})
	for _, d := range []tensor.DType{tensor.F16, tensor.Q4_0, tensor.Q5_K} {
		host, err := tensor.New(nil, d, tensor.ShapeOf(1024, 256))
		must(t, err)
		w, err := b.Prepare(t.Context(), host) // after which the backend has what it needs for itself
		must(t, err)
		must(t, w.Free())
		before := b.Memory().Used()
		for looks := 0; ; looks++ {
			w, err := b.Prepare(countdown.New(t.Context(), looks), host)
			if err == nil {
				must(t, w.Free())
			} else if !errors.Is(err, context.Canceled) || b.Memory().Used() != before {
				t.Fatalf("%v at look %d: %v, and %d bytes stay allocated", d, looks, err, b.Memory().Used()-before)
			}
			if err == nil {
				if looks < 2 {
					t.Errorf("%v: the context was looked at %d times", d, looks)
				}
				break
			}
		}
		must(t, host.Free())
	}
}

// TestCancelledOnDevice cancels loading and reading a prompt: the one leaves no memory behind, the other a session that goes on
// as one that was never cancelled.
func TestCancelledOnDevice(t *testing.T) {
	b := openTest(t, Options{})
	m, err := pebble.Load(&llama.LoadOptions{Backend: b})
	must(t, err)
	must(t, m.Close())
	own := b.Memory().Used() // the backend's
	for _, looks := range []int{0, 1, 30, 100, 170} {
		if _, err := pebble.LoadContext(countdown.New(t.Context(), looks), &llama.LoadOptions{Backend: b}); !errors.Is(err, context.Canceled) {
			t.Errorf("loading, at look %d: %v", looks, err)
		}
		if used := b.Memory().Used(); used != own {
			t.Errorf("loading cancelled at look %d leaves %d bytes", looks, used-own)
		}
	}
	m, err = pebble.Load(&llama.LoadOptions{Backend: b})
	must(t, err)
	prompt := make([]llama.Token, 60)
	for i := range prompt {
		prompt[i] = llama.Token(i * 37 % 1000)
	}
	options := &llama.SessionOptions{Chunk: 20}
	whole, err := m.NewSession(options)
	must(t, err)
	must(t, whole.Prefill(t.Context(), prompt))
	read := 0
	for _, looks := range []int{0, 1, 5, 9, 13, 20, 26} {
		s, err := m.NewSession(options)
		must(t, err)
		err = s.Prefill(countdown.New(t.Context(), looks), prompt)
		if n := len(s.Tokens()); !errors.Is(err, context.Canceled) || n%20 != 0 || n < read || n == len(prompt) || looks == 26 && n == 0 {
			t.Errorf("a prompt, at look %d: %v after %d tokens: want whole chunks of 20, no fewer than at the look before", looks, err, n)
		}
		read = len(s.Tokens())
		must(t, s.Prefill(t.Context(), prompt[len(s.Tokens()):]))
		want, err := whole.Logits()
		must(t, err)
		got, err := s.Logits()
		must(t, err)
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("a prompt cancelled at look %d gives logit %d as %v, not %v", looks, i, got[i], want[i])
			}
		}
		must(t, s.Close())
	}
	must(t, whole.Close())
	must(t, m.Close())
	if used := b.Memory().Used(); used < own || used > own+own/10 { // rounding a prompt's activations takes some of its own
		t.Errorf("%d bytes stay allocated after Close, %d before", used, own)
	}
}
