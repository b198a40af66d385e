package recording

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// bare hides the optional interfaces of a backend, and what it fuses.
type bare struct{ backend.Backend }

func (bare) Fusions() []backend.Fusion { return nil }

// TestRecordingChangesNothing compares logits with and without a recorder, over a backend with the optional interfaces and
// over one without, and with weights that are converted while loading.
func TestRecordingChangesNothing(t *testing.T) {
	logits := func(wrap func(backend.Backend) backend.Backend, weights tensor.DType) []float32 {
		b := cpu.New(2)
		defer b.Close()
		model, err := pebble.Load(&llama.LoadOptions{Backend: wrap(b), Weights: weights})
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		session, err := model.NewSession(nil)
		if err != nil {
			t.Fatal(err)
		}
		defer session.Close()
		for _, tokens := range [][]llama.Token{{1, 2, 3, 4, 5}, {6}} {
			if err := session.Prefill(t.Context(), tokens); err != nil {
				t.Fatal(err)
			}
		}
		l, err := session.Logits()
		if err != nil {
			t.Fatal(err)
		}
		return slices.Clone(l)
	}
	for _, weights := range []tensor.DType{0, tensor.Q8_0} {
		want := logits(func(b backend.Backend) backend.Backend { return b }, weights)
		for name, of := range map[string]func(backend.Backend) backend.Backend{
			"cpu":           func(b backend.Backend) backend.Backend { return b },
			"without fused": func(b backend.Backend) backend.Backend { return bare{b} },
		} {
			var r Recorder
			r.Begin()
			got := logits(func(b backend.Backend) backend.Backend { return New(of(b), &r) }, weights)
			r.End()
			if !slices.Equal(got, want) {
				t.Errorf("%s, weights %v: other logits with a recorder", name, weights)
			}
			entries, elapsed := r.Take()
			fused := slices.ContainsFunc(entries, func(e *Entry) bool { return e.Name == "NormSwiGLU" })
			if elapsed <= 0 || fused != (name == "cpu") {
				t.Errorf("%s: fused operations recorded: %v", name, fused)
			}
		}
	}
}

// TestPrepare sees to weights that lie on another host backend, as a loader leaves them: they must end in the layout of the
// backend that computes.
func TestPrepare(t *testing.T) {
	inner, loader := cpu.New(1), cpu.New(1)
	defer inner.Close()
	defer loader.Close()
	w, err := tensor.New(loader, tensor.Q4_0, tensor.ShapeOf(64, 64))
	if err != nil {
		t.Fatal(err)
	}
	ready, err := New(inner, new(Recorder)).Prepare(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	if ready.Device() != tensor.Device(inner) {
		t.Errorf("prepared weights are on %v", ready.Device())
	}
	if used := inner.Memory().Used(); used != int64(w.Size()) {
		t.Errorf("%d bytes are held for weights of %d", used, w.Size())
	}
}

// counting counts how often it is waited for.
type counting struct {
	backend.Backend
	waits int
}

func (b *counting) Synchronize() error {
	b.waits++
	return b.Backend.Synchronize()
}

// told is an Observer of one mode that keeps the calls.
type told struct {
	Always
	calls []Call
}

func (o *told) Observe(c Call) { o.calls = append(o.calls, c) }

// TestWaitsOnlyWhenAsked computes two operations with each Observer, and counts how often the device was waited for and how many of the
// operations were reported.
func TestWaitsOnlyWhenAsked(t *testing.T) {
	inner := &counting{Backend: cpu.New(1)}
	defer inner.Close()
	x, err := tensor.New(inner, tensor.F32, tensor.ShapeOf(2, 64))
	if err != nil {
		t.Fatal(err)
	}
	var stopped, recording Recorder
	stopped.Begin()
	stopped.End()
	recording.Begin()
	timing := &told{Always: Always(Time)}
	for _, c := range []struct {
		name        string
		observer    Observer
		waits, told int
		calls       func() int
	}{
		{"nothing", Always(Compute), 0, 0, nil},
		{"a recorder without Begin", new(Recorder), 0, 0, nil},
		{"no recorder", (*Recorder)(nil), 0, 0, nil},
		{"a recorder after End", &stopped, 0, 0, func() int { return calls(&stopped) }},
		{"a recorder", &recording, 2, 2, func() int { return calls(&recording) }},
		{"waiting", Always(Wait), 2, 0, nil},
		{"timing", timing, 0, 2, func() int { return len(timing.calls) }},
	} {
		b := New(inner, c.observer)
		inner.waits = 0
		if err := b.Run(&backend.Scale{X: x, By: 2}, &backend.AddAssign{A: x, B: x}); err != nil {
			t.Fatal(err)
		}
		if inner.waits != c.waits {
			t.Errorf("%s: the device was waited for %d times, want %d", c.name, inner.waits, c.waits)
		}
		if c.calls != nil {
			if got := c.calls(); got != c.told {
				t.Errorf("%s: %d operations were told, want %d", c.name, got, c.told)
			}
		}
		program := []backend.Op{&backend.Scale{X: x, By: 1}}
		if n := testing.AllocsPerRun(100, func() { _ = b.Run(program...) }); n > 0 && c.observer != timing {
			t.Errorf("%s: %v allocations", c.name, n)
		}
	}
}

func calls(r *Recorder) (n int) {
	entries, _ := r.Take()
	for _, e := range entries {
		n += e.Calls
	}
	return n
}

// TestTellsOfTheOtherBackend asks for the properties that a backend has besides its operations.
func TestTellsOfTheOtherBackend(t *testing.T) {
	inner := cpu.New(1)
	defer inner.Close()
	b := New(inner, Always(Compute))
	if b.Name() != "cpu" || !backend.BitExact(b) || backend.Scratch(b) != backend.Scratch(inner) {
		t.Errorf("%s, exact %v, %d bytes of scratch", b.Name(), backend.BitExact(b), backend.Scratch(b))
	}
}
