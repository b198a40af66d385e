package exact

import "math"

const (
	log2E = 0x1.71547652b82fep+0

	// ln 2 as a sum of two float64.
	ln2A = 0x1.62e42fefa39efp-1
	ln2B = 0x1.abc9e3b39803fp-56

	// Outside these exponents e to their power is no float64: e^709.8 is the greatest, e^−745.2 rounds to 0.
	maxExponent = 710
	minExponent = -746
)

// Pow returns base to the power of exponent with a relative error around 2e-16, for a positive, finite base and a finite
// exponent; otherwise it returns NaN. It underflows to 0 and overflows to +Inf.
//
// It computes e^(exponent·ln base) with the logarithm as an unevaluated sum of two float64, so that a large product does not
// magnify the logarithm's rounding.
func Pow(base, exponent float64) float64 {
	if !(base > 0 && base <= math.MaxFloat64) || exponent-exponent != 0 {
		return math.NaN()
	}
	logHi, logLo := log(base)
	hi := float64(exponent * logHi)
	lo := math.FMA(exponent, logLo, math.FMA(exponent, logHi, -hi))
	switch {
	case hi > maxExponent:
		return math.Inf(1)
	case hi < minExponent:
		return 0
	}
	return exp(hi, lo)
}

// log returns ln x as a sum of two float64, with a relative error around 2⁻⁶⁰.
//
// With x = 2ᵏ·m and s = (m−1)/(m+1), ln m = 2·atanh s = 2s + s³·(2/3 + 2/5·s² + …), where |s| < 0.172.
func log(x float64) (hi, lo float64) {
	m, k := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, k = 2*m, k-1
	}
	numer := m - 1 // exact
	denom := m + 1
	denomLo := m - (denom - 1) // m + 1 = denom + denomLo; denom−1 is exact
	s := numer / denom
	sLo := (math.FMA(-s, denom, numer) - float64(s*denomLo)) / denom
	z := float64(s * s)
	tail := math.FMA(float64(z*s), taylor(z, atanhSeries), 2*sLo)

	kf := float64(k)
	a := float64(kf * ln2A)
	aLo := math.FMA(kf, ln2B, math.FMA(kf, ln2A, -a))
	hi, e := twoSum(a, 2*s)
	return fastTwoSum(hi, e+(aLo+tail))
}

// exp returns e^(hi+lo) for |lo| far below |hi| < 750.
func exp(hi, lo float64) float64 {
	n := math.RoundToEven(hi * log2E)
	r := math.FMA(-n, ln2A, hi)
	r = math.FMA(-n, ln2B, r) + lo
	return math.Ldexp(taylor(r, expSeries), int(n))
}

var (
	// atanhSeries holds the coefficients of (2·atanh s − 2s)/s³ as a polynomial of s², highest first.
	atanhSeries = []float64{
		2. / 23, 2. / 21, 2. / 19, 2. / 17, 2. / 15, 2. / 13, 2. / 11, 2. / 9, 2. / 7, 2. / 5, 2. / 3,
	}
	// expSeries holds 1/13!, 1/12!, …, 1.
	expSeries = []float64{
		1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040,
		1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1, 1,
	}
)

// Log returns the natural logarithm of x > 0, the same on every machine, with an error below a unit in the last place.
func Log(x float64) float64 {
	hi, lo := log(x)
	return hi + lo
}
