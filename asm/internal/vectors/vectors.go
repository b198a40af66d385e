// Package vectors holds the kernels over vectors of floats: sums, scales, norms, rotations, the activation of SwiGLU, and the
// forms of activations that products with quantised weights want.
//
// The portable forms are the specification; package asm says in which order they, and so all others, compute. A Unit is the
// assembly for one set of instructions.
package vectors

//go:generate go -C ../../asmgen run . vectors headers

import "github.com/antigravity-go/antigravity/quant"

// Kernels are the kernels over vectors of one tier. The doc comments of the portable forms say which lengths the slices must
// have.
type Kernels struct {
	Add           func(dst, src []float32)                     // dst += src
	Mul           func(dst, src []float32)                     // dst *= src
	Scale         func(x []float32, v float32)                 // x *= v
	Divide        func(x []float32, v float32)                 // x /= v
	Axpy          func(dst []float32, a float32, x []float32)  // dst += a·x
	SiLUMul       func(dst, gate, up []float32)                // dst = silu(gate)·up
	SigmoidMul    func(dst, gate, up []float32)                // dst = σ(gate)·up
	GELUMul       func(dst, gate, up []float32)                // dst = gelu(gate)·up
	GELUErfMul    func(dst, gate, up []float32)                // dst = gelu(gate)·up, with the error function
	SwiGLUClamped func(dst, gate, up []float32, limit float32) // dst = (up+1)·gate·σ(1.702·gate), both clamped
	Softcap       func(x []float32, limit float32)             // x = limit·tanh(x/limit)
	Exp           func(x []float32)                            // x = exp(x)
	RMSNorm       func(dst, x, w []float32, eps float32)       // dst = x/rms(x)·w
	Softmax       func(x []float32)                            // x = softmax(x)
	RoPE          func(x, cos, sin []float32)                  // one head, in place
	// dst = b + Σ taps[j]·w[j·stride:]
	Convolve func(dst []float32, taps [][]float32, w []float32, stride int, b []float32)
	Prepare  func(a *quant.Activation, t int, x []float32) // a.Prepare(t, x)
}

// Portable returns the kernels in portable Go.
func Portable() Kernels {
	return Kernels{
		Add:           add,
		Mul:           mul,
		Scale:         scale,
		Divide:        divide,
		Axpy:          Axpy,
		SiLUMul:       siluMul,
		SigmoidMul:    sigmoidMul,
		GELUMul:       geluMul,
		GELUErfMul:    geluErfMul,
		SwiGLUClamped: SwiGLUClamped,
		Softcap:       Softcap,
		Exp:           exponential,
		RMSNorm:       rmsNorm,
		Softmax:       softmax,
		RoPE:          rope,
		Convolve:      convolve,
		Prepare:       (*quant.Activation).Prepare,
	}
}
