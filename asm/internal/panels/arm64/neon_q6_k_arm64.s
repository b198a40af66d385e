//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "q6_k_arm64.h"

// The products in Q6_K with one row of activations for processors without SDOT: panels.BlockKernel. The registers are those of
// q6_k_arm64.h.

// LINENEON multiplies a line with elements i of V16 and V17: products are added up in 16 bits, in four lanes for each row of
// weights, in V4 to V7 for the lower group and in V10, V11, V14 and V15 for the upper one. A lane takes four products of a quant
// below 64 and an activation of at most 127, and 63·127·4 fits.
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

// GROUPNEON works on two groups for one row of activations.
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
