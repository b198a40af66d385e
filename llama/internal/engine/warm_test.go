package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// warmer is the processor as a backend that wants to warm up.
type warmer struct {
	*cpu.Backend
	passes  [][2]int // sequences and tokens of each
	fail    error    // of the last pass
	warming backend.Warming
	used    [2]int64 // memory before and after
}

func newWarmer(t *testing.T, passes ...[2]int) *warmer {
	w := &warmer{Backend: cpu.New(1), passes: passes}
	t.Cleanup(func() { w.Close() })
	return w
}

// Warm computes the passes.
func (w *warmer) Warm(ctx context.Context, warming backend.Warming) error {
	w.warming = warming
	w.used[0] = w.Memory().Used()
	for i, pass := range w.passes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := warming.Compute(pass[0], pass[1]); err != nil {
			return err
		}
		if warming.Progress != nil {
			warming.Progress(i+1, len(w.passes))
		}
	}
	w.used[1] = w.Memory().Used()
	return w.fail
}

// TestWarmUpOfEncoders lets models that read texts as a whole compute passes; TestFamilies does it with others.
func TestWarmUpOfEncoders(t *testing.T) {
	for _, name := range []string{"enc-bert", "enc-modernbert", "rank-xlmr"} {
		w := newWarmer(t, [2]int{1, 1}, [2]int{5, 1}, [2]int{1, 1 << 20})
		m, err := llama.Load(fixture.Path(t, "families/"+name), &llama.LoadOptions{Backend: w})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if w.used[0] != w.used[1] || w.used[1] == 0 {
			t.Errorf("%s: memory is %d bytes after warming up, %d before", name, w.used[1], w.used[0])
		}
	}
}

// TestWarmUpFails loads although the backend fails to warm up, but not if the context has ended; and does without it if that is asked for.
func TestWarmUpFails(t *testing.T) {
	path, logged := fixture.Path(t, "families/qwen3"), &strings.Builder{}
	w := newWarmer(t, [2]int{1, 1})
	w.fail = errors.New("out of memory")
	m, err := llama.Load(path, &llama.LoadOptions{Backend: w, Logger: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if !strings.Contains(logged.String(), "out of memory") {
		t.Errorf("the log is %q", logged)
	}
	w = newWarmer(t, [2]int{1, 1})
	if m, err = llama.Load(path, &llama.LoadOptions{Backend: w, WarmUp: -1}); err != nil || w.used[0] != 0 {
		t.Fatalf("warmed up though nobody wanted it, or %v", err)
	}
	m.Close()
	stopped := false
	for looks := 1; ; looks++ {
		w := newWarmer(t, [2]int{1, 1}, [2]int{2, 1}, [2]int{1, 300})
		before := w.Memory().Used()
		m, err := llama.LoadContext(countdown.New(t.Context(), looks), path, &llama.LoadOptions{Backend: w})
		if err == nil {
			m.Close()
			break
		}
		if !errors.Is(err, context.Canceled) || w.Memory().Used() != before {
			t.Fatalf("after %d looks: %v, and %d bytes more are in use", looks, err, w.Memory().Used()-before)
		}
		stopped = stopped || w.used[0] > 0
	}
	if !stopped {
		t.Error("no context ended while the backend warmed up")
	}
}
