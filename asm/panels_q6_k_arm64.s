//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The products of eight of a panel's rows in Q6_K with some rows of activations, see blockTile. Of a block, a part is 128
// elements, and a run 32 of them. Runs 0 and 2 of a part, and 1 and 3, are in the lower and the upper four bits of the same
// bytes; the four pairs of bits of a byte of the other bits belong to the four runs. So two groups of 16 elements, 64
// elements apart, are worked on together. Registers of all kernels:
//
//	R0 low bits, R10 high bits, R1 scales, R2 inner scales, R3 blocks, R4 q, R5 d, R6 sums, R8 out
//	R12, R13, R14 q, d and sums of the second row of activations, R9 stride in bytes
//	R7 parts, R21 scratch
//	V0-V3, V4-V7 sums of two groups for a row of activations: of the lower one for eight rows, of the upper one
//	V8, V9, V10, V11 sums of a block, as integers
//	V12, V13, V14, V15 sums of all blocks
//	V16, V17, V18, V19 activations: a lower and an upper group for each row
//	V20-V27 weights, and scratch
//	V31 0x3F in all bytes

// PREFETCH asks for four lines of weights ahead of their use by products with a single row of activations, which wait for
// memory.
#define PREFETCH \
	PRFM 2048(R0), PLDL1KEEP \
	PRFM 2112(R0), PLDL1KEEP \
	PRFM 2176(R0), PLDL1KEEP \
	PRFM 2240(R0), PLDL1KEEP

// HIGH0 and HIGH1 load the high bits so that those of the lower run come lowest: for runs 0 and 2, and for 1 and 3.
#define HIGH0 \
	VLD1 (R10), [V26.B16, V27.B16] \
	ADD  $64, R10

#define HIGH1 \
	HIGH0 \
	VUSHR $2, V26.B16, V26.B16 \
	VUSHR $2, V27.B16, V27.B16

// UNPACK leaves a line's eight rows of four bytes in V20 and V21 for the lower run and in V26 and V27 for the upper one.
#define UNPACK(HIGH) \
	VLD1 (R0), [V24.B16, V25.B16] \
	ADD  $64, R0 \
	HIGH \
	VMOV V24.B16, V20.B16 \
	VMOV V25.B16, V21.B16 \
	VSLI $4, V26.B16, V20.B16 \
	VSLI $4, V27.B16, V21.B16 \
	VSRI $4, V24.B16, V26.B16 \
	VSRI $4, V25.B16, V27.B16 \
	VAND V31.B16, V20.B16, V20.B16 \
	VAND V31.B16, V21.B16, V21.B16 \
	VAND V31.B16, V26.B16, V26.B16 \
	VAND V31.B16, V27.B16, V27.B16

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

// BEGIN loads a row's activations of two groups and begins their sums at -32 times those of the activations: what the
// unsigned quants are too large by.
#define BEGIN(q, sums, a0, a1, v0, v1, v2, v3) \
	FMOVQ  64(q), a1 \
	FMOVQ.P 16(q), a0 \
	MOVW   16(sums), R21 \
	NEG    R21<<5, R21 \
	VDUP   R21, v2.S4 \
	VDUP   R21, v3.S4 \
	MOVW.P 4(sums), R21 \
	NEG    R21<<5, R21 \
	VDUP   R21, v0.S4 \
	VDUP   R21, v1.S4

// INNER loads the inner scales of two groups, as integers: V22 and V23 of the lower one, V24 and V25 of the upper one.
#define INNER \
	FMOVD   64(R2), F24 \
	FMOVD.P 16(R2), F22 \
	SXTL8H(22, 22) \
	SXTL8H(24, 24) \
	SXTL2_4S(23, 22) \
	SXTL4S(22, 22) \
	SXTL2_4S(25, 24) \
	SXTL4S(24, 24)

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

// SCALES loads the scales of eight rows to V20 and V21.
#define SCALES \
	VLD1 (R1), [V20.H8] \
	ADD  $32, R1 \
	FCVTL8H(21, 20) \
	FCVTL4S(20, 20)

// ACCUMULATE adds the sums of a block, whose numbers are i0 and i1, to those of all blocks: scale·d times the sum, fused.
#define ACCUMULATE(d, i0, i1, v0, v1, acc0, acc1) \
	FMOVS.P 4(d), F24 \
	FMUL4SE(22, 20, 24, 0) \
	FMUL4SE(23, 21, 24, 0) \
	SCVTF4S(i0, i0) \
	SCVTF4S(i1, i1) \
	VFMLA v0.S4, V22.S4, acc0.S4 \
	VFMLA v1.S4, V23.S4, acc1.S4

// GROUPNEON is GROUP1 without SDOT: products are added up in 16 bits, in four lanes for each row of weights, in V4 to V7 for
// the lower group and in V10, V11, V14 and V15 for the upper one; 63·127·4 fits.
#define LINENEON(HIGH, i) \
	UNPACK(HIGH) \
	VDUP V16.S[i], V18.S4 \
	VDUP V17.S[i], V19.S4 \
	SMLAL8H(4, 20, 18) \
	SMLAL2_8H(5, 20, 18) \
	SMLAL8H(6, 21, 18) \
	SMLAL2_8H(7, 21, 18) \
	SMLAL8H(10, 26, 19) \
	SMLAL2_8H(11, 26, 19) \
	SMLAL8H(14, 27, 19) \
	SMLAL2_8H(15, 27, 19)

#define CLEAR(v0, v1, v2, v3) \
	VEOR v0.B16, v0.B16, v0.B16 \
	VEOR v1.B16, v1.B16, v1.B16 \
	VEOR v2.B16, v2.B16, v2.B16 \
	VEOR v3.B16, v3.B16, v3.B16

// JOIN adds the four lanes of each row, in registers n0 to n3, to the sums of eight rows.
#define JOIN(n0, n1, n2, n3, v0, v1, v2, v3, sum0, sum1) \
	SADDLP4S(n0, n0) \
	SADDLP4S(n1, n1) \
	SADDLP4S(n2, n2) \
	SADDLP4S(n3, n3) \
	VADDP v1.S4, v0.S4, v0.S4 \
	VADDP v3.S4, v2.S4, v2.S4 \
	VADD  v0.S4, sum0.S4, sum0.S4 \
	VADD  v2.S4, sum1.S4, sum1.S4

#define GROUPNEON(HIGH) \
	PREFETCH \
	BEGIN(R4, R6, F16, F17, V0, V1, V2, V3) \
	CLEAR(V4, V5, V6, V7) \
	CLEAR(V10, V11, V14, V15) \
	LINENEON(HIGH, 0) \
	LINENEON(HIGH, 1) \
	LINENEON(HIGH, 2) \
	LINENEON(HIGH, 3) \
	JOIN(4, 5, 6, 7, V4, V5, V6, V7, V0, V1) \
	JOIN(10, 11, 14, 15, V10, V11, V14, V15, V2, V3) \
	INNER \
	MLA4S(8, 0, 22) \
	MLA4S(9, 1, 23) \
	MLA4S(8, 2, 24) \
	MLA4S(9, 3, 25)

// func q6_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q6_KNEONx1(SB), NOSPLIT, $0-80
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
	GROUPNEON(HIGH0)
	GROUPNEON(HIGH0)
	SUB  $512, R10
	GROUPNEON(HIGH1)
	GROUPNEON(HIGH1)
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
