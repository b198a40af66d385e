package exact

import "math"

// taylor evaluates the polynomial with the given coefficients, highest first, at z: Horner's rule with fused multiply-adds.
func taylor(z float64, coefficients []float64) float64 {
	p := 0.0
	for _, c := range coefficients {
		p = math.FMA(p, z, c)
	}
	return p
}

// twoSum returns the rounded sum of a and b and its rounding error (Knuth).
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	v := sum - a
	return sum, (a - (sum - v)) + (b - v)
}

// fastTwoSum is twoSum for |a| ≥ |b| (Dekker).
func fastTwoSum(a, b float64) (sum, err float64) {
	sum = a + b
	return sum, b - (sum - a)
}
