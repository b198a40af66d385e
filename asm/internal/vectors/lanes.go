package vectors

import "github.com/antigravity-go/antigravity/internal/exact"

// Lanes is the number of virtual lanes in which a sum over a row is accumulated, whatever the width of the registers.
const Lanes = 16

// Fold sums the lanes in a fixed tree. It uses them up.
func Fold(lanes *[Lanes]float32) float32 {
	for half := Lanes / 2; half > 0; half /= 2 {
		for i := range half {
			lanes[i] += lanes[i+half]
		}
	}
	return lanes[0]
}

// sumOfSquares returns Σ x[i]², accumulated in lanes by FMA.
func sumOfSquares(x []float32) float32 {
	var lanes [Lanes]float32
	for i, v := range x {
		lanes[i%Lanes] = exact.FMA(v, v, lanes[i%Lanes])
	}
	return Fold(&lanes)
}

// Maximum returns the largest of x. A NaN is passed over unless it comes first, when it is the result; of no elements it is 0.
func Maximum(x []float32) float32 {
	if len(x) == 0 {
		return 0
	}
	m := x[0]
	for _, v := range x[1:] {
		if v > m {
			m = v
		}
	}
	return m
}

// Exponentials replaces each x[i] by exp(x[i]-max) and returns their sum, accumulated in lanes.
func Exponentials(x []float32, max float32) float32 {
	var lanes [Lanes]float32
	for i, v := range x {
		e := exact.Exp(v - max)
		x[i] = e
		lanes[i%Lanes] += e
	}
	return Fold(&lanes)
}
