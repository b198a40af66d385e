package exact

import "math"

// FMA returns a·b + c rounded once, to nearest even: the fused multiply-add of the vector units, for machines and code
// that have none.
//
// A product of two float32 is exact in float64, so s = a·b + c below is rounded once, to 53 bits, and rounding s to float32
// is a second rounding. The second one goes wrong only when the first has landed on a midpoint of two neighbouring
// float32. (math.FMA does not help: the sum is where the rounding is.) See S. Boldo and G. Melquiond, "Emulation of a FMA
// and correctly rounded sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57 (2008).
func FMA(a, b, c float32) float32 {
	s := float64(a)*float64(b) + float64(c)
	if Suspect(s) {
		return roundOnce(a, b, c)
	}
	return float32(s)
}

// Suspect tells whether s, a sum rounded to float64, could be a midpoint of two neighbouring float32, so that narrowing it
// might round wrongly a second time. A midpoint of normal float32 has the lower 29 bits 1 0000…, one of subnormal float32
// has fewer bits; both end in 28 zeros, and hardly any other sum does. Loops over many FMAs test it themselves, to keep
// calls out of the loop; when it is false, float32(s) is the correctly rounded sum.
func Suspect(s float64) bool { return math.Float64bits(s)<<36 == 0 }

// roundOnce is FMA for the sums that may be midpoints: it rounds the sum to odd, which keeps "a little above" and "a
// little below" a midpoint apart, and only then to nearest.
//
//go:noinline
func roundOnce(a, b, c float32) float32 {
	x := float64(a) * float64(b)
	s, e := twoSum(x, float64(c))
	if s == 0 || s-s != 0 { // a zero keeps its sign; infinities and NaNs have no error term
		return float32(s)
	}
	bits := math.Float64bits(s)
	if e != 0 && bits&1 == 0 {
		if (e > 0) == (s > 0) {
			bits++ // the exact sum is farther from zero than s
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}
