//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
)

// TestMoveInTheMiddle moves sessions to the device and back in the middle of greedy answers, whose texts must stay those of
// transformers.
func TestMoveInTheMiddle(t *testing.T) {
	var models [2]*llama.Model // here and there
	for i, o := range []llama.LoadOptions{{}, {Backend: device(t)}} {
		var err error
		if models[i], err = llama.Load(fixture.Path(t, "pebble/hf"), &o); err != nil {
			t.Fatal(err)
		}
		defer models[i].Close()
	}
	for _, g := range generations(t) {
		s := session(t, models[0], nil)
		var text strings.Builder
		i := 0
		for piece, err := range s.Generate(t.Context(), g.PromptIDs, llama.Params{}) {
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(piece.Text)
			if i++; piece.Stop == 0 && i%5 == 2 {
				if report, err := s.Move(t.Context(), models[(i/5+1)%2]); err != nil || report.Bytes == 0 {
					t.Fatalf("%+v, %v", report, err)
				}
			}
		}
		if text.String() != g.Text {
			t.Errorf("%q, want %q", text.String(), g.Text)
		}
	}
}

// TestCancelledMove leaves the session where it is.
func TestCancelledMove(t *testing.T) {
	there, here := load(t, device(t)), load(t, nil)
	s := session(t, here, nil)
	if err := s.Prefill(t.Context(), here.Tokenizer().EncodeSpecial("A short text.", true)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Move(ctx, there); !errors.Is(err, context.Canceled) {
		t.Errorf("moved: %v", err)
	}
	if there.MemoryUsage().Caches != 0 {
		t.Error("a cancelled move leaves a cache behind")
	}
	if err := s.Prefill(t.Context(), []llama.Token{1}); err != nil {
		t.Error(err)
	}
}
