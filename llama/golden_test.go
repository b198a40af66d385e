package llama

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/internal/safetensors"
	"github.com/antigravity-go/antigravity/tensor"
)

// golden is what transformers computed for a checkpoint, in float32.
type golden struct {
	input  []Token     // the prompt
	logits [][]float32 // after each token of the prompt
	greedy []Token     // prompt and greedy continuation
}

// readGolden reads a golden.safetensors.
func readGolden(t *testing.T, path string) golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	ints := func(name string) (list []Token) {
		stored, ok := f.Tensor(name)
		if !ok {
			t.Fatalf("%s has no %s", path, name)
		}
		size := map[string]int{"I32": 4, "I64": 8}[stored.DType]
		for b := stored.Data; len(b) > 0; b = b[size:] {
			list = append(list, Token(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24))
		}
		return list
	}
	g := golden{input: ints("input_ids"), greedy: ints("greedy_ids")}
	stored, _ := f.Tensor("logits")
	vocab := stored.Shape[len(stored.Shape)-1]
	var row []float32
	for b := stored.Data; len(b) > 0; b = b[4:] {
		row = append(row, math.Float32frombits(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16|uint32(b[3])<<24))
		if len(row) == vocab {
			g.logits, row = append(g.logits, row), nil
		}
	}
	return g
}

// relativeError returns the largest difference, relative to the largest logit.
func relativeError(got, want []float32) float64 {
	worst, scale := 0.0, 0.0
	for i := range want {
		worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
		scale = max(scale, math.Abs(float64(want[i])))
	}
	return worst / scale
}

func mustLoad(t testing.TB, path string, o *LoadOptions) *Model {
	t.Helper()
	m, err := Load(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func mustSession(t testing.TB, m *Model, o *SessionOptions) *Session {
	t.Helper()
	s, err := m.NewSession(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var checkpoints = []string{"llama32-tied-bf16", "llama32-sharded-f16", "llama2-mha-f32"}

func TestLogitsEqualTransformers(t *testing.T) {
	const tolerance = 1e-5
	ctx := context.Background()
	for _, name := range checkpoints {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "hf/"+name)
			g := readGolden(t, filepath.Join(dir, "golden.safetensors"))
			m := mustLoad(t, dir, nil)
			exactKV := &SessionOptions{KV: tensor.F32, Chunk: 5}

			for n := 1; n <= len(g.input); n++ { // prefill of each length, in chunks
				s := mustSession(t, m, exactKV)
				if err := s.Prefill(ctx, g.input[:n]); err != nil {
					t.Fatal(err)
				}
				if e := relativeError(logitsOf(s), g.logits[n-1]); e > tolerance {
					t.Errorf("prefill of %d tokens: relative error %.2g", n, e)
				}
				s.Close()
			}
			s := mustSession(t, m, exactKV)
			for i, token := range g.input { // one at a time
				if err := s.Prefill(ctx, []Token{token}); err != nil {
					t.Fatal(err)
				}
				if e := relativeError(logitsOf(s), g.logits[i]); e > tolerance {
					t.Errorf("token %d alone: relative error %.2g", i, e)
				}
			}
		})
	}
}

func TestGreedyTokensEqualTransformers(t *testing.T) {
	const prompt = 8
	ctx := context.Background()
	for _, name := range checkpoints {
		t.Run(name, func(t *testing.T) {
			dir := fixture.Path(t, "hf/"+name)
			want := readGolden(t, filepath.Join(dir, "golden.safetensors")).greedy
			s := mustSession(t, mustLoad(t, dir, nil), nil)
			if err := s.Prefill(ctx, want[:prompt]); err != nil {
				t.Fatal(err)
			}
			got := slices.Clone(want[:prompt])
			for len(got) < len(want) { // end-of-text is ignored, so not Generate
				logits := logitsOf(s)
				got = append(got, Token(slices.Index(logits, slices.Max(logits))))
				if err := s.Prefill(ctx, got[len(got)-1:]); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("greedy tokens %v, want %v", got, want)
			}
		})
	}
}
