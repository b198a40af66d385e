package llama

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/internal/countdown"
	"github.com/antigravity-go/antigravity/internal/fixture"
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

// TestWarmUp lets models of all kinds compute passes before the first session, and compares what they compute afterwards with what a model
// computes that was not warmed up.
func TestWarmUp(t *testing.T) {
	for _, name := range familyNames {
		t.Run(name, func(t *testing.T) {
			path := fixture.Path(t, "families/"+name)
			w := newWarmer(t, [2]int{1, 1}, [2]int{5, 1}, [2]int{1, 40}, [2]int{64, 1}, [2]int{1, 1 << 20})
			var progress []string
			m, err := Load(path, &LoadOptions{Backend: w, Warming: func(done, total int) { progress = append(progress, fmt.Sprint(done, "/", total)) }})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			if got := strings.Join(progress, " "); got != "1/5 2/5 3/5 4/5 5/5" || w.warming.Within <= 0 {
				t.Errorf("progress %s, within %v", got, w.warming.Within)
			}
			if w.used[0] != w.used[1] {
				t.Errorf("memory is %d bytes after warming up, %d before", w.used[1], w.used[0])
			}
			list := []Token{1, 2, 3, 4, 5, 6, 7}
			var logits [2][]float32
			for i, m := range []*Model{m, mustLoad(t, path, nil)} {
				s := mustSession(t, m, nil)
				if err := s.Prefill(t.Context(), list); err != nil {
					t.Fatal(err)
				}
				logits[i] = slices.Clone(logitsOf(s))
			}
			if !slices.Equal(logits[0], logits[1]) {
				t.Error("the logits are others after warming up")
			}
		})
	}
}

// TestWarmUpOfEncoders does it with models that read texts as a whole.
func TestWarmUpOfEncoders(t *testing.T) {
	for _, name := range []string{"enc-bert", "enc-modernbert", "rank-xlmr"} {
		w := newWarmer(t, [2]int{1, 1}, [2]int{5, 1}, [2]int{1, 1 << 20})
		m, err := Load(fixture.Path(t, "families/"+name), &LoadOptions{Backend: w})
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
	m, err := Load(path, &LoadOptions{Backend: w, Logger: slog.New(slog.NewTextHandler(logged, nil))})
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	if !strings.Contains(logged.String(), "out of memory") {
		t.Errorf("the log is %q", logged)
	}
	w = newWarmer(t, [2]int{1, 1})
	if m, err = Load(path, &LoadOptions{Backend: w, WarmUp: -1}); err != nil || w.used[0] != 0 {
		t.Fatalf("warmed up though nobody wanted it, or %v", err)
	}
	m.Close()
	stopped := false
	for looks := 1; ; looks++ {
		w := newWarmer(t, [2]int{1, 1}, [2]int{2, 1}, [2]int{1, 300})
		before := w.Memory().Used()
		m, err := LoadContext(countdown.New(t.Context(), looks), path, &LoadOptions{Backend: w})
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
