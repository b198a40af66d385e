//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "blocks32_arm64.h"
#include "sdot_arm64.h"

// The products of rows of integers with panels, see integerProduct. A tile is eight of a panel's rows, each a lane, with four rows of
// integers, whose words are multiplied as elements of registers. Where fewer than four rows are left, the last one is taken several
// times, and stored several times. Registers:
//
//	R0 w, R1 scales, R2 rounds of panels' halves, R3 blocks, R7 the length of a row of integers, R8 out, R9 stride in bytes
//	R4, R10-R12 q; R5, R13-R15 d; R6, R16, R17, R19 sums, each of four rows, the last one less than a register's four
//	R20 the bits of V31, R21 scratch, R22 the rows that are left, less one; R23 where a panel begins, R24 blocks, R25 halves left, R26 scratch
//	V0-V7 sums of a block, as integers that begin at the bits of V31
//	V8-V15 sums of all blocks
//	V16-V23 integers of rows
//	V24-V29 weights, and scales
//	V30 0x0F in all bytes
//	V31 1.5·2²³: an integer sum that begins at its bits becomes a float when it is subtracted

// ARGUMENTS loads the arguments and constants.
#define ARGUMENTS \
	MOVD blocks+24(FP), R3 \
	MOVD q+32(FP), R4 \
	MOVD d+40(FP), R5 \
	MOVD sums+48(FP), R6 \
	MOVD rows+56(FP), R22 \
	MOVD out+64(FP), R8 \
	MOVD stride+72(FP), R9 \
	LSL  $5, R3, R7 \
	LSL  $2, R9 \
	SUB  $1, R22 \
	CONSTANTS

// ROW points to the next row where there are more than n, and else again to the same.
#define ROW(n, q0, d0, s0, q1, d1, s1) \
	CMP  $n, R22 \
	CSEL GE, R7, ZR, R21 \
	CSEL GE, R3, ZR, R26 \
	ADD  R21, q0, q1 \
	ADD  R26<<2, d0, d1 \
	ADD  R26<<2, s0, s1

// TILE begins with all panels and four rows.
#define TILE \
	ROW(1, R4, R5, R6, R10, R13, R16) \
	ROW(2, R10, R13, R16, R11, R14, R17) \
	ROW(3, R11, R14, R17, R12, R15, R19) \
	MOVD w+0(FP), R23 \
	MOVD pairs+16(FP), R25 \
	LSL  $2, R25

// HALF begins the products with eight of a panel's rows.
#define HALF \
	CLEAR4 \
	AND  $1, R25, R21 \
	ADD  R21<<5, R23, R0 \
	MOVD $0, R2

// SCALESAT points to the scales, behind blocks of 1<<shift bytes.
#define SCALESAT(shift) \
	ADD R3<<shift, R23, R1 \
	ADD R21<<4, R1

// INTEGERS loads a block of four rows.
#define INTEGERS \
	ADD  R2<<5, R4, R21 \
	VLD1 (R21), [V16.B16, V17.B16] \
	ADD  R2<<5, R10, R21 \
	VLD1 (R21), [V18.B16, V19.B16] \
	ADD  R2<<5, R11, R21 \
	VLD1 (R21), [V20.B16, V21.B16] \
	ADD  R2<<5, R12, R21 \
	VLD1 (R21), [V22.B16, V23.B16]

// UNSCALED adds the sums of a block to those of all blocks, times d.
#define UNSCALED \
	UNSCALEDROW(R5, 0, 1, 8, 9) \
	UNSCALEDROW(R13, 2, 3, 10, 11) \
	UNSCALEDROW(R14, 4, 5, 12, 13) \
	UNSCALEDROW(R15, 6, 7, 14, 15)

#define UNSCALEDROW(d, i0, i1, acc0, acc1) \
	FMOVS (d)(R2<<2), F24 \
	FSUB4S(i0, i0, 31) \
	FSUB4S(i1, i1, 31) \
	FMLA4SE(acc0, i0, 24, 0) \
	FMLA4SE(acc1, i1, 24, 0)

// NEXT goes on to the next block, and leaves the comparison with the last one.
#define NEXT \
	ADD $1, R2 \
	CMP R3, R2

// STORE stores the sums of four rows, and goes on to the next half.
#define STORE \
	MOVD R8, R21 \
	VST1 [V8.S4, V9.S4], (R21) \
	STOREROW(1, V10, V11) \
	STOREROW(2, V12, V13) \
	STOREROW(3, V14, V15) \
	ADD  $32, R8 \
	MOVD panelBytes+8(FP), R21 \
	TST  $1, R25 \
	CSEL NE, R21, ZR, R21 \
	ADD  R21, R23 \
	SUBS $1, R25

#define STOREROW(n, v0, v1) \
	CMP  $n, R22 \
	CSEL GE, R9, ZR, R26 \
	ADD  R26, R21 \
	VST1 [v0.S4, v1.S4], (R21)

// NEXTTILE goes on to four more rows, and leaves whether there are any.
#define NEXTTILE \
	MOVD pairs+16(FP), R21 \
	SUB  R21<<7, R8 \
	ADD  R9<<2, R8 \
	ADD  R7<<2, R4 \
	ADD  R3<<4, R5 \
	ADD  R3<<4, R6 \
	SUBS $4, R22

// func scoreQ8_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)
TEXT ·scoreQ8_0SDOT(SB), NOSPLIT, $0-80
	ARGUMENTS
tile:
	TILE
half:
	HALF
	SCALESAT(9)
block:
	BEGIN4
	INTEGERS
	BYTES4
	SCALES
	ACCUMULATE4
	NEXT
	BLT block
	STORE
	BNE half
	NEXTTILE
	BGE tile
	RET

// func scoreQ4_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)
TEXT ·scoreQ4_0SDOT(SB), NOSPLIT, $0-80
	ARGUMENTS
tile:
	TILE
half:
	HALF
	SCALESAT(8)
block:
	BIAS4
	INTEGERS
	NIBBLES4
	SCALES
	ACCUMULATE4
	NEXT
	BLT block
	STORE
	BNE half
	NEXTTILE
	BGE tile
	RET

// func addQ8_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)
TEXT ·addQ8_0SDOT(SB), NOSPLIT, $0-80
	ARGUMENTS
tile:
	TILE
half:
	HALF
block:
	BEGIN4
	INTEGERS
	BYTES4
	UNSCALED
	NEXT
	BLT block
	STORE
	BNE half
	NEXTTILE
	BGE tile
	RET

// func addQ4_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)
TEXT ·addQ4_0SDOT(SB), NOSPLIT, $0-80
	ARGUMENTS
tile:
	TILE
half:
	HALF
block:
	BIAS4
	INTEGERS
	NIBBLES4
	UNSCALED
	NEXT
	BLT block
	STORE
	BNE half
	NEXTTILE
	BGE tile
	RET
