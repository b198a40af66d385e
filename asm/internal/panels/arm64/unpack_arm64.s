//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// Panels are unpacked to bytes: a line of four elements of sixteen rows after the other. See unpacked_arm64.go. Registers of all
// functions:
//
//	R0 dst, R1 the panel's quants, R3 blocks, R19 scratch
//	V30 0x0F in all bytes

// AHEAD is how far weights are asked for ahead of their use.
#define AHEAD 2048

// lanes are indices that bring the first byte of each lane of 32 bits to all of its bytes.
DATA lanes<>+0(SB)/8, $0x0404040400000000
DATA lanes<>+8(SB)/8, $0x0C0C0C0C08080808
GLOBL lanes<>(SB), NOPTR|RODATA, $16

// rows are indices that bring the first four bytes to four bytes each.
DATA rows<>+0(SB)/8, $0x0101010100000000
DATA rows<>+8(SB)/8, $0x0303030302020202
GLOBL rows<>(SB), NOPTR|RODATA, $16

// FIFTH puts the fifth bits of two times four elements of four rows above their nibbles, in V6 and V5: the bits are in bytes of n0 and n1,
// and shift brings them to bit 4. Then the bias is taken off.
#define FIFTH(n0, n1, shift) \
	USHL16B(7, n0, shift) \
	USHL16B(8, n1, shift) \
	VBIT V25.B16, V7.B16, V6.B16 \
	VBIT V25.B16, V8.B16, V5.B16 \
	VSUB V23.B16, V6.B16, V6.B16 \
	VSUB V23.B16, V5.B16, V5.B16

// FIVE unpacks line j of four rows, at an offset: the lower nibbles are line j of the result, the upper ones line j+4.
#define FIVE(at, n0, n1, shift) \
	FMOVQ (at)(R1), F5 \
	VAND  V30.B16, V5.B16, V6.B16 \
	VUSHR $4, V5.B16, V5.B16 \
	FIFTH(n0, n1, shift) \
	FMOVQ F6, (at)(R0) \
	FMOVQ F5, (at+256)(R0)

// FIVES unpacks four rows of a block of Q5_0 or Q5_1. A row's fifth bits are 32 bits, the first element's the lowest.
#define FIVES(at) \
	FMOVQ (at+256)(R1), F0 \
	VTBL  V28.B16, [V0.B16], V1.B16 \
	VTBL  V29.B16, [V0.B16], V2.B16 \
	VTBL  V22.B16, [V0.B16], V3.B16 \
	VTBL  V21.B16, [V0.B16], V4.B16 \
	FIVE(at, 1, 3, 26) \
	FIVE(at+64, 1, 3, 27) \
	FIVE(at+128, 2, 4, 26) \
	FIVE(at+192, 2, 4, 27)

// func unpackFives(dst, quants *byte, blocks, bias int)
TEXT ·unpackFives(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  quants+8(FP), R1
	MOVD  blocks+16(FP), R3
	MOVD  bias+24(FP), R19
	VDUP  R19, V23.B16
	VMOVI $0x0F, V30.B16
	VMOVI $0x10, V25.B16
	VMOVI $1, V24.B16
	MOVD  $lanes<>(SB), R19
	FMOVQ (R19), F28
	VADD  V24.B16, V28.B16, V29.B16
	VADD  V24.B16, V29.B16, V22.B16
	VADD  V24.B16, V22.B16, V21.B16
	MOVD  $0x01020304, R19 // bits 0 to 3 of a byte go to bit 4: shifts to the left by 4 to 1
	VDUP  R19, V26.S4
	MOVD  $0xFDFEFF00, R19 // bits 4 to 7: by 0 to -3
	VDUP  R19, V27.S4
block:
	PRFM AHEAD(R1), PLDL1KEEP
	PRFM (AHEAD+64)(R1), PLDL1KEEP
	PRFM (AHEAD+128)(R1), PLDL1KEEP
	PRFM (AHEAD+192)(R1), PLDL1KEEP
	PRFM (AHEAD+256)(R1), PLDL1KEEP
	FIVES(0)
	FIVES(16)
	FIVES(32)
	FIVES(48)
	ADD  $320, R1
	ADD  $512, R0
	SUBS $1, R3
	BNE  block
	RET

// NONLINEAR unpacks a line: a table has the values of nibbles. The lower nibbles are line j of the result, the upper ones line j+4.
#define NONLINEAR(at) \
	VLD1  (R1), [V0.B16, V1.B16, V2.B16, V3.B16] \
	PRFM  AHEAD(R1), PLDL1KEEP \
	ADD   $64, R1 \
	VAND  V30.B16, V0.B16, V4.B16 \
	VAND  V30.B16, V1.B16, V5.B16 \
	VAND  V30.B16, V2.B16, V6.B16 \
	VAND  V30.B16, V3.B16, V7.B16 \
	VUSHR $4, V0.B16, V0.B16 \
	VUSHR $4, V1.B16, V1.B16 \
	VUSHR $4, V2.B16, V2.B16 \
	VUSHR $4, V3.B16, V3.B16 \
	VTBL  V4.B16, [V31.B16], V4.B16 \
	VTBL  V5.B16, [V31.B16], V5.B16 \
	VTBL  V6.B16, [V31.B16], V6.B16 \
	VTBL  V7.B16, [V31.B16], V7.B16 \
	VTBL  V0.B16, [V31.B16], V0.B16 \
	VTBL  V1.B16, [V31.B16], V1.B16 \
	VTBL  V2.B16, [V31.B16], V2.B16 \
	VTBL  V3.B16, [V31.B16], V3.B16 \
	FSTPQ (F4, F5), (at)(R0) \
	FSTPQ (F6, F7), (at+32)(R0) \
	FSTPQ (F0, F1), (at+256)(R0) \
	FSTPQ (F2, F3), (at+288)(R0)

// func unpackNonlinear(dst, quants *byte, blocks int, values *[16]int8)
TEXT ·unpackNonlinear(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  quants+8(FP), R1
	MOVD  blocks+16(FP), R3
	MOVD  values+24(FP), R19
	FMOVQ (R19), F31
	VMOVI $0x0F, V30.B16
block:
	NONLINEAR(0)
	NONLINEAR(64)
	NONLINEAR(128)
	NONLINEAR(192)
	ADD  $512, R0
	SUBS $1, R3
	BNE  block
	RET

// RUNS sets R5, R6, R7 and R8 to the four runs of a part of the result.
#define RUNS \
	MOVD R0, R5 \
	ADD  $512, R0, R6 \
	ADD  $1024, R0, R7 \
	ADD  $1536, R0, R8

// FIRST to FOURTH take the four pairs of bits of a line in V0 to V3 to V4 to V7; V30 is 3 in all bytes.
#define MASKED \
	VAND V30.B16, V4.B16, V4.B16 \
	VAND V30.B16, V5.B16, V5.B16 \
	VAND V30.B16, V6.B16, V6.B16 \
	VAND V30.B16, V7.B16, V7.B16

#define FIRST \
	VAND V30.B16, V0.B16, V4.B16 \
	VAND V30.B16, V1.B16, V5.B16 \
	VAND V30.B16, V2.B16, V6.B16 \
	VAND V30.B16, V3.B16, V7.B16

#define SHIFTED(n) \
	VUSHR $n, V0.B16, V4.B16 \
	VUSHR $n, V1.B16, V5.B16 \
	VUSHR $n, V2.B16, V6.B16 \
	VUSHR $n, V3.B16, V7.B16

#define SECOND \
	SHIFTED(2) \
	MASKED

#define THIRD \
	SHIFTED(4) \
	MASKED

#define FOURTH \
	SHIFTED(6)

// func unpackQ2_K(dst, quants *byte, blocks int)
TEXT ·unpackQ2_K(SB), NOSPLIT, $0-24
	MOVD  dst+0(FP), R0
	MOVD  quants+8(FP), R1
	MOVD  blocks+16(FP), R3
	VMOVI $3, V30.B16
	LSL   $1, R3
part:
	RUNS
	MOVD $8, R4
line:
	PRFM   AHEAD(R1), PLDL1KEEP
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	FIRST
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R5)
	SECOND
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R6)
	THIRD
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R7)
	FOURTH
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R8)
	SUBS   $1, R4
	BNE    line
	ADD    $2048, R0
	SUBS   $1, R3
	BNE    part
	RET

// THIRDBIT takes 4 off the elements in V4 to V7 whose third bit, that of bit in V16 to V19, is not set.
#define THIRDBIT(bit) \
	VCMTST bit.B16, V16.B16, V20.B16 \
	VCMTST bit.B16, V17.B16, V21.B16 \
	VCMTST bit.B16, V18.B16, V22.B16 \
	VCMTST bit.B16, V19.B16, V23.B16 \
	VORR   V29.B16, V20.B16, V20.B16 \
	VORR   V29.B16, V21.B16, V21.B16 \
	VORR   V29.B16, V22.B16, V22.B16 \
	VORR   V29.B16, V23.B16, V23.B16 \
	VEOR   V28.B16, V20.B16, V20.B16 \
	VEOR   V28.B16, V21.B16, V21.B16 \
	VEOR   V28.B16, V22.B16, V22.B16 \
	VEOR   V28.B16, V23.B16, V23.B16 \
	VSUB   V20.B16, V4.B16, V4.B16 \
	VSUB   V21.B16, V5.B16, V5.B16 \
	VSUB   V22.B16, V6.B16, V6.B16 \
	VSUB   V23.B16, V7.B16, V7.B16

// func unpackQ3_K(dst, quants *byte, blocks int)
TEXT ·unpackQ3_K(SB), NOSPLIT, $0-24
	MOVD  dst+0(FP), R0
	MOVD  quants+8(FP), R1
	MOVD  blocks+16(FP), R3
	VMOVI $3, V30.B16
	VMOVI $0xFB, V29.B16 // with 0xFF or 0, and turned, 0 or 4
	VMOVI $0xFF, V28.B16
block:
	ADD   $1024, R1, R9
	VMOVI $1, V24.B16
	MOVD  $2, R10
part:
	VSHL $1, V24.B16, V25.B16
	VSHL $2, V24.B16, V26.B16
	VSHL $3, V24.B16, V27.B16
	MOVD R9, R11
	RUNS
	MOVD $8, R4
line:
	PRFM   AHEAD(R1), PLDL1KEEP
	VLD1.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD1.P 64(R11), [V16.B16, V17.B16, V18.B16, V19.B16]
	FIRST
	THIRDBIT(V24)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R5)
	SECOND
	THIRDBIT(V25)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R6)
	THIRD
	THIRDBIT(V26)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R7)
	FOURTH
	THIRDBIT(V27)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R8)
	SUBS   $1, R4
	BNE    line
	ADD    $2048, R0
	VSHL   $4, V24.B16, V24.B16
	SUBS   $1, R10
	BNE    part
	ADD    $512, R1
	SUBS   $1, R3
	BNE    block
	RET

// func innerQ2_K(scales, minimums, inner *byte, blocks int)
TEXT ·innerQ2_K(SB), NOSPLIT, $0-32
	MOVD  scales+0(FP), R0
	MOVD  minimums+8(FP), R2
	MOVD  inner+16(FP), R1
	MOVD  blocks+24(FP), R3
	VMOVI $0x0F, V30.B16
	LSL   $2, R3
groups:
	VLD4.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VAND   V30.B16, V0.B16, V4.B16
	VAND   V30.B16, V1.B16, V5.B16
	VAND   V30.B16, V2.B16, V6.B16
	VAND   V30.B16, V3.B16, V7.B16
	VUSHR  $4, V0.B16, V0.B16
	VUSHR  $4, V1.B16, V1.B16
	VUSHR  $4, V2.B16, V2.B16
	VUSHR  $4, V3.B16, V3.B16
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R2)
	SUBS   $1, R3
	BNE    groups
	RET

// SIX makes the scale of a group of Q3_K, less 32, of a nibble, in nibble, and two bits, in bits, which are shifted; V31 is 32 in all bytes.
#define SIX(nibble, bits) \
	VAND V29.B16, bits.B16, V22.B16 \
	VSHL $4, V22.B16, V22.B16 \
	VORR V22.B16, nibble.B16, nibble.B16 \
	VSUB V31.B16, nibble.B16, nibble.B16

// FOUR stores the scales of four groups: byte k of 4 in V0 to V3 has in its nibbles, moved down by MOVE, the lower bits of group k's.
#define FOUR(v0, v1, v2, v3) \
	VAND   V30.B16, v0.B16, V4.B16 \
	VAND   V30.B16, v1.B16, V5.B16 \
	VAND   V30.B16, v2.B16, V6.B16 \
	VAND   V30.B16, v3.B16, V7.B16 \
	SIX(V4, V16) \
	SIX(V5, V17) \
	SIX(V6, V18) \
	SIX(V7, V19) \
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0) \
	VUSHR  $2, V16.B16, V16.B16 \
	VUSHR  $2, V17.B16, V17.B16 \
	VUSHR  $2, V18.B16, V18.B16 \
	VUSHR  $2, V19.B16, V19.B16

// DOWN moves the upper nibbles down.
#define DOWN(v0, v1, v2, v3) \
	VUSHR $4, v0.B16, v0.B16 \
	VUSHR $4, v1.B16, v1.B16 \
	VUSHR $4, v2.B16, v2.B16 \
	VUSHR $4, v3.B16, v3.B16

// func innerQ3_K(scales, inner *byte, blocks int)
TEXT ·innerQ3_K(SB), NOSPLIT, $0-24
	MOVD  scales+0(FP), R0
	MOVD  inner+8(FP), R1
	MOVD  blocks+16(FP), R3
	VMOVI $0x0F, V30.B16
	VMOVI $32, V31.B16
	VMOVI $3, V29.B16
block:
	VLD4.P 64(R1), [V0.B16, V1.B16, V2.B16, V3.B16]
	VLD4.P 64(R1), [V24.B16, V25.B16, V26.B16, V27.B16]
	VLD4.P 64(R1), [V16.B16, V17.B16, V18.B16, V19.B16]
	FOUR(V0, V1, V2, V3)
	FOUR(V24, V25, V26, V27)
	DOWN(V0, V1, V2, V3)
	DOWN(V24, V25, V26, V27)
	FOUR(V0, V1, V2, V3)
	FOUR(V24, V25, V26, V27)
	SUBS   $1, R3
	BNE    block
	RET

// TWO stores the scales of two runs of IQ4_XS, less 32, each for both of its groups: the nibbles of v0 are their lower bits, and the lowest
// two pairs of bits of bits their upper ones.
#define TWO(v0, bits) \
	VAND   V30.B16, v0.B16, V4.B16 \
	VUSHR  $4, v0.B16, V6.B16 \
	SIX(V4, bits) \
	VUSHR  $2, bits.B16, bits.B16 \
	SIX(V6, bits) \
	VUSHR  $2, bits.B16, bits.B16 \
	VMOV   V4.B16, V5.B16 \
	VMOV   V6.B16, V7.B16 \
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)

// func innerIQ4_XS(scales, inner *byte, blocks int)
TEXT ·innerIQ4_XS(SB), NOSPLIT, $0-24
	MOVD  scales+0(FP), R0
	MOVD  inner+8(FP), R1
	MOVD  blocks+16(FP), R3
	VMOVI $0x0F, V30.B16
	VMOVI $32, V31.B16
	VMOVI $3, V29.B16
block:
	VLD2.P 32(R1), [V16.B16, V17.B16]
	VLD2.P 32(R1), [V0.B16, V1.B16]
	VLD2.P 32(R1), [V2.B16, V3.B16]
	TWO(V0, V16)
	TWO(V1, V16)
	TWO(V2, V17)
	TWO(V3, V17)
	SUBS   $1, R3
	BNE    block
	RET

// LINES loads two lines, eight elements of each row.
#define LINES \
	ADD  $64, R0, R2 \
	VLD1 (R0), [V0.B16, V1.B16, V2.B16, V3.B16] \
	VLD1 (R2), [V4.B16, V5.B16, V6.B16, V7.B16]

// PAIR stores two lines in their place: the eight elements of a row are next to each other.
#define PAIR \
	VZIP1  V4.S4, V0.S4, V16.S4 \
	VZIP2  V4.S4, V0.S4, V17.S4 \
	VZIP1  V5.S4, V1.S4, V18.S4 \
	VZIP2  V5.S4, V1.S4, V19.S4 \
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0) \
	VZIP1  V6.S4, V2.S4, V16.S4 \
	VZIP2  V6.S4, V2.S4, V17.S4 \
	VZIP1  V7.S4, V3.S4, V18.S4 \
	VZIP2  V7.S4, V3.S4, V19.S4 \
	VST1.P [V16.B16, V17.B16, V18.B16, V19.B16], 64(R0)

// WEIGH multiplies two lines by the scales of their rows, in V20 to V23.
#define WEIGH \
	MUL16B(0, 0, 20) \
	MUL16B(1, 1, 21) \
	MUL16B(2, 2, 22) \
	MUL16B(3, 3, 23) \
	MUL16B(4, 4, 20) \
	MUL16B(5, 5, 21) \
	MUL16B(6, 6, 22) \
	MUL16B(7, 7, 23)

// func pairLines(quants *byte, groups int)
TEXT ·pairLines(SB), NOSPLIT, $0-16
	MOVD quants+0(FP), R0
	MOVD groups+8(FP), R3
group:
	LINES
	PAIR
	LINES
	PAIR
	SUBS $1, R3
	BNE  group
	RET

// ROWS loads the indices of the rows.
#define ROWS \
	MOVD  $rows<>(SB), R19 \
	FMOVQ (R19), F28 \
	VMOVI $4, V24.B16 \
	VADD  V24.B16, V28.B16, V29.B16 \
	VADD  V24.B16, V29.B16, V30.B16 \
	VADD  V24.B16, V30.B16, V31.B16

// LESSSCALES loads the scales of a group, times -1, for each of a line's bytes.
#define LESSSCALES \
	FMOVQ.P 16(R1), F24 \
	NEG16B(24, 24) \
	VTBL    V28.B16, [V24.B16], V20.B16 \
	VTBL    V29.B16, [V24.B16], V21.B16 \
	VTBL    V30.B16, [V24.B16], V22.B16 \
	VTBL    V31.B16, [V24.B16], V23.B16

// STAY stores two lines in their place.
#define STAY \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R0) \
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R0)

// func weighLines(quants, scales *byte, groups int)
TEXT ·weighLines(SB), NOSPLIT, $0-24
	MOVD quants+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD groups+16(FP), R3
	ROWS
group:
	LESSSCALES
	LINES
	WEIGH
	STAY
	LINES
	WEIGH
	STAY
	SUBS $1, R3
	BNE  group
	RET

// func weighPairs(quants, scales *byte, groups int)
TEXT ·weighPairs(SB), NOSPLIT, $0-24
	MOVD quants+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD groups+16(FP), R3
	ROWS
group:
	LESSSCALES
	LINES
	WEIGH
	PAIR
	LINES
	WEIGH
	PAIR
	SUBS $1, R3
	BNE  group
	RET
