package host

import "github.com/antigravity-go/antigravity/asm"

// Softmax makes x the probabilities softmax(scale·x), with the bits of Backend.Scale followed by Backend.Softmax of one row, and with this
// processor's kernels.
func Softmax(x []float32, scale float32) {
	kernels := asm.Best()
	kernels.Scale(x, scale)
	kernels.Softmax(x)
}
