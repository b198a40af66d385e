// What the products of eight of a panel's rows in Q6_K with some rows of activations share. Of a block, a part is 128
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

// BEGIN loads a row's activations of two groups and begins their sums at -32 times those of the activations: quants stand as 0 to
// 63 for -32 to 31.
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
