package selection_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/internal/selection"
)

func TestMask(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 63, 64, 65, 128, 1000} {
		allowed := make([]uint64, (n+63)/64)
		for trial := range 8 {
			for i := range allowed {
				allowed[i] = [...]uint64{0, math.MaxUint64, random.Uint64(), random.Uint64() & random.Uint64() & random.Uint64()}[(i+trial)%4]
			}
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(i)
			}
			selection.Mask(x, allowed)
			for i, v := range x {
				want := float32(i)
				if allowed[i/64]>>(i%64)&1 == 0 {
					want = float32(math.Inf(-1))
				}
				if v != want {
					t.Fatalf("element %d of %d is %g, want %g", i, n, v, want)
				}
			}
		}
	}
}

// BenchmarkMask masks the logits of a Llama 3 vocabulary.
func BenchmarkMask(b *testing.B) {
	x, allowed := make([]float32, 128256), make([]uint64, 2004)
	random := rand.New(rand.NewPCG(1, 2))
	for name, word := range map[string]func() uint64{
		"none":   func() uint64 { return 0 },
		"few":    func() uint64 { return 1 << (random.Uint64() % 4096) },
		"half":   random.Uint64,
		"nearly": func() uint64 { return ^(1 << (random.Uint64() % 128)) },
	} {
		for i := range allowed {
			allowed[i] = word()
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				selection.Mask(x, allowed)
			}
		})
	}
}
