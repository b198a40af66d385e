//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "blocks32_arm64.h"

// The products of eight of a panel's rows with some rows of activations for processors without SDOT, see panels.BlockKernel. Products
// are added up in 16 bits, in four lanes for each row of weights: two rows a register. Registers of all kernels:
//
//	R0 w, R3 blocks, R4 q, R5 d, R6 sums, R8 out; see also blocks32_arm64.h
//	R7, R10, R11 q, d and sums of the second row of activations, R9 stride in bytes
//	R21 scratch
//	V0-V3, V4-V7 sums in 16 bits for each row of activations
//	V8, V9, V10, V11 sums of all blocks
//	V12-V15, V20-V23 sums in 32 bits for each row of activations, where 16 are too few
//	V16, V17, V18, V19 activations
//	V24-V27 weights, V28 and V29 four activations in all lanes

// BIAS adds to the eight sums of a row of activations -8 times the sum of its block, and the bits of V31: see blocks32_arm64.h.
#define BIAS(sums, v0, v1) \
	MOVW (sums)(R2<<2), R21 \
	SUB  R21<<3, R20, R21 \
	VDUP R21, V24.S4 \
	VADD V24.S4, v0.S4, v0.S4 \
	VADD V24.S4, v1.S4, v1.S4

// JOIN adds up the four lanes of each row, in registers n0 to n3: the sums of eight rows are v0 and v2.
#define JOIN(n0, n1, n2, n3, v0, v1, v2, v3) \
	SADDLP4S(n0, n0) \
	SADDLP4S(n1, n1) \
	SADDLP4S(n2, n2) \
	SADDLP4S(n3, n3) \
	VADDP v1.S4, v0.S4, v0.S4 \
	VADDP v3.S4, v2.S4, v2.S4

// JOINBYTES adds up the two lanes of each row in v0 to v3, and the bits of V31: the sums of eight rows are s0 and s1.
#define JOINBYTES(v0, v1, v2, v3, s0, s1) \
	VADDP v1.S4, v0.S4, s0.S4 \
	VADDP v3.S4, v2.S4, s1.S4 \
	VADD  V31.S4, s0.S4, s0.S4 \
	VADD  V31.S4, s1.S4, s1.S4

// MULTIPLY begins sums in registers n0 to n3 with the products of weights w0 and w1 and activations a; MULTIPLYADD adds them.
#define MULTIPLY(n0, n1, n2, n3, w0, w1, a) \
	SMULL8H(n0, w0, a) \
	SMULL2_8H(n1, w0, a) \
	SMULL8H(n2, w1, a) \
	SMULL2_8H(n3, w1, a)

#define MULTIPLYADD(n0, n1, n2, n3, w0, w1, a) \
	SMLAL8H(n0, w0, a) \
	SMLAL2_8H(n1, w0, a) \
	SMLAL8H(n2, w1, a) \
	SMLAL2_8H(n3, w1, a)

// LOADNIBBLES loads a line's half, eight rows of four bytes: the lower nibbles to V26 and V27, the upper ones to V24 and V25.
#define LOADNIBBLES \
	PRFM  AHEAD(R0), PLDL1KEEP \
	VLD1  (R0), [V24.B16, V25.B16] \
	ADD   $64, R0 \
	VAND  V30.B16, V24.B16, V26.B16 \
	VAND  V30.B16, V25.B16, V27.B16 \
	VUSHR $4, V24.B16, V24.B16 \
	VUSHR $4, V25.B16, V25.B16

// NIBBLES1 multiplies a line's half with elements i of V16 and V17, and NIBBLES2 with those of V18 and V19 too. Eight
// products of a nibble and an activation fit in 16 bits. The first line begins the sums.
#define FIRSTNIBBLES1 \
	LOADNIBBLES \
	VDUP V16.S[0], V28.S4 \
	VDUP V17.S[0], V29.S4 \
	MULTIPLY(0, 1, 2, 3, 26, 27, 28) \
	MULTIPLYADD(0, 1, 2, 3, 24, 25, 29)

#define FIRSTNIBBLES2 \
	FIRSTNIBBLES1 \
	VDUP V18.S[0], V28.S4 \
	VDUP V19.S[0], V29.S4 \
	MULTIPLY(4, 5, 6, 7, 26, 27, 28) \
	MULTIPLYADD(4, 5, 6, 7, 24, 25, 29)

#define NIBBLES1(i) \
	LOADNIBBLES \
	VDUP V16.S[i], V28.S4 \
	VDUP V17.S[i], V29.S4 \
	MULTIPLYADD(0, 1, 2, 3, 26, 27, 28) \
	MULTIPLYADD(0, 1, 2, 3, 24, 25, 29)

#define NIBBLES2(i) \
	NIBBLES1(i) \
	VDUP V18.S[i], V28.S4 \
	VDUP V19.S[i], V29.S4 \
	MULTIPLYADD(4, 5, 6, 7, 26, 27, 28) \
	MULTIPLYADD(4, 5, 6, 7, 24, 25, 29)

// BYTES1 multiplies two lines' halves with elements i and j of a0, and BYTES2 with those of a1 too. Two products of bytes fit
// in 16 bits, since activations are no less than -127; then they go to 32.
#define BYTES1(a0, i, j) \
	PRFM  AHEAD(R0), PLDL1KEEP \
	PRFM  (AHEAD+64)(R0), PLDL1KEEP \
	VLD1 (R0), [V24.B16, V25.B16] \
	ADD  $64, R0 \
	VLD1 (R0), [V26.B16, V27.B16] \
	ADD  $64, R0 \
	VDUP a0.S[i], V28.S4 \
	VDUP a0.S[j], V29.S4 \
	MULTIPLY(0, 1, 2, 3, 24, 25, 28) \
	MULTIPLYADD(0, 1, 2, 3, 26, 27, 29) \
	SADALP4S(12, 0) \
	SADALP4S(13, 1) \
	SADALP4S(14, 2) \
	SADALP4S(15, 3)

#define BYTES2(a0, a1, i, j) \
	BYTES1(a0, i, j) \
	VDUP a1.S[i], V28.S4 \
	VDUP a1.S[j], V29.S4 \
	MULTIPLY(4, 5, 6, 7, 24, 25, 28) \
	MULTIPLYADD(4, 5, 6, 7, 26, 27, 29) \
	SADALP4S(20, 4) \
	SADALP4S(21, 5) \
	SADALP4S(22, 6) \
	SADALP4S(23, 7)

// CLEAR1 and CLEAR2 clear the sums in 32 bits.
#define CLEAR1 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16

#define CLEAR2 \
	CLEAR1 \
	VEOR V20.B16, V20.B16, V20.B16 \
	VEOR V21.B16, V21.B16, V21.B16 \
	VEOR V22.B16, V22.B16, V22.B16 \
	VEOR V23.B16, V23.B16, V23.B16

// func q4_0NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_0NEONx2(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	ADD  R4, R7
	ADD  R3<<2, R5, R10
	ADD  R3<<2, R6, R11
	LSL  $2, R9
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	VLD1.P 32(R7), [V18.B16, V19.B16]
	FIRSTNIBBLES2
	NIBBLES2(1)
	NIBBLES2(2)
	NIBBLES2(3)
	JOIN(0, 1, 2, 3, V0, V1, V2, V3)
	BIAS(R6, V0, V2)
	JOIN(4, 5, 6, 7, V4, V5, V6, V7)
	BIAS(R11, V4, V6)
	SCALES
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	ACCUMULATE(R10, 4, 6, V4, V6, V10, V11)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	ADD  R9, R8
	VST1 [V10.S4, V11.S4], (R8)
	RET

// func q4_0NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_0NEONx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	FIRSTNIBBLES1
	NIBBLES1(1)
	NIBBLES1(2)
	NIBBLES1(3)
	JOIN(0, 1, 2, 3, V0, V1, V2, V3)
	BIAS(R6, V0, V2)
	SCALES
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	RET

// func q4_1NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_1NEONx2(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	ADD  R4, R7
	ADD  R3<<2, R5, R10
	ADD  R3<<2, R6, R11
	LSL  $2, R9
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	VLD1.P 32(R7), [V18.B16, V19.B16]
	FIRSTNIBBLES2
	NIBBLES2(1)
	NIBBLES2(2)
	NIBBLES2(3)
	JOIN(0, 1, 2, 3, V0, V1, V2, V3)
	VADD V31.S4, V0.S4, V0.S4
	VADD V31.S4, V2.S4, V2.S4
	JOIN(4, 5, 6, 7, V4, V5, V6, V7)
	VADD V31.S4, V4.S4, V4.S4
	VADD V31.S4, V6.S4, V6.S4
	SCALES
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	ACCUMULATE(R10, 4, 6, V4, V6, V10, V11)
	SCALES
	MINIMUM(R5, R6, 8, 9)
	MINIMUM(R10, R11, 10, 11)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	ADD  R9, R8
	VST1 [V10.S4, V11.S4], (R8)
	RET

// func q4_1NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q4_1NEONx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD sums+48(FP), R6
	MOVD out+64(FP), R8
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	FIRSTNIBBLES1
	NIBBLES1(1)
	NIBBLES1(2)
	NIBBLES1(3)
	JOIN(0, 1, 2, 3, V0, V1, V2, V3)
	VADD V31.S4, V0.S4, V0.S4
	VADD V31.S4, V2.S4, V2.S4
	SCALES
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	SCALES
	MINIMUM(R5, R6, 8, 9)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	RET

// func q8_0NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q8_0NEONx2(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD k+56(FP), R7
	MOVD out+64(FP), R8
	MOVD stride+72(FP), R9
	ADD  R4, R7
	ADD  R3<<2, R5, R10
	LSL  $2, R9
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	VLD1.P 32(R7), [V18.B16, V19.B16]
	CLEAR2
	BYTES2(V16, V18, 0, 1)
	BYTES2(V16, V18, 2, 3)
	BYTES2(V17, V19, 0, 1)
	BYTES2(V17, V19, 2, 3)
	JOINBYTES(V12, V13, V14, V15, V0, V2)
	JOINBYTES(V20, V21, V22, V23, V4, V6)
	SCALES
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	ACCUMULATE(R10, 4, 6, V4, V6, V10, V11)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	ADD  R9, R8
	VST1 [V10.S4, V11.S4], (R8)
	RET

// func q8_0NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
TEXT ·q8_0NEONx1(SB), NOSPLIT, $0-80
	MOVD w+0(FP), R0
	MOVD scales+8(FP), R1
	MOVD blocks+24(FP), R3
	MOVD q+32(FP), R4
	MOVD d+40(FP), R5
	MOVD out+64(FP), R8
	CONSTANTS
	MOVD $0, R2
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
block:
	VLD1.P 32(R4), [V16.B16, V17.B16]
	CLEAR1
	BYTES1(V16, 0, 1)
	BYTES1(V16, 2, 3)
	BYTES1(V17, 0, 1)
	BYTES1(V17, 2, 3)
	JOINBYTES(V12, V13, V14, V15, V0, V2)
	SCALES
	ACCUMULATE(R5, 0, 2, V0, V2, V8, V9)
	ADD  $1, R2
	CMP  R3, R2
	BLT  block
	VST1 [V8.S4, V9.S4], (R8)
	RET
