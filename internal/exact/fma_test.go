package exact_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/internal/effort"
	"github.com/antigravity-go/antigravity/internal/exact"
)

// bigFMA is a·b + c by arbitrary precision, rounded once.
func bigFMA(a, b, c float32) float32 {
	if s := float64(a)*float64(b) + float64(c); s-s != 0 || s == 0 {
		return float32(s) // infinities, NaNs, and zeros with IEEE's sign
	}
	product := new(big.Float).SetPrec(600).Mul(new(big.Float).SetPrec(600).SetFloat64(float64(a)), big.NewFloat(float64(b)))
	sum := product.Add(product, big.NewFloat(float64(c)))
	f, _ := sum.Float32()
	return f
}

func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func checkFMA(t *testing.T, a, b, c float32) {
	t.Helper()
	if got, want := exact.FMA(a, b, c), bigFMA(a, b, c); !sameBits(got, want) {
		t.Fatalf("FMA(%x, %x, %x) = %x, want %x", a, b, c, got, want)
	}
}

func TestFMA(t *testing.T) {
	float := func(rng *rand.Rand, lowExp, highExp int) float32 {
		return float32(math.Ldexp(1+float64(rng.Uint32()>>9)/(1<<23), lowExp+rng.IntN(highExp-lowExp+1))) * float32(1-2*rng.IntN(2))
	}
	cases := []struct {
		name string
		draw func(rng *rand.Rand) (a, b, c float32)
	}{
		{"random bits", func(rng *rand.Rand) (a, b, c float32) {
			return math.Float32frombits(rng.Uint32()), math.Float32frombits(rng.Uint32()), math.Float32frombits(rng.Uint32())
		}},
		{"alike magnitudes", func(rng *rand.Rand) (a, b, c float32) {
			return float(rng, -3, 3), float(rng, -3, 3), float(rng, -6, 6)
		}},
		{"far magnitudes", func(rng *rand.Rand) (a, b, c float32) {
			return float(rng, -20, 20), float(rng, -20, 20), float(rng, -60, 60)
		}},
		// c plus half a unit of c's last place, and a product far below it: the double rounding at its worst.
		{"near midpoints", func(rng *rand.Rand) (a, b, c float32) {
			c = float(rng, 0, 0)
			half := float32(0x1p-24)
			return half * (1 + 0x1p-23*float32(rng.IntN(3))), 1 - 0x1p-24*float32(rng.IntN(3)), c
		}},
		// An odd product of 25 bits is a midpoint itself; a tiny c breaks the tie beyond float64's 53 bits.
		{"products that are midpoints", func(rng *rand.Rand) (a, b, c float32) {
			a, b = float32(1+2*rng.IntN(1<<11)+1<<12), float32(1+2*rng.IntN(1<<11)+1<<12)
			return a, b, float(rng, -120, -20)
		}},
		{"subnormal results", func(rng *rand.Rand) (a, b, c float32) {
			return float(rng, -80, -60), float(rng, -80, -60), math.Float32frombits(rng.Uint32() & 0x807fffff)
		}},
		{"subnormal midpoints", func(rng *rand.Rand) (a, b, c float32) {
			return float32(1+2*rng.IntN(64)) * 0x1p-100, 0x1p-50, float32(rng.IntN(128)-64) * 0x1p-149
		}},
		{"overflow", func(rng *rand.Rand) (a, b, c float32) {
			return float(rng, 63, 64), float(rng, 62, 63), float(rng, 100, 127)
		}},
		{"small integers", func(rng *rand.Rand) (a, b, c float32) {
			return float32(rng.IntN(9) - 4), float32(rng.IntN(9) - 4), float32(rng.IntN(9) - 4)
		}},
	}
	n := effort.Of(40_000, 150_000, 1_000_000)
	if testing.Short() {
		n = 10_000
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			for range n {
				a, b, z := c.draw(rng)
				checkFMA(t, a, b, z)
			}
		})
	}
}

func TestFMASpecial(t *testing.T) {
	inf, nan, negZero := float32(math.Inf(1)), float32(math.NaN()), float32(math.Copysign(0, -1))
	values := []float32{0, negZero, 1, -1, inf, -inf, nan, math.MaxFloat32, -math.MaxFloat32,
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 0x1p-75, 0x1.000002p0, 0x1p-24}
	for _, a := range values {
		for _, b := range values {
			for _, c := range values {
				checkFMA(t, a, b, c)
			}
		}
	}
}

func FuzzFMA(f *testing.F) {
	f.Add(float32(1), float32(0x1p-24), float32(0x1.000002p0))
	f.Add(float32(0x1p-100), float32(0x1p-50), float32(0x1p-149))
	f.Fuzz(func(t *testing.T, a, b, c float32) { checkFMA(t, a, b, c) })
}

func BenchmarkFMA(b *testing.B) {
	acc := float32(1)
	for b.Loop() {
		acc = exact.FMA(acc, 0.999, 0.0017)
	}
	if acc == 0 {
		b.Fatal(acc)
	}
}
