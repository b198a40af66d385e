package vectors_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/quant"
)

// operations are the kernels that take vectors: each is run on three of n elements and writes at least one.
var operations = []struct {
	name string
	run  func(k *asm.Kernels, x, y, z []float32)
}{
	{"Add", func(k *asm.Kernels, x, y, _ []float32) { k.Add(x, y) }},
	{"Divide", func(k *asm.Kernels, x, _, _ []float32) { k.Divide(x, -1.7) }},
	{"Mul", func(k *asm.Kernels, x, y, _ []float32) { k.Mul(x, y) }},
	{"SigmoidMul", func(k *asm.Kernels, x, y, z []float32) { k.SigmoidMul(z, x, y) }},
	{"SigmoidMul in place of the gate", func(k *asm.Kernels, x, y, _ []float32) { k.SigmoidMul(x, x, y) }},
	{"Sigmoid", func(k *asm.Kernels, x, _, _ []float32) { k.Sigmoid(x) }},
	{"SiLU", func(k *asm.Kernels, x, _, _ []float32) { k.SiLU(x) }},
	{"Exp", func(k *asm.Kernels, x, _, _ []float32) { k.Exp(x) }},
	{"Convolve", func(k *asm.Kernels, x, y, z []float32) {
		for width := 1; width < 5; width++ { // each tap and row of weights is a part of its own
			n := len(x) / (width + 1)
			taps := make([][]float32, width)
			for j := range taps {
				taps[j] = x[j*n:][:n]
			}
			k.Convolve(z[len(z)-n:], taps, y, n, y[width*n:])
			k.Convolve(z[:n], taps, y, n, nil)
			k.Convolve(taps[width-1], taps, y[n:], n, nil)
		}
	}},
	{"Scale", func(k *asm.Kernels, x, _, _ []float32) { k.Scale(x, -1.7) }},
	{"Axpy", func(k *asm.Kernels, x, y, _ []float32) { k.Axpy(x, 1.3, y) }},
	{"SiLUMul", func(k *asm.Kernels, x, y, z []float32) { k.SiLUMul(z, x, y) }},
	{"SiLUMul in place of the gate", func(k *asm.Kernels, x, y, _ []float32) { k.SiLUMul(x, x, y) }},
	{"SiLUMul in place of up", func(k *asm.Kernels, x, y, _ []float32) { k.SiLUMul(y, x, y) }},
	{"GELUMul", func(k *asm.Kernels, x, y, z []float32) { k.GELUMul(z, x, y) }},
	{"GELUMul in place of the gate", func(k *asm.Kernels, x, y, _ []float32) { k.GELUMul(x, x, y) }},
	{"GELUMul in place of up", func(k *asm.Kernels, x, y, _ []float32) { k.GELUMul(y, x, y) }},
	{"GELUErfMul", func(k *asm.Kernels, x, y, z []float32) { k.GELUErfMul(z, x, y) }},
	{"GELUErfMul in place of the gate", func(k *asm.Kernels, x, y, _ []float32) { k.GELUErfMul(x, x, y) }},
	{"GELUErfMul in place of up", func(k *asm.Kernels, x, y, _ []float32) { k.GELUErfMul(y, x, y) }},
	{"LayerNorm", func(k *asm.Kernels, x, y, z []float32) { k.LayerNorm(x, y, z, 1e-5) }},
	{"LayerNorm without a bias", func(k *asm.Kernels, x, y, _ []float32) { k.LayerNorm(x, y, nil, 1e-5) }},
	{"SwiGLUClamped", func(k *asm.Kernels, x, y, z []float32) { k.SwiGLUClamped(z, x, y, 0.7) }},
	{"SwiGLUClamped in place of the gate", func(k *asm.Kernels, x, y, _ []float32) { k.SwiGLUClamped(x, x, y, 0.7) }},
	{"Softcap", func(k *asm.Kernels, x, _, _ []float32) { k.Softcap(x, 30) }},
	{"RMSNorm", func(k *asm.Kernels, x, y, z []float32) { k.RMSNorm(z, x, y, 1e-5) }},
	{"RMSNorm in place", func(k *asm.Kernels, x, y, _ []float32) { k.RMSNorm(x, x, y, 1e-5) }},
	{"Softmax", func(k *asm.Kernels, x, _, _ []float32) { k.Softmax(x) }},
	{"RoPE", func(k *asm.Kernels, x, y, z []float32) { k.RoPE(x, y[:len(x)/2], z[:len(x)/2]) }},
}

func TestVectors(t *testing.T) {
	const guard = 42
	longest := slices.Max(asmtest.Lengths)
	guards := slices.Repeat([]float32{guard}, longest)
	for i, op := range operations {
		for j, fill := range asmtest.Fills {
			if !effort.Share(i+j, 4) {
				continue
			}
			t.Run(op.name+"/"+fill.Name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				var got, given, want [3][]float32
				for i := range got {
					got[i], given[i], want[i] = asmtest.FencedFloats(t, longest), make([]float32, longest), make([]float32, longest)
				}
				for _, n := range asmtest.Lengths {
					var g, w [3][]float32
					for i := range want {
						g[i], w[i] = got[i][longest-n:], want[i][:n]
						for j := range n {
							w[i][j] = fill.At(r, j)
						}
						copy(given[i], w[i])
					}
					op.run(asm.Portable(), w[0], w[1], w[2])
					for _, k := range asm.Tiers()[1:] {
						for i := range got {
							copy(got[i], guards)
							copy(g[i], given[i])
						}
						op.run(k, g[0], g[1], g[2])
						for i := range got {
							asmtest.SameFloats(t, fmt.Sprintf("%s: operand %d", k.Tier(), i), g[i], w[i])
							for j, v := range got[i][:longest-n] {
								if v != guard {
									t.Fatalf("%s: operand %d of %d elements: element %d was written", k.Tier(), i, n, j-longest+n)
								}
							}
						}
					}
				}
			})
		}
	}
}

// samePrepared fails unless a tier prepares x as the portable form does.
func samePrepared(t testing.TB, k *asm.Kernels, p quant.ActivationForm, x []float32) {
	t.Helper()
	var got, want quant.Activation
	want.Reserve(p, 2, len(x))
	got.Reserve(p, 2, len(x))
	want.Prepare(1, x)
	k.Prepare(&got, 1, x)
	w, g := want.Row(1), got.Row(1)
	asmtest.SameFloats(t, "scales", g.D, w.D)
	if !slices.Equal(g.Q, w.Q) {
		t.Fatalf("elements are %v, the portable form has %v, for %v", g.Q, w.Q, x)
	}
	if !slices.Equal(g.Sums, w.Sums) {
		t.Fatalf("sums are %v, the portable form has %v, for %v", g.Sums, w.Sums, x)
	}
}

func TestPrepare(t *testing.T) {
	for _, k := range asm.Tiers()[1:] {
		for _, fill := range asmtest.Fills {
			t.Run(k.Tier()+"/"+fill.Name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				x := asmtest.FencedFloats(t, 4096)
				for i := range x {
					x[i] = fill.At(r, i)
				}
				for n := 0; n <= len(x); n += 256 {
					samePrepared(t, k, quant.Int8x32, x[len(x)-n:])
					samePrepared(t, k, quant.Int8x256, x[len(x)-n:])
				}
				samePrepared(t, k, quant.Int8x32, x[len(x)-96:])
			})
		}
	}
}

// TestPrepareExponents has blocks of every magnitude, down to those with a reciprocal that overflows.
func TestPrepareExponents(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, 256)
	for _, k := range asm.Tiers()[1:] {
		for exponent := -149; exponent < 128; exponent++ {
			for i := range x {
				x[i] = float32(math.Ldexp(r.Float64()*2-1, exponent))
			}
			samePrepared(t, k, quant.Int8x32, x)
			samePrepared(t, k, quant.Int8x256, x)
		}
	}
}

func FuzzPrepare(f *testing.F) {
	for _, fill := range asmtest.Fills {
		r := rand.New(rand.NewPCG(7, 8))
		var seed []byte
		for i := range 256 {
			seed = binary.LittleEndian.AppendUint32(seed, math.Float32bits(fill.At(r, i)))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x := make([]float32, min(len(b)/4, 1024)/32*32)
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		for _, k := range asm.Tiers()[1:] {
			samePrepared(t, k, quant.Int8x32, x)
			samePrepared(t, k, quant.Int8x256, x[:len(x)/256*256])
		}
	})
}

func TestVectorsDoNotAllocate(t *testing.T) {
	x, y, z := make([]float32, 100), make([]float32, 100), make([]float32, 100)
	var a quant.Activation
	a.Reserve(quant.Int8x32, 1, 96)
	taps := [1][]float32{x}
	for _, k := range asm.Tiers() {
		n := testing.AllocsPerRun(10, func() {
			k.Add(x, y)
			k.Mul(x, y)
			k.SigmoidMul(x, y, z)
			k.Exp(x)
			k.Convolve(x, taps[:], y, 100, z)
			k.Scale(x, 0.5)
			k.Axpy(x, 1, y)
			k.SiLUMul(x, y, z)
			k.GELUMul(x, y, z)
			k.GELUErfMul(x, y, z)
			k.LayerNorm(x, y, z, 1e-5)
			k.RMSNorm(x, y, z, 1e-5)
			k.Softmax(x)
			k.RoPE(x, y[:50], z[:50])
			k.Prepare(&a, 0, x[:96])
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want none", k.Tier(), n)
		}
	}
}

func BenchmarkVectors(b *testing.B) {
	const n = 2048
	r := rand.New(rand.NewPCG(9, 10))
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i], z[i] = float32(r.NormFloat64()), float32(r.NormFloat64()), float32(r.NormFloat64())
	}
	cos, sin := make([]float32, n/2), make([]float32, n/2)
	for i := range cos {
		s, c := math.Sincos(float64(i))
		cos[i], sin[i] = float32(c), float32(s)
	}
	taps, weights := [4][]float32{x, y, x, y}, slices.Repeat(x, 4)
	var a quant.Activation
	for _, bench := range []struct {
		name string
		run  func(k *asm.Kernels)
	}{
		{"Prepare32", func(k *asm.Kernels) { a.Reserve(quant.Int8x32, 1, n); k.Prepare(&a, 0, x) }},
		{"Prepare256", func(k *asm.Kernels) { a.Reserve(quant.Int8x256, 1, n); k.Prepare(&a, 0, x) }},
		{"RMSNorm", func(k *asm.Kernels) { k.RMSNorm(z, x, y, 1e-5) }},
		{"SiLUMul", func(k *asm.Kernels) { k.SiLUMul(z, x, y) }},
		{"GELUMul", func(k *asm.Kernels) { k.GELUMul(z, x, y) }},
		{"GELUErfMul", func(k *asm.Kernels) { k.GELUErfMul(z, x, y) }},
		{"Convolve", func(k *asm.Kernels) { k.Convolve(z, taps[:], weights, n, nil) }},
		{"LayerNorm", func(k *asm.Kernels) { copy(z, x); k.LayerNorm(z, x, y, 1e-5) }},
		{"Add", func(k *asm.Kernels) { k.Add(z, x) }},
		{"Axpy", func(k *asm.Kernels) { k.Axpy(z, 1e-9, x) }},
		{"RoPE", func(k *asm.Kernels) { k.RoPE(z, cos, sin) }},
		{"Softmax", func(k *asm.Kernels) { k.Softmax(z) }},
	} {
		for _, k := range asm.Tiers() {
			b.Run(bench.name+"/"+k.Tier(), func(b *testing.B) {
				copy(z, x)
				b.SetBytes(4 * n)
				for b.Loop() {
					bench.run(k)
				}
			})
		}
	}
}
