//go:build !purego

package convert

import "github.com/antigravity-go/antigravity/quant"

// NEON is the unit of Advanced SIMD.
var NEON = Unit{
	{quant.F16, 8, quantizeF16NEON, dequantizeF16NEON},
	{quant.BF16, 8, quantizeBF16NEON, dequantizeBF16NEON},
	{quant.Q8_0, 32, nil, dequantizeQ8_0NEON},
	{quant.Q4_0, 32, nil, dequantizeQ4_0NEON},
}

// quantizeF16NEON writes n elements as binary16, rounded to nearest even; n > 0 is a multiple of 8, here and below.
//
//go:noescape
func quantizeF16NEON(dst *byte, src *float32, n int)

// dequantizeF16NEON reads n elements of binary16.
//
//go:noescape
func dequantizeF16NEON(dst *float32, src *byte, n int)

// quantizeBF16NEON writes n elements as bfloat16, rounded to nearest even; NaNs become quiet.
//
//go:noescape
func quantizeBF16NEON(dst *byte, src *float32, n int)

// dequantizeBF16NEON reads n elements of bfloat16.
//
//go:noescape
func dequantizeBF16NEON(dst *float32, src *byte, n int)

// dequantizeQ8_0NEON reads n elements of Q8_0, whole blocks.
//
//go:noescape
func dequantizeQ8_0NEON(dst *float32, src *byte, n int)

// dequantizeQ4_0NEON reads n elements of Q4_0, whole blocks.
//
//go:noescape
func dequantizeQ4_0NEON(dst *float32, src *byte, n int)
