// What the products of eight of a panel's rows in Q4_K and Q5_K with some rows of activations share. A block has eight
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

// FIVEBITS loads a line's half of Q5_K, as NIBBLES does for Q4_K. A byte of the fifth bits, at R11, has one for each run of the
// block; shifted by V31, the lower run's is the lowest. V30 is 0x1F.
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

// LOAD loads 16 activations of two runs.
#define LOAD(q, a0, a1) \
	FMOVQ   32(q), a1 \
	FMOVQ.P 16(q), a0

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
