//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// ADDROW adds a row of the state, of eight columns in V{s} and V{s+1}, times element r of V{x} to V{sum} and V{sum+1}.
#define ADDROW(sum, s, x, r) \
	FMLA4SE(sum, s, x, r) \
	FMLA4SE(sum+1, s+1, x, r)

// CHANGE changes row r of the state, which is read from (R12) and written to (R13), and leaves it in V{s} and V{s+1}: it is multiplied by V18,
// and the change in V16 and V17 times element r of V19 is added.
#define CHANGE(s, t, r) \
	VLD1.P (R12)(R14), [s.S4, t.S4] \
	FMUL4S(22+2*r, 22+2*r, 18) \
	FMUL4S(23+2*r, 23+2*r, 18) \
	ADDROW(22+2*r, 16, 19, r) \
	VST1.P [s.S4, t.S4], (R13)(R14)

// CHANGES does so with four rows, V22 to V29.
#define CHANGES \
	CHANGE(V22, V23, 0) \
	CHANGE(V24, V25, 1) \
	CHANGE(V26, V27, 2) \
	CHANGE(V28, V29, 3)

// ADDROWS adds these rows times the elements of V{x} to four sums from V{sum} on.
#define ADDROWS(sum, x) \
	ADDROW(sum, 22, x, 0) \
	ADDROW(sum+2, 24, x, 1) \
	ADDROW(sum+4, 26, x, 2) \
	ADDROW(sum+6, 28, x, 3)

// TOTAL adds four sums from V{sum} on up, as recurrent.Sums says, in the first.
#define TOTAL(sum) \
	FADD4S(sum, sum, sum+4) \
	FADD4S(sum+1, sum+1, sum+5) \
	FADD4S(sum+2, sum+2, sum+6) \
	FADD4S(sum+3, sum+3, sum+7) \
	FADD4S(sum, sum, sum+2) \
	FADD4S(sum+1, sum+1, sum+3)

// CLEARKNOWN and CLEARRESULTS set sums to 0.
#define CLEARKNOWN \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16 \
	VEOR V4.B16, V4.B16, V4.B16 \
	VEOR V5.B16, V5.B16, V5.B16 \
	VEOR V6.B16, V6.B16, V6.B16 \
	VEOR V7.B16, V7.B16, V7.B16

#define CLEARRESULTS \
	VEOR V8.B16, V8.B16, V8.B16 \
	VEOR V9.B16, V9.B16, V9.B16 \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16

// func recurNEON(state, q, k, v, out, decay, beta *float32, keyDim, keyStride, valueStride, rows, delta int)
//
// V0 to V7 are the sums of what the state knows of a token, V8 to V15 those of its result, each four sums of eight columns. While token t
// changes a row of the state, the row is multiplied by the query of token t and the key of token t+1.
TEXT ·recurNEON(SB), NOSPLIT, $0-96
	MOVD state+0(FP), R0
	MOVD q+8(FP), R1
	MOVD k+16(FP), R2
	MOVD v+24(FP), R3
	MOVD out+32(FP), R4
	MOVD decay+40(FP), R5
	MOVD beta+48(FP), R6
	MOVD keyDim+56(FP), R7
	MOVD keyStride+64(FP), R8
	MOVD valueStride+72(FP), R9
	MOVD rows+80(FP), R10
	MOVD delta+88(FP), R11
	MOVD $64, R14 // bytes of a row of the state
	CLEARKNOWN
	CBZ  R11, token
	MOVD R0, R12
	MOVD R2, R15
	MOVD R7, R16
first:
	VLD1.P 16(R15), [V21.S4]
	VLD1.P (R12)(R14), [V22.S4, V23.S4]
	VLD1.P (R12)(R14), [V24.S4, V25.S4]
	VLD1.P (R12)(R14), [V26.S4, V27.S4]
	VLD1.P (R12)(R14), [V28.S4, V29.S4]
	ADDROWS(0, 21)
	SUBS   $4, R16
	BNE    first
token:
	VLD1   (R3), [V16.S4, V17.S4]
	VLD1R  (R5), [V18.S4]
	VLD1R  (R6), [V24.S4]
	CBZ    R11, change
	TOTAL(0)
	FMLS4S(16, 0, 18)
	FMLS4S(17, 1, 18)
change:
	FMUL4S(16, 16, 24)
	FMUL4S(17, 17, 24)
	CLEARRESULTS
	MOVD   R0, R12
	MOVD   R0, R13
	MOVD   R1, R17
	MOVD   R2, R15
	ADD    R8, R2
	MOVD   R7, R16
	CBZ    R11, last
	CMP    $1, R10
	BEQ    last
	CLEARKNOWN
	MOVD   R2, R19
changes:
	VLD1.P 16(R15), [V19.S4]
	VLD1.P 16(R17), [V20.S4]
	VLD1.P 16(R19), [V21.S4]
	CHANGES
	ADDROWS(8, 20)
	ADDROWS(0, 21)
	SUBS   $4, R16
	BNE    changes
	B      result
last:
	VLD1.P 16(R15), [V19.S4]
	VLD1.P 16(R17), [V20.S4]
	CHANGES
	ADDROWS(8, 20)
	SUBS   $4, R16
	BNE    last
result:
	TOTAL(8)
	VST1   [V8.S4, V9.S4], (R4)
	ADD    R8, R1
	ADD    R9, R3
	ADD    R9, R4
	ADD    $4, R5
	ADD    $4, R6
	SUBS   $1, R10
	BNE    token
	RET
