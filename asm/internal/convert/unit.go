//go:build (amd64 || arm64) && !purego

package convert

import (
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// Unit is the assembly for one set of instructions, a converter for each format that it knows.
type Unit []converter

// converter is the assembly for one format. It works on n elements, n > 0, a multiple of step.
type converter struct {
	format     quant.Format
	step       int                                  // a multiple of the format's block, and a divisor of vectors.MaxElements
	quantize   func(dst *byte, src *float32, n int) // nil: the portable form does it
	dequantize func(dst *float32, src *byte, n int)
}

// of returns the converter of a format; the zero converter if there is no such converter.
func (u Unit) of(f quant.Format) converter {
	for i := range u {
		if u[i].format == f {
			return u[i]
		}
	}
	return converter{step: 1}
}

// Quantize is the portable Quantize. The elements behind the last whole step are left to it.
func (u Unit) Quantize(f quant.Format, dst []byte, src []float32) {
	if len(dst) != f.Bytes(len(src)) || len(src)%f.BlockLen() != 0 {
		return
	}
	if c := u.of(f); c.quantize != nil {
		for len(src) >= c.step {
			n := min(len(src)-len(src)%c.step, vectors.MaxElements)
			c.quantize(&dst[0], &src[0], n)
			dst, src = dst[f.Bytes(n):], src[n:]
		}
	}
	Quantize(f, dst, src)
}

// Dequantize is the portable Dequantize. The elements behind the last whole step are left to it.
func (u Unit) Dequantize(f quant.Format, dst []float32, src []byte) {
	if len(src) != f.Bytes(len(dst)) || len(dst)%f.BlockLen() != 0 {
		return
	}
	if c := u.of(f); c.dequantize != nil {
		for len(dst) >= c.step {
			n := min(len(dst)-len(dst)%c.step, vectors.MaxElements)
			c.dequantize(&dst[0], &src[0], n)
			dst, src = dst[n:], src[f.Bytes(n):]
		}
	}
	Dequantize(f, dst, src)
}
