package asm

import "github.com/antigravity-go/antigravity/quant"

// Kernels is the set of kernels of one tier of processors. Every function has the meaning, and gives the bits, of its
// portable form; slices must have the lengths that the portable form's comment says, which the callers in package backend
// have checked. The values must not be changed.
type Kernels struct {
	// Tier names the instructions used: "generic" is portable Go.
	Tier string

	Add     func(dst, src []float32)                         // dst += src
	Scale   func(x []float32, v float32)                     // x *= v
	Axpy    func(dst []float32, a float32, x []float32)      // dst += a·x
	SiLUMul func(dst, gate, up []float32)                    // dst = silu(gate)·up
	RMSNorm func(dst, x, w []float32, eps float32)           // dst = x/rms(x)·w
	Softmax func(x []float32)                                // x = softmax(x)
	RoPE    func(x, cos, sin []float32)                      // one head, in place
	Prepare func(a *quant.Activation, t int, x []float32)    // a.Prepare(t, x)
	Narrow  func(f *quant.Format, dst []byte, src []float32) // f.Quantize(dst, src), whole blocks
	Widen   func(f *quant.Format, dst []float32, src []byte) // f.Dequantize(dst, src), whole blocks
	Attend  func(t *AttentionTile)                           // one tile of keys for some query heads
	Merge   func(dst, src *Partial)                          // joins two tiles' results
	Panels  []*Panels                                        // weight layouts of the tier's products
}

// generic is the portable tier.
var generic = Kernels{
	Tier:    "generic",
	Add:     add,
	Scale:   scale,
	Axpy:    axpy,
	SiLUMul: siluMul,
	RMSNorm: rmsNorm,
	Softmax: softmax,
	RoPE:    rope,
	Prepare: (*quant.Activation).Prepare,
	Narrow:  narrow,
	Widen:   widen,
	Attend:  attend,
	Merge:   merge,
}

// narrow rounds src to a format; the lengths fit, and the format can be written.
func narrow(f *quant.Format, dst []byte, src []float32) { _ = f.Quantize(dst, src) }

// widen reads a format; the lengths fit.
func widen(f *quant.Format, dst []float32, src []byte) { _ = f.Dequantize(dst, src) }

// Portable returns the kernels in portable Go: the reference for all others.
func Portable() *Kernels { return &generic }
