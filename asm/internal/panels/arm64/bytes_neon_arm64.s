//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "blocks32_arm64.h"
#include "powers_arm64.h"

// The products of eight rows of bytes, which unpack_arm64.s wrote, with a row of activations, for processors without SDOT. Products
// are added up in 16 bits, two at a time, and then in 32, in two lanes for each row of weights. Registers of all kernels:
//
//	R0 w, R1 scales, R3 blocks, R4 q, R5 d, R6 sums, R8 out; see also blocks32_arm64.h
//	R7 step, R10 inner scales, R11 inner minimums, R12 groups
//	V0-V3 sums in 16 bits, V12-V15 in 32
//	V8, V9 sums of all blocks, V10, V11 of a block's minimums, V18, V19 of a block
//	V16, V17 activations, V28 and V29 four of them in all lanes
//	V24-V27 weights

// MULTIPLY begins sums in 16 bits with the products of weights w0 and w1 and activations a; MULTIPLYADD adds them.
#define MULTIPLY(w0, w1, a) \
	SMULL8H(0, w0, a) \
	SMULL2_8H(1, w0, a) \
	SMULL8H(2, w1, a) \
	SMULL2_8H(3, w1, a)

#define MULTIPLYADD(w0, w1, a) \
	SMLAL8H(0, w0, a) \
	SMLAL2_8H(1, w0, a) \
	SMLAL8H(2, w1, a) \
	SMLAL2_8H(3, w1, a)

// LINES multiplies two lines' halves with elements i and j of a0. Neither weights nor activations are -128.
#define LINES(a0, i, j) \
	VLD1 (R0), [V24.B16, V25.B16] \
	ADD  $64, R0 \
	VLD1 (R0), [V26.B16, V27.B16] \
	ADD  $64, R0 \
	VDUP a0.S[i], V28.S4 \
	VDUP a0.S[j], V29.S4 \
	MULTIPLY(24, 25, 28) \
	MULTIPLYADD(26, 27, 29) \
	SADALP4S(12, 0) \
	SADALP4S(13, 1) \
	SADALP4S(14, 2) \
	SADALP4S(15, 3)

#define CLEAR \
	MOVI0(12) \
	MOVI0(13) \
	MOVI0(14) \
	MOVI0(15)

// JOIN adds up the two lanes of each row.
#define JOIN(s0, s1) \
	VADDP V13.S4, V12.S4, s0.S4 \
	VADDP V15.S4, V14.S4, s1.S4

// func bytes32NEONx1(w, scales *byte, step, blocks int, q *int8, d *float32, sums *int32, out *float32)
TEXT ·bytes32NEONx1(SB), NOSPLIT, $0-64
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD step+16(FP), R7
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+56(FP), R8
	CONSTANTS
	MOVD $0, R2
	VLD1 (R8), [V8.S4, V9.S4]
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	CLEAR
	LINES(V16, 0, 1)
	LINES(V16, 2, 3)
	LINES(V17, 0, 1)
	LINES(V17, 2, 3)
	JOIN(V0, V2)
	VADD   V31.S4, V0.S4, V0.S4
	VADD   V31.S4, V2.S4, V2.S4
	CMP    $16, R7
	BEQ    powers
	SCALES
scaled:
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	CMP    $32, R7
	BLE    next
	SCALES
	MINIMUM(R5, R6, 8, 9)
next:
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	RET
powers:
	POWERS
	B    scaled

// func bytes256NEONx1(w, scales *byte, step int, inner, minimums *byte, blocks int, q *int8, d *float32, sums *int32, out *float32)
TEXT ·bytes256NEONx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+24(FP), R10
	MOVD minimums+32(FP), R11
	MOVD blocks+40(FP), R3
	MOVD q+48(FP), R4
	MOVD d+56(FP), R5
	MOVD sums+64(FP), R6
	MOVD out+72(FP), R8
	MOVD $0, R2
	VLD1 (R8), [V8.S4, V9.S4]
block:
	MOVI0(18)
	MOVI0(19)
	MOVI0(10)
	MOVI0(11)
	MOVD $16, R12
group:
	FMOVQ.P 16(R4), F16
	CLEAR
	LINES(V16, 0, 1)
	LINES(V16, 2, 3)
	JOIN(V0, V2)
	FMOVD   (R10), F24
	ADD     $16, R10
	SXTL8H(24, 24)
	SXTL2_4S(25, 24)
	SXTL4S(24, 24)
	MLA4S(18, 0, 24)
	MLA4S(19, 2, 25)
	MOVW.P  4(R6), R21
	CBZ     R11, without
	FMOVD   (R11), F24
	ADD     $16, R11
	SXTL8H(24, 24)
	SXTL2_4S(25, 24)
	SXTL4S(24, 24)
	VDUP    R21, V26.S4
	MLA4S(10, 24, 26)
	MLA4S(11, 25, 26)
without:
	SUBS $1, R12
	BNE  group
	SCALES
	FMOVS.P 4(R5), F24
	FMUL4SE(25, 28, 24, 0)
	FMUL4SE(26, 29, 24, 0)
	SCVTF4S(18, 18)
	SCVTF4S(19, 19)
	FMLA4S(8, 25, 18)
	FMLA4S(9, 26, 19)
	CBZ     R11, next
	SCALES
	FMUL4SE(25, 28, 24, 0)
	FMUL4SE(26, 29, 24, 0)
	SCVTF4S(10, 10)
	SCVTF4S(11, 11)
	FMLS4S(8, 25, 10)
	FMLS4S(9, 26, 11)
next:
	SUBS $1, R3
	BNE  block
	VST1 [V8.S4, V9.S4], (R8)
	RET
