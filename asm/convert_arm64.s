//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// In all loops R0 is dst, R1 src, and R8 counts elements, eight at a time.

// func narrowF16NEON(dst *byte, src *float32, n int)
TEXT ·narrowF16NEON(SB), NOSPLIT, $0-24
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

// func widenF16NEON(dst *float32, src *byte, n int)
TEXT ·widenF16NEON(SB), NOSPLIT, $0-24
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

// func narrowBF16NEON(dst *byte, src *float32, n int)
TEXT ·narrowBF16NEON(SB), NOSPLIT, $0-24
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

// func widenBF16NEON(dst *float32, src *byte, n int)
TEXT ·widenBF16NEON(SB), NOSPLIT, $0-24
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
