package llama

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/antigravity-go/antigravity/internal/fixture"
	"github.com/antigravity-go/antigravity/tensor"
)

const (
	adaptedBase = "families/lora-all/base"
	adapterDir  = "families/lora-all/adapter"
)

// mustAdapter loads an adapter.
func mustAdapter(t testing.TB, m *Model, path string) *Adapter {
	t.Helper()
	a, err := m.LoadAdapter(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// TestAdaptedLogitsEqualPEFT compares with what PEFT computed.
func TestAdaptedLogitsEqualPEFT(t *testing.T) {
	const tolerance = 1e-3
	ctx := context.Background()
	g := readGolden(t, filepath.Join(fixture.Path(t, adapterDir), "golden.safetensors"))
	m := mustLoad(t, fixture.Path(t, adaptedBase), nil)
	a := mustAdapter(t, m, fixture.Path(t, adapterDir))
	worst := 0.0
	for _, chunk := range []int{1, 5, 48} {
		o := &SessionOptions{KV: tensor.F32, Chunk: chunk, Adapter: a}
		for n := 1; n <= len(g.input); n++ {
			s := mustSession(t, m, o)
			if err := s.Prefill(ctx, g.input[:n]); err != nil {
				t.Fatal(err)
			}
			e := relativeError(logitsOf(s), g.logits[n-1])
			worst = max(worst, e)
			if e > tolerance {
				t.Errorf("prefill of %d tokens in chunks of %d: relative error %.2g", n, chunk, e)
			}
			s.Close()
		}
	}
	t.Logf("worst relative error %.2g", worst)
}
