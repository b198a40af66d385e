package llama_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// cancelled reads and writes while its context goes on.
type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelled) Write(p []byte) (int, error) { return len(p), c.ctx.Err() }

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// TestCancelledAnywhere cancels calls at each of their looks at the context. The error must be the context's, no memory may be left behind,
// and the same call for the rest must bring the session to the state that it would have without any cancellation.
// Unless the tests are long, a third of the calls and policies has their turn.
func TestCancelledAnywhere(t *testing.T) {
	effort.Turn(t, 8)
	device := cpu.New(1)
	m, other := pebbleModel(t), otherModel(t, device)
	prompt := stream(130)[40:]
	options := evictors(t, 48)
	options["none"] = &llama.SessionOptions{Chunk: 24}
	options["after the prompt"] = &llama.SessionOptions{Chunk: 24, Eviction: policyOf(t, "snapkv", 48), EvictAfterPrompt: true, Capacity: 400}
	rest := func(s *llama.Session) []llama.Token { return prompt[min(len(s.Tokens())-40, len(prompt)):] }
	for number, stage := range []struct {
		name string
		run  func(ctx context.Context, s *llama.Session) error // or the rest of it
		many bool                                              // it looks at the context before each layer
	}{
		{"prefill", func(ctx context.Context, s *llama.Session) error { return s.Prefill(ctx, rest(s)) }, true},
		{"score", func(ctx context.Context, s *llama.Session) error {
			_, err := s.Score(ctx, rest(s))
			return err
		}, true},
		{"generate", func(ctx context.Context, s *llama.Session) error {
			left := 40 + len(prompt) + 8 - max(len(s.Tokens()), 40+len(prompt))
			for _, err := range s.Generate(ctx, rest(s), llama.Params{MaxTokens: left, Mask: endless{m}}) {
				if err != nil {
					return err
				}
			}
			return nil
		}, true},
		{"move", func(ctx context.Context, s *llama.Session) error {
			_, err := s.Move(ctx, other)
			if err != nil && other.MemoryUsage().Caches != 0 {
				t.Error("a cancelled move leaves memory behind")
			}
			return err
		}, false},
		{"save", func(ctx context.Context, s *llama.Session) error {
			return s.Save(cancelled{ctx: ctx})
		}, false},
		{"restore", func(ctx context.Context, s *llama.Session) error {
			before := sessionsMemory(m)
			restored, err := m.Restore(cancelled{ctx, bytes.NewReader(save(t, s))}, &llama.SessionOptions{Capacity: 400})
			if err == nil {
				return restored.Close()
			}
			if sessionsMemory(m) != before {
				t.Error("a cancelled restoring leaves memory behind")
			}
			return err
		}, false},
	} {
		for i, name := range slices.Sorted(maps.Keys(options)) {
			if !effort.Share(number+i, 6) {
				continue
			}
			o := options[name]
			t.Run(stage.name+"/"+name, func(t *testing.T) {
				base := newSession(t, m, o)
				if err := base.Prefill(t.Context(), stream(40)); err != nil {
					t.Fatal(err)
				}
				undisturbed := fork(t, base)
				if err := stage.run(t.Context(), undisturbed); err != nil {
					t.Fatal(err)
				}
				want := save(t, undisturbed)
				undisturbed.Close()
				before, used := sessionsMemory(m), device.Memory().Used()
				for looks := 0; ; looks += stride(7) {
					s := fork(t, base)
					logits := logitsOf(s)
					err := stage.run(countdown.New(t.Context(), looks), s)
					if err != nil {
						if !errors.Is(err, context.Canceled) {
							t.Fatalf("at look %d: %v", looks, err)
						}
						if len(s.Tokens()) == 40 && !slices.Equal(logitsOf(s), logits) {
							t.Errorf("at look %d: nothing was computed, and the logits are others", looks)
						}
						err = stage.run(t.Context(), s)
					} else if stage.many && looks < len(prompt)/24*m.Config().Layers {
						t.Errorf("the context was looked at %d times", looks)
					} else {
						s.Close()
						break
					}
					if err != nil {
						t.Fatalf("at look %d, gone on: %v", looks, err)
					}
					if !bytes.Equal(save(t, s), want) {
						t.Errorf("cancelled at look %d, the session goes on differently", looks)
					}
					s.Close()
				}
				if sessionsMemory(m) != before || device.Memory().Used() != used {
					t.Errorf("memory: %+v and %d bytes, before %+v and %d", sessionsMemory(m), device.Memory().Used(), before, used)
				}
			})
		}
	}
}

// TestCancelledLoad cancels loading at each look at the context: nothing stays allocated.
func TestCancelledLoad(t *testing.T) {
	effort.Turn(t, 8)
	for _, c := range []struct {
		name string
		load func(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error)
		to   tensor.DType
		many int // looks, at least
	}{
		{"a copied file", pebble.LoadContext, 0, 70},
		{"a mapped file", func(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
			return llama.LoadContext(ctx, fixture.Path(t, "pebble/gguf/pebble-Q4_K_M.gguf"), o)
		}, 0, 70},
		{"a folder that is quantised", func(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
			return llama.LoadContext(ctx, fixture.Path(t, "hf/llama32-tied-bf16"), o)
		}, tensor.Q4_0, 40},
		{"shards", func(ctx context.Context, o *llama.LoadOptions) (*llama.Model, error) {
			return llama.LoadContext(ctx, fixture.Path(t, "hf/llama32-sharded-f16"), o)
		}, tensor.Q8_0, 40},
	} {
		t.Run(c.name, func(t *testing.T) {
			device := cpu.New(1)
			defer device.Close()
			for looks := 0; ; looks += stride(7) {
				m, err := c.load(countdown.New(t.Context(), looks), &llama.LoadOptions{Backend: device, Weights: c.to})
				if err == nil {
					m.Close()
				} else if !errors.Is(err, context.Canceled) || m != nil {
					t.Fatalf("at look %d: %v, %v", looks, m, err)
				}
				if used := device.Memory().Used(); used != 0 {
					t.Fatalf("cancelled at look %d, %d bytes stay allocated", looks, used)
				}
				if err == nil {
					if looks < c.many {
						t.Errorf("the context was looked at %d times", looks)
					}
					break
				}
			}
		})
	}
}

// TestLoadCancelledFromProgress ends the context while tensors are loaded on several threads.
func TestLoadCancelledFromProgress(t *testing.T) {
	effort.Turn(t, 8)
	device := cpu.New(2)
	defer device.Close()
	for after := range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		m, err := pebble.LoadContext(ctx, &llama.LoadOptions{Backend: device, Progress: func(_, _ int64) {
			if calls++; calls > after {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || m != nil {
			t.Fatalf("cancelled after %d tensors: %v, %v", after, m, err)
		}
		if used := device.Memory().Used(); used != 0 {
			t.Fatalf("cancelled after %d tensors, %d bytes stay allocated", after, used)
		}
		cancel()
	}
}

// TestCancelledSwitch cancels the loading of another device in the background: the session goes on on its device.
func TestCancelledSwitch(t *testing.T) {
	m, device := pebbleModel(t), cpu.New(1)
	s := newSession(t, m, nil)
	want := goOn(t, fork(t, s), 3)
	for _, looks := range []int{0, 1, 40, 1000} {
		w, err := llama.NewSwitch(t.Context(), s, llama.SwitchOptions{Load: func(context.Context) (*llama.Model, error) {
			return pebble.LoadContext(countdown.New(t.Context(), looks), &llama.LoadOptions{Backend: device})
		}})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if r := w.Report(); looks < 70 && (r.Ready || !errors.Is(r.Err, context.Canceled)) {
			t.Errorf("at look %d: %v", looks, r)
		}
		if err := w.Close(); err != nil || device.Memory().Used() != 0 {
			t.Errorf("at look %d: %v, %d bytes stay allocated", looks, err, device.Memory().Used())
		}
	}
	if !slices.Equal(goOn(t, s, 3), want) {
		t.Error("the session goes on differently")
	}
}

// endless forbids to end the turn.
type endless struct{ m *llama.Model }

func (e endless) Apply(_ []llama.Token, logits []float32) error {
	for _, t := range e.m.Config().EOS {
		logits[t] = float32(math.Inf(-1))
	}
	return nil
}

// sessionsMemory returns a model's memory without the scratch memory of its backend, which that keeps.
func sessionsMemory(m *llama.Model) llama.Memory {
	usage := m.MemoryUsage()
	usage.Scratch = 0
	return usage
}
