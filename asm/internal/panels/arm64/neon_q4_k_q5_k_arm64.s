//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "q4_k_q5_k_arm64.h"

// The products in Q4_K and Q5_K with one row of activations for processors without SDOT: panels.BlockKernel. The registers are
// those of q4_k_q5_k_arm64.h.

// LINENEON multiplies a line's half, with elements i of V16 and V17, without SDOT: products are added up in 16 bits, in four
// lanes for each row of weights: V0 to V3 are of the lower run, V4 to V7 of the upper one. A lane takes eight products of a quant
// below 32 and an activation of at most 127, and 31·127·8 fits.
#define LINENEON(UNPACK, i) \
	UNPACK \
	VDUP V16.S[i], V28.S4 \
	VDUP V17.S[i], V29.S4 \
	SMLAL8H(0, 20, 28) \
	SMLAL2_8H(1, 20, 28) \
	SMLAL8H(2, 21, 28) \
	SMLAL2_8H(3, 21, 28) \
	SMLAL8H(4, 24, 29) \
	SMLAL2_8H(5, 24, 29) \
	SMLAL8H(6, 25, 29) \
	SMLAL2_8H(7, 25, 29)

#define HALFNEON(UNPACK) \
	PREFETCH \
	LOAD(R4, F16, F17) \
	LINENEON(UNPACK, 0) \
	LINENEON(UNPACK, 1) \
	LINENEON(UNPACK, 2) \
	LINENEON(UNPACK, 3)

// JOIN adds up the four lanes of each row: V0 to V3 are what they are with SDOT.
#define JOIN \
	SADDLP4S(0, 0) \
	SADDLP4S(1, 1) \
	SADDLP4S(2, 2) \
	SADDLP4S(3, 3) \
	SADDLP4S(4, 4) \
	SADDLP4S(5, 5) \
	SADDLP4S(6, 6) \
	SADDLP4S(7, 7) \
	VADDP V1.S4, V0.S4, V0.S4 \
	VADDP V3.S4, V2.S4, V1.S4 \
	VADDP V5.S4, V4.S4, V2.S4 \
	VADDP V7.S4, V6.S4, V3.S4

// func q4_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_KNEONx1(SB), NOSPLIT, $128-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+16(FP), R2
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	MOVD $0x0F, R21
	VDUP R21, V30.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
block:
	MOVD $decoded-128(SP), R10
	INNER
	CLEAR(V8, V9, V26, V27)
	MOVD $4, R7
pair:
	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	HALFNEON(NIBBLES)
	HALFNEON(NIBBLES)
	JOIN
	ADD  $32, R4
	FACTORS(0)
	SCALED(0, 1, 2, 3, 8, 9)
	FACTORS(64)
	MINIMUMS(R6, 26, 27)
	ADD  $16, R10
	SUBS $1, R7
	BNE  pair
	FMOVS.P 4(R5), F24
	SCALES(0)
	ACCUMULATE(VFMLA, 24, 8, 9, V8, V9, V12, V13)
	SCALES(32)
	ACCUMULATE(VFMLS, 24, 26, 27, V26, V27, V12, V13)
	ADD  $64, R1
	SUBS $1, R3
	BNE  block
	VST1 [V12.S4, V13.S4], (R8)
	RET

// func q5_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q5_KNEONx1(SB), NOSPLIT, $128-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+16(FP), R2
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
block:
	MOVD $decoded-128(SP), R10
	MOVD $0x0F, R21
	VDUP R21, V30.B16
	INNER
	MOVD $0x1F, R21
	VDUP R21, V30.B16
	ADD  $2048, R0, R15
	MOVD $0, R16
	CLEAR(V8, V9, V26, V27)
	MOVD $4, R7
pair:
	MOVD R15, R11
	VDUP R16, V31.B16
	SUB  $2, R16
	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	HALFNEON(FIVEBITS)
	HALFNEON(FIVEBITS)
	JOIN
	ADD  $32, R4
	FACTORS(0)
	SCALED(0, 1, 2, 3, 8, 9)
	FACTORS(64)
	MINIMUMS(R6, 26, 27)
	ADD  $16, R10
	SUBS $1, R7
	BNE  pair
	FMOVS.P 4(R5), F24
	SCALES(0)
	ACCUMULATE(VFMLA, 24, 8, 9, V8, V9, V12, V13)
	SCALES(32)
	ACCUMULATE(VFMLS, 24, 26, 27, V26, V27, V12, V13)
	ADD  $512, R0
	ADD  $64, R1
	SUBS $1, R3
	BNE  block
	VST1 [V12.S4, V13.S4], (R8)
	RET
