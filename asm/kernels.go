package asm

// Kernels is the set of kernels of one tier of processors. Every function has the meaning, and gives the bits, of its
// portable form; slices must have the lengths that the portable form's comment says, which the callers in package backend
// have checked.
type Kernels struct {
	// Tier names the instructions used: "generic" is portable Go.
	Tier string

	Add     func(dst, src []float32)                    // dst += src
	Scale   func(x []float32, v float32)                // x *= v
	SiLUMul func(dst, gate, up []float32)               // dst = silu(gate)·up
	RMSNorm func(dst, x, w []float32, eps float32)      // dst = x/rms(x)·w
	Softmax func(x []float32)                           // x = softmax(x)
	RoPE    func(x, cos, sin []float32)                 // one head, in place
	Axpy    func(dst []float32, a float32, x []float32) // dst += a·x
	Attend  func(t *AttentionTile)                      // one tile of keys for some query heads
	Merge   func(dst, src *Partial)                     // joins two tiles' results
}

// generic is the portable tier.
var generic = Kernels{
	Tier:    "generic",
	Add:     add,
	Scale:   scale,
	SiLUMul: siluMul,
	RMSNorm: rmsNorm,
	Softmax: softmax,
	RoPE:    rope,
	Axpy:    axpy,
	Attend:  attend,
	Merge:   merge,
}

// Portable returns the kernels in portable Go: the reference for all others. The value must not be changed.
func Portable() *Kernels { return &generic }

// Best returns the kernels for this processor. The value must not be changed.
func Best() *Kernels { return &generic }

// Tier returns the name of the tier in use, for reports.
func Tier() string { return Best().Tier }
