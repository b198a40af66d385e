//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The products of eight of a panel's rows in Q4_K and Q5_K with some rows of activations, see blockTile. A block has eight
// runs of 32 elements; two neighbouring ones are in the lower and the upper four bits of the same bytes, and are worked on
// together.
// Registers of all kernels:
//
//	R0 w, R1 scales, R2 inner scales, R3 blocks, R4 q, R5 d, R6 sums, R8 out
//	R12, R13, R14 q, d and sums of the second row of activations, R9 stride in bytes
//	R7 pairs of runs, R10 the runs' scales, and their minimums 64 bytes behind, in memory; R21, R22 scratch
//	R15 fifth bits of Q5_K, R11 those of a line, R16 how far they are shifted
//	V0-V3, V4-V7 sums of two runs for a row of activations: of the lower one for eight rows, of the upper one
//	V8, V9, V10, V11 sums of a block, as integers
//	V12, V13, V14, V15 sums of all blocks
//	V16, V17, V18, V19 activations: of a lower and an upper run for each row
//	V20-V25 weights, and scratch
//	V26, V27, V28, V29 sums of a block's minimums
//	V30 0x0F in all bytes; 0x1F for the lines of Q5_K
//	V31 R16 in all bytes, negative: a shift to the right

// PREFETCH asks for four lines of weights ahead of their use by products with a single row of activations, which wait for
// memory.
#define PREFETCH \
	PRFM 2048(R0), PLDL1KEEP \
	PRFM 2112(R0), PLDL1KEEP \
	PRFM 2176(R0), PLDL1KEEP \
	PRFM 2240(R0), PLDL1KEEP

// DECODE writes scale and minimum g of eight rows, and g+4: a, b and c are bytes g, g+4 and g+8 of their inner scales.
#define DECODE(g, a, b, c, fa, fb, fc) \
	VUSHR $6, a.B8, V28.B8 \
	VAND  V30.B8, c.B8, V29.B8 \
	VSLI  $4, V28.B8, V29.B8 \
	FMOVD F29, (32+8*g)(R10) \
	VUSHR $6, b.B8, V28.B8 \
	VUSHR $4, c.B8, V29.B8 \
	VSLI  $4, V28.B8, V29.B8 \
	FMOVD F29, (96+8*g)(R10) \
	VSHL  $2, a.B8, a.B8 \
	VUSHR $2, a.B8, a.B8 \
	FMOVD fa, (8*g)(R10) \
	VSHL  $2, b.B8, b.B8 \
	VUSHR $2, b.B8, b.B8 \
	FMOVD fb, (64+8*g)(R10)

// INNER decodes a block's inner scales, in which a row has twelve bytes, by fours.
#define INNER \
	VLD4 (R2), [V16.B8, V17.B8, V18.B8, V19.B8] \
	ADD  $64, R2 \
	VLD4 (R2), [V20.B8, V21.B8, V22.B8, V23.B8] \
	ADD  $64, R2 \
	VLD4 (R2), [V24.B8, V25.B8, V26.B8, V27.B8] \
	ADD  $64, R2 \
	DECODE(0, V16, V20, V24, F16, F20, F24) \
	DECODE(1, V17, V21, V25, F17, F21, F25) \
	DECODE(2, V18, V22, V26, F18, F22, F26) \
	DECODE(3, V19, V23, V27, F19, F23, F27)

// NIBBLES loads a line's half, eight rows of four bytes: those of the lower run to V20 and V21, of the upper one to V24 and V25.
#define NIBBLES \
	VLD1  (R0), [V24.B16, V25.B16] \
	ADD   $64, R0 \
	VAND  V30.B16, V24.B16, V20.B16 \
	VAND  V30.B16, V25.B16, V21.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16

// FIVEBITS does so for Q5_K, whose fifth bits are at R11: a byte has one for each run. Shifted by V31, the lower run's is the
// lowest. V30 is 0x1F.
#define FIVEBITS \
	VLD1  (R0), [V24.B16, V25.B16] \
	ADD   $64, R0 \
	VLD1  (R11), [V22.B16, V23.B16] \
	ADD   $64, R11 \
	USHL16B(22, 22, 31) \
	USHL16B(23, 23, 31) \
	VMOV  V24.B16, V20.B16 \
	VMOV  V25.B16, V21.B16 \
	VSLI  $4, V22.B16, V20.B16 \
	VSLI  $4, V23.B16, V21.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16 \
	VUSHR $1, V22.B16, V22.B16 \
	VUSHR $1, V23.B16, V23.B16 \
	VSLI  $4, V22.B16, V24.B16 \
	VSLI  $4, V23.B16, V25.B16 \
	VAND  V30.B16, V20.B16, V20.B16 \
	VAND  V30.B16, V21.B16, V21.B16 \
	VAND  V30.B16, V24.B16, V24.B16 \
	VAND  V30.B16, V25.B16, V25.B16

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

// LOAD loads 16 activations of two runs.
#define LOAD(q, a0, a1) \
	FMOVQ   32(q), a1 \
	FMOVQ.P 16(q), a0

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

#define CLEAR(v0, v1, v2, v3) \
	VEOR v0.B16, v0.B16, v0.B16 \
	VEOR v1.B16, v1.B16, v1.B16 \
	VEOR v2.B16, v2.B16, v2.B16 \
	VEOR v3.B16, v3.B16, v3.B16

// FACTORS loads the scales of two runs, or their minimums, as integers: V20 and V21 of the lower one, V22 and V23 of the upper
// one.
#define FACTORS(at) \
	FMOVD  at(R10), F20 \
	FMOVD  (at+8)(R10), F22 \
	VUXTL  V20.B8, V20.H8 \
	VUXTL  V22.B8, V22.H8 \
	VUXTL2 V20.H8, V21.S4 \
	VUXTL  V20.H4, V20.S4 \
	VUXTL2 V22.H8, V23.S4 \
	VUXTL  V22.H4, V22.S4

// SCALED adds the sums in n0 to n3, times the scales, to the block's.
#define SCALED(n0, n1, n2, n3, b0, b1) \
	MLA4S(b0, n0, 20) \
	MLA4S(b1, n1, 21) \
	MLA4S(b0, n2, 22) \
	MLA4S(b1, n3, 23)

// MINIMUMS adds the sums of the activations of two runs, times the minimums, to the block's.
#define MINIMUMS(sums, b0, b1) \
	MOVW.P 4(sums), R21 \
	MOVW.P 4(sums), R22 \
	ADD    R22, R21 \
	VDUP   R21, V24.S4 \
	MOVW.P 4(sums), R21 \
	MOVW.P 4(sums), R22 \
	ADD    R22, R21 \
	VDUP   R21, V25.S4 \
	MLA4S(b0, 24, 20) \
	MLA4S(b1, 24, 21) \
	MLA4S(b0, 25, 22) \
	MLA4S(b1, 25, 23)

// SCALES loads eight binary16 at an offset to V20 and V21.
#define SCALES(at) \
	FMOVQ at(R1), F20 \
	FCVTL8H(21, 20) \
	FCVTL4S(20, 20)

// ACCUMULATE adds a block's sums, n0 and n1, times scale·d, fused, to those of all blocks; the operation is VFMLA, or VFMLS
// for minimums. The element d is that of V24 or V25.
#define ACCUMULATE(operation, d, n0, n1, v0, v1, acc0, acc1) \
	FMUL4SE(22, 20, d, 0) \
	FMUL4SE(23, 21, d, 0) \
	SCVTF4S(n0, n0) \
	SCVTF4S(n1, n1) \
	operation v0.S4, V22.S4, acc0.S4 \
	operation v1.S4, V23.S4, acc1.S4

// LINENEON multiplies a line's half, with elements i of V16 and V17, without SDOT: products are added up in 16 bits, in four
// lanes for each row of weights. V0 to V3 are of the lower run, V4 to V7 of the upper one; 31·127·8 fits.
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
