// Package convert holds the kernels that write numbers in a storage format and read them: quant.Format's Quantize and
// Dequantize, which are the specification.
package convert

//go:generate go -C ../../asmgen run . convert headers

import "github.com/antigravity-go/antigravity/quant"

// Quantize rounds src, whole blocks, into dst, which has their length in the format. What does not fit is left alone: the
// callers have checked.
func Quantize(f quant.Format, dst []byte, src []float32) { _ = f.Quantize(dst, src) }

// Dequantize reads src, whole blocks of the format, into dst, which has a place for each element. What does not fit is left
// alone: the callers have checked.
func Dequantize(f quant.Format, dst []float32, src []byte) { _ = f.Dequantize(dst, src) }
