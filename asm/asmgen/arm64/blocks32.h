// What the products of eight of a panel's rows, in blocks of 32, share. A lane of a register has a row of weights.
//
//	R1 scales, R2 the block's number, R20 the bits of V31
//	R21, V24-V27 scratch
//	V28, V29 scales
//	V30 0x0F in all bytes
//	V31 1.5·2²³, in binary32, to convert integers to floats
//
// Neighbouring floats between 2²³ and 2²⁴ are 1 apart, so that the bits of 1.5·2²³, as an integer, plus a small integer n are the
// bits of the float 1.5·2²³ + n. An integer sum that begins at the bits of V31 becomes a float by subtracting V31 as a float.
//
// Quants of Q4_0 stand in the panel as 0 to 15 for -8 to 7: a product of them with activations is too large by 8 times the sum of
// the activations, which therefore is taken off the number that the sum begins at.

// AHEAD is how far products with a single row of activations, which wait for memory, ask for weights ahead of their use.
#define AHEAD 2048

// CONSTANTS loads R20, V30 and V31.
#define CONSTANTS \
	MOVD $0x0F, R20 \
	VDUP R20, V30.B16 \
	MOVD $0x4B400000, R20 \
	VDUP R20, V31.S4

// SCALES loads the scales of eight rows.
#define SCALES \
	VLD1 (R1), [V28.H8] \
	ADD  $32, R1 \
	FCVTL8H(29, 28) \
	FCVTL4S(28, 28)

// ACCUMULATE adds the sums of a block, whose numbers are i0 and i1, to those of all blocks: scale·d times the sum, fused.
#define ACCUMULATE(d, i0, i1, v0, v1, acc0, acc1) \
	FMOVS (d)(R2<<2), F24 \
	FMUL4SE(25, 28, 24, 0) \
	FMUL4SE(26, 29, 24, 0) \
	FSUB4S(i0, i0, 31) \
	FSUB4S(i1, i1, 31) \
	VFMLA v0.S4, V25.S4, acc0.S4 \
	VFMLA v1.S4, V26.S4, acc1.S4

// MINIMUM adds a block's minimums, in V28 and V29, to the sums of all blocks, whose numbers are acc0 and acc1: minimum·d times
// the sum of the activations, fused.
#define MINIMUM(d, sums, acc0, acc1) \
	FMOVS   (d)(R2<<2), F24 \
	FMUL4SE(25, 28, 24, 0) \
	FMUL4SE(26, 29, 24, 0) \
	MOVW    (sums)(R2<<2), R21 \
	SCVTFWS R21, F27 \
	FMLA4SE(acc0, 25, 27, 0) \
	FMLA4SE(acc1, 26, 27, 0)
