//go:build !purego

#include "textflag.h"

// The keys of a cache in blocks, brought into panels, four at a time: the same four bytes of each become neighbours. Registers:
//
//	R0 w, R1 k, R2 stride, R3 keys that are left, R5 scales, R8 blocks
//	R10-R12 the second to fourth key, R15 the one after
//	R13, R14, R16 w, scales and blocks of the four keys that are transposed
//	R4 64, the distance of neighbours' fours; R6, R9 scratch

// NEXTKEY sets the pointer to the next key, or to the last one again.
#define NEXTKEY(last, next) \
	SUBS $1, R3 \
	CSEL GT, R2, ZR, R9 \
	ADD  R9, last, next

#define ARGUMENTS \
	MOVD w+0(FP), R0 \
	MOVD scales+8(FP), R5 \
	MOVD k+16(FP), R1 \
	MOVD stride+24(FP), R2 \
	MOVD n+32(FP), R3 \
	MOVD blocks+40(FP), R8 \
	MOVD $64, R4

// BEGIN begins with four keys.
#define BEGIN \
	NEXTKEY(R1, R10) \
	NEXTKEY(R10, R11) \
	NEXTKEY(R11, R12) \
	NEXTKEY(R12, R15) \
	MOVD R0, R13 \
	MOVD R5, R14 \
	MOVD R8, R16

// SCALES copies the scales of a block.
#define SCALES \
	MOVHU.P 2(R1), R6 \
	MOVHU.P 2(R10), R9 \
	ORR     R9<<16, R6 \
	MOVHU.P 2(R11), R9 \
	ORR     R9<<32, R6 \
	MOVHU.P 2(R12), R9 \
	ORR     R9<<48, R6 \
	MOVD    R6, (R14) \
	ADD     $32, R14

// SIXTEEN transposes sixteen bytes of four keys.
#define SIXTEEN \
	VLD1.P 16(R1), [V0.S4] \
	VLD1.P 16(R10), [V1.S4] \
	VLD1.P 16(R11), [V2.S4] \
	VLD1.P 16(R12), [V3.S4] \
	VZIP1  V2.S4, V0.S4, V4.S4 \
	VZIP2  V2.S4, V0.S4, V5.S4 \
	VZIP1  V3.S4, V1.S4, V6.S4 \
	VZIP2  V3.S4, V1.S4, V7.S4 \
	VZIP1  V6.S4, V4.S4, V0.S4 \
	VZIP2  V6.S4, V4.S4, V1.S4 \
	VZIP1  V7.S4, V5.S4, V2.S4 \
	VZIP2  V7.S4, V5.S4, V3.S4 \
	VST1.P [V0.S4], (R13)(R4) \
	VST1.P [V1.S4], (R13)(R4) \
	VST1.P [V2.S4], (R13)(R4) \
	VST1.P [V3.S4], (R13)(R4)

// END goes on to the next four keys; the flags tell whether there are any.
#define END \
	MOVD R15, R1 \
	ADD  $16, R0 \
	ADD  $8, R5 \
	CMP  $0, R3

// func transposeQ8_0NEON(w, scales, k *byte, stride, n, blocks int)
TEXT ·transposeQ8_0NEON(SB), NOSPLIT, $0-48
	ARGUMENTS
keys:
	BEGIN
block:
	SCALES
	SIXTEEN
	SIXTEEN
	SUBS $1, R16
	BNE  block
	END
	BGT  keys
	RET

// func transposeQ4_0NEON(w, scales, k *byte, stride, n, blocks int)
TEXT ·transposeQ4_0NEON(SB), NOSPLIT, $0-48
	ARGUMENTS
keys:
	BEGIN
block:
	SCALES
	SIXTEEN
	SUBS $1, R16
	BNE  block
	END
	BGT  keys
	RET
