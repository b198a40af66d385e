//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "blocks32_arm64.h"
#include "sdot_arm64.h"

// The products of eight of a panel's rows with some rows of activations, see panels.BlockKernel. A lane of a register has a row of
// weights; an activation is multiplied as an element of a register. Registers of all kernels:
//
//	R0 w, R3 blocks, R4 q, R5 d, R6 sums, R7 k, R8 out, R9 stride in bytes; see also blocks32_arm64.h
//	R10-R12, R13-R15, R16-R19 q, d and sums of the second to fourth row of activations
//	R21 scratch
//	V0-V7 sums of a block, as integers that begin at the bits of V31
//	V8-V15 sums of all blocks
//	V16-V23 activations
//	V24-V27 weights

// ROWS sets the pointers of four rows of activations, and the stride to bytes.
#define ROWS \
	ADD R7, R4, R10 \
	ADD R7, R10, R11 \
	ADD R7, R11, R12 \
	ADD R3<<2, R5, R13 \
	ADD R3<<2, R13, R14 \
	ADD R3<<2, R14, R15 \
	ADD R3<<2, R6, R16 \
	ADD R3<<2, R16, R17 \
	ADD R3<<2, R17, R19 \
	LSL $2, R9

// ACTIVATIONS loads a block of four rows.
#define ACTIVATIONS \
	VLD1.P 32(R4), [V16.B16, V17.B16] \
	VLD1.P 32(R10), [V18.B16, V19.B16] \
	VLD1.P 32(R11), [V20.B16, V21.B16] \
	VLD1.P 32(R12), [V22.B16, V23.B16]

// STORE4 stores the sums of four rows.
#define STORE4 \
	VST1 [V8.S4, V9.S4], (R8) \
	ADD  R9, R8 \
	VST1 [V10.S4, V11.S4], (R8) \
	ADD  R9, R8 \
	VST1 [V12.S4, V13.S4], (R8) \
	ADD  R9, R8 \
	VST1 [V14.S4, V15.S4], (R8)

// func q4_0SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_0SDOTx4(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	CONSTANTS
	ROWS
	MOVD $0, R2
	CLEAR4
block:
	BIAS4
	ACTIVATIONS
	NIBBLES4
	SCALES
	ACCUMULATE4
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	STORE4
	RET

// func q4_1SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_1SDOTx4(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	CONSTANTS
	ROWS
	MOVD $0, R2
	CLEAR4
block:
	BEGIN4
	ACTIVATIONS
	NIBBLES4
	SCALES
	ACCUMULATE4
	SCALES
	MINIMUM(R5, R6, 8, 9)
	MINIMUM(R13, R16, 10, 11)
	MINIMUM(R14, R17, 12, 13)
	MINIMUM(R15, R19, 14, 15)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	STORE4
	RET

// func q8_0SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q8_0SDOTx4(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	CONSTANTS
	ROWS
	MOVD $0, R2
	CLEAR4
block:
	BEGIN4
	ACTIVATIONS
	BYTES4
	SCALES
	ACCUMULATE4
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	STORE4
	RET

// NIBBLES1 multiplies a line's half with elements i of V16 and V17, in two chains of sums for each register of rows.
#define NIBBLES1(i) \
	PRFM  AHEAD(R0), PLDL1KEEP \
	VLD1  (R0), [V24.B16, V25.B16] \
	ADD   $64, R0 \
	VAND  V30.B16, V24.B16, V26.B16 \
	VAND  V30.B16, V25.B16, V27.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16 \
	SDOTE(0, 26, 16, i) \
	SDOTE(1, 27, 16, i) \
	SDOTE(2, 24, 17, i) \
	SDOTE(3, 25, 17, i)

// func q4_0SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_0SDOTx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
block:
	BIAS(R6, V0, V1)
	VEOR   V2.B16, V2.B16, V2.B16
	VEOR   V3.B16, V3.B16, V3.B16
	VLD1.P 32(R4), [V16.B16, V17.B16]
	NIBBLES1(0)
	NIBBLES1(1)
	NIBBLES1(2)
	NIBBLES1(3)
	VADD   V2.S4, V0.S4, V0.S4
	VADD   V3.S4, V1.S4, V1.S4
	SCALES
	ACCUMULATE(R5, 0, 1, V0, V1, V8, V9)
	ADD    $1, R2
	CMP    R3, R2
	BLT    block
	VST1   [V8.S4, V9.S4], (R8)
	RET

// func q4_1SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_1SDOTx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
block:
	VMOV   V31.B16, V0.B16
	VMOV   V31.B16, V1.B16
	VEOR   V2.B16, V2.B16, V2.B16
	VEOR   V3.B16, V3.B16, V3.B16
	VLD1.P 32(R4), [V16.B16, V17.B16]
	NIBBLES1(0)
	NIBBLES1(1)
	NIBBLES1(2)
	NIBBLES1(3)
	VADD   V2.S4, V0.S4, V0.S4
	VADD   V3.S4, V1.S4, V1.S4
	SCALES
	ACCUMULATE(R5, 0, 1, V0, V1, V8, V9)
	SCALES
	MINIMUM(R5, R6, 8, 9)
	ADD    $1, R2
	CMP    R3, R2
	BLT    block
	VST1   [V8.S4, V9.S4], (R8)
	RET

// BYTES1 multiplies a line's half with element i of register a, the sums being in registers i0 and i1.
#define BYTES1(a, i, i0, i1) \
	PRFM  AHEAD(R0), PLDL1KEEP \
	VLD1 (R0), [V24.B16, V25.B16] \
	ADD  $64, R0 \
	SDOTE(i0, 24, a, i) \
	SDOTE(i1, 25, a, i)

// func q8_0SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q8_0SDOTx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD out+64(FP), R8
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
block:
	VMOV   V31.B16, V0.B16
	VMOV   V31.B16, V1.B16
	VEOR   V2.B16, V2.B16, V2.B16
	VEOR   V3.B16, V3.B16, V3.B16
	VLD1.P 32(R4), [V16.B16, V17.B16]
	BYTES1(16, 0, 0, 1)
	BYTES1(16, 1, 2, 3)
	BYTES1(16, 2, 0, 1)
	BYTES1(16, 3, 2, 3)
	BYTES1(17, 0, 0, 1)
	BYTES1(17, 1, 2, 3)
	BYTES1(17, 2, 0, 1)
	BYTES1(17, 3, 2, 3)
	VADD   V2.S4, V0.S4, V0.S4
	VADD   V3.S4, V1.S4, V1.S4
	SCALES
	ACCUMULATE(R5, 0, 1, V0, V1, V8, V9)
	ADD    $1, R2
	CMP    R3, R2
	BLT    block
	VST1   [V8.S4, V9.S4], (R8)
	RET
