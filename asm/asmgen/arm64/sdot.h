// The products by SDOT of eight of a panel's rows, in blocks of 32, with four rows of integers: activations, or rounded queries and
// weights of slots. A lane of a register has a row of the panel; the integers are elements of registers. Beside what blocks32.h has:
//
//	R0 the panel's quants
//	R5, R13-R15 d and R6, R16, R17, R19 sums of the blocks of each of the four rows
//	V0-V7 sums of a block, as integers that begin at the bits of V31
//	V8-V15 sums of all blocks
//	V16-V23 integers of a block: V16 and V17 are the first row's
//	V24-V27 weights

// CLEAR4 clears the sums of four rows.
#define CLEAR4 \
	VEOR V8.B16, V8.B16, V8.B16 \
	VEOR V9.B16, V9.B16, V9.B16 \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16

// BEGIN4 begins the sums of a block.
#define BEGIN4 \
	VMOV V31.B16, V0.B16 \
	VMOV V31.B16, V1.B16 \
	VMOV V31.B16, V2.B16 \
	VMOV V31.B16, V3.B16 \
	VMOV V31.B16, V4.B16 \
	VMOV V31.B16, V5.B16 \
	VMOV V31.B16, V6.B16 \
	VMOV V31.B16, V7.B16

// BIAS begins the two sums of a row at -8 times the sum of its block, and the bits of V31: see blocks32.h.
#define BIAS(sums, v0, v1) \
	MOVW (sums)(R2<<2), R21 \
	SUB  R21<<3, R20, R21 \
	VDUP R21, v0.S4 \
	VDUP R21, v1.S4

// BIAS4 begins the sums of a block as BIAS does.
#define BIAS4 \
	BIAS(R6, V0, V1) \
	BIAS(R16, V2, V3) \
	BIAS(R17, V4, V5) \
	BIAS(R19, V6, V7)

// LINENIBBLES multiplies a line's half, eight rows of four bytes, with elements i of V16 to V23.
#define LINENIBBLES(i) \
	VLD1  (R0), [V24.B16, V25.B16] \
	ADD   $64, R0 \
	VAND  V30.B16, V24.B16, V26.B16 \
	VAND  V30.B16, V25.B16, V27.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16 \
	SDOTE(0, 26, 16, i) \
	SDOTE(1, 27, 16, i) \
	SDOTE(2, 26, 18, i) \
	SDOTE(3, 27, 18, i) \
	SDOTE(4, 26, 20, i) \
	SDOTE(5, 27, 20, i) \
	SDOTE(6, 26, 22, i) \
	SDOTE(7, 27, 22, i) \
	SDOTE(0, 24, 17, i) \
	SDOTE(1, 25, 17, i) \
	SDOTE(2, 24, 19, i) \
	SDOTE(3, 25, 19, i) \
	SDOTE(4, 24, 21, i) \
	SDOTE(5, 25, 21, i) \
	SDOTE(6, 24, 23, i) \
	SDOTE(7, 25, 23, i)

// LINEBYTES multiplies a line's half, eight rows of four bytes, with elements i of registers a0 to a3.
#define LINEBYTES(a0, a1, a2, a3, i) \
	VLD1 (R0), [V24.B16, V25.B16] \
	ADD  $64, R0 \
	SDOTE(0, 24, a0, i) \
	SDOTE(1, 25, a0, i) \
	SDOTE(2, 24, a1, i) \
	SDOTE(3, 25, a1, i) \
	SDOTE(4, 24, a2, i) \
	SDOTE(5, 25, a2, i) \
	SDOTE(6, 24, a3, i) \
	SDOTE(7, 25, a3, i)

// NIBBLES4 and BYTES4 multiply a block.
#define NIBBLES4 \
	LINENIBBLES(0) \
	LINENIBBLES(1) \
	LINENIBBLES(2) \
	LINENIBBLES(3)

#define BYTES4 \
	LINEBYTES(16, 18, 20, 22, 0) \
	LINEBYTES(16, 18, 20, 22, 1) \
	LINEBYTES(16, 18, 20, 22, 2) \
	LINEBYTES(16, 18, 20, 22, 3) \
	LINEBYTES(17, 19, 21, 23, 0) \
	LINEBYTES(17, 19, 21, 23, 1) \
	LINEBYTES(17, 19, 21, 23, 2) \
	LINEBYTES(17, 19, 21, 23, 3)

// ACCUMULATE4 adds the sums of a block to those of all blocks.
#define ACCUMULATE4 \
	ACCUMULATE(R5, 0, 1, V0, V1, V8, V9) \
	ACCUMULATE(R13, 2, 3, V2, V3, V10, V11) \
	ACCUMULATE(R14, 4, 5, V4, V5, V12, V13) \
	ACCUMULATE(R15, 6, 7, V6, V7, V14, V15)
