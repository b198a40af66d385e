//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// In all loops R0 is dst, R1 src, and R8 counts elements, eight at a time.

// func quantizeF16NEON(dst *byte, src *float32, n int)
TEXT ·quantizeF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
eight:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	FCVTN4H(2, 0)
	FCVTN8H(2, 1)
	VST1.P [V2.H8], 16(R0)
	SUBS   $8, R8
	BGT    eight
	RET

// func dequantizeF16NEON(dst *float32, src *byte, n int)
TEXT ·dequantizeF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
eight:
	VLD1.P 16(R1), [V2.H8]
	FCVTL4S(0, 2)
	FCVTL8H(1, 2)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $8, R8
	BGT    eight
	RET

// ROUND rounds v, register n, to the nearest number whose lower 16 bits are 0, ties to even, by an addition to its bits; a
// NaN becomes quiet. V5 to V7 are 1, 0x7FFF and 1<<22 in all lanes, V3 and V4 are used.
#define ROUND(v, n) \
	FCMEQ4S(4, n, n) \
	VUSHR $16, v.S4, V3.S4 \
	VAND  V5.B16, V3.B16, V3.B16 \
	VADD  V6.S4, V3.S4, V3.S4 \
	VADD  v.S4, V3.S4, V3.S4 \
	VORR  V7.B16, v.B16, v.B16 \
	VBIT  V4.B16, V3.B16, v.B16

// func quantizeBF16NEON(dst *byte, src *float32, n int)
TEXT ·quantizeBF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
	MOVD $1, R2
	VDUP R2, V5.S4
	MOVD $0x7FFF, R2
	VDUP R2, V6.S4
	MOVD $(1<<22), R2
	VDUP R2, V7.S4
eight:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	ROUND(V0, 0)
	ROUND(V1, 1)
	VUZP2  V1.H8, V0.H8, V0.H8
	VST1.P [V0.H8], 16(R0)
	SUBS   $8, R8
	BGT    eight
	RET

// func dequantizeBF16NEON(dst *float32, src *byte, n int)
TEXT ·dequantizeBF16NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
eight:
	VLD1.P 16(R1), [V2.H8]
	SHLL4S(0, 2)
	SHLL8H(1, 2)
	VST1.P [V0.S4, V1.S4], 32(R0)
	SUBS   $8, R8
	BGT    eight
	RET

// SCALE loads a block's scale to all lanes of V7.
#define SCALE \
	VLD1R.P 2(R1), [V7.H8] \
	FCVTL4S(7, 7)

// SIXTEEN writes sixteen signed bytes, in register n, times the scale; adding V6, which is 0, makes 0 of -0, as the portable
// form does.
#define SIXTEEN(n) \
	SXTL8H(2, n) \
	SXTL2_8H(4, n) \
	SXTL2_4S(3, 2) \
	SXTL4S(2, 2) \
	SXTL2_4S(5, 4) \
	SXTL4S(4, 4) \
	SCVTF4S(2, 2) \
	SCVTF4S(3, 3) \
	SCVTF4S(4, 4) \
	SCVTF4S(5, 5) \
	FMUL4S(2, 2, 7) \
	FMUL4S(3, 3, 7) \
	FMUL4S(4, 4, 7) \
	FMUL4S(5, 5, 7) \
	FADD4S(2, 2, 6) \
	FADD4S(3, 3, 6) \
	FADD4S(4, 4, 6) \
	FADD4S(5, 5, 6) \
	VST1.P [V2.S4, V3.S4, V4.S4, V5.S4], 64(R0)

// func dequantizeQ8_0NEON(dst *float32, src *byte, n int)
TEXT ·dequantizeQ8_0NEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
	VEOR V6.B16, V6.B16, V6.B16
block:
	SCALE
	VLD1.P 32(R1), [V0.B16, V1.B16]
	SIXTEEN(0)
	SIXTEEN(1)
	SUBS   $32, R8
	BGT    block
	RET

// func dequantizeQ4_0NEON(dst *float32, src *byte, n int)
TEXT ·dequantizeQ4_0NEON(SB), NOSPLIT, $0-24
	MOVD  dst+0(FP), R0
	MOVD  src+8(FP), R1
	MOVD  n+16(FP), R8
	VMOVI $0x0F, V16.B16
	VMOVI $8, V17.B16
	VEOR  V6.B16, V6.B16, V6.B16
block:
	SCALE
	VLD1.P 16(R1), [V1.B16]
	VAND   V16.B16, V1.B16, V0.B16
	VUSHR  $4, V1.B16, V1.B16
	VSUB   V17.B16, V0.B16, V0.B16
	VSUB   V17.B16, V1.B16, V1.B16
	SIXTEEN(0)
	SIXTEEN(1)
	SUBS   $32, R8
	BGT    block
	RET
