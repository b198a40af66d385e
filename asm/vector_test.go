package asm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/antigravity-go/antigravity/quant"
)

// fencedFloats returns n floats that end at a protected page.
func fencedFloats(t testing.TB, n int) []float32 {
	t.Helper()
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(fenced(t, 4*max(n, 1))))), max(n, 1))[max(n, 1)-n:]
}

// fills are the kinds of input: each gives element i.
var fills = []struct {
	name string
	at   func(r *rand.Rand, i int) float32
}{
	{"random", func(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64()) }},
	{"wide", func(r *rand.Rand, _ int) float32 { return float32(r.NormFloat64() * math.Exp2(float64(r.IntN(60)-30))) }},
	{"any bits", func(r *rand.Rand, _ int) float32 { return finite(math.Float32frombits(r.Uint32())) }},
	{"tiny", func(r *rand.Rand, _ int) float32 { return math.Float32frombits(r.Uint32() & 0x80ffffff) }},
	{"zero", func(*rand.Rand, int) float32 { return 0 }},
	{"halves", func(r *rand.Rand, i int) float32 { return float32(r.IntN(255)-127) / 2 * float32(1-i%2*2) }},
	{"infinities", func(r *rand.Rand, _ int) float32 {
		return [...]float32{1, -1, 0, float32(math.Inf(1)), float32(math.Inf(-1))}[r.IntN(5)]
	}},
	{"NaNs", func(r *rand.Rand, _ int) float32 {
		if r.IntN(4) == 0 {
			return float32(math.NaN())
		}
		return float32(r.NormFloat64())
	}},
}

// finite returns v, or 1 for what is no number or infinite.
func finite(v float32) float32 {
	if v-v != 0 {
		return 1
	}
	return v
}

// vectorLengths are those around whole strips and calls, and the usual ones.
var vectorLengths = append(sequence(0, 70), 127, 128, 129, 1000, 2048, 16383, 16384, 16401)

func sequence(from, to int) (s []int) {
	for i := from; i <= to; i++ {
		s = append(s, i)
	}
	return s
}

// sameFloats fails unless the bits agree; NaNs are all alike.
func sameFloats(t testing.TB, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
			t.Fatalf("%s: element %d of %d is %v (%#x), the portable form has %v (%#x)", what, i, len(want), got[i], math.Float32bits(got[i]), want[i], math.Float32bits(want[i]))
		}
	}
}

// operations are the kernels that take vectors: each is run on three of n elements and writes at least one.
var operations = []struct {
	name string
	run  func(k *Kernels, x, y, z []float32)
}{
	{"Add", func(k *Kernels, x, y, _ []float32) { k.Add(x, y) }},
	{"Scale", func(k *Kernels, x, _, _ []float32) { k.Scale(x, -1.7) }},
	{"Axpy", func(k *Kernels, x, y, _ []float32) { k.Axpy(x, 1.3, y) }},
	{"SiLUMul", func(k *Kernels, x, y, z []float32) { k.SiLUMul(z, x, y) }},
	{"SiLUMul in place of the gate", func(k *Kernels, x, y, _ []float32) { k.SiLUMul(x, x, y) }},
	{"SiLUMul in place of up", func(k *Kernels, x, y, _ []float32) { k.SiLUMul(y, x, y) }},
	{"RMSNorm", func(k *Kernels, x, y, z []float32) { k.RMSNorm(z, x, y, 1e-5) }},
	{"RMSNorm in place", func(k *Kernels, x, y, _ []float32) { k.RMSNorm(x, x, y, 1e-5) }},
	{"Softmax", func(k *Kernels, x, _, _ []float32) { k.Softmax(x) }},
	{"RoPE", func(k *Kernels, x, y, z []float32) { k.RoPE(x, y[:len(x)/2], z[:len(x)/2]) }},
	{"Merge", func(k *Kernels, x, y, _ []float32) {
		k.Merge(&Partial{Max: 1, Sum: 2, Out: x}, &Partial{Max: 1.5, Sum: 3, Out: y})
	}},
}

func TestVectors(t *testing.T) {
	for _, k := range Tiers()[1:] {
		for _, op := range operations {
			for _, fill := range fills {
				t.Run(k.Tier+"/"+op.name+"/"+fill.name, func(t *testing.T) {
					r := rand.New(rand.NewPCG(1, 2))
					var got, want [3][]float32
					for i := range got {
						got[i] = fencedFloats(t, slices.Max(vectorLengths))
						want[i] = make([]float32, len(got[i]))
					}
					for _, n := range vectorLengths {
						var g, w [3][]float32
						for i := range got {
							for j := range got[i] {
								got[i][j] = 42
							}
							g[i], w[i] = got[i][len(got[i])-n:], want[i][:n]
							for j := range n {
								w[i][j] = fill.at(r, j)
							}
							copy(g[i], w[i])
						}
						op.run(&generic, w[0], w[1], w[2])
						op.run(k, g[0], g[1], g[2])
						for i := range got {
							sameFloats(t, fmt.Sprintf("operand %d", i), g[i], w[i])
							for j, v := range got[i][:len(got[i])-n] {
								if v != 42 {
									t.Fatalf("operand %d of %d elements: element %d was written", i, n, j-len(got[i])+n)
								}
							}
						}
					}
				})
			}
		}
	}
}

// samePrepared fails unless a tier prepares x as the portable form does.
func samePrepared(t testing.TB, k *Kernels, p quant.Partner, x []float32) {
	t.Helper()
	var got, want quant.Activation
	want.Reserve(p, 2, len(x))
	got.Reserve(p, 2, len(x))
	want.Prepare(1, x)
	k.Prepare(&got, 1, x)
	w, g := want.Row(1), got.Row(1)
	sameFloats(t, "scales", g.D, w.D)
	if !slices.Equal(g.Q, w.Q) {
		t.Fatalf("elements are %v, the portable form has %v, for %v", g.Q, w.Q, x)
	}
	if !slices.Equal(g.Sums, w.Sums) {
		t.Fatalf("sums are %v, the portable form has %v, for %v", g.Sums, w.Sums, x)
	}
}

func TestPrepare(t *testing.T) {
	for _, k := range Tiers()[1:] {
		for _, fill := range fills {
			t.Run(k.Tier+"/"+fill.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				x := fencedFloats(t, 4096)
				for i := range x {
					x[i] = fill.at(r, i)
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

// TestPrepareExponents has blocks of every magnitude, down to those of which the reciprocal overflows.
func TestPrepareExponents(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, 256)
	for _, k := range Tiers()[1:] {
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
	for _, fill := range fills {
		r := rand.New(rand.NewPCG(7, 8))
		var seed []byte
		for i := range 256 {
			seed = binary.LittleEndian.AppendUint32(seed, math.Float32bits(fill.at(r, i)))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		x := make([]float32, min(len(b)/4, 1024)/32*32)
		for i := range x {
			x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		for _, k := range Tiers()[1:] {
			samePrepared(t, k, quant.Int8x32, x)
			samePrepared(t, k, quant.Int8x256, x[:len(x)/256*256])
		}
	})
}

func TestVectorsDoNotAllocate(t *testing.T) {
	x, y, z := make([]float32, 100), make([]float32, 100), make([]float32, 100)
	var a quant.Activation
	a.Reserve(quant.Int8x32, 1, 96)
	packed := make([]byte, quant.F16.Bytes(len(x)))
	for _, k := range Tiers() {
		p, q := &Partial{Max: 1, Sum: 2, Out: x}, &Partial{Max: 1.5, Sum: 3, Out: y}
		n := testing.AllocsPerRun(10, func() {
			k.Add(x, y)
			k.Axpy(x, 1, y)
			k.SiLUMul(x, y, z)
			k.RMSNorm(x, y, z, 1e-5)
			k.Softmax(x)
			k.RoPE(x, y[:50], z[:50])
			k.Merge(p, q)
			k.Prepare(&a, 0, x[:96])
			k.Narrow(quant.F16, packed, x)
			k.Widen(quant.F16, x, packed)
		})
		if n != 0 {
			t.Errorf("%s: %v allocations, want none", k.Tier, n)
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
	var a quant.Activation
	for _, bench := range []struct {
		name string
		run  func(k *Kernels)
	}{
		{"Prepare32", func(k *Kernels) { a.Reserve(quant.Int8x32, 1, n); k.Prepare(&a, 0, x) }},
		{"Prepare256", func(k *Kernels) { a.Reserve(quant.Int8x256, 1, n); k.Prepare(&a, 0, x) }},
		{"RMSNorm", func(k *Kernels) { k.RMSNorm(z, x, y, 1e-5) }},
		{"SiLUMul", func(k *Kernels) { k.SiLUMul(z, x, y) }},
		{"Add", func(k *Kernels) { k.Add(z, x) }},
		{"Axpy", func(k *Kernels) { k.Axpy(z, 1e-9, x) }},
		{"RoPE", func(k *Kernels) { k.RoPE(z, cos, sin) }},
		{"Softmax", func(k *Kernels) { k.Softmax(z) }},
	} {
		for _, k := range Tiers() {
			b.Run(bench.name+"/"+k.Tier, func(b *testing.B) {
				copy(z, x)
				b.SetBytes(4 * n)
				for b.Loop() {
					bench.run(k)
				}
			})
		}
	}
}

// TestWiden reads every pattern of 16 bits, and blocks of any bytes, in all lengths.
func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, k := range Tiers()[1:] {
		for _, f := range quant.Formats() {
			t.Run(k.Tier+"/"+f.Name, func(t *testing.T) {
				for _, n := range append(slices.Clone(vectorLengths), 1<<16) {
					n = n / f.BlockLen * f.BlockLen
					src, got, want := fenced(t, max(f.Bytes(n), 1)), fencedFloats(t, n), make([]float32, n)
					src = src[len(src)-f.Bytes(n):]
					for i := range src {
						src[i] = byte(r.Uint32())
						if f.BlockLen == 1 && n == 1<<16 {
							src[i] = byte(i / 2 >> (i % 2 * 8))
						}
					}
					widen(f, want, src)
					k.Widen(f, got, src)
					sameFloats(t, fmt.Sprintf("%d elements", n), got, want)
				}
			})
		}
	}
}

// sameNarrowed fails unless a tier writes x as the portable form does.
func sameNarrowed(t testing.TB, k *Kernels, f *quant.Format, x []float32) {
	t.Helper()
	got, want := fenced(t, max(f.Bytes(len(x)), 1)), make([]byte, f.Bytes(len(x)))
	got = got[len(got)-len(want):]
	narrow(f, want, x)
	k.Narrow(f, got, x)
	for i := range want {
		if got[i] != want[i] {
			at := i / f.BlockBytes * f.BlockLen
			t.Fatalf("%s, %d elements: byte %d is %#x, the portable form has %#x, for %v", f, len(x), i, got[i], want[i], x[at:at+f.BlockLen])
		}
	}
}

func TestNarrow(t *testing.T) {
	for _, k := range Tiers()[1:] {
		for _, f := range quant.Formats() {
			if !f.CanQuantize() {
				continue
			}
			for _, fill := range fills {
				t.Run(fmt.Sprintf("%s/%s/%s", k.Tier, f, fill.name), func(t *testing.T) {
					r := rand.New(rand.NewPCG(13, 14))
					x := fencedFloats(t, 1<<15)
					for i := range x {
						x[i] = fill.at(r, i)
					}
					for _, n := range append([]int{len(x)}, vectorLengths...) {
						n = n / f.BlockLen * f.BlockLen
						sameNarrowed(t, k, f, x[len(x)-n:])
					}
				})
			}
		}
	}
}

// TestNarrowHalves has every binary16, every value halfway between two of them, and the neighbours of both.
func TestNarrowHalves(t *testing.T) {
	var x []float32
	for h := range 1 << 16 {
		var pair [2]float32
		widen(quant.F16, pair[:], []byte{byte(h), byte(h >> 8), byte(h + 1), byte((h + 1) >> 8)})
		for _, v := range []float32{pair[0], pair[0]/2 + pair[1]/2} {
			bits := math.Float32bits(v)
			x = append(x, v, math.Float32frombits(bits+1), math.Float32frombits(bits-1))
		}
	}
	for _, k := range Tiers()[1:] {
		sameNarrowed(t, k, quant.F16, x)
		sameNarrowed(t, k, quant.BF16, x)
	}
}

// TestNarrowExponents has blocks of every magnitude, with ties of sign and values halfway between two numbers.
func TestNarrowExponents(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	x := make([]float32, 64)
	for _, k := range Tiers()[1:] {
		for exponent := -149; exponent < 122; exponent++ {
			for range 4 {
				for i := range x {
					x[i] = float32(math.Ldexp(float64(r.IntN(255)-127)/2, exponent))
				}
				sameNarrowed(t, k, quant.Q8_0, x)
				sameNarrowed(t, k, quant.Q4_0, x)
			}
		}
	}
}

func BenchmarkFormats(b *testing.B) {
	const n = 2048
	r := rand.New(rand.NewPCG(17, 18))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for _, f := range cacheFormats[1:] {
		packed := make([]byte, f.Bytes(n))
		for _, k := range Tiers() {
			b.Run("Narrow/"+f.Name+"/"+k.Tier, func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					k.Narrow(f, packed, x)
				}
			})
			b.Run("Widen/"+f.Name+"/"+k.Tier, func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					k.Widen(f, x, packed)
				}
			})
		}
	}
}
