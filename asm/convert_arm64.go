//go:build !purego

package asm

import "github.com/antigravity-go/antigravity/quant"

// converter is the assembly that writes, or nil, and reads one format, eight elements at a time, or blocks of 32.
type converter struct {
	narrow func(dst *byte, src *float32, n int)
	widen  func(dst *float32, src *byte, n int)
}

// convertNEON sets the conversions from and to 16 bits, and from blocks; other formats stay with what there is.
func convertNEON(k *Kernels) {
	converters := map[*quant.Format]converter{
		quant.F16:  {narrowF16NEON, widenF16NEON},
		quant.BF16: {narrowBF16NEON, widenBF16NEON},
		quant.Q8_0: {nil, widenQ8_0NEON},
		quant.Q4_0: {nil, widenQ4_0NEON},
	}
	k.Narrow = func(f *quant.Format, dst []byte, src []float32) {
		if c, ok := converters[f]; ok && c.narrow != nil && len(dst) == f.Bytes(len(src)) {
			for len(src) >= 8 {
				n := min(len(src), longest) &^ 7
				c.narrow(&dst[0], &src[0], n)
				dst, src = dst[f.Bytes(n):], src[n:]
			}
		}
		narrow(f, dst, src)
	}
	k.Widen = func(f *quant.Format, dst []float32, src []byte) {
		if c, ok := converters[f]; ok && len(src) == f.Bytes(len(dst)) {
			for len(dst) >= 8 {
				n := min(len(dst), longest) &^ 7
				c.widen(&dst[0], &src[0], n)
				dst, src = dst[n:], src[f.Bytes(n):]
			}
		}
		widen(f, dst, src)
	}
}

// narrowF16NEON writes n elements as binary16, rounded to nearest even; n > 0 is a multiple of 8, as for all of these.
//
//go:noescape
func narrowF16NEON(dst *byte, src *float32, n int)

// widenF16NEON reads n elements of binary16.
//
//go:noescape
func widenF16NEON(dst *float32, src *byte, n int)

// narrowBF16NEON writes n elements as bfloat16, rounded to nearest even; NaNs become quiet.
//
//go:noescape
func narrowBF16NEON(dst *byte, src *float32, n int)

// widenBF16NEON reads n elements of bfloat16.
//
//go:noescape
func widenBF16NEON(dst *float32, src *byte, n int)

// widenQ8_0NEON reads n elements of Q8_0, whole blocks.
//
//go:noescape
func widenQ8_0NEON(dst *float32, src *byte, n int)

// widenQ4_0NEON reads n elements of Q4_0, whole blocks.
//
//go:noescape
func widenQ4_0NEON(dst *float32, src *byte, n int)
