package selection_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/internal/selection"
	"github.com/antigravity-go/antigravity/internal/selection/selectiontest"
)

// checkLargest compares with the definition.
func checkLargest(t *testing.T, x []float32, k int) {
	t.Helper()
	indices, values := make([]int32, k), make([]float32, k)
	selection.Largest(x, indices, values)
	if want := selectiontest.Largest(x)[:k]; !slices.Equal(indices, want) {
		t.Errorf("the %d largest of %d stand at %v, want %v", k, len(x), indices, want)
	}
	for i, at := range indices {
		if math.Float32bits(values[i]) != math.Float32bits(x[at]) {
			t.Errorf("value %d is %g, and element %d is %g", i, values[i], at, x[at])
		}
	}
}

func TestLargest(t *testing.T) {
	for _, list := range selectiontest.Lists() {
		t.Run(list.Name, func(t *testing.T) {
			for _, k := range []int{0, 1, 2, 3, 5, 40, 256, len(list.Numbers)} {
				if k <= len(list.Numbers) {
					checkLargest(t, list.Numbers, k)
				}
			}
		})
	}
}

func FuzzLargest(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 0, 0, 192, 127, 0, 0, 0, 128}, 2)
	f.Fuzz(func(t *testing.T, data []byte, k int) {
		var x []float32
		for ; len(data) >= 4; data = data[4:] {
			x = append(x, math.Float32frombits(uint32(data[0])|uint32(data[1])<<8|uint32(data[2])<<16|uint32(data[3])<<24))
		}
		if k >= 0 && k <= len(x) {
			checkLargest(t, x, k)
		}
	})
}

// TestLargestAllocatesNothing finds as many as a sampler asks for.
func TestLargestAllocatesNothing(t *testing.T) {
	x, indices, values := make([]float32, 4096), make([]int32, 256), make([]float32, 256)
	if n := testing.AllocsPerRun(10, func() { selection.Largest(x, indices, values) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// BenchmarkLargest searches the probabilities of vocabularies: a small one's, and Llama 3's.
func BenchmarkLargest(b *testing.B) {
	for _, vocab := range []int{4096, 128256} {
		x := make([]float32, vocab)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range x {
			x[i] = float32(math.Exp(3 * random.NormFloat64()))
		}
		for _, k := range []int{1, 40, 256} {
			b.Run(fmt.Sprintf("%d of %d", k, vocab), func(b *testing.B) {
				indices, values := make([]int32, k), make([]float32, k)
				b.ReportAllocs()
				for b.Loop() {
					selection.Largest(x, indices, values)
				}
			})
		}
	}
}
