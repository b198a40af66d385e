package largest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// check compares with the definition.
func check(t *testing.T, x []float32, k int) {
	t.Helper()
	indices, values := make([]int32, k), make([]float32, k)
	Find(x, indices, values)
	if want := Order(x)[:k]; !slices.Equal(indices, want) {
		t.Errorf("the %d largest of %d stand at %v, want %v", k, len(x), indices, want)
	}
	for i, at := range indices {
		if math.Float32bits(values[i]) != math.Float32bits(x[at]) {
			t.Errorf("value %d is %g, and element %d is %g", i, values[i], at, x[at])
		}
	}
}

func TestFind(t *testing.T) {
	nan, inf, zero := float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1))
	random := rand.New(rand.NewPCG(1, 2))
	ascending, coarse, normal := make([]float32, 3000), make([]float32, 3000), make([]float32, 3000)
	for i := range normal {
		ascending[i], coarse[i], normal[i] = float32(i), float32(random.IntN(5)), float32(random.NormFloat64())
	}
	for _, c := range []struct {
		name string
		x    []float32
	}{
		{"one", []float32{3}},
		{"zeros of both signs", []float32{-1, zero, 0, zero, 1}},
		{"NaN among others", []float32{1, nan, inf, nan, -inf, 2}},
		{"NaN only", []float32{nan, nan, nan}},
		{"-Inf only", []float32{-inf, -inf, -inf}},
		{"infinities", []float32{-inf, inf, 0, inf, -inf}},
		{"equal", slices.Repeat([]float32{0.7}, 50)},
		{"ascending", ascending},
		{"many of few", coarse},
		{"random", normal},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, k := range []int{0, 1, 2, 3, 5, 40, 256, len(c.x)} {
				if k <= len(c.x) {
					check(t, c.x, k)
				}
			}
		})
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 0, 0, 192, 127, 0, 0, 0, 128}, 2)
	f.Fuzz(func(t *testing.T, data []byte, k int) {
		var x []float32
		for ; len(data) >= 4; data = data[4:] {
			x = append(x, math.Float32frombits(uint32(data[0])|uint32(data[1])<<8|uint32(data[2])<<16|uint32(data[3])<<24))
		}
		if k >= 0 && k <= len(x) {
			check(t, x, k)
		}
	})
}

// BenchmarkFind searches a Llama 3 vocabulary.
func BenchmarkFind(b *testing.B) {
	x := make([]float32, 128256)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(random.NormFloat64())
	}
	for _, k := range []int{1, 40, 256} {
		b.Run(fmt.Sprint(k), func(b *testing.B) {
			indices, values := make([]int32, k), make([]float32, k)
			b.ReportAllocs()
			for b.Loop() {
				Find(x, indices, values)
			}
		})
	}
}
