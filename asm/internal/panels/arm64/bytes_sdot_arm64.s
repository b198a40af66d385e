//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "blocks32_arm64.h"
#include "powers_arm64.h"
#include "sdot_arm64.h"

// The products of eight rows of bytes, which unpack_arm64.s wrote, with rows of activations, by SDOT. Registers of the kernels for a row
// of activations:
//
//	R0 w, R1 scales, R3 blocks, R4 q, R5 d, R6 sums, R8 out; see also blocks32_arm64.h
//	R7 step, R10 inner scales, R11 inner minimums, R12 groups
//	V0-V3 sums of some elements, in two chains
//	V8, V9 sums of all blocks, V10, V11 of a block's minimums, V18, V19 of a block
//	V16, V17 activations
//	V24-V27 weights, and scratch

// LINE multiplies a line's half with element i of register a, the sums being in registers i0 and i1.
#define LINE(a, i, i0, i1) \
	VLD1 (R0), [V24.B16, V25.B16] \
	ADD  $64, R0 \
	SDOTE(i0, 24, a, i) \
	SDOTE(i1, 25, a, i)

// func bytes32SDOTx1(w, scales *byte, step, blocks int, q *int8, d *float32, sums *int32, out *float32)
TEXT ·bytes32SDOTx1(SB), NOSPLIT, $0-64
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
	VMOV   V31.B16, V0.B16
	VMOV   V31.B16, V1.B16
	MOVI0(2)
	MOVI0(3)
	VLD1.P 32(R4), [V16.B16, V17.B16]
	LINE(16, 0, 0, 1)
	LINE(16, 1, 2, 3)
	LINE(16, 2, 0, 1)
	LINE(16, 3, 2, 3)
	LINE(17, 0, 0, 1)
	LINE(17, 1, 2, 3)
	LINE(17, 2, 0, 1)
	LINE(17, 3, 2, 3)
	VADD   V2.S4, V0.S4, V0.S4
	VADD   V3.S4, V1.S4, V1.S4
	CMP    $16, R7
	BEQ    powers
	SCALES
scaled:
	ACCUMULATE(R5, 0, 1, V0, V1, V8, V9)
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

// func bytes32SDOTx4(w, scales *byte, step, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·bytes32SDOTx4(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	LSL  $2, R9
	CONSTANTS
	MOVD R8, R10
	VLD1 (R10), [V8.S4, V9.S4]
	ADD  R9, R10
	VLD1 (R10), [V10.S4, V11.S4]
	ADD  R9, R10
	VLD1 (R10), [V12.S4, V13.S4]
	ADD  R9, R10
	VLD1 (R10), [V14.S4, V15.S4]
	ADD  R7, R4, R10
	ADD  R7, R10, R11
	ADD  R7, R11, R12
	LSR  $3, R7 // of a row's k/32 blocks, numbers of four bytes
	ADD  R7, R5, R13
	ADD  R7, R13, R14
	ADD  R7, R14, R15
	ADD  R7, R6, R16
	ADD  R7, R16, R17
	ADD  R7, R17, R19
	MOVD step+16(FP), R7
	MOVD $0, R2
block:
	BEGIN4
	VLD1.P 32(R4), [V16.B16, V17.B16]
	VLD1.P 32(R10), [V18.B16, V19.B16]
	VLD1.P 32(R11), [V20.B16, V21.B16]
	VLD1.P 32(R12), [V22.B16, V23.B16]
	BYTES4
	CMP    $16, R7
	BEQ    powers
	SCALES
scaled:
	ACCUMULATE4
	CMP    $32, R7
	BLE    next
	SCALES
	MINIMUM(R5, R6, 8, 9)
	MINIMUM(R13, R16, 10, 11)
	MINIMUM(R14, R17, 12, 13)
	MINIMUM(R15, R19, 14, 15)
next:
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	ADD  R9, R8
	VST1 [V10.S4, V11.S4], (R8)
	ADD  R9, R8
	VST1 [V12.S4, V13.S4], (R8)
	ADD  R9, R8
	VST1 [V14.S4, V15.S4], (R8)
	RET
powers:
	POWERS
	B    scaled

// func bytes256SDOTx1(w, scales *byte, step int, inner, minimums *byte, blocks int, q *int8, d *float32, sums *int32, out *float32)
TEXT ·bytes256SDOTx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD inner+24(FP), R10
	MOVD minimums+32(FP), R11
	MOVD blocks+40(FP), R3
	MOVD q+48(FP), R4
	MOVD d+56(FP), R5
	MOVD sums+64(FP), R6
	MOVD out+72(FP), R8
	VLD1 (R8), [V8.S4, V9.S4]
block:
	MOVI0(18)
	MOVI0(19)
	MOVI0(10)
	MOVI0(11)
	MOVD $16, R12
group:
	FMOVQ.P 16(R4), F16
	MOVI0(0)
	MOVI0(1)
	MOVI0(2)
	MOVI0(3)
	LINE(16, 0, 0, 1)
	LINE(16, 1, 2, 3)
	LINE(16, 2, 0, 1)
	LINE(16, 3, 2, 3)
	VADD    V2.S4, V0.S4, V0.S4
	VADD    V3.S4, V1.S4, V1.S4
	FMOVD   (R10), F24
	ADD     $16, R10
	SXTL8H(24, 24)
	SXTL2_4S(25, 24)
	SXTL4S(24, 24)
	MLA4S(18, 0, 24)
	MLA4S(19, 1, 25)
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
