//go:build !purego

package vectors

// NEON is the unit of Advanced SIMD.
var NEON = Unit{
	add: addNEON, mul: mulNEON, scale: scaleNEON, axpy: axpyNEON, axpby: axpbyNEON, siluMul: siluMulNEON, sigmoidMul: sigmoidMulNEON, geluMul: geluMulNEON, geluErfMul: geluErfMulNEON,
	swiGLUClamped: swiGLUClampedNEON, softcap: softcapNEON, rope: ropeNEON, sumOfSquares: sumOfSquaresNEON, norm: normNEON, maximum: maximumNEON, exponentials: exponentialsNEON, divide: divideNEON,
	convolve: convolveNEON, prepare32: prepare32NEON, prepare256: prepare256NEON,
}

// addNEON computes dst[i] += src[i] for i < n.
//
//go:noescape
func addNEON(dst, src *float32, n int)

// mulNEON computes dst[i] *= src[i] for i < n.
//
//go:noescape
func mulNEON(dst, src *float32, n int)

// scaleNEON computes x[i] *= v for i < n.
//
//go:noescape
func scaleNEON(x *float32, n int, v float32)

// divideNEON computes x[i] /= v for i < n.
//
//go:noescape
func divideNEON(x *float32, n int, v float32)

// axpyNEON computes dst[i] = fma(a, x[i], dst[i]) for i < n.
//
//go:noescape
func axpyNEON(dst, x *float32, n int, a float32)

// axpbyNEON computes dst[i] = fma(x[i], a, dst[i]·b) for i < n.
//
//go:noescape
func axpbyNEON(dst, x *float32, n int, a, b float32)

// normNEON computes dst[i] = (x[i]·s)·w[i] for i < n.
//
//go:noescape
func normNEON(dst, x, w *float32, n int, s float32)

// ropeNEON computes lo[i], hi[i] = fma(lo[i], cos[i], -(hi[i]·sin[i])), fma(lo[i], sin[i], hi[i]·cos[i]) for i < n.
//
//go:noescape
func ropeNEON(lo, hi, cos, sin *float32, n int)

// siluMulNEON computes dst[i] = exact.SiLU(gate[i])·up[i] for i < n.
//
//go:noescape
func siluMulNEON(dst, gate, up *float32, n int)

// sigmoidMulNEON computes dst[i] = exact.Sigmoid(gate[i])·up[i] for i < n.
//
//go:noescape
func sigmoidMulNEON(dst, gate, up *float32, n int)

// geluMulNEON computes dst[i] = exact.GELU(gate[i])·up[i] for i < n.
//
//go:noescape
func geluMulNEON(dst, gate, up *float32, n int)

// geluErfMulNEON computes dst[i] = exact.GELUErf(gate[i])·up[i] for i < n.
//
//go:noescape
func geluErfMulNEON(dst, gate, up *float32, n int)

// swiGLUClampedNEON computes dst[i] = exact.SwiGLUClamped(gate[i], up[i], limit) for i < n.
//
//go:noescape
func swiGLUClampedNEON(dst, gate, up *float32, n int, limit float32)

// softcapNEON computes x[i] = exact.Softcap(x[i], limit) for i < n; factor is exact.SoftcapFactor(limit).
//
//go:noescape
func softcapNEON(x *float32, n int, factor, limit float32)

// sumOfSquaresNEON returns Σ x[i]² for i < n, as the portable sumOfSquares does.
//
//go:noescape
func sumOfSquaresNEON(x *float32, n int) float32

// maximumNEON returns the largest x[i] for i < n, n > 0; NaN is ignored unless it comes first. Which zero it gives, of
// several, is open.
//
//go:noescape
func maximumNEON(x *float32, n int) float32

// exponentialsNEON computes x[i] = exact.Exp(x[i]-max) for i < n and returns their sum, as the portable Exponentials does.
//
//go:noescape
func exponentialsNEON(x *float32, n int, max float32) float32

// convolveNEON computes dst[i] = b[i] + Σ taps[j][i]·w[j·stride/4+i] for i < n, j < width, as the portable convolve does. A b that is nil
// counts as zeros.
//
//go:noescape
func convolveNEON(dst *float32, taps *[]float32, w, b *float32, n, width, stride int)

// prepare32NEON computes blocks of quant.Activation.Prepare for Int8x32, blocks > 0: elements, scales and sums.
//
//go:noescape
func prepare32NEON(x *float32, q *int8, d *float32, sums *int32, blocks int)

// prepare256NEON computes blocks of quant.Activation.Prepare for Int8x256, blocks > 0: elements, scales and sums.
//
//go:noescape
func prepare256NEON(x *float32, q *int8, d *float32, sums *int32, blocks int)
