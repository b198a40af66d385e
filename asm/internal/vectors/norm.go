package vectors

import "math"

// rmsNorm computes dst[i] = (x[i]·s)·w[i] with s = 1/√(Σx²/n + eps) (arXiv 1910.07467): the sum in lanes, the division, the
// addition, the square root and the reciprocal each rounded to float32. If Σx² is beyond float32, s is NaN. dst may be x.
func rmsNorm(dst, x, w []float32, eps float32) {
	if len(x) == 0 {
		return
	}
	mean := sumOfSquares(x) / float32(len(x))
	s := normScale(mean, eps)
	dst, w = dst[:len(x)], w[:len(x)]
	for i, v := range x {
		y := float32(v * s)
		dst[i] = y * w[i]
	}
}

// normScale returns rmsNorm's s. Numbers with squares that overflow are no activations: with an s of 0 a damaged model would go on with
// zeros.
func normScale(mean, eps float32) float32 {
	if mean > math.MaxFloat32 {
		return float32(math.NaN())
	}
	return 1 / float32(math.Sqrt(float64(mean+eps)))
}

// softmax replaces a row by exp(x-max)/Σexp(x-max), the sum in lanes, each element divided by it.
func softmax(x []float32) {
	sum := Exponentials(x, Maximum(x))
	for i := range x {
		x[i] /= sum
	}
}
