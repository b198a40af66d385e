//go:build opencl && (amd64 || arm64)

package opencl_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/antigravity-go/antigravity/eviction"
	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/llama"
	"github.com/antigravity-go/antigravity/tensor"
)

// TestMoveInTheMiddle moves sessions to the device and back in the middle of greedy answers. Their texts must stay those of transformers.
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

// TestCancelledMove leaves the session on its device.
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

// TestMovesLeaveNoTrace compares a session that has moved to and fro with one that has not, by their saved states: tokens,
// cache, record and logits, under a policy that keeps a record and forgets by it.
func TestMovesLeaveNoTrace(t *testing.T) {
	here, there := load(t, nil), load(t, device(t))
	prompt, err := here.Tokenizer().Template([]llama.Message{{Role: "user", Content: "Tell me a story about a fox and a lantern."}}, llama.TemplateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range []tensor.DType{tensor.F16, tensor.Q8_0, tensor.Q4_0} {
		var states [2]bytes.Buffer
		for i, moves := range []bool{false, true} {
			policy, err := eviction.ByName("h2o", eviction.Options{Budget: 48})
			if err != nil {
				t.Fatal(err)
			}
			s := session(t, here, &llama.SessionOptions{KV: kv, Eviction: policy})
			n := 0
			for _, err := range s.Generate(t.Context(), prompt, llama.Params{MaxTokens: 60, Temperature: 0.8, TopK: 40, Seed: 7}) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; moves && n%7 == 3 {
					if _, err := s.Move(t.Context(), []*llama.Model{there, here}[n/7%2]); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.Save(&states[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(states[0].Bytes(), states[1].Bytes()) {
			t.Errorf("cache %v: the states differ", kv)
		}
	}
}
