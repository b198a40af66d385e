//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The products of eight of a panel's rows with eight rows of activations, in blocks of 32, by SMMLA, see arrangedPanels. SMMLA
// multiplies two rows of weights with two of activations, eight elements of each, and adds to the four lanes of a register, a tile
// of 2x2: lanes 0 and 1 belong to the first row of weights, and lanes 0 and 2 to the first row of activations. Sums stay in tiles
// until they are stored, and scales are laid out as tiles too. Registers of all kernels:
//
//	R0 w, R1 scales, R3 blocks, R4 acts, R8 out, R9 stride in bytes
//	R10-R16 the other rows of out
//	V0-V15 sums of all blocks: two rows of weights are four neighbouring tiles
//	V16-V23 sums of a block for four rows of weights, as integers that begin at the bits of V31
//	V24-V27 weights, then scales and scratch
//	V28, V29 activations, then their scales
//	V30 0x0F in all bytes
//	V31 1.5·2²³, see blocks32_arm64.h

// Where a block of activations has its parts, each for four pairs of rows: see interleave32.
#define ACTS 0
#define SCALES 256
#define BEGIN 320
#define SUMS 384
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

// LOADPAIR loads the tiles of two rows of out, and STOREPAIR stores them.
#define LOADPAIR(r0, r1, t0, t1, t2, t3) \
	VLD1  (r0), [V28.S4, V29.S4] \
	VLD1  (r1), [V24.S4, V25.S4] \
	VZIP1 V24.S4, V28.S4, t0.S4 \
	VZIP2 V24.S4, V28.S4, t1.S4 \
	VZIP1 V25.S4, V29.S4, t2.S4 \
	VZIP2 V25.S4, V29.S4, t3.S4

#define STOREPAIR(r0, r1, t0, t1, t2, t3) \
	VUZP1 t1.S4, t0.S4, V28.S4 \
	VUZP1 t3.S4, t2.S4, V29.S4 \
	VUZP2 t1.S4, t0.S4, V24.S4 \
	VUZP2 t3.S4, t2.S4, V25.S4 \
	VST1  [V28.S4, V29.S4], (r0) \
	VST1  [V24.S4, V25.S4], (r1)

#define LOADOUT \
	LOADPAIR(R8, R10, V0, V4, V8, V12) \
	LOADPAIR(R11, R12, V1, V5, V9, V13) \
	LOADPAIR(R13, R14, V2, V6, V10, V14) \
	LOADPAIR(R15, R16, V3, V7, V11, V15)

#define STOREOUT \
	STOREPAIR(R8, R10, V0, V4, V8, V12) \
	STOREPAIR(R11, R12, V1, V5, V9, V13) \
	STOREPAIR(R13, R14, V2, V6, V10, V14) \
	STOREPAIR(R15, R16, V3, V7, V11, V15)

// WEIGHTS loads eight bytes of four rows, half of two lines: the first two rows to V24, the others to V25.
#define WEIGHTS(at) \
	FMOVQ at(R0), F26 \
	FMOVQ (at+64)(R0), F27 \
	VZIP1 V27.S4, V26.S4, V24.S4 \
	VZIP2 V27.S4, V26.S4, V25.S4

// BEGINTILES begins the sums of a block.
#define BEGINTILES \
	FLDPQ BEGIN(R4), (F16, F17) \
	FLDPQ (BEGIN+32)(R4), (F18, F19) \
	FLDPQ BEGIN(R4), (F20, F21) \
	FLDPQ (BEGIN+32)(R4), (F22, F23)

// EIGHT multiplies eight elements of four rows of weights, in registers w0 and w1, with group g of the block's activations.
#define EIGHT(w0, w1, g) \
	FLDPQ (ACTS+64*(g))(R4), (F28, F29) \
	SMMLA4S(16, w0, 28) \
	SMMLA4S(20, w1, 28) \
	SMMLA4S(17, w0, 29) \
	SMMLA4S(21, w1, 29) \
	FLDPQ (ACTS+64*(g)+32)(R4), (F28, F29) \
	SMMLA4S(18, w0, 28) \
	SMMLA4S(22, w1, 28) \
	SMMLA4S(19, w0, 29) \
	SMMLA4S(23, w1, 29)

// NIBBLES multiplies eight bytes of four rows: elements of group g, and, in the upper nibbles, of group g+2.
#define NIBBLES(at, g) \
	WEIGHTS(at) \
	VAND  V30.B16, V24.B16, V26.B16 \
	VAND  V30.B16, V25.B16, V27.B16 \
	EIGHT(26, 27, g) \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16 \
	EIGHT(24, 25, g+2)

// BYTES multiplies eight bytes of four rows with group g.
#define BYTES(at, g) \
	WEIGHTS(at) \
	EIGHT(24, 25, g)

// FACTORS loads the scales, or the minimums, of four rows: of the first two to V26, each twice, of the others to V27.
#define FACTORS(at) \
	FMOVD at(R1), F24 \
	FCVTL4S(24, 24) \
	VZIP1 V24.S4, V24.S4, V26.S4 \
	VZIP2 V24.S4, V24.S4, V27.S4

// POWERS is FACTORS for powers of two with exponents in bytes, see powers_arm64.h; V30 is 0x00400000 in all lanes.
#define POWERS(at) \
	FMOVS  at(R1), F24 \
	FMOVS  $0.5, F28 \
	VUXTL  V24.B8, V24.H8 \
	VUXTL  V24.H4, V24.S4 \
	VSHL   $23, V24.S4, V24.S4 \
	VUMAX  V30.S4, V24.S4, V24.S4 \
	FMUL4SE(24, 24, 28, 0) \
	VZIP1  V24.S4, V24.S4, V26.S4 \
	VZIP2  V24.S4, V24.S4, V27.S4

// TILE adds a tile of a block, as integers i, to that of all blocks, acc: weights' scales times activations' d times the sum,
// fused.
#define TILE(i, scales, d, acc) \
	FMUL4S(24, scales, d) \
	FSUB4S(i, i, 31) \
	FMLA4S(acc, 24, i)

// ACCUMULATE adds the eight tiles of a block, four rows of weights, to those of all blocks; acc is the first of their registers.
#define ACCUMULATE(acc) \
	FLDPQ SCALES(R4), (F28, F29) \
	TILE(16, 26, 28, acc) \
	TILE(20, 27, 28, acc+4) \
	TILE(17, 26, 29, acc+1) \
	TILE(21, 27, 29, acc+5) \
	FLDPQ (SCALES+32)(R4), (F28, F29) \
	TILE(18, 26, 28, acc+2) \
	TILE(22, 27, 28, acc+6) \
	TILE(19, 26, 29, acc+3) \
	TILE(23, 27, 29, acc+7)

// MINIMUMS adds minimum·d times the sums of the activations, for two pairs of rows of activations.
#define MINIMUMS(at, acc) \
	FLDPQ (SCALES+at)(R4), (F28, F29) \
	FLDPQ (SUMS+at)(R4), (F16, F17) \
	FMUL4S(18, 26, 28) \
	FMUL4S(19, 27, 28) \
	FMUL4S(20, 26, 29) \
	FMUL4S(21, 27, 29) \
	FMLA4S(acc, 18, 16) \
	FMLA4S(acc+4, 19, 16) \
	FMLA4S(acc+1, 20, 17) \
	FMLA4S(acc+5, 21, 17)

// LESS adds the minimums of four rows, which follow the scales.
#define LESS(scales, acc) \
	FACTORS(scales+32) \
	MINIMUMS(0, acc) \
	MINIMUMS(32, acc+2)

// ALLBYTES multiplies a block of bytes.
#define ALLBYTES(w) \
	BEGINTILES \
	BYTES(w, 0) \
	BYTES(w+128, 1) \
	BYTES(w+256, 2) \
	BYTES(w+384, 3)

// Q4_0, Q4_1, Q8_0, BYTESMINIMUMS and BYTESPOWERS multiply a block of four rows of weights. w and scales are the offsets at which the rows begin in theirs.
#define Q4_0(w, scales, acc) \
	BEGINTILES \
	NIBBLES(w, 0) \
	NIBBLES(w+128, 1) \
	FACTORS(scales) \
	ACCUMULATE(acc)

#define Q4_1(w, scales, acc) \
	Q4_0(w, scales, acc) \
	LESS(scales, acc)

#define Q8_0(w, scales, acc) \
	ALLBYTES(w) \
	FACTORS(scales) \
	ACCUMULATE(acc)

#define BYTESMINIMUMS(w, scales, acc) \
	Q8_0(w, scales, acc) \
	LESS(scales, acc)

#define BYTESPOWERS(w, scales, acc) \
	ALLBYTES(w) \
	POWERS(scales) \
	ACCUMULATE(acc)

// func q4_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q4_0I8MMx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	Q4_0(0, 0, 0)
	Q4_0(16, 8, 8)
	ADD  $256, R0
	ADD  $32, R1
	ADD  $ACTBYTES, R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func q4_1I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q4_1I8MMx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	Q4_1(0, 0, 0)
	Q4_1(16, 8, 8)
	ADD  $256, R0
	ADD  $64, R1
	ADD  $ACTBYTES, R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func q8_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q8_0I8MMx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	Q8_0(0, 0, 0)
	Q8_0(16, 8, 8)
	ADD  $512, R0
	ADD  $32, R1
	ADD  $ACTBYTES, R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func bytes32MinimumsI8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·bytes32MinimumsI8MMx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	LOADOUT
block:
	BYTESMINIMUMS(0, 0, 0)
	BYTESMINIMUMS(16, 8, 8)
	ADD  $512, R0
	ADD  $64, R1
	ADD  $ACTBYTES, R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func bytes32PowersI8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·bytes32PowersI8MMx8(SB), NOSPLIT, $0-48
	ARGUMENTS
	MOVD $0x00400000, R9
	VDUP R9, V30.S4
	LOADOUT
block:
	BYTESPOWERS(0, 0, 0)
	BYTESPOWERS(16, 4, 8)
	ADD  $512, R0
	ADD  $16, R1
	ADD  $ACTBYTES, R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func interleave32(dst *byte, q0, q1 *int8, d0, d1 *float32, sums0, sums1 *int32, blocks, bias int)
TEXT ·interleave32(SB), NOSPLIT, $0-72
	MOVD dst+0(FP), R0
	MOVD q0+8(FP), R1
	MOVD q1+16(FP), R2
	MOVD d0+24(FP), R3
	MOVD d1+32(FP), R4
	MOVD sums0+40(FP), R5
	MOVD sums1+48(FP), R6
	MOVD blocks+56(FP), R7
	MOVD bias+64(FP), R8
	VDUP R8, V30.S4
	MOVD $0x4B400000, R9
	VDUP R9, V31.S4
block:
	VLD1.P  32(R1), [V0.B16, V1.B16]
	VLD1.P  32(R2), [V2.B16, V3.B16]
	FMOVS.P 4(R3), F16
	FMOVS.P 4(R4), F17
	FMOVS.P 4(R5), F18
	FMOVS.P 4(R6), F19
	VZIP1   V2.D2, V0.D2, V4.D2
	VZIP2   V2.D2, V0.D2, V5.D2
	VZIP1   V3.D2, V1.D2, V6.D2
	VZIP2   V3.D2, V1.D2, V7.D2
	VZIP1   V17.S4, V16.S4, V16.S4
	VZIP1   V19.S4, V18.S4, V18.S4
	VDUP    V16.D[0], V16.D2
	VDUP    V18.D[0], V18.D2
	VMOV    V31.B16, V17.B16
	MLA4S(17, 18, 30)
	SCVTF4S(18, 18)
	FMOVQ   F4, (ACTS+0)(R0)
	FMOVQ   F5, (ACTS+64)(R0)
	FMOVQ   F6, (ACTS+128)(R0)
	FMOVQ   F7, (ACTS+192)(R0)
	FMOVQ   F16, SCALES(R0)
	FMOVQ   F17, BEGIN(R0)
	FMOVQ   F18, SUMS(R0)
	ADD     $ACTBYTES, R0
	SUBS    $1, R7
	BNE     block
	RET
