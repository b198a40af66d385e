//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "q4_k_q5_k_arm64.h"

// The products in Q4_K and Q5_K with one row of activations, or two, by SDOT: panels.BlockKernel. The registers are those of
// q4_k_q5_k_arm64.h.

// LINE1 multiplies a line's half with elements i of V16 and V17, and LINE2 with those of V18 and V19 too.
#define LINE1(UNPACK, i) \
	UNPACK \
	SDOTE(0, 20, 16, i) \
	SDOTE(1, 21, 16, i) \
	SDOTE(2, 24, 17, i) \
	SDOTE(3, 25, 17, i)

#define LINE2(UNPACK, i) \
	LINE1(UNPACK, i) \
	SDOTE(4, 20, 18, i) \
	SDOTE(5, 21, 18, i) \
	SDOTE(6, 24, 19, i) \
	SDOTE(7, 25, 19, i)

// HALF1 and HALF2 multiply 16 elements of two runs.
#define HALF1(UNPACK) \
	PREFETCH \
	LOAD(R4, F16, F17) \
	LINE1(UNPACK, 0) \
	LINE1(UNPACK, 1) \
	LINE1(UNPACK, 2) \
	LINE1(UNPACK, 3)

#define HALF2(UNPACK) \
	LOAD(R4, F16, F17) \
	LOAD(R12, F18, F19) \
	LINE2(UNPACK, 0) \
	LINE2(UNPACK, 1) \
	LINE2(UNPACK, 2) \
	LINE2(UNPACK, 3)

// func q4_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_KSDOTx1(SB), NOSPLIT, $128-80
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
	HALF1(NIBBLES)
	HALF1(NIBBLES)
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

// func q4_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_KSDOTx2(SB), NOSPLIT, $128-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+16(FP), R2
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R12
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	ADD  R4, R12
	ADD  R3<<2, R5, R13
	ADD  R3<<6, R6, R14
	LSL  $2, R9
	MOVD $0x0F, R21
	VDUP R21, V30.B16
	CLEAR(V12, V13, V14, V15)
block:
	MOVD $decoded-128(SP), R10
	INNER
	CLEAR(V8, V9, V10, V11)
	CLEAR(V26, V27, V28, V29)
	MOVD $4, R7
pair:
	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	HALF2(NIBBLES)
	HALF2(NIBBLES)
	ADD  $32, R4
	ADD  $32, R12
	FACTORS(0)
	SCALED(0, 1, 2, 3, 8, 9)
	SCALED(4, 5, 6, 7, 10, 11)
	FACTORS(64)
	MINIMUMS(R6, 26, 27)
	MINIMUMS(R14, 28, 29)
	ADD  $16, R10
	SUBS $1, R7
	BNE  pair
	FMOVS.P 4(R5), F24
	FMOVS.P 4(R13), F25
	SCALES(0)
	ACCUMULATE(VFMLA, 24, 8, 9, V8, V9, V12, V13)
	ACCUMULATE(VFMLA, 25, 10, 11, V10, V11, V14, V15)
	SCALES(32)
	ACCUMULATE(VFMLS, 24, 26, 27, V26, V27, V12, V13)
	ACCUMULATE(VFMLS, 25, 28, 29, V28, V29, V14, V15)
	ADD  $64, R1
	SUBS $1, R3
	BNE  block
	VST1 [V12.S4, V13.S4], (R8)
	ADD  R9, R8
	VST1 [V14.S4, V15.S4], (R8)
	RET

// func q5_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q5_KSDOTx1(SB), NOSPLIT, $128-80
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
	HALF1(FIVEBITS)
	HALF1(FIVEBITS)
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

// func q5_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q5_KSDOTx2(SB), NOSPLIT, $128-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+16(FP), R2
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R12
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	ADD  R4, R12
	ADD  R3<<2, R5, R13
	ADD  R3<<6, R6, R14
	LSL  $2, R9
	CLEAR(V12, V13, V14, V15)
block:
	MOVD $decoded-128(SP), R10
	MOVD $0x0F, R21
	VDUP R21, V30.B16
	INNER
	MOVD $0x1F, R21
	VDUP R21, V30.B16
	ADD  $2048, R0, R15
	MOVD $0, R16
	CLEAR(V8, V9, V10, V11)
	CLEAR(V26, V27, V28, V29)
	MOVD $4, R7
pair:
	MOVD R15, R11
	VDUP R16, V31.B16
	SUB  $2, R16
	CLEAR(V0, V1, V2, V3)
	CLEAR(V4, V5, V6, V7)
	HALF2(FIVEBITS)
	HALF2(FIVEBITS)
	ADD  $32, R4
	ADD  $32, R12
	FACTORS(0)
	SCALED(0, 1, 2, 3, 8, 9)
	SCALED(4, 5, 6, 7, 10, 11)
	FACTORS(64)
	MINIMUMS(R6, 26, 27)
	MINIMUMS(R14, 28, 29)
	ADD  $16, R10
	SUBS $1, R7
	BNE  pair
	FMOVS.P 4(R5), F24
	FMOVS.P 4(R13), F25
	SCALES(0)
	ACCUMULATE(VFMLA, 24, 8, 9, V8, V9, V12, V13)
	ACCUMULATE(VFMLA, 25, 10, 11, V10, V11, V14, V15)
	SCALES(32)
	ACCUMULATE(VFMLS, 24, 26, 27, V26, V27, V12, V13)
	ACCUMULATE(VFMLS, 25, 28, 29, V28, V29, V14, V15)
	ADD  $512, R0
	ADD  $64, R1
	SUBS $1, R3
	BNE  block
	VST1 [V12.S4, V13.S4], (R8)
	ADD  R9, R8
	VST1 [V14.S4, V15.S4], (R8)
	RET
