package llama

import (
	"bytes"
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/tensor"
)

// familyNames are the fixtures of families other than Llama.
var familyNames = []string{"mistral", "qwen2", "qwen3", "smollm3", "granite", "phi3", "phi3-longrope", "olmo2", "gemma3"}

// roundFrequencies rounds a model's frequencies to BF16: the program that wrote the golden results had converted the whole model, and
// these with it.
func roundFrequencies(m *Model) {
	for i := range m.rotaries {
		for _, list := range [][]float64{m.rotaries[i].frequencies, m.rotaries[i].long} {
			for j, f := range list {
				bits := math.Float32bits(float32(f))
				bits += 0x7fff + bits>>16&1
				list[j] = float64(math.Float32frombits(bits &^ 0xffff))
			}
		}
	}
}

// family returns a family's model, as the golden results have it, and these.
func family(t *testing.T, name string) (*Model, golden) {
	t.Helper()
	dir := fixture.Path(t, "families/"+name)
	m := mustLoad(t, dir, nil)
	if data, err := os.ReadFile(filepath.Join(dir, "config.json")); err == nil && bytes.Contains(data, []byte(`"dtype": "bfloat16"`)) {
		roundFrequencies(m)
	}
	return m, readGolden(t, filepath.Join(dir, "golden.safetensors"))
}

// TestFamiliesEqualTransformers compares logits with those of transformers.
func TestFamiliesEqualTransformers(t *testing.T) {
	const tolerance = 1e-3
	ctx := context.Background()
	for _, name := range familyNames {
		t.Run(name, func(t *testing.T) {
			m, g := family(t, name)
			worst := 0.0
			check := func(s *Session, n int, how string) {
				e := relativeError(logitsOf(s), g.logits[n-1])
				worst = max(worst, e)
				if e > tolerance {
					t.Errorf("%s, %d tokens: relative error %.2g", how, n, e)
				}
			}
			for _, chunk := range []int{1, 5, 100} {
				o := &SessionOptions{KV: tensor.F32, Chunk: chunk}
				for n := 1; n <= len(g.input); n++ {
					s := mustSession(t, m, o)
					if err := s.Prefill(ctx, g.input[:n]); err != nil {
						t.Fatal(err)
					}
					check(s, n, "prefill")
					s.Close()
				}
			}
			s := mustSession(t, m, &SessionOptions{KV: tensor.F32})
			for i, token := range g.input {
				if err := s.Prefill(ctx, []Token{token}); err != nil {
					t.Fatal(err)
				}
				check(s, i+1, "one by one")
			}
			t.Logf("largest relative error %.2g", worst)
		})
	}
}
