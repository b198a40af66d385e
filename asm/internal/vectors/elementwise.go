package vectors

import "github.com/antigravity-go/antigravity/internal/exact"

// add computes dst[i] += src[i]. The slices have one length and do not overlap partly.
func add(dst, src []float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] += src[i]
	}
}

// mul computes dst[i] *= src[i]. The slices have one length and do not overlap partly.
func mul(dst, src []float32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] *= src[i]
	}
}

// scale computes x[i] *= v.
func scale(x []float32, v float32) {
	for i := range x {
		x[i] *= v
	}
}

// divide computes x[i] /= v.
func divide(x []float32, v float32) {
	for i := range x {
		x[i] /= v
	}
}

// siluMul computes dst[i] = exact.SiLU(gate[i]) * up[i], the activation of SwiGLU (arXiv 2002.05202). dst may be gate or up.
func siluMul(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := range dst {
		dst[i] = exact.SiLU(gate[i]) * up[i]
	}
}

// sigmoidMul computes dst[i] = exact.Sigmoid(gate[i]) * up[i]. dst may be gate or up.
func sigmoidMul(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := range dst {
		dst[i] = exact.Sigmoid(gate[i]) * up[i]
	}
}

// geluMul computes dst[i] = exact.GELU(gate[i]) * up[i], the activation of GeGLU (arXiv 2002.05202). dst may be gate or up.
func geluMul(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := range dst {
		dst[i] = exact.GELU(gate[i]) * up[i]
	}
}

// geluErfMul computes dst[i] = exact.GELUErf(gate[i]) * up[i]. dst may be gate or up.
func geluErfMul(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := range dst {
		dst[i] = exact.GELUErf(gate[i]) * up[i]
	}
}

// SwiGLUClamped computes dst[i] = exact.SwiGLUClamped(gate[i], up[i], limit). dst may be gate or up.
func SwiGLUClamped(dst, gate, up []float32, limit float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i := range dst {
		dst[i] = exact.SwiGLUClamped(gate[i], up[i], limit)
	}
}

// Softcap computes x[i] = exact.Softcap(x[i], limit).
func Softcap(x []float32, limit float32) {
	for i, v := range x {
		x[i] = exact.Softcap(v, limit)
	}
}

// exponential computes x[i] = exact.Exp(x[i]).
func exponential(x []float32) {
	for i, v := range x {
		x[i] = exact.Exp(v)
	}
}

// Axpy computes dst[i] = fma(a, x[i], dst[i]).
func Axpy(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = exact.FMA(a, v, dst[i])
	}
}
