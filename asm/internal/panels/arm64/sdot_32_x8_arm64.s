//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The products of four of a panel's rows with eight rows of activations, in blocks of 32, by SDOT, see arrangedPanels. A lane
// has a row of weights; an activation is multiplied as an element of a register. Registers of all kernels:
//
//	R0 w, R1 scales, R3 blocks, R4 acts, R8 out, R9 stride in bytes
//	R10-R16 the other rows of out
//	V0-V7 sums of a block, as integers that begin at the bits of V31
//	V8-V15 sums of all blocks
//	V16-V23 weights, then scratch
//	V24-V27 activations
//	V28 scales, V29 scratch
//	V30 0x0F in all bytes
//	V31 1.5·2²³, see blocks32_arm64.h

// Where a block of activations has its parts, in the order of their use: see arrange32.
#define BEGIN 0
#define ACTS 128
#define SCALES 384
#define SUMS 416
#define ACTBYTES 448

// ARGUMENTS loads the arguments and the constants.
#define ARGUMENTS \
	MOVD w+0(FP), R0 \
	MOVD scales+8(FP), R1 \
	MOVD blocks+16(FP), R3 \
	MOVD acts+24(FP), R4 \
	MOVD out+32(FP), R8 \
	MOVD stride+40(FP), R9 \
	LSL  $2, R9 \
	ADD  R9, R8, R10 \
	ADD  R9, R10, R11 \
	ADD  R9, R11, R12 \
	ADD  R9, R12, R13 \
	ADD  R9, R13, R14 \
	ADD  R9, R14, R15 \
	ADD  R9, R15, R16 \
	MOVD $0x0F, R9 \
	VDUP R9, V30.B16 \
	MOVD $0x4B400000, R9 \
	VDUP R9, V31.S4

#define LOADOUT \
	FMOVQ (R8), F8 \
	FMOVQ (R10), F9 \
	FMOVQ (R11), F10 \
	FMOVQ (R12), F11 \
	FMOVQ (R13), F12 \
	FMOVQ (R14), F13 \
	FMOVQ (R15), F14 \
	FMOVQ (R16), F15

#define STOREOUT \
	FMOVQ F8, (R8) \
	FMOVQ F9, (R10) \
	FMOVQ F10, (R11) \
	FMOVQ F11, (R12) \
	FMOVQ F12, (R13) \
	FMOVQ F13, (R14) \
	FMOVQ F14, (R15) \
	FMOVQ F15, (R16)

// BEGINSUMS begins the sums of a block.
#define BEGINSUMS \
	VLD1 (R4), [V0.S4, V1.S4, V2.S4, V3.S4] \
	ADD  $64, R4 \
	VLD1 (R4), [V4.S4, V5.S4, V6.S4, V7.S4] \
	ADD  $64, R4

// LINES loads quarters of four lines: sixteen bytes of four rows.
#define LINES(at, f0, f1, f2, f3) \
	FMOVQ (at)(R0), f0 \
	FMOVQ (at+64)(R0), f1 \
	FMOVQ (at+128)(R0), f2 \
	FMOVQ (at+192)(R0), f3

// NIBBLES unpacks sixteen bytes: the block's first half to V16 to V19, the second to V20 to V23.
#define NIBBLES \
	LINES(0, F20, F21, F22, F23) \
	VAND  V30.B16, V20.B16, V16.B16 \
	VAND  V30.B16, V21.B16, V17.B16 \
	VAND  V30.B16, V22.B16, V18.B16 \
	VAND  V30.B16, V23.B16, V19.B16 \
	VUSHR $4, V20.B16, V20.B16 \
	VUSHR $4, V21.B16, V21.B16 \
	VUSHR $4, V22.B16, V22.B16 \
	VUSHR $4, V23.B16, V23.B16

// BYTES loads the 32 bytes of a block.
#define BYTES \
	LINES(0, F16, F17, F18, F19) \
	LINES(256, F20, F21, F22, F23)

// TWO multiplies the weights with two rows of activations.
#define TWO(sum) \
	VLD1 (R4), [V24.B16, V25.B16, V26.B16, V27.B16] \
	ADD  $64, R4 \
	SDOTE(sum, 16, 24, 0) \
	SDOTE(sum+1, 16, 26, 0) \
	SDOTE(sum, 17, 24, 1) \
	SDOTE(sum+1, 17, 26, 1) \
	SDOTE(sum, 18, 24, 2) \
	SDOTE(sum+1, 18, 26, 2) \
	SDOTE(sum, 19, 24, 3) \
	SDOTE(sum+1, 19, 26, 3) \
	SDOTE(sum, 20, 25, 0) \
	SDOTE(sum+1, 20, 27, 0) \
	SDOTE(sum, 21, 25, 1) \
	SDOTE(sum+1, 21, 27, 1) \
	SDOTE(sum, 22, 25, 2) \
	SDOTE(sum+1, 22, 27, 2) \
	SDOTE(sum, 23, 25, 3) \
	SDOTE(sum+1, 23, 27, 3)

#define EIGHT \
	TWO(0) \
	TWO(2) \
	TWO(4) \
	TWO(6)

// ACCUMULATE1 adds the sum of a block, i, to that of all blocks: scale·d times the sum, fused; d is element n of register x,
// and t is scratch.
#define ACCUMULATE1(i, x, n, t) \
	FMUL4SE(t, 28, x, n) \
	FSUB4S(i, i, 31) \
	FMLA4S(i+8, t, i)

// ACCUMULATED adds the sums of a block, whose scales are in V28.
#define ACCUMULATED \
	VLD1 (R4), [V24.S4, V25.S4] \
	ADD  $32, R4 \
	ACCUMULATE1(0, 24, 0, 16) \
	ACCUMULATE1(1, 24, 1, 17) \
	ACCUMULATE1(2, 24, 2, 18) \
	ACCUMULATE1(3, 24, 3, 19) \
	ACCUMULATE1(4, 25, 0, 20) \
	ACCUMULATE1(5, 25, 1, 21) \
	ACCUMULATE1(6, 25, 2, 22) \
	ACCUMULATE1(7, 25, 3, 23)

#define ACCUMULATE \
	FMOVD (R1), F28 \
	FCVTL4S(28, 28) \
	ACCUMULATED

// POWERS is ACCUMULATE for scales that are powers of two with exponents in bytes, see powers_arm64.h; V30 is 0x00400000 in all lanes and V29
// begins with 0.5.
#define POWERS \
	FMOVS (R1), F28 \
	VUXTL V28.B8, V28.H8 \
	VUXTL V28.H4, V28.S4 \
	VSHL  $23, V28.S4, V28.S4 \
	VUMAX V30.S4, V28.S4, V28.S4 \
	FMUL4SE(28, 28, 29, 0) \
	ACCUMULATED

// MINIMUM1 adds minimum·d times the activations' sum, element n of register y.
#define MINIMUM1(i, x, y, n, t) \
	FMUL4SE(t, 28, x, n) \
	FMLA4SE(i+8, t, y, n)

#define MINIMUMS \
	FMOVD 32(R1), F28 \
	VLD1  (R4), [V26.S4, V27.S4] \
	FCVTL4S(28, 28) \
	MINIMUM1(0, 24, 26, 0, 16) \
	MINIMUM1(1, 24, 26, 1, 17) \
	MINIMUM1(2, 24, 26, 2, 18) \
	MINIMUM1(3, 24, 26, 3, 19) \
	MINIMUM1(4, 25, 27, 0, 20) \
	MINIMUM1(5, 25, 27, 1, 21) \
	MINIMUM1(6, 25, 27, 2, 22) \
	MINIMUM1(7, 25, 27, 3, 23)

// func q4_0SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q4_0SDOTx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	NIBBLES
	BEGINSUMS
	EIGHT
	ACCUMULATE
	ADD  $256, R0
	ADD  $32, R1
	ADD  $(ACTBYTES-SUMS), R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func q4_1SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q4_1SDOTx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	NIBBLES
	BEGINSUMS
	EIGHT
	ACCUMULATE
	MINIMUMS
	ADD  $256, R0
	ADD  $64, R1
	ADD  $(ACTBYTES-SUMS), R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func q8_0SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q8_0SDOTx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	BYTES
	BEGINSUMS
	EIGHT
	ACCUMULATE
	ADD  $512, R0
	ADD  $32, R1
	ADD  $(ACTBYTES-SUMS), R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func bytes32MinimumsSDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·bytes32MinimumsSDOTx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	BYTES
	BEGINSUMS
	EIGHT
	ACCUMULATE
	MINIMUMS
	ADD  $512, R0
	ADD  $64, R1
	ADD  $(ACTBYTES-SUMS), R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func bytes32PowersSDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·bytes32PowersSDOTx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	MOVD  $0x00400000, R9
	VDUP  R9, V30.S4
	FMOVS $0.5, F29
	LOADOUT
block:
	BYTES
	BEGINSUMS
	EIGHT
	POWERS
	ADD  $512, R0
	ADD  $16, R1
	ADD  $(ACTBYTES-SUMS), R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func arrange32(dst *byte, t int, q *int8, d *float32, sums *int32, blocks, bias int)
TEXT ·arrange32(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD t+8(FP), R2
	MOVD q+16(FP), R1
	MOVD d+24(FP), R3
	MOVD sums+32(FP), R5
	MOVD blocks+40(FP), R7
	MOVD bias+48(FP), R8
	ADD  R2<<2, R0, R4
	ADD  R2<<4, R0, R6
	ADD  R2<<5, R0
	VDUP R8, V30.S4
	MOVD $0x4B400000, R9
	VDUP R9, V31.S4
block:
	VLD1.P  32(R1), [V0.B16, V1.B16]
	FMOVS.P 4(R3), F2
	FMOVS.P 4(R5), F3
	FSTPQ   (F0, F1), ACTS(R0)
	FMOVS   F2, SCALES(R4)
	SCVTF4S(4, 3)
	VDUP    V3.S[0], V3.S4
	VMOV    V31.B16, V5.B16
	MLA4S(5, 3, 30)
	FMOVS   F4, SUMS(R4)
	FMOVQ   F5, BEGIN(R6)
	ADD     $ACTBYTES, R0
	ADD     $ACTBYTES, R4
	ADD     $ACTBYTES, R6
	SUBS    $1, R7
	BNE     block
	RET
