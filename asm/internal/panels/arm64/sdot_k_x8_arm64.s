//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The products of four of a panel's rows in Q4_K, Q5_K and Q6_K with eight rows of activations by SDOT. Sixteen elements are
// unpacked at a time, for all rows of activations. Registers of all kernels:
//
//	R0 w, R1 scales, R2 inner scales, R3 blocks, R8 out, R9 stride in bytes
//	R4-R7, R10-R13 activations; R14, R15 d and sums of the first row of them, R16, R17 their distance in bytes
//	R19 the weights' other bits, R20 the frame, R21, R22 scratch, R23 parts of 128 elements, R24 zeros
//	V0-V7 sums of some elements, a row of activations each; a lane has a row of weights
//	V8-V15 sums of a block, as integers
//	V16-V19 weights, V20-V23 their other bits
//	V24-V27 activations, and scratch
//	V28 inner scales, V29 inner scales of four runs
//	V30 0x0F, or another mask, in all bytes
//	V31 0xFF in all lanes of 32 bits, or 32 in all bytes

// Where the frame has the sums of all blocks, the inner scales and the inner minimums of four rows (four bytes a row), how far the
// other bits are shifted, and zeros.
#define TOTALS 0
#define INNERSCALES 128
#define INNERMINIMUMS 160
#define SHIFT 192
#define ZEROS 208

// ARGUMENTS loads the arguments, clears the sums, and makes a mask.
#define ARGUMENTS(mask) \
	MOVD w+0(FP), R0 \
	MOVD scales+8(FP), R1 \
	MOVD inner+16(FP), R2 \
	MOVD blocks+24(FP), R3 \
	MOVD q+32(FP), R4 \
	MOVD d+40(FP), R14 \
	MOVD sums+48(FP), R15 \
	MOVD k+56(FP), R21 \
	MOVD out+64(FP), R8 \
	MOVD stride+72(FP), R9 \
	LSL  $2, R9 \
	LSL  $2, R3, R16 \
	LSL  $6, R3, R17 \
	ADD  R21, R4, R5 \
	ADD  R21, R5, R6 \
	ADD  R21, R6, R7 \
	ADD  R21, R7, R10 \
	ADD  R21, R10, R11 \
	ADD  R21, R11, R12 \
	ADD  R21, R12, R13 \
	MOVD $frame-272(SP), R20 \
	MOVI0(0) \
	MOVI0(1) \
	FSTPQ (F0, F1), (TOTALS)(R20) \
	FSTPQ (F0, F1), (TOTALS+32)(R20) \
	FSTPQ (F0, F1), (TOTALS+64)(R20) \
	FSTPQ (F0, F1), (TOTALS+96)(R20) \
	FSTPQ (F0, F1), ZEROS(R20) \
	FSTPQ (F0, F1), (ZEROS+32)(R20) \
	ADD  $ZEROS, R20, R24 \
	MOVD $mask, R21 \
	VDUP R21, V30.B16

// CLEAR clears the sums of some elements, by loading zeros: loads leave the vector pipelines to the products. CLEARBLOCK clears
// the sums of a block.
#define CLEAR \
	VLD1 (R24), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VLD1 (R24), [V4.B16, V5.B16, V6.B16, V7.B16]

#define CLEARBLOCK \
	MOVI0(8) \
	MOVI0(9) \
	MOVI0(10) \
	MOVI0(11) \
	MOVI0(12) \
	MOVI0(13) \
	MOVI0(14) \
	MOVI0(15)

// TWO multiplies sixteen elements with two rows of activations.
#define TWO(at, q0, q1, f0, f1, n0, n1, sum) \
	FMOVQ at(q0), f0 \
	FMOVQ at(q1), f1 \
	SDOTE(sum, 16, n0, 0) \
	SDOTE(sum+1, 16, n1, 0) \
	SDOTE(sum, 17, n0, 1) \
	SDOTE(sum+1, 17, n1, 1) \
	SDOTE(sum, 18, n0, 2) \
	SDOTE(sum+1, 18, n1, 2) \
	SDOTE(sum, 19, n0, 3) \
	SDOTE(sum+1, 19, n1, 3)

// SIXTEEN multiplies sixteen elements, the activations' at an offset, with eight rows of activations.
#define SIXTEENTO(at, sum) \
	TWO(at, R4, R5, F24, F25, 24, 25, sum) \
	TWO(at, R6, R7, F26, F27, 26, 27, sum+2) \
	TWO(at, R10, R11, F24, F25, 24, 25, sum+4) \
	TWO(at, R12, R13, F26, F27, 26, 27, sum+6)

#define SIXTEEN(at) SIXTEENTO(at, 0)

// SCALED adds the sums, times the inner scales in V28, to the block's.
#define SCALED \
	MLA4S(8, 0, 28) \
	MLA4S(9, 1, 28) \
	MLA4S(10, 2, 28) \
	MLA4S(11, 3, 28) \
	MLA4S(12, 4, 28) \
	MLA4S(13, 5, 28) \
	MLA4S(14, 6, 28) \
	MLA4S(15, 7, 28)

// ADVANCE goes on to the activations of the next 128 elements.
#define ADVANCE \
	ADD $128, R4 \
	ADD $128, R5 \
	ADD $128, R6 \
	ADD $128, R7 \
	ADD $128, R10 \
	ADD $128, R11 \
	ADD $128, R12 \
	ADD $128, R13

// LINES loads sixteen elements of four rows, quarters of four lines.
#define LINES(at) \
	FMOVQ (at)(R0), F16 \
	FMOVQ (at+64)(R0), F17 \
	FMOVQ (at+128)(R0), F18 \
	FMOVQ (at+192)(R0), F19

#define OTHERBITS(at) \
	FMOVQ (at)(R19), F20 \
	FMOVQ (at+64)(R19), F21 \
	FMOVQ (at+128)(R19), F22 \
	FMOVQ (at+192)(R19), F23

// MASKED applies the mask to the weights, and UPPER takes their upper nibbles.
#define MASKED \
	VAND V30.B16, V16.B16, V16.B16 \
	VAND V30.B16, V17.B16, V17.B16 \
	VAND V30.B16, V18.B16, V18.B16 \
	VAND V30.B16, V19.B16, V19.B16

#define UPPER \
	VUSHR $4, V16.B16, V16.B16 \
	VUSHR $4, V17.B16, V17.B16 \
	VUSHR $4, V18.B16, V18.B16 \
	VUSHR $4, V19.B16, V19.B16

// SHIFTED moves the other bits down, and INSERTED puts them above the nibbles.
#define SHIFTED(n) \
	VUSHR $n, V20.B16, V20.B16 \
	VUSHR $n, V21.B16, V21.B16 \
	VUSHR $n, V22.B16, V22.B16 \
	VUSHR $n, V23.B16, V23.B16

#define INSERTED \
	VSLI $4, V20.B16, V16.B16 \
	VSLI $4, V21.B16, V17.B16 \
	VSLI $4, V22.B16, V18.B16 \
	VSLI $4, V23.B16, V19.B16

// INNER decodes the inner scales and minimums of four rows, twelve bytes a row, which lie by fours.
#define INNER \
	FMOVQ (R2), F24 \
	FMOVQ 64(R2), F25 \
	FMOVQ 128(R2), F26 \
	ADD   $192, R2 \
	VMOVI $0x0F, V22.B16 \
	VMOVI $0x3F, V23.B16 \
	VUSHR $6, V24.B16, V27.B16 \
	VUSHR $6, V25.B16, V28.B16 \
	VAND  V22.B16, V26.B16, V29.B16 \
	VUSHR $4, V26.B16, V26.B16 \
	VSLI  $4, V27.B16, V29.B16 \
	VSLI  $4, V28.B16, V26.B16 \
	VAND  V23.B16, V24.B16, V28.B16 \
	VAND  V23.B16, V25.B16, V25.B16 \
	FSTPQ (F28, F29), INNERSCALES(R20) \
	FSTPQ (F25, F26), INNERMINIMUMS(R20)

// SCALEOF0 to SCALEOF3 bring a run's inner scales, of the four in V29, to V28.
#define SCALEOF0 \
	VAND V31.B16, V29.B16, V28.B16

#define SCALEOF1 \
	VUSHR $8, V29.S4, V28.S4 \
	VAND  V31.B16, V28.B16, V28.B16

#define SCALEOF2 \
	VUSHR $16, V29.S4, V28.S4 \
	VAND  V31.B16, V28.B16, V28.B16

#define SCALEOF3 \
	VUSHR $24, V29.S4, V28.S4

// MINIMUMSOF brings the inner minimums of four runs, four bytes a row in v3, to v0 to v3, 16 bits a row.
#define MINIMUMSOF(v0, v1, v2, v3) \
	VAND  V31.B16, v3.B16, v0.B16 \
	VUSHR $8, v3.S4, v1.S4 \
	VUSHR $16, v3.S4, v2.S4 \
	VAND  V31.B16, v1.B16, v1.B16 \
	VAND  V31.B16, v2.B16, v2.B16 \
	VUSHR $24, v3.S4, v3.S4 \
	VUZP1 v0.H8, v0.H8, v0.H8 \
	VUZP1 v1.H8, v1.H8, v1.H8 \
	VUZP1 v2.H8, v2.H8, v2.H8 \
	VUZP1 v3.H8, v3.H8, v3.H8

// TOTAL adds the block of row n of activations, of eight, to the sums of all blocks. The scales are in V28, the minimums in V29 and
// the inner minimums in V0 to V7; R21 and R22 point to the row's d and sums; v, register i, has the sum of the block, and in the end
// the activations' sums of 32, in 16 bits.
#define TOTAL(n, i, v) \
	FMOVQ (TOTALS+16*n)(R20), F27 \
	FMOVS (R21), F26 \
	ADD   R16, R21 \
	VLD1  (R22), [V16.S4, V17.S4, V18.S4, V19.S4] \
	ADD   R17, R22 \
	SCVTF4S(i, i) \
	FMUL4SE(25, 28, 26, 0) \
	FMUL4SE(24, 29, 26, 0) \
	FMLA4S(27, 25, i) \
	VADDP V17.S4, V16.S4, V16.S4 \
	VADDP V19.S4, V18.S4, V18.S4 \
	VUZP1 V18.H8, V16.H8, v.H8 \
	SMULL4SE(20, 0, i, 0) \
	SMLAL4SE(20, 1, i, 1) \
	SMLAL4SE(20, 2, i, 2) \
	SMLAL4SE(20, 3, i, 3) \
	SMLAL4SE(20, 4, i, 4) \
	SMLAL4SE(20, 5, i, 5) \
	SMLAL4SE(20, 6, i, 6) \
	SMLAL4SE(20, 7, i, 7) \
	SCVTF4S(20, 20) \
	FMLS4S(27, 24, 20) \
	FMOVQ F27, (TOTALS+16*n)(R20)

// FINISH adds a block of Q4_K or Q5_K to the sums of all blocks.
#define FINISH \
	FLDPQ INNERMINIMUMS(R20), (F3, F7) \
	MINIMUMSOF(V0, V1, V2, V3) \
	MINIMUMSOF(V4, V5, V6, V7) \
	FMOVD (R1), F28 \
	FMOVD 32(R1), F29 \
	ADD   $64, R1 \
	FCVTL4S(28, 28) \
	FCVTL4S(29, 29) \
	MOVD  R14, R21 \
	MOVD  R15, R22 \
	ADD   $4, R14 \
	ADD   $64, R15 \
	TOTAL(0, 8, V8) \
	TOTAL(1, 9, V9) \
	TOTAL(2, 10, V10) \
	TOTAL(3, 11, V11) \
	TOTAL(4, 12, V12) \
	TOTAL(5, 13, V13) \
	TOTAL(6, 14, V14) \
	TOTAL(7, 15, V15)

// STORE stores the sums of all blocks to a row of out.
#define STORE(n) \
	FMOVQ (TOTALS+16*n)(R20), F0 \
	FMOVQ F0, (R8) \
	ADD   R9, R8

#define STOREOUT \
	STORE(0) \
	STORE(1) \
	STORE(2) \
	STORE(3) \
	STORE(4) \
	STORE(5) \
	STORE(6) \
	STORE(7)

// LOWER4 and UPPER4 load sixteen elements of Q4_K.
#define LOWER4(at) \
	LINES(at) \
	MASKED

#define UPPER4(at) \
	LINES(at) \
	UPPER

// RUN multiplies a run of 32 elements.
#define RUN(UNPACK, at, act, SCALEOF) \
	CLEAR \
	UNPACK(at) \
	SIXTEEN(act) \
	UNPACK(at+256) \
	SIXTEEN(act+16) \
	SCALEOF \
	SCALED

// func q4_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_KSDOTx8(SB), NOSPLIT, $272-80
	ARGUMENTS(0x0F)
	MOVD $0xFF, R21
	VDUP R21, V31.S4
block:
	INNER
	CLEARBLOCK
	MOVD  $0, R23
part:
	ADD   R23, R20, R21
	FMOVQ INNERSCALES(R21), F29
	RUN(LOWER4, 0, 0, SCALEOF0)
	RUN(UPPER4, 0, 32, SCALEOF1)
	RUN(LOWER4, 512, 64, SCALEOF2)
	RUN(UPPER4, 512, 96, SCALEOF3)
	ADVANCE
	ADD   $1024, R0
	ADD   $16, R23
	CMP   $32, R23
	BLT   part
	FINISH
	SUBS  $1, R3
	BNE   block
	STOREOUT
	RET

// LOWER5A to UPPER5B load sixteen elements of Q5_K, of the four runs of a part. The fifth bits' bytes, at R19, have one bit for
// each run of the block; those of the second part are moved down when they are loaded.
#define FIFTH(at) \
	LINES(at) \
	OTHERBITS((at)&511) \
	FMOVQ SHIFT(R20), F24 \
	USHL16B(20, 20, 24) \
	USHL16B(21, 21, 24) \
	USHL16B(22, 22, 24) \
	USHL16B(23, 23, 24)

#define LOWER5A(at) \
	FIFTH(at) \
	INSERTED \
	MASKED

#define UPPER5A(at) \
	FIFTH(at) \
	SHIFTED(1) \
	UPPER \
	INSERTED \
	MASKED

#define LOWER5B(at) \
	FIFTH(at) \
	SHIFTED(2) \
	INSERTED \
	MASKED

#define UPPER5B(at) \
	FIFTH(at) \
	SHIFTED(3) \
	UPPER \
	INSERTED \
	MASKED

// func q5_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q5_KSDOTx8(SB), NOSPLIT, $272-80
	ARGUMENTS(0x1F)
	MOVD $0xFF, R21
	VDUP R21, V31.S4
block:
	INNER
	CLEARBLOCK
	ADD   $2048, R0, R19
	MOVI0(24)
	FMOVQ F24, SHIFT(R20)
	MOVD  $0, R23
part:
	ADD   R23, R20, R21
	FMOVQ INNERSCALES(R21), F29
	RUN(LOWER5A, 0, 0, SCALEOF0)
	RUN(UPPER5A, 0, 32, SCALEOF1)
	RUN(LOWER5B, 512, 64, SCALEOF2)
	RUN(UPPER5B, 512, 96, SCALEOF3)
	ADVANCE
	VMOVI $0xFC, V24.B16
	FMOVQ F24, SHIFT(R20)
	ADD   $1024, R0
	ADD   $16, R23
	CMP   $32, R23
	BLT   part
	ADD   $512, R0
	FINISH
	SUBS  $1, R3
	BNE   block
	STOREOUT
	RET

// SIGNED loads the inner scales of a group of Q6_K to V28.
#define SIGNED(at) \
	FMOVS (at)(R2), F28 \
	SXTL8H(28, 28) \
	SXTL4S(28, 28)

// CENTRED makes -32 to 31 of quants of Q6_K, which stand as 0 to 63.
#define CENTRED \
	VSUB V31.B16, V16.B16, V16.B16 \
	VSUB V31.B16, V17.B16, V17.B16 \
	VSUB V31.B16, V18.B16, V18.B16 \
	VSUB V31.B16, V19.B16, V19.B16

// UPPERINSERTED puts the upper nibbles below the other bits.
#define UPPERINSERTED \
	VSRI $4, V16.B16, V20.B16 \
	VSRI $4, V17.B16, V21.B16 \
	VSRI $4, V18.B16, V22.B16 \
	VSRI $4, V19.B16, V23.B16 \
	VAND V30.B16, V20.B16, V16.B16 \
	VAND V30.B16, V21.B16, V17.B16 \
	VAND V30.B16, V22.B16, V18.B16 \
	VAND V30.B16, V23.B16, V19.B16

// RUN0 to RUN3 make the weights of the four runs of a part of Q6_K of nibbles and other bits.
#define RUN0 \
	INSERTED \
	MASKED

#define RUN1 \
	SHIFTED(2) \
	INSERTED \
	MASKED

#define RUN2 \
	UPPERINSERTED

#define RUN3 \
	SHIFTED(2) \
	UPPERINSERTED

// GROUP multiplies a group of sixteen elements, number n of a part.
#define GROUP(RUN, n, w, other) \
	LINES(w) \
	OTHERBITS(other) \
	CLEAR \
	RUN \
	CENTRED \
	SIXTEEN(16*n) \
	SIGNED(16*n) \
	SCALED

// TOTAL6 is TOTAL for Q6_K, which has no minimums.
#define TOTAL6(n, i) \
	FMOVQ (TOTALS+16*n)(R20), F27 \
	FMOVS (R21), F26 \
	ADD   R16, R21 \
	SCVTF4S(i, i) \
	FMUL4SE(25, 28, 26, 0) \
	FMLA4S(27, 25, i) \
	FMOVQ F27, (TOTALS+16*n)(R20)

// func q6_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q6_KSDOTx8(SB), NOSPLIT, $272-80
	ARGUMENTS(0x3F)
	VMOVI $32, V31.B16
block:
	ADD  $2048, R0, R19
	CLEARBLOCK
	MOVD $2, R23
part:
	GROUP(RUN0, 0, 0, 0)
	GROUP(RUN0, 1, 256, 256)
	GROUP(RUN1, 2, 512, 0)
	GROUP(RUN1, 3, 768, 256)
	GROUP(RUN2, 4, 0, 0)
	GROUP(RUN2, 5, 256, 256)
	GROUP(RUN3, 6, 512, 0)
	GROUP(RUN3, 7, 768, 256)
	ADVANCE
	ADD  $1024, R0
	ADD  $512, R19
	ADD  $128, R2
	SUBS $1, R23
	BNE  part
	ADD  $1024, R0
	FMOVD (R1), F28
	ADD   $32, R1
	FCVTL4S(28, 28)
	MOVD  R14, R21
	ADD   $4, R14
	TOTAL6(0, 8)
	TOTAL6(1, 9)
	TOTAL6(2, 10)
	TOTAL6(3, 11)
	TOTAL6(4, 12)
	TOTAL6(5, 13)
	TOTAL6(6, 14)
	TOTAL6(7, 15)
	SUBS  $1, R3
	BNE   block
	STOREOUT
	RET

// The products of bytes, which unpack_arm64.s wrote, in blocks of 256 whose groups of sixteen have scales of their own. Beside what the other
// kernels have:
//
//	R19 inner minimums, or nil; they are as the inner scales are, sixteen bytes a group
//	R25 the bytes of a block's scales

// BYTES multiplies a group of sixteen elements, number n of a part.
#define BYTES(n) \
	LINES(256*n) \
	CLEAR \
	SIXTEEN(16*n) \
	SIGNED(16*n) \
	SCALED

// WEIGHED multiplies the bytes of a group that have been weighed: their sums are the block's.
#define WEIGHED(n) \
	LINES(256*n) \
	SIXTEENTO(16*n, 8)

// LOADTOTAL begins the sums of all blocks of a row of activations with what out has.
#define LOADTOTAL(n) \
	FMOVQ (R21), F0 \
	ADD   R9, R21 \
	FMOVQ F0, (TOTALS+16*n)(R20)

// MINIMUM16 loads the minimums of a group, in 16 bits, to a register.
#define MINIMUM16(at, i, f) \
	FMOVS (at)(R19), f \
	SXTL8H(i, i)

// MINIMUMS1 adds the minimums of four groups, in V16 to V19, times the sums of a row of activations, whose first is at R22, to a register.
#define MINIMUMS1(at, i) \
	FMOVQ (at)(R22), F4 \
	ADD   R17, R22 \
	VUZP1 V4.H8, V4.H8, V4.H8 \
	SMLAL4SE(i, 16, 4, 0) \
	SMLAL4SE(i, 17, 4, 1) \
	SMLAL4SE(i, 18, 4, 2) \
	SMLAL4SE(i, 19, 4, 3)

// MINIMUMS4 does so for four rows of activations, from that at R23 on.
#define MINIMUMS4(c) \
	MINIMUM16(64*c, 16, F16) \
	MINIMUM16(64*c+16, 17, F17) \
	MINIMUM16(64*c+32, 18, F18) \
	MINIMUM16(64*c+48, 19, F19) \
	MOVD  R23, R22 \
	MINIMUMS1(16*c, 0) \
	MINIMUMS1(16*c, 1) \
	MINIMUMS1(16*c, 2) \
	MINIMUMS1(16*c, 3)

// LESS takes the minimums of a block, in register i, off the sums of all blocks.
#define LESS(n, i) \
	FMOVQ (TOTALS+16*(n))(R20), F27 \
	FMOVS (R21), F26 \
	ADD   R16, R21 \
	SCVTF4S(i, i) \
	FMUL4SE(24, 29, 26, 0) \
	FMLS4S(27, 24, i) \
	FMOVQ F27, (TOTALS+16*(n))(R20)

// LESS4 does so for rows n to n+3 of activations.
#define LESS4(n) \
	MOVI0(0) \
	MOVI0(1) \
	MOVI0(2) \
	MOVI0(3) \
	MINIMUMS4(0) \
	MINIMUMS4(1) \
	MINIMUMS4(2) \
	MINIMUMS4(3) \
	LESS(n, 0) \
	LESS(n+1, 1) \
	LESS(n+2, 2) \
	LESS(n+3, 3)

// func bytes256SDOTx8(w, scales *byte, step int, inner, minimums *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·bytes256SDOTx8(SB), NOSPLIT, $272-96
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD step+16(FP), R25
	MOVD inner+24(FP), R2
	MOVD minimums+32(FP), R19
	MOVD blocks+40(FP), R3
	MOVD q+48(FP), R4
	MOVD d+56(FP), R14
	MOVD sums+64(FP), R15
	MOVD k+72(FP), R21
	MOVD out+80(FP), R8
	MOVD stride+88(FP), R9
	LSL  $2, R9
	LSR  $6, R21, R16 // of a row's k/256 blocks, numbers of four bytes
	LSR  $2, R21, R17 // and of its k/16 groups
	ADD  R21, R4, R5
	ADD  R21, R5, R6
	ADD  R21, R6, R7
	ADD  R21, R7, R10
	ADD  R21, R10, R11
	ADD  R21, R11, R12
	ADD  R21, R12, R13
	MOVD $frame-272(SP), R20
	ADD  $ZEROS, R20, R24
	MOVI0(0)
	MOVI0(1)
	FSTPQ (F0, F1), ZEROS(R20)
	FSTPQ (F0, F1), (ZEROS+32)(R20)
	MOVD R8, R21
	LOADTOTAL(0)
	LOADTOTAL(1)
	LOADTOTAL(2)
	LOADTOTAL(3)
	LOADTOTAL(4)
	LOADTOTAL(5)
	LOADTOTAL(6)
	LOADTOTAL(7)
block:
	CLEARBLOCK
	MOVD $2, R23
	CBNZ R2, part
weighed:
	WEIGHED(0)
	WEIGHED(1)
	WEIGHED(2)
	WEIGHED(3)
	WEIGHED(4)
	WEIGHED(5)
	WEIGHED(6)
	WEIGHED(7)
	ADVANCE
	ADD   $2048, R0
	SUBS  $1, R23
	BNE   weighed
	NEG4S(8, 8)
	NEG4S(9, 9)
	NEG4S(10, 10)
	NEG4S(11, 11)
	NEG4S(12, 12)
	NEG4S(13, 13)
	NEG4S(14, 14)
	NEG4S(15, 15)
	B     totals
part:
	BYTES(0)
	BYTES(1)
	BYTES(2)
	BYTES(3)
	BYTES(4)
	BYTES(5)
	BYTES(6)
	BYTES(7)
	ADVANCE
	ADD   $2048, R0
	ADD   $128, R2
	SUBS  $1, R23
	BNE   part
totals:
	FMOVD (R1), F28
	FCVTL4S(28, 28)
	MOVD  R14, R21
	TOTAL6(0, 8)
	TOTAL6(1, 9)
	TOTAL6(2, 10)
	TOTAL6(3, 11)
	TOTAL6(4, 12)
	TOTAL6(5, 13)
	TOTAL6(6, 14)
	TOTAL6(7, 15)
	CBZ   R19, next
	FMOVD 32(R1), F29
	FCVTL4S(29, 29)
	MOVD  R14, R21
	MOVD  R15, R23
	LESS4(0)
	ADD   R17<<2, R15, R23
	LESS4(4)
	ADD   $256, R19
	ADD   $64, R15
next:
	ADD  R25, R1
	ADD  $4, R14
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET
