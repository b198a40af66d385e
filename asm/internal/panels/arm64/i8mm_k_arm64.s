//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The products of four of a panel's rows in Q4_K, Q5_K and Q6_K with eight rows of activations by SMMLA, in tiles of 2x2 as in
// i8mm_32_arm64.s. Groups of weights in the lower and the upper bits of the same bytes are worked on together. Registers
// of all kernels:
//
//	R0 w, R1 scales, R2 inner scales, R3 blocks, R4 activations, R8 out, R9 stride in bytes
//	R6 the weights' other bits, R7 rounds, R10 the frame, R11 indices of inner scales, R5 what sums begin at
//	V0-V7, V8-V15 sums of a lower and an upper group: four tiles of the first two rows of weights, four of the others
//	V16-V23 sums of a block, as integers
//	V24-V31 weights, activations, scales and scratch

// Where the frame has the sums of all blocks, the inner scales and the inner minimums of four rows, eight a row, and vectors
// that do not fit into registers.
#define TOTALS 0
#define INNERSCALES 128
#define INNERMINIMUMS 160
#define MASK 192
#define SHIFT 208

// Where a block of activations has its parts, which follow the elements: see interleave256.
#define ELEMENTS 2048
#define SCALES 0
#define LOW 64
#define HIGH 128
#define BEGIN 192
#define OTHERS 1216

// spread are indices into the inner scales of two rows, for each of eight runs: they bring the scales to the lanes of a tile.
DATA spread<>+0(SB)/8, $0xFFFFFF00FFFFFF00
DATA spread<>+8(SB)/8, $0xFFFFFF08FFFFFF08
DATA spread<>+16(SB)/8, $0xFFFFFF01FFFFFF01
DATA spread<>+24(SB)/8, $0xFFFFFF09FFFFFF09
DATA spread<>+32(SB)/8, $0xFFFFFF02FFFFFF02
DATA spread<>+40(SB)/8, $0xFFFFFF0AFFFFFF0A
DATA spread<>+48(SB)/8, $0xFFFFFF03FFFFFF03
DATA spread<>+56(SB)/8, $0xFFFFFF0BFFFFFF0B
DATA spread<>+64(SB)/8, $0xFFFFFF04FFFFFF04
DATA spread<>+72(SB)/8, $0xFFFFFF0CFFFFFF0C
DATA spread<>+80(SB)/8, $0xFFFFFF05FFFFFF05
DATA spread<>+88(SB)/8, $0xFFFFFF0DFFFFFF0D
DATA spread<>+96(SB)/8, $0xFFFFFF06FFFFFF06
DATA spread<>+104(SB)/8, $0xFFFFFF0EFFFFFF0E
DATA spread<>+112(SB)/8, $0xFFFFFF07FFFFFF07
DATA spread<>+120(SB)/8, $0xFFFFFF0FFFFFFF0F
GLOBL spread<>(SB), NOPTR|RODATA, $128

// ARGUMENTS loads the arguments, and the frame's mask.
#define ARGUMENTS(mask) \
	MOVD w+0(FP), R0 \
	MOVD scales+8(FP), R1 \
	MOVD inner+16(FP), R2 \
	MOVD blocks+24(FP), R3 \
	MOVD acts+32(FP), R4 \
	MOVD out+40(FP), R8 \
	MOVD stride+48(FP), R9 \
	LSL  $2, R9 \
	MOVD $frame-224(SP), R10 \
	MOVD $mask, R5 \
	VDUP R5, V24.B16 \
	FMOVQ F24, MASK(R10)

// LOADOUT brings the rows of out to tiles in the frame, and STOREOUT brings them back.
#define LOADPAIR(at) \
	FMOVQ (R8), F24 \
	ADD   R9, R8 \
	FMOVQ (R8), F25 \
	ADD   R9, R8 \
	VZIP1 V25.S4, V24.S4, V26.S4 \
	VZIP2 V25.S4, V24.S4, V27.S4 \
	FMOVQ F26, (TOTALS+at)(R10) \
	FMOVQ F27, (TOTALS+at+64)(R10)

#define STOREPAIR(at) \
	FMOVQ (TOTALS+at)(R10), F26 \
	FMOVQ (TOTALS+at+64)(R10), F27 \
	VUZP1 V27.S4, V26.S4, V24.S4 \
	VUZP2 V27.S4, V26.S4, V25.S4 \
	FMOVQ F24, (R8) \
	ADD   R9, R8 \
	FMOVQ F25, (R8) \
	ADD   R9, R8

#define LOADOUT \
	LOADPAIR(0) \
	LOADPAIR(16) \
	LOADPAIR(32) \
	LOADPAIR(48)

#define STOREOUT \
	MOVD out+40(FP), R8 \
	STOREPAIR(0) \
	STOREPAIR(16) \
	STOREPAIR(32) \
	STOREPAIR(48)

// CLEAR clears eight registers.
#define CLEAR(v) \
	MOVI0(v) \
	MOVI0(v+1) \
	MOVI0(v+2) \
	MOVI0(v+3) \
	MOVI0(v+4) \
	MOVI0(v+5) \
	MOVI0(v+6) \
	MOVI0(v+7)

// WEIGHTS loads eight bytes of four rows, a quarter of two lines: the first two rows to V24, the others to V25.
#define WEIGHTS(at) \
	FMOVQ (at)(R0), F26 \
	FMOVQ (at+64)(R0), F27 \
	VZIP1 V27.S4, V26.S4, V24.S4 \
	VZIP2 V27.S4, V26.S4, V25.S4

// OTHERBITS loads eight bytes of the weights' other bits of four rows: of the first two rows to V26, of the others to V27.
#define OTHERBITS(at) \
	FMOVQ (at)(R6), F28 \
	FMOVQ (at+64)(R6), F29 \
	VZIP1 V29.S4, V28.S4, V26.S4 \
	VZIP2 V29.S4, V28.S4, V27.S4

// EIGHT multiplies eight elements of four rows of weights, in registers w0 and w1, with activations at an offset from R4, and
// adds to eight sums.
#define EIGHT(sum, w0, w1, at) \
	FLDPQ (at)(R4), (F28, F29) \
	SMMLA4S(sum, w0, 28) \
	SMMLA4S(sum+4, w1, 28) \
	SMMLA4S(sum+1, w0, 29) \
	SMMLA4S(sum+5, w1, 29) \
	FLDPQ (at+32)(R4), (F28, F29) \
	SMMLA4S(sum+2, w0, 28) \
	SMMLA4S(sum+6, w1, 28) \
	SMMLA4S(sum+3, w0, 29) \
	SMMLA4S(sum+7, w1, 29)

// SCALED adds a group's sums, times the scales in V26 and V27, to the block's.
#define SCALED(sum) \
	MLA4S(16, sum, 26) \
	MLA4S(17, sum+1, 26) \
	MLA4S(18, sum+2, 26) \
	MLA4S(19, sum+3, 26) \
	MLA4S(20, sum+4, 27) \
	MLA4S(21, sum+5, 27) \
	MLA4S(22, sum+6, 27) \
	MLA4S(23, sum+7, 27)

// FACTORS loads the scales, or the minimums, of four rows: of the first two to V26, each twice, of the others to V27.
#define FACTORS(at) \
	FMOVD at(R1), F24 \
	FCVTL4S(24, 24) \
	VZIP1 V24.S4, V24.S4, V26.S4 \
	VZIP2 V24.S4, V24.S4, V27.S4

// TILE adds a tile of a block, as integers, times scale·d, fused, to that of all blocks, and ACCUMULATE adds eight
// tiles to V0 to V7. The operation is FMLA4S, or FMLS4S for minimums.
#define TILE(operation, acc, i, scale, d) \
	FMUL4S(24, scale, d) \
	SCVTF4S(i, i) \
	operation(acc, 24, i)

#define ACCUMULATE(operation, i) \
	FLDPQ SCALES(R4), (F28, F29) \
	FLDPQ (SCALES+32)(R4), (F30, F31) \
	TILE(operation, 0, i, 26, 28) \
	TILE(operation, 1, i+1, 26, 29) \
	TILE(operation, 2, i+2, 26, 30) \
	TILE(operation, 3, i+3, 26, 31) \
	TILE(operation, 4, i+4, 27, 28) \
	TILE(operation, 5, i+5, 27, 29) \
	TILE(operation, 6, i+6, 27, 30) \
	TILE(operation, 7, i+7, 27, 31)

// LOADTOTALS loads the sums of all blocks of four rows, and STORETOTALS stores them.
#define LOADTOTALS \
	FLDPQ (TOTALS)(R10), (F0, F1) \
	FLDPQ (TOTALS+32)(R10), (F2, F3) \
	FLDPQ (TOTALS+64)(R10), (F4, F5) \
	FLDPQ (TOTALS+96)(R10), (F6, F7)

#define STORETOTALS \
	FSTPQ (F0, F1), (TOTALS)(R10) \
	FSTPQ (F2, F3), (TOTALS+32)(R10) \
	FSTPQ (F4, F5), (TOTALS+64)(R10) \
	FSTPQ (F6, F7), (TOTALS+96)(R10)

// INNER decodes the inner scales and minimums of four rows, twelve bytes a row, which lie by fours.
#define INNER \
	FMOVQ (R2), F24 \
	FMOVQ 64(R2), F25 \
	FMOVQ 128(R2), F26 \
	ADD   $192, R2 \
	VMOVI $0x0F, V30.B16 \
	VMOVI $0x3F, V31.B16 \
	VUSHR $6, V24.B16, V27.B16 \
	VUSHR $6, V25.B16, V28.B16 \
	VAND  V30.B16, V26.B16, V29.B16 \
	VUSHR $4, V26.B16, V26.B16 \
	VSLI  $4, V27.B16, V29.B16 \
	VSLI  $4, V28.B16, V26.B16 \
	VAND  V31.B16, V24.B16, V24.B16 \
	VAND  V31.B16, V25.B16, V25.B16 \
	VZIP1 V29.S4, V24.S4, V27.S4 \
	VZIP2 V29.S4, V24.S4, V28.S4 \
	VZIP1 V26.S4, V25.S4, V30.S4 \
	VZIP2 V26.S4, V25.S4, V31.S4 \
	FSTPQ (F27, F28), INNERSCALES(R10) \
	FSTPQ (F30, F31), INNERMINIMUMS(R10)

// SPREAD loads the scales of a run to V26 and V27.
#define SPREAD(at) \
	FLDPQ INNERSCALES(R10), (F24, F25) \
	FMOVQ at(R11), F27 \
	VTBL  V27.B16, [V24.B16], V26.B16 \
	VTBL  V27.B16, [V25.B16], V27.B16

// MINIMUMS multiplies the minimums of four rows, in V30 and V31, with the sums of the activations of four rows, which are
// of 128 times a higher part and a lower part; n0 to n3 are the numbers of v0 to v3.
#define MINIMUMS(at, n0, n1, n2, n3, v0, v1, v2, v3) \
	FLDPQ (HIGH+at)(R4), (F28, F29) \
	FLDPQ (LOW+at)(R4), (F26, F27) \
	MOVI0(n0) \
	MOVI0(n1) \
	MOVI0(n2) \
	MOVI0(n3) \
	SMMLA4S(n0, 30, 28) \
	SMMLA4S(n1, 30, 29) \
	SMMLA4S(n2, 31, 28) \
	SMMLA4S(n3, 31, 29) \
	VSHL  $7, v0.S4, v0.S4 \
	VSHL  $7, v1.S4, v1.S4 \
	VSHL  $7, v2.S4, v2.S4 \
	VSHL  $7, v3.S4, v3.S4 \
	SMMLA4S(n0, 30, 26) \
	SMMLA4S(n1, 30, 27) \
	SMMLA4S(n2, 31, 26) \
	SMMLA4S(n3, 31, 27)

// NIBBLES multiplies eight bytes of four rows of Q4_K: elements of the lower run, and, in the upper nibbles, of the upper one.
#define NIBBLES(j) \
	WEIGHTS(128*j) \
	VAND  V30.B16, V24.B16, V26.B16 \
	VAND  V30.B16, V25.B16, V27.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16 \
	EIGHT(0, 26, 27, 64*j) \
	EIGHT(8, 24, 25, 64*j+256)

// FIVEBITS multiplies eight bytes of four rows of Q5_K. A byte of the fifth bits has one for each run of the block; shifted by
// SHIFT, the lower run's is the lowest.
#define FIVEBITS(j) \
	WEIGHTS(128*j) \
	OTHERBITS(128*j) \
	FMOVQ SHIFT(R10), F28 \
	FMOVQ MASK(R10), F29 \
	USHL16B(26, 26, 28) \
	USHL16B(27, 27, 28) \
	VMOV  V24.B16, V30.B16 \
	VMOV  V25.B16, V31.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16 \
	VSLI  $4, V26.B16, V30.B16 \
	VSLI  $4, V27.B16, V31.B16 \
	VUSHR $1, V26.B16, V26.B16 \
	VUSHR $1, V27.B16, V27.B16 \
	VSLI  $4, V26.B16, V24.B16 \
	VSLI  $4, V27.B16, V25.B16 \
	VAND  V29.B16, V30.B16, V30.B16 \
	VAND  V29.B16, V31.B16, V31.B16 \
	VAND  V29.B16, V24.B16, V24.B16 \
	VAND  V29.B16, V25.B16, V25.B16 \
	EIGHT(0, 30, 31, 64*j) \
	EIGHT(8, 24, 25, 64*j+256)

// RUNS multiplies two runs of Q4_K or Q5_K.
#define RUNS(WORK) \
	CLEAR(0) \
	CLEAR(8) \
	WORK(0) \
	WORK(1) \
	WORK(2) \
	WORK(3) \
	SPREAD(0) \
	SCALED(0) \
	SPREAD(16) \
	SCALED(8) \
	ADD $512, R0 \
	ADD $512, R4 \
	ADD $32, R11

// FINISH adds a block of Q4_K or Q5_K to the sums of all blocks.
#define FINISH \
	FLDPQ INNERMINIMUMS(R10), (F30, F31) \
	MINIMUMS(0, 8, 9, 12, 13, V8, V9, V12, V13) \
	MINIMUMS(32, 10, 11, 14, 15, V10, V11, V14, V15) \
	LOADTOTALS \
	FACTORS(0) \
	ACCUMULATE(FMLA4S, 16) \
	FACTORS(32) \
	ACCUMULATE(FMLS4S, 8) \
	STORETOTALS \
	ADD $64, R1 \
	ADD $OTHERS, R4

// func q4_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q4_KI8MMx8(SB), NOSPLIT, $224-56
	ARGUMENTS(0x0F)
	LOADOUT
block:
	INNER
	FMOVQ MASK(R10), F30
	CLEAR(16)
	MOVD  $spread<>(SB), R11
	MOVD  $4, R7
pair:
	RUNS(NIBBLES)
	SUBS $1, R7
	BNE  pair
	FINISH
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// func q5_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q5_KI8MMx8(SB), NOSPLIT, $224-56
	ARGUMENTS(0x1F)
	LOADOUT
block:
	INNER
	CLEAR(16)
	MOVD $spread<>(SB), R11
	MOVD $4, R7
	ADD  $2048, R0, R6
	MOVD $0, R5
pair:
	VDUP  R5, V28.B16
	FMOVQ F28, SHIFT(R10)
	SUB   $2, R5
	RUNS(FIVEBITS)
	SUBS  $1, R7
	BNE   pair
	FINISH
	ADD   $512, R0
	SUBS  $1, R3
	BNE   block
	STOREOUT
	RET

// BEGINTILES begins the sums of a group of Q6_K at -32 times those of the activations: quants stand as 0 to 63 for -32 to 31.
#define BEGINTILES(at, f0, f1, f2, f3, f4, f5, f6, f7) \
	FLDPQ (at)(R5), (f0, f1) \
	FLDPQ (at+32)(R5), (f2, f3) \
	FLDPQ (at)(R5), (f4, f5) \
	FLDPQ (at+32)(R5), (f6, f7)

// SIGNED loads the scales of a group of Q6_K, bytes, to V26 and V27.
#define SIGNED(at) \
	FMOVS (at)(R2), F24 \
	SXTL8H(24, 24) \
	SXTL4S(24, 24) \
	VZIP1 V24.S4, V24.S4, V26.S4 \
	VZIP2 V24.S4, V24.S4, V27.S4

// RUN02 shifts the other bits so that those of runs 0 and 2 of four come to bits 0 and 4, and RUN13 those of runs 1 and 3.
#define RUN02

#define RUN13 \
	VUSHR $2, V26.B16, V26.B16 \
	VUSHR $2, V27.B16, V27.B16

// SIXBITS multiplies eight bytes of four rows of Q6_K with elements of the lower and the upper group.
#define SIXBITS(RUN, w, other, act) \
	WEIGHTS(w) \
	OTHERBITS(other) \
	FMOVQ MASK(R10), F29 \
	RUN \
	VMOV V24.B16, V30.B16 \
	VMOV V25.B16, V31.B16 \
	VSLI $4, V26.B16, V30.B16 \
	VSLI $4, V27.B16, V31.B16 \
	VSRI $4, V24.B16, V26.B16 \
	VSRI $4, V25.B16, V27.B16 \
	VAND V29.B16, V30.B16, V30.B16 \
	VAND V29.B16, V31.B16, V31.B16 \
	VAND V29.B16, V26.B16, V26.B16 \
	VAND V29.B16, V27.B16, V27.B16 \
	EIGHT(0, 30, 31, act) \
	EIGHT(8, 26, 27, act+512)

// GROUPS multiplies two groups of sixteen elements, of a part of 128: number n of the part, and n+4.
#define GROUPS(RUN, n, w, other) \
	BEGINTILES(64*n, F0, F1, F2, F3, F4, F5, F6, F7) \
	BEGINTILES(64*n+256, F8, F9, F10, F11, F12, F13, F14, F15) \
	SIXBITS(RUN, w, other, 128*n) \
	SIXBITS(RUN, w+128, other+128, 128*n+64) \
	SIGNED(16*n) \
	SCALED(0) \
	SIGNED(16*n+64) \
	SCALED(8)

// func q6_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·q6_KI8MMx8(SB), NOSPLIT, $224-56
	ARGUMENTS(0x3F)
	LOADOUT
block:
	CLEAR(16)
	ADD  $2048, R0, R6
	ADD  $(ELEMENTS+BEGIN), R4, R5
	MOVD $2, R7
part:
	GROUPS(RUN02, 0, 0, 0)
	GROUPS(RUN02, 1, 256, 256)
	GROUPS(RUN13, 2, 512, 0)
	GROUPS(RUN13, 3, 768, 256)
	ADD  $1024, R0
	ADD  $512, R6
	ADD  $1024, R4
	ADD  $512, R5
	ADD  $128, R2
	SUBS $1, R7
	BNE  part
	LOADTOTALS
	FACTORS(0)
	ACCUMULATE(FMLA4S, 16)
	STORETOTALS
	ADD  $1024, R0
	ADD  $32, R1
	ADD  $OTHERS, R4
	SUBS $1, R3
	BNE  block
	STOREOUT
	RET

// PAIRS loads eight bytes of four rows that unpacking has put next to each other, and adds to eight sums.
#define PAIRS(sum, j) \
	FLDPQ (128*(j))(R0), (F24, F25) \
	EIGHT(sum, 24, 25, 64*(j))

// WEIGHED multiplies a block whose quants have been multiplied by their inner scales: the sums of eight rows of activations are in V16 to
// V23. R7 counts rounds.
#define WEIGHED(again) \
	CLEAR(16) \
	MOVD $4, R7 \
again: \
	PAIRS(16, 0) \
	PAIRS(16, 1) \
	PAIRS(16, 2) \
	PAIRS(16, 3) \
	PAIRS(16, 4) \
	PAIRS(16, 5) \
	PAIRS(16, 6) \
	PAIRS(16, 7) \
	ADD  $1024, R0 \
	ADD  $512, R4 \
	SUBS $1, R7 \
	BNE  again

// MINIMUMS2 is MINIMUMS for sixteen groups: the minimums of the first eight are in V30 and V31, those of the others in V24 and V25. The
// activations' sums are where interleaveSums256 writes them.
#define MINIMUMS2(at, n0, n1, n2, n3, v0, v1, v2, v3) \
	FLDPQ (BEGIN+128+at)(R4), (F28, F29) \
	FLDPQ (BEGIN+192+at)(R4), (F26, F27) \
	MOVI0(n0) \
	MOVI0(n1) \
	MOVI0(n2) \
	MOVI0(n3) \
	SMMLA4S(n0, 30, 28) \
	SMMLA4S(n1, 30, 29) \
	SMMLA4S(n2, 31, 28) \
	SMMLA4S(n3, 31, 29) \
	SMMLA4S(n0, 24, 26) \
	SMMLA4S(n1, 24, 27) \
	SMMLA4S(n2, 25, 26) \
	SMMLA4S(n3, 25, 27) \
	FLDPQ (BEGIN+at)(R4), (F28, F29) \
	FLDPQ (BEGIN+64+at)(R4), (F26, F27) \
	VSHL  $7, v0.S4, v0.S4 \
	VSHL  $7, v1.S4, v1.S4 \
	VSHL  $7, v2.S4, v2.S4 \
	VSHL  $7, v3.S4, v3.S4 \
	SMMLA4S(n0, 30, 28) \
	SMMLA4S(n1, 30, 29) \
	SMMLA4S(n2, 31, 28) \
	SMMLA4S(n3, 31, 29) \
	SMMLA4S(n0, 24, 26) \
	SMMLA4S(n1, 24, 27) \
	SMMLA4S(n2, 25, 26) \
	SMMLA4S(n3, 25, 27)

// UPPER loads the upper nibbles of two lines of inner scales, of four rows: those of the first two rows to v0, of the others to v1.
#define UPPER(at, v0, v1) \
	FMOVQ (at)(R2), F26 \
	FMOVQ (at+64)(R2), F27 \
	VUSHR $4, V26.B16, V26.B16 \
	VUSHR $4, V27.B16, V27.B16 \
	VZIP1 V27.S4, V26.S4, v0.S4 \
	VZIP2 V27.S4, V26.S4, v1.S4

// func weighedMinimumsI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·weighedMinimumsI8MMx8(SB), NOSPLIT, $224-56
	ARGUMENTS(0)
	LOADOUT
	LOADTOTALS
block:
	WEIGHED(eights)
	UPPER(0, V30, V31)
	UPPER(128, V24, V25)
	MINIMUMS2(0, 8, 9, 12, 13, V8, V9, V12, V13)
	MINIMUMS2(32, 10, 11, 14, 15, V10, V11, V14, V15)
	FACTORS(0)
	ACCUMULATE(FMLS4S, 16)
	FACTORS(32)
	ACCUMULATE(FMLS4S, 8)
	ADD  $64, R1
	ADD  $256, R2
	ADD  $OTHERS, R4
	SUBS $1, R3
	BNE  block
	STORETOTALS
	STOREOUT
	RET

// func weighedI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·weighedI8MMx8(SB), NOSPLIT, $224-56
	ARGUMENTS(0)
	LOADOUT
	LOADTOTALS
block:
	WEIGHED(eights)
	FACTORS(0)
	ACCUMULATE(FMLS4S, 16)
	ADD  $32, R1
	ADD  $OTHERS, R4
	SUBS $1, R3
	BNE  block
	STORETOTALS
	STOREOUT
	RET

// RUN multiplies a run and adds its sums, times its scales, to the block's.
#define RUN(n) \
	CLEAR(8) \
	PAIRS(8, 4*n) \
	PAIRS(8, 4*n+1) \
	PAIRS(8, 4*n+2) \
	PAIRS(8, 4*n+3) \
	SIGNED(32*n) \
	SCALED(8)

// func runsI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
TEXT ·runsI8MMx8(SB), NOSPLIT, $224-56
	ARGUMENTS(0)
	LOADOUT
	LOADTOTALS
block:
	CLEAR(16)
	MOVD $4, R7
runs:
	RUN(0)
	RUN(1)
	ADD  $1024, R0
	ADD  $512, R4
	ADD  $64, R2
	SUBS $1, R7
	BNE  runs
	FACTORS(0)
	ACCUMULATE(FMLA4S, 16)
	ADD  $32, R1
	ADD  $OTHERS, R4
	SUBS $1, R3
	BNE  block
	STORETOTALS
	STOREOUT
	RET

// GROUPSUMS writes what the sums of four groups of Q6_K begin at, of two rows: s0 and s1 are the activations' sums.
#define GROUPSUMS(at, s0, s1) \
	VZIP1 s1.S4, s0.S4, V24.S4 \
	VZIP2 s1.S4, s0.S4, V25.S4 \
	VSHL  $5, V24.S4, V24.S4 \
	VSHL  $5, V25.S4, V25.S4 \
	VSUB  V24.S4, V31.S4, V24.S4 \
	VSUB  V25.S4, V31.S4, V25.S4 \
	VDUP  V24.D[0], V26.D2 \
	VDUP  V24.D[1], V27.D2 \
	VDUP  V25.D[0], V28.D2 \
	VDUP  V25.D[1], V29.D2 \
	FMOVQ F26, (BEGIN+at)(R0) \
	FMOVQ F27, (BEGIN+at+64)(R0) \
	FMOVQ F28, (BEGIN+at+128)(R0) \
	FMOVQ F29, (BEGIN+at+192)(R0)

// PARTS parts eight sums, in v0 and v1, into two bytes each: those in register n2 count 128 times as much as those in n0.
#define PARTS(v0, v1, v2, v3, n0, n1, n2, n3) \
	SRSHR7_4S(n2, n0) \
	SRSHR7_4S(n3, n1) \
	VSHL  $7, v2.S4, V24.S4 \
	VSHL  $7, v3.S4, V25.S4 \
	VSUB  V24.S4, v0.S4, v0.S4 \
	VSUB  V25.S4, v1.S4, v1.S4 \
	SQXTN4H(n0, n0) \
	SQXTN8H(n0, n1) \
	SQXTN8B(n0, n0) \
	SQXTN4H(n2, n2) \
	SQXTN8H(n2, n3) \
	SQXTN8B(n2, n2)

// RUNSUMS adds up the sums of sixteen groups to those of eight runs, and parts them.
#define RUNSUMS(v0, v1, v2, v3, n0, n1, n2, n3) \
	VADDP v1.S4, v0.S4, v0.S4 \
	VADDP v3.S4, v2.S4, v1.S4 \
	PARTS(v0, v1, v2, v3, n0, n1, n2, n3)

// func interleave256(dst *byte, q0, q1 *int8, d0, d1 *float32, sums0, sums1 *int32, blocks int)
TEXT ·interleave256(SB), NOSPLIT, $0-64
	MOVD dst+0(FP), R0
	MOVD q0+8(FP), R1
	MOVD q1+16(FP), R2
	MOVD d0+24(FP), R3
	MOVD d1+32(FP), R4
	MOVD sums0+40(FP), R5
	MOVD sums1+48(FP), R6
	MOVD blocks+56(FP), R7
	VEOR V31.B16, V31.B16, V31.B16
block:
	MOVD $8, R8
run:
	VLD1.P 32(R1), [V0.B16, V1.B16]
	VLD1.P 32(R2), [V2.B16, V3.B16]
	VZIP1  V2.D2, V0.D2, V4.D2
	VZIP2  V2.D2, V0.D2, V5.D2
	VZIP1  V3.D2, V1.D2, V6.D2
	VZIP2  V3.D2, V1.D2, V7.D2
	FMOVQ  F4, (R0)
	FMOVQ  F5, 64(R0)
	FMOVQ  F6, 128(R0)
	FMOVQ  F7, 192(R0)
	ADD    $256, R0
	SUBS   $1, R8
	BNE    run
	FMOVS.P 4(R3), F16
	FMOVS.P 4(R4), F17
	VZIP1   V17.S4, V16.S4, V16.S4
	VDUP    V16.D[0], V16.D2
	FMOVQ   F16, SCALES(R0)
	VLD1.P  64(R5), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P  64(R6), [V4.S4, V5.S4, V6.S4, V7.S4]
	GROUPSUMS(0, V0, V4)
	GROUPSUMS(256, V1, V5)
	GROUPSUMS(512, V2, V6)
	GROUPSUMS(768, V3, V7)
	RUNSUMS(V0, V1, V2, V3, 0, 1, 2, 3)
	RUNSUMS(V4, V5, V6, V7, 4, 5, 6, 7)
	VZIP1   V4.D2, V0.D2, V0.D2
	VZIP1   V6.D2, V2.D2, V2.D2
	FMOVQ   F0, LOW(R0)
	FMOVQ   F2, HIGH(R0)
	ADD     $OTHERS, R0
	SUBS    $1, R7
	BNE     block
	RET

// func interleaveSums256(dst *byte, sums0, sums1 *int32, blocks int)
TEXT ·interleaveSums256(SB), NOSPLIT, $0-32
	MOVD dst+0(FP), R0
	MOVD sums0+8(FP), R5
	MOVD sums1+16(FP), R6
	MOVD blocks+24(FP), R7
	ADD  $(ELEMENTS+BEGIN), R0
block:
	VLD1.P 64(R5), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R6), [V4.S4, V5.S4, V6.S4, V7.S4]
	PARTS(V0, V1, V16, V17, 0, 1, 16, 17)
	PARTS(V2, V3, V18, V19, 2, 3, 18, 19)
	PARTS(V4, V5, V20, V21, 4, 5, 20, 21)
	PARTS(V6, V7, V22, V23, 6, 7, 22, 23)
	VZIP1 V4.D2, V0.D2, V0.D2
	VZIP1 V6.D2, V2.D2, V2.D2
	VZIP1 V20.D2, V16.D2, V16.D2
	VZIP1 V22.D2, V18.D2, V18.D2
	FMOVQ F0, (R0)
	FMOVQ F2, 64(R0)
	FMOVQ F16, 128(R0)
	FMOVQ F18, 192(R0)
	ADD   $(ELEMENTS+OTHERS), R0
	SUBS  $1, R7
	BNE   block
	RET
