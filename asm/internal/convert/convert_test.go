package convert_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/asm/internal/asmtest"
	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/quant"
)

// TestDequantize reads every pattern of 16 bits, and blocks of any bytes, in all lengths.
func TestDequantize(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, k := range asm.Tiers()[1:] {
		for _, f := range quant.Formats() {
			t.Run(k.Tier()+"/"+f.String(), func(t *testing.T) {
				for _, n := range append(slices.Clone(asmtest.Lengths), 1<<16) {
					n = n / f.BlockLen() * f.BlockLen()
					src, got, want := asmtest.Fenced(t, max(f.Bytes(n), 1)), asmtest.FencedFloats(t, n), make([]float32, n)
					src = src[len(src)-f.Bytes(n):]
					for i := range src {
						src[i] = byte(r.Uint32())
						if f.BlockLen() == 1 && n == 1<<16 {
							src[i] = byte(i / 2 >> (i % 2 * 8))
						}
					}
					convert.Dequantize(f, want, src)
					k.Dequantize(f, got, src)
					asmtest.SameFloats(t, fmt.Sprintf("%d elements", n), got, want)
				}
			})
		}
	}
}

// sameQuantized fails unless a tier writes x as the portable form does.
func sameQuantized(t testing.TB, k *asm.Kernels, f quant.Format, x []float32) {
	t.Helper()
	got, want := asmtest.Fenced(t, max(f.Bytes(len(x)), 1)), make([]byte, f.Bytes(len(x)))
	got = got[len(got)-len(want):]
	convert.Quantize(f, want, x)
	k.Quantize(f, got, x)
	for i := range want {
		if got[i] != want[i] {
			at := i / f.BlockBytes() * f.BlockLen()
			t.Fatalf("%s, %d elements: byte %d is %#x, the portable form has %#x, for %v", f, len(x), i, got[i], want[i], x[at:at+f.BlockLen()])
		}
	}
}

// direct are the formats that are written by a formula. The others take a search, which is portable on every tier and a hundred times as
// long.
var direct = []quant.Format{quant.F32, quant.F16, quant.BF16, quant.Q4_0, quant.Q4_1, quant.Q8_0}

func TestQuantize(t *testing.T) {
	for _, k := range asm.Tiers()[1:] {
		for _, f := range quant.Formats() {
			size, lengths := 1<<15, asmtest.Lengths
			if !slices.Contains(direct, f) {
				size, lengths = 1<<9, nil
			}
			for _, fill := range asmtest.Fills {
				t.Run(fmt.Sprintf("%s/%s/%s", k.Tier(), f, fill.Name), func(t *testing.T) {
					r := rand.New(rand.NewPCG(13, 14))
					x := asmtest.FencedFloats(t, size)
					for i := range x {
						x[i] = fill.At(r, i)
					}
					for _, n := range append([]int{len(x)}, lengths...) {
						n = n / f.BlockLen() * f.BlockLen()
						sameQuantized(t, k, f, x[len(x)-n:])
					}
				})
			}
		}
	}
}

// TestQuantizeHalves has every binary16, every value halfway between two of them, and the neighbours of both.
func TestQuantizeHalves(t *testing.T) {
	var x []float32
	for h := range 1 << 16 {
		var pair [2]float32
		convert.Dequantize(quant.F16, pair[:], []byte{byte(h), byte(h >> 8), byte(h + 1), byte((h + 1) >> 8)})
		for _, v := range []float32{pair[0], pair[0]/2 + pair[1]/2} {
			bits := math.Float32bits(v)
			x = append(x, v, math.Float32frombits(bits+1), math.Float32frombits(bits-1))
		}
	}
	for _, k := range asm.Tiers()[1:] {
		sameQuantized(t, k, quant.F16, x)
		sameQuantized(t, k, quant.BF16, x)
	}
}

// TestQuantizeExponents has blocks of every magnitude, with ties of sign and values halfway between two numbers.
func TestQuantizeExponents(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	x := make([]float32, 64)
	for _, k := range asm.Tiers()[1:] {
		for exponent := -149; exponent < 122; exponent++ {
			for range 4 {
				for i := range x {
					x[i] = float32(math.Ldexp(float64(r.IntN(255)-127)/2, exponent))
				}
				sameQuantized(t, k, quant.Q8_0, x)
				sameQuantized(t, k, quant.Q4_0, x)
			}
		}
	}
}

func BenchmarkConvert(b *testing.B) {
	const n = 2048
	r := rand.New(rand.NewPCG(17, 18))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	for _, f := range []quant.Format{quant.F16, quant.BF16, quant.Q8_0, quant.Q4_0, quant.Q4_1} {
		packed := make([]byte, f.Bytes(n))
		for _, k := range asm.Tiers() {
			b.Run("Quantize/"+f.String()+"/"+k.Tier(), func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					k.Quantize(f, packed, x)
				}
			})
			b.Run("Dequantize/"+f.String()+"/"+k.Tier(), func(b *testing.B) {
				b.SetBytes(4 * n)
				for b.Loop() {
					k.Dequantize(f, x, packed)
				}
			})
		}
	}
}

// TestConvertRefusesWhatDoesNotFit checks that no tier writes anything if the lengths are not those of whole blocks.
func TestConvertRefusesWhatDoesNotFit(t *testing.T) {
	for _, k := range asm.Tiers() {
		for _, f := range quant.Formats() {
			for _, n := range []int{f.BlockLen() - 1, f.BlockLen() + 1, 40, 40 + 256} {
				if n == 0 || n%f.BlockLen() == 0 {
					continue
				}
				floats, packed := make([]float32, n), make([]byte, f.Bytes(n))
				for i := range packed {
					packed[i] = 0x55
				}
				k.Dequantize(f, floats, packed)
				for i, v := range floats {
					if v != 0 {
						t.Fatalf("%s: element %d of %d, which are no whole blocks of %s, was written", k.Tier(), i, n, f)
					}
				}
				k.Quantize(f, packed, floats)
				for i, v := range packed {
					if v != 0x55 {
						t.Fatalf("%s: byte %d of %d elements, which are no whole blocks of %s, was written", k.Tier(), i, n, f)
					}
				}
			}
		}
	}
}

func TestConvertDoesNotAllocate(t *testing.T) {
	x := make([]float32, 256)
	for _, k := range asm.Tiers() {
		for _, f := range quant.Formats() {
			packed := make([]byte, f.Bytes(len(x)))
			n := testing.AllocsPerRun(10, func() {
				k.Dequantize(f, x, packed)
				k.Quantize(f, packed, x)
			})
			if n != 0 {
				t.Errorf("%s: %v allocations for %s, want none", k.Tier(), n, f)
			}
		}
	}
}
