//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "q6_k_arm64.h"

// The products in Q6_K with one row of activations, or two, by SDOT: panels.BlockKernel. The registers are those of
// q6_k_arm64.h.

// LINE1 multiplies a line with elements i of V16 and V17, and LINE2 of V18 and V19 too.
#define LINE1(HIGH, i) \
	UNPACK(HIGH) \
	SDOTE(0, 20, 16, i) \
	SDOTE(1, 21, 16, i) \
	SDOTE(2, 26, 17, i) \
	SDOTE(3, 27, 17, i)

#define LINE2(HIGH, i) \
	LINE1(HIGH, i) \
	SDOTE(4, 20, 18, i) \
	SDOTE(5, 21, 18, i) \
	SDOTE(6, 26, 19, i) \
	SDOTE(7, 27, 19, i)

// GROUP1 and GROUP2 work on two groups, for one row of activations and for two.
#define GROUP1(HIGH) \
	PREFETCH \
	BEGIN(R4, R6, F16, F17, V0, V1, V2, V3) \
	LINE1(HIGH, 0) \
	LINE1(HIGH, 1) \
	LINE1(HIGH, 2) \
	LINE1(HIGH, 3) \
	INNER \
	MLA4S(8, 0, 22) \
	MLA4S(9, 1, 23) \
	MLA4S(8, 2, 24) \
	MLA4S(9, 3, 25)

#define GROUP2(HIGH) \
	BEGIN(R4, R6, F16, F17, V0, V1, V2, V3) \
	BEGIN(R12, R14, F18, F19, V4, V5, V6, V7) \
	LINE2(HIGH, 0) \
	LINE2(HIGH, 1) \
	LINE2(HIGH, 2) \
	LINE2(HIGH, 3) \
	INNER \
	MLA4S(8, 0, 22) \
	MLA4S(9, 1, 23) \
	MLA4S(8, 2, 24) \
	MLA4S(9, 3, 25) \
	MLA4S(10, 4, 22) \
	MLA4S(11, 5, 23) \
	MLA4S(10, 6, 24) \
	MLA4S(11, 7, 25)

// func q6_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q6_KSDOTx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+16(FP), R2
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	MOVD $0x3F, R21
	VDUP R21, V31.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
block:
	ADD  $2048, R0, R10
	MOVD $2, R7
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
part:
	GROUP1(HIGH0)
	GROUP1(HIGH0)
	SUB  $512, R10
	GROUP1(HIGH1)
	GROUP1(HIGH1)
	ADD  $64, R4
	ADD  $16, R6
	ADD  $64, R2
	SUBS $1, R7
	BNE  part
	ADD  $1024, R0
	SCALES
	ACCUMULATE(R5, 8, 9, V8, V9, V12, V13)
	SUBS $1, R3
	BNE  block
	VST1 [V12.S4, V13.S4], (R8)
	RET

// func q6_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q6_KSDOTx2(SB), NOSPLIT, $0-80
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
	MOVD $0x3F, R21
	VDUP R21, V31.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	VEOR V15.B16, V15.B16, V15.B16
block:
	ADD  $2048, R0, R10
	MOVD $2, R7
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
part:
	GROUP2(HIGH0)
	GROUP2(HIGH0)
	SUB  $512, R10
	GROUP2(HIGH1)
	GROUP2(HIGH1)
	ADD  $64, R4
	ADD  $64, R12
	ADD  $16, R6
	ADD  $16, R14
	ADD  $64, R2
	SUBS $1, R7
	BNE  part
	ADD  $1024, R0
	SCALES
	ACCUMULATE(R5, 8, 9, V8, V9, V12, V13)
	ACCUMULATE(R13, 10, 11, V10, V11, V14, V15)
	SUBS $1, R3
	BNE  block
	VST1 [V12.S4, V13.S4], (R8)
	ADD  R9, R8
	VST1 [V14.S4, V15.S4], (R8)
	RET
