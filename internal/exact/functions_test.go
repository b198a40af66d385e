package exact_test

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/antigravity-go/antigravity/internal/exact"
)

// ulps32 returns |got − want| in units of float32's last place at want.
func ulps32(got float32, want float64) float64 {
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e, -125)-24)
}

func TestExp(t *testing.T) {
	worst, at := 0.0, float32(0)
	for i := range 2_000_000 {
		x := float32(exact.ExpLow + (exact.ExpHigh-exact.ExpLow)*float64(i)/2_000_000)
		if i%2 == 0 {
			x /= 64 // more of the small ones
		}
		if e := ulps32(exact.Exp(x), math.Exp(float64(x))); e > worst {
			worst, at = e, x
		}
	}
	t.Logf("worst error %.3f ulp at %v", worst, at)
	if worst >= 1.1 {
		t.Errorf("Exp(%v) is off by %v ulp, want below 1.1", at, worst)
	}
}

func TestExpEdges(t *testing.T) {
	inf := float32(math.Inf(1))
	low, high := float32(exact.ExpLow), float32(exact.ExpHigh)
	cases := []struct {
		name    string
		x, want float32
	}{
		{"zero", 0, 1},
		{"negative zero", float32(math.Copysign(0, -1)), 1},
		{"-Inf", -inf, 0},
		{"+Inf", inf, exact.Exp(high)},
		{"just below low", math.Nextafter32(low, -inf), 0},
		{"huge", math.MaxFloat32, exact.Exp(high)},
		{"tiny", math.SmallestNonzeroFloat32, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := exact.Exp(c.x); got != c.want {
				t.Errorf("Exp(%v) = %v, want %v", c.x, got, c.want)
			}
		})
	}
	if got := exact.Exp(low); got < 0x1p-126 {
		t.Errorf("Exp(ExpLow) = %x is subnormal", got)
	}
	if got := exact.Exp(high); got > math.MaxFloat32 {
		t.Errorf("Exp(ExpHigh) = %v overflows", got)
	}
	for _, payload := range []uint32{0x7fc00000, 0x7fffffff, 0xffc00001, 0x7f800001, 0x7f80ffff} {
		if got := exact.Exp(math.Float32frombits(payload)); got == got {
			t.Errorf("Exp(NaN %x) = %v, want NaN", payload, got)
		}
	}
}

func TestSiLU(t *testing.T) {
	worst := 0.0
	for i := range 1_000_000 {
		x := float32(i-500_000) * (80. / 500_000)
		want := float64(x) / (1 + math.Exp(-float64(x)))
		worst = max(worst, ulps32(exact.SiLU(x), want))
	}
	t.Logf("worst error %.3f ulp", worst)
	if worst > 2.5 {
		t.Errorf("SiLU is off by %v ulp", worst)
	}
	inf := float32(math.Inf(1))
	if exact.SiLU(inf) != inf || exact.SiLU(-inf) != -inf || exact.SiLU(0) != 0 || !math.IsNaN(float64(exact.SiLU(float32(math.NaN())))) {
		t.Error("SiLU of ±Inf, 0 or NaN is not ±Inf, 0 or NaN")
	}
}

func TestSigmoid(t *testing.T) {
	worst := 0.0
	for i := range 1_000_000 {
		x := float32(i-500_000) * (80. / 500_000)
		worst = max(worst, ulps32(exact.Sigmoid(x), 1/(1+math.Exp(-float64(x)))))
	}
	t.Logf("worst error %.3f ulp", worst)
	if worst > 2.5 {
		t.Errorf("Sigmoid is off by %v ulp", worst)
	}
	inf := float32(math.Inf(1))
	if exact.Sigmoid(inf) != 1 || exact.Sigmoid(-inf) > 1e-38 || exact.Sigmoid(0) != 0.5 || !math.IsNaN(float64(exact.Sigmoid(float32(math.NaN())))) {
		t.Error("Sigmoid of ±Inf, 0 or NaN is not 1, 0, ½ or NaN")
	}
}

func TestSoftplus(t *testing.T) {
	worst := 0.0
	for i := range 1_000_000 {
		x := float32(i-500_000) * (80. / 500_000)
		worst = max(worst, ulps32(exact.Softplus(x), math.Max(float64(x), 0)+math.Log1p(math.Exp(-math.Abs(float64(x))))))
	}
	t.Logf("worst error %.3f ulp", worst)
	if worst > 3 {
		t.Errorf("Softplus is off by %v ulp", worst)
	}
	inf := float32(math.Inf(1))
	if exact.Softplus(inf) != inf || exact.Softplus(-inf) != 0 || exact.Softplus(-100) != 0 || !math.IsNaN(float64(exact.Softplus(float32(math.NaN())))) {
		t.Error("Softplus of ±Inf, -100 or NaN is not Inf, 0, 0 or NaN")
	}
}

func TestExpm1(t *testing.T) {
	worst := 0.0
	for i := range 400_000 {
		x := float32(i-200_000) * (80. / 200_000)
		for _, x := range []float32{x, x / 1024} {
			worst = max(worst, ulps32(exact.Expm1(x), math.Expm1(float64(x))))
		}
	}
	t.Logf("worst error %.3f ulp", worst)
	if worst > 3 {
		t.Errorf("Expm1 is off by %v ulp", worst)
	}
	if exact.Expm1(0) != 0 || exact.Expm1(-100) != -1 || !math.IsNaN(float64(exact.Expm1(float32(math.NaN())))) {
		t.Error("Expm1 of 0, -100 or NaN is not 0, -1 or NaN")
	}
}

func TestXIELU(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{{2, 1.25*4 + 0.5*2}, {0, 0.75 * math.Expm1(-1e-6)}, {-3, 0.75*(math.Expm1(-3)+3) - 1.5}} {
		if got := float64(exact.XIELU(float32(c.x), 1.25, 0.75, 0.5, -1e-6)); math.Abs(got-c.want) > 1e-6*math.Max(1, math.Abs(c.want)) {
			t.Errorf("XIELU(%v) is %v, want %v", c.x, got, c.want)
		}
	}
}

func TestGELU(t *testing.T) {
	worst := 0.0
	for i := range 1_000_000 {
		x := float32(i-500_000) * (10. / 500_000)
		v := float64(x)
		want := v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
		worst = max(worst, math.Abs(float64(exact.GELU(x))-want)/(math.Abs(want)+1e-3)) // far below 0 the tangent cancels
	}
	t.Logf("worst relative error %.3g", worst)
	if worst > 1e-5 {
		t.Errorf("GELU is off by %v", worst)
	}
	inf := float32(math.Inf(1))
	if exact.GELU(inf) != inf || exact.GELU(0) != 0 || exact.GELU(-20) > 0 || exact.GELU(-20) < -1e-30 || !math.IsNaN(float64(exact.GELU(float32(math.NaN())))) {
		t.Error("GELU of +Inf, 0, -20 or NaN is not +Inf, 0, 0 or NaN")
	}
}

func TestGELUErf(t *testing.T) {
	worst := 0.0
	for i := range 1_000_000 {
		x := float32(i-500_000) * (12. / 500_000)
		v := float64(x)
		want := v / 2 * math.Erfc(-v/math.Sqrt2)
		worst = max(worst, math.Abs(float64(exact.GELUErf(x))-want)/max(math.Abs(v), 1e-9))
	}
	t.Logf("worst error, in proportion to the argument, %.3g", worst)
	if worst > 2e-7 {
		t.Errorf("GELUErf is off by %v", worst)
	}
	inf := float32(math.Inf(1))
	if exact.GELUErf(inf) != inf || exact.GELUErf(0) != 0 || exact.GELUErf(-20) > 0 || exact.GELUErf(-20) < -1e-30 || !math.IsNaN(float64(exact.GELUErf(float32(math.NaN())))) {
		t.Error("GELUErf of +Inf, 0, -20 or NaN is not +Inf, 0, 0 or NaN")
	}
}

func TestSoftcap(t *testing.T) {
	for _, limit := range []float32{30, 50, 0.5} {
		worst := 0.0
		for i := range 200_000 {
			x := float32(i-100_000) * (limit * 20 / 100_000)
			want := float64(limit) * math.Tanh(float64(x)/float64(limit))
			worst = max(worst, math.Abs(float64(exact.Softcap(x, limit))-want)/float64(limit))
		}
		t.Logf("limit %v: worst error %.3g of the limit", limit, worst)
		if worst > 1.5e-7 {
			t.Errorf("Softcap with the limit %v is off by %v of it", limit, worst)
		}
		inf := float32(math.Inf(1))
		if exact.Softcap(inf, limit) != limit || exact.Softcap(-inf, limit) != -limit || !math.IsNaN(float64(exact.Softcap(float32(math.NaN()), limit))) {
			t.Errorf("Softcap of ±Inf or NaN with the limit %v is not ± the limit or NaN", limit)
		}
		if zero := exact.Softcap(float32(math.Copysign(0, -1)), limit); zero != 0 || !math.Signbit(float64(zero)) {
			t.Errorf("Softcap of -0 is %v", zero)
		}
	}
}

func TestSincos(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	worst := 0.0
	check := func(x float64) {
		s, c := exact.Sincos(x)
		ws, wc := math.Sincos(x)
		worst = max(worst, math.Abs(s-ws), math.Abs(c-wc))
	}
	for range 300_000 {
		check((rng.Float64() - 0.5) * 8)
		check((rng.Float64() - 0.5) * 100_000)
		// math.Sincos reduces with three parts of 30 bits and is itself good to about 1e-16 up to 2²⁹.
		check((rng.Float64() - 0.5) * (1 << 30))
	}
	t.Logf("worst difference from math.Sincos %.3g", worst)
	if worst > 1e-15 {
		t.Errorf("Sincos differs from math.Sincos by %v", worst)
	}
}

// TestSincosNearZeros compares with arbitrary precision at the hardest angles for the reduction: next to multiples of π/2.
func TestSincosNearZeros(t *testing.T) {
	pi, _, err := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798", 10, 330, big.ToNearestEven)
	if err != nil {
		t.Fatal(err)
	}
	half := new(big.Float).Quo(pi, big.NewFloat(2))
	for _, n := range []int64{1, 2, 3, 4, 5, 355, 710, 1 << 20, 123456789, 1<<31*2/3 - 1, 1_300_000_001, -7, -1_000_000_007} {
		exactAngle := new(big.Float).Mul(half, new(big.Float).SetInt64(n))
		x, _ := exactAngle.Float64()
		rest, _ := new(big.Float).SetPrec(400).Sub(new(big.Float).SetPrec(400).SetFloat64(x), exactAngle).Float64()
		small := [4]float64{rest, rest, -rest, -rest}
		if n&1 == 0 {
			s, _ := exact.Sincos(x)
			compare(t, "sin", x, s, small[n&3])
		} else {
			_, c := exact.Sincos(x)
			compare(t, "cos", x, c, [4]float64{0, -rest, 0, rest}[n&3])
		}
	}
}

func compare(t *testing.T, name string, x, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-15*math.Abs(want) {
		t.Errorf("%s(%v) = %v, want %v", name, x, got, want)
	}
}

func TestSincosOutside(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e10, -1e300} {
		if s, c := exact.Sincos(x); s == s || c == c {
			t.Errorf("Sincos(%v) = %v, %v, want NaN", x, s, c)
		}
	}
	if s, c := exact.Sincos(0); s != 0 || c != 1 {
		t.Errorf("Sincos(0) = %v, %v", s, c)
	}
}

func TestPow(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	worst, at := 0.0, [2]float64{}
	for i := range 300_000 {
		base, exponent := math.Exp(40*(rng.Float64()-0.5)), 30*(rng.Float64()-0.5)
		if i%2 == 0 {
			base, exponent = 500_000, -rng.Float64() // what RoPE asks for
		}
		got, want := exact.Pow(base, exponent), math.Pow(base, exponent)
		if e := math.Abs(got/want - 1); e > worst {
			worst, at = e, [2]float64{base, exponent}
		}
	}
	t.Logf("worst relative difference from math.Pow %.3g at %v", worst, at)
	if worst > 4e-15 { // math.Pow's own error included
		t.Errorf("Pow%v differs from math.Pow by %v", at, worst)
	}
}

// TestPowPowers holds Pow to exactly known values.
func TestPowPowers(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	cases := []struct{ base, exponent, want float64 }{
		{2, 10, 1024}, {10, 15, 1e15}, {3, 33, 5559060566555523}, {7, -1, 1. / 7}, {1, 1e300, 1}, {5, 0, 1}, {4, 0.5, 2},
		{2, -1074, 0x1p-1074}, {2, 1023, 0x1p1023}, {2, 1025, inf}, {2, -1100, 0}, {0x1p-1074, -0.5, 0x1p537},
		{0x1.fffffffffffffp-1, 0x1p52, 0.6065306597126334}, {1 + 0x1p-52, 0x1p52, 2.718281828459045},
	}
	for _, c := range cases {
		got := exact.Pow(c.base, c.exponent)
		if got != c.want && !(math.Abs(got/c.want-1) <= 4.5e-16) {
			t.Errorf("Pow(%v, %v) = %v, want %v", c.base, c.exponent, got, c.want)
		}
	}
	for _, c := range [][2]float64{{0, 1}, {-2, 2}, {inf, 1}, {nan, 1}, {2, nan}, {2, inf}} {
		if got := exact.Pow(c[0], c[1]); got == got {
			t.Errorf("Pow(%v, %v) = %v, want NaN", c[0], c[1], got)
		}
	}
}

// TestGolden holds every function to one checksum of its results' bits on all architectures.
func TestGolden(t *testing.T) {
	const n = 1_000_000
	scale := func(i int, low, high float64) float64 { return low + float64(float64(i)*((high-low)/n)) }
	cases := []struct {
		name string
		bits func(rng *rand.Rand, i int) uint64
		want uint32
	}{
		{"FMA", func(rng *rand.Rand, _ int) uint64 {
			a, b, c := math.Float32frombits(rng.Uint32()&^0x20000000), math.Float32frombits(rng.Uint32()&^0x20000000), math.Float32frombits(rng.Uint32()&^0x20000000)
			if r := exact.FMA(a, b, c); r == r {
				return uint64(math.Float32bits(r))
			}
			return 0
		}, 0x2e5c55dc},
		{"Exp", func(_ *rand.Rand, i int) uint64 {
			return uint64(math.Float32bits(exact.Exp(float32(scale(i, -90, 90)))))
		}, 0x87f6a708},
		{"SiLU", func(_ *rand.Rand, i int) uint64 {
			return uint64(math.Float32bits(exact.SiLU(float32(scale(i, -95, 95)))))
		}, 0x48612dcf},
		{"GELU", func(_ *rand.Rand, i int) uint64 {
			return uint64(math.Float32bits(exact.GELU(float32(scale(i, -12, 12)))))
		}, 0x49a35763},
		{"GELUErf", func(_ *rand.Rand, i int) uint64 {
			return uint64(math.Float32bits(exact.GELUErf(float32(scale(i, -12, 12)))))
		}, 0x6f5ab0af},
		{"Log", func(_ *rand.Rand, i int) uint64 { return math.Float64bits(exact.Log(scale(i, 1e-9, 1e6))) }, 0xd26a2689},
		{"Sincos", func(rng *rand.Rand, _ int) uint64 {
			s, c := exact.Sincos(math.Ldexp(float64(rng.Int64()), -int(rng.UintN(64))-32))
			return math.Float64bits(s) ^ math.Float64bits(c)<<1
		}, 0xd0b15791},
		{"Pow", func(rng *rand.Rand, i int) uint64 {
			return math.Float64bits(exact.Pow(scale(i, 1e-9, 1e6), math.Ldexp(float64(rng.Int64()), -61)))
		}, 0x80b209b2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 8))
			var buf [8]byte
			sum := uint32(0)
			for i := range n {
				binary.LittleEndian.PutUint64(buf[:], c.bits(rng, i))
				sum = crc32.Update(sum, crc32.IEEETable, buf[:])
			}
			if sum != c.want {
				t.Errorf("checksum of %d results is %#08x, want %#08x", n, sum, c.want)
			}
		})
	}
}

func BenchmarkExp(b *testing.B) {
	x, sum := float32(-20), float32(0)
	for b.Loop() {
		sum += exact.Exp(x)
		x += 0x1p-20
	}
	if sum < 0 {
		b.Fatal(sum)
	}
}

func BenchmarkSincos(b *testing.B) {
	for b.Loop() {
		exact.Sincos(12345.678)
	}
}
