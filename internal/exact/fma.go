package exact

import "math"

// FMA returns a·b + c rounded once, to nearest even, as the fused multiply-add instructions of vector units do. It needs no
// such instruction.
//
// A product of two float32 is exact in float64, so s = a·b + c below is rounded once, to 53 bits, and rounding s to float32 is a second
// rounding. The second one goes wrong only when the first has landed on a midpoint of two neighbouring float32. (math.FMA does not help: it
// is the sum that is rounded.) See S. Boldo and G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using
// rounding to odd", IEEE Transactions on Computers 57 (2008).
func FMA(a, b, c float32) float32 {
	s := float64(a)*float64(b) + float64(c)
	if Suspect(s) {
		return roundOnce(a, b, c)
	}
	return float32(s)
}

// Suspect reports whether s, a sum rounded to float64, could be a midpoint of two neighbouring float32, so that rounding s to float32 might
// be wrong. The lower 29 bits of a midpoint of normal float32 are a 1 and 28 zeros, and a midpoint of subnormal float32 ends in even more
// zeros; hardly any other sum does. Loops over many FMAs call Suspect, which is inlined, themselves: if it is false, float32(s) is the
// correctly rounded sum, and FMA need not be called.
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
