package machine

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/quant"
)

// The formats whose products are tried for the limits of multiply-accumulates.
var (
	integerFormats = [...]quant.Format{quant.Q4_0, quant.Q8_0}
	floatFormats   = [...]quant.Format{quant.F32, quant.F16}
)

// The product that is measured: its weights, activations and results fill some 200 KB at most, so that they stay in a
// second-level cache, and each weight serves enough tokens for the kernels to be at their best.
const (
	productTokens = 48
	productRows   = 4 * asm.PanelRows
	productWidth  = 512
)

// multiplying returns a step that multiplies on one thread. All numbers are zero, which makes no processor faster.
func multiplying(kernels *asm.Kernels, format quant.Format) step {
	const macs = productTokens * productRows * productWidth
	rowBytes := format.Bytes(productWidth)
	acts := &quant.Activation{}
	acts.Reserve(format.ActivationForm(), productTokens, productWidth)
	if format.ActivationForm() == quant.Float {
		acts.X = make([]float32, productTokens*productWidth)
	}
	w, out := make([]byte, productRows*rowBytes), make([]float32, productTokens*productRows)
	panels := kernels.PanelsFor(format)
	if panels == nil {
		return func() int {
			format.DotRows(out, productRows, w, rowBytes, productRows, acts)
			return macs
		}
	}
	call := &asm.PanelProduct{Panels: w, Count: productRows / asm.PanelRows, Acts: acts, Out: out, Stride: productRows}
	return func() int {
		panels.Multiply(call)
		return macs
	}
}
