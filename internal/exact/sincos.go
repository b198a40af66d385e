package exact

import "math"

const (
	twoOverPi = 0x1.45f306dc9c883p-1

	// π/2 as a sum of three float64.
	piOver2A = 0x1.921fb54442d18p+0
	piOver2B = 0x1.1a62633145c07p-54
	piOver2C = -0x1.f1976b7ed8fbcp-110

	// MaxAngle is the greatest magnitude that Sincos takes.
	MaxAngle = 1 << 31
)

// Sincos returns the sine and the cosine of x radians with relative errors around 2e-16, for |x| up to MaxAngle; beyond,
// and for NaN, both are NaN.
//
// The angle is reduced to |r| ≤ π/4 by the method of Cody and Waite with three parts of π/2: the first step is exact, because its terms are
// multiples of 2⁻⁵³ and its result is below 1. Then follow the Taylor series. Their remainders (r¹⁷/17! and r¹⁸/18!) are below a unit in
// the last place.
func Sincos(x float64) (sin, cos float64) {
	if !(math.Abs(x) <= MaxAngle) {
		return math.NaN(), math.NaN()
	}
	n := math.RoundToEven(x * twoOverPi)
	r := math.FMA(-n, piOver2A, x)
	r = math.FMA(-n, piOver2B, r)
	r = math.FMA(-n, piOver2C, r)

	z := float64(r * r)
	s := math.FMA(float64(z*r), taylor(z, sinSeries), r)
	c := math.FMA(z, taylor(z, cosSeries), 1)
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	default:
		return -c, s
	}
}

// sinSeries and cosSeries hold the coefficients of (sin r − r)/r³ and (cos r − 1)/r² as polynomials of r², highest first.
var (
	sinSeries = []float64{
		-1. / 1307674368000, 1. / 6227020800, -1. / 39916800, 1. / 362880, -1. / 5040, 1. / 120, -1. / 6,
	}
	cosSeries = []float64{
		1. / 20922789888000, -1. / 87178291200, 1. / 479001600, -1. / 3628800, 1. / 40320, -1. / 720, 1. / 24, -1. / 2,
	}
)
