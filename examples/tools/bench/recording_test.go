package main

import (
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/cpu"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/llama/pebble"
	"github.com/antigravity-go/antigravity/tensor"
)

// bare hides the optional interfaces of a backend.
type bare struct{ backend.Backend }

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
			var r recorder
			r.begin()
			got := logits(func(b backend.Backend) backend.Backend { return record(of(b), &r) }, weights)
			r.end()
			if !slices.Equal(got, want) {
				t.Errorf("%s, weights %v: other logits with a recorder", name, weights)
			}
			entries, elapsed := r.take()
			fused := slices.ContainsFunc(entries, func(e *entry) bool { return e.name == "NormSwiGLU" })
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
	ready, err := record(inner, new(recorder)).Prepare(t.Context(), w)
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
