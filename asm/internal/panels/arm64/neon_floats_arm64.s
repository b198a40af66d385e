//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "floats_arm64.h"

// The products of panels of floats with rows of activations, see panels.FloatKernel. A lane of a register has a row of weights; an
// activation is multiplied as an element of a register. Registers of all kernels:
//
//	R0 and R10-R12 panels, R3 k, R4-R7 rows of activations, R8 out, R9 stride in bytes
//	V0-V15 sums: four registers for each row of activations or for each panel
//	V16-V19 weights
//	V20-V23 activations
//	V24, V25 weights before they are widened

// LOADF32, LOADF16 and LOADBF16 load one element of each of sixteen rows, as binary32.
#define LOADF32(w) \
	VLD1.P 64(w), [V16.S4, V17.S4, V18.S4, V19.S4]

#define LOADF16(w) \
	VLD1.P 32(w), [V24.H8, V25.H8] \
	WIDENF16

#define LOADBF16(w) \
	VLD1.P 32(w), [V24.H8, V25.H8] \
	WIDENBF16

// CLEAR clears the first four sums, and CLEAR16 all.
#define CLEAR \
	VEOR V0.B16, V0.B16, V0.B16 \
	VEOR V1.B16, V1.B16, V1.B16 \
	VEOR V2.B16, V2.B16, V2.B16 \
	VEOR V3.B16, V3.B16, V3.B16

#define CLEAR16 \
	CLEAR \
	VEOR V4.B16, V4.B16, V4.B16 \
	VEOR V5.B16, V5.B16, V5.B16 \
	VEOR V6.B16, V6.B16, V6.B16 \
	VEOR V7.B16, V7.B16, V7.B16 \
	VEOR V8.B16, V8.B16, V8.B16 \
	VEOR V9.B16, V9.B16, V9.B16 \
	VEOR V10.B16, V10.B16, V10.B16 \
	VEOR V11.B16, V11.B16, V11.B16 \
	VEOR V12.B16, V12.B16, V12.B16 \
	VEOR V13.B16, V13.B16, V13.B16 \
	VEOR V14.B16, V14.B16, V14.B16 \
	VEOR V15.B16, V15.B16, V15.B16

// STORE16 stores all sums, sixteen every step bytes.
#define STORE16(step) \
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R8) \
	ADD  step, R8 \
	VST1 [V4.S4, V5.S4, V6.S4, V7.S4], (R8) \
	ADD  step, R8 \
	VST1 [V8.S4, V9.S4, V10.S4, V11.S4], (R8) \
	ADD  step, R8 \
	VST1 [V12.S4, V13.S4, V14.S4, V15.S4], (R8)

// SINGLESF32 multiplies four panels with element i of V20.
#define SINGLESF32(i) \
	LOADF32(R0) \
	MULTIPLY(0, 1, 2, 3, 20, i) \
	LOADF32(R10) \
	MULTIPLY(4, 5, 6, 7, 20, i) \
	LOADF32(R11) \
	MULTIPLY(8, 9, 10, 11, 20, i) \
	LOADF32(R12) \
	MULTIPLY(12, 13, 14, 15, 20, i)

// func f32NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·f32NEONx4(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	MOVD stride+40(FP), R9
	ADD  R3<<2, R4, R5
	ADD  R3<<2, R5, R6
	ADD  R3<<2, R6, R7
	LSL  $2, R9
	CLEAR16
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	VLD1.P 16(R5), [V21.S4]
	VLD1.P 16(R6), [V22.S4]
	VLD1.P 16(R7), [V23.S4]
	LOADF32(R0)
	MULTIPLY4(0)
	LOADF32(R0)
	MULTIPLY4(1)
	LOADF32(R0)
	MULTIPLY4(2)
	LOADF32(R0)
	MULTIPLY4(3)
	SUBS   $4, R3
	BGE    four
tail:
	ADDS $4, R3
	BEQ  done
one:
	FMOVS.P 4(R4), F20
	FMOVS.P 4(R5), F21
	FMOVS.P 4(R6), F22
	FMOVS.P 4(R7), F23
	LOADF32(R0)
	MULTIPLY4(0)
	SUBS    $1, R3
	BNE     one
done:
	STORE16(R9)
	RET

// func f32NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·f32NEONx1(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	CLEAR
one:
	FMOVS.P 4(R4), F20
	LOADF32(R0)
	MULTIPLY(0, 1, 2, 3, 20, 0)
	SUBS    $1, R3
	BNE     one
	VST1    [V0.S4, V1.S4, V2.S4, V3.S4], (R8)
	RET

// func f32NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·f32NEONx1x4(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD panelBytes+8(FP), R2
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	ADD  R2, R0, R10
	ADD  R2, R10, R11
	ADD  R2, R11, R12
	CLEAR16
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	SINGLESF32(0)
	SINGLESF32(1)
	SINGLESF32(2)
	SINGLESF32(3)
	SUBS   $4, R3
	BGE    four
tail:
	ADDS $4, R3
	BEQ  done
one:
	FMOVS.P 4(R4), F20
	SINGLESF32(0)
	SUBS    $1, R3
	BNE     one
done:
	STORE16($64)
	RET

// SINGLESF16 multiplies four panels with element i of V20.
#define SINGLESF16(i) \
	LOADF16(R0) \
	MULTIPLY(0, 1, 2, 3, 20, i) \
	LOADF16(R10) \
	MULTIPLY(4, 5, 6, 7, 20, i) \
	LOADF16(R11) \
	MULTIPLY(8, 9, 10, 11, 20, i) \
	LOADF16(R12) \
	MULTIPLY(12, 13, 14, 15, 20, i)

// func f16NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·f16NEONx4(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	MOVD stride+40(FP), R9
	ADD  R3<<2, R4, R5
	ADD  R3<<2, R5, R6
	ADD  R3<<2, R6, R7
	LSL  $2, R9
	CLEAR16
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	VLD1.P 16(R5), [V21.S4]
	VLD1.P 16(R6), [V22.S4]
	VLD1.P 16(R7), [V23.S4]
	LOADF16(R0)
	MULTIPLY4(0)
	LOADF16(R0)
	MULTIPLY4(1)
	LOADF16(R0)
	MULTIPLY4(2)
	LOADF16(R0)
	MULTIPLY4(3)
	SUBS   $4, R3
	BGE    four
tail:
	ADDS $4, R3
	BEQ  done
one:
	FMOVS.P 4(R4), F20
	FMOVS.P 4(R5), F21
	FMOVS.P 4(R6), F22
	FMOVS.P 4(R7), F23
	LOADF16(R0)
	MULTIPLY4(0)
	SUBS    $1, R3
	BNE     one
done:
	STORE16(R9)
	RET

// func f16NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·f16NEONx1(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	CLEAR
one:
	FMOVS.P 4(R4), F20
	LOADF16(R0)
	MULTIPLY(0, 1, 2, 3, 20, 0)
	SUBS    $1, R3
	BNE     one
	VST1    [V0.S4, V1.S4, V2.S4, V3.S4], (R8)
	RET

// func f16NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·f16NEONx1x4(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD panelBytes+8(FP), R2
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	ADD  R2, R0, R10
	ADD  R2, R10, R11
	ADD  R2, R11, R12
	CLEAR16
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	SINGLESF16(0)
	SINGLESF16(1)
	SINGLESF16(2)
	SINGLESF16(3)
	SUBS   $4, R3
	BGE    four
tail:
	ADDS $4, R3
	BEQ  done
one:
	FMOVS.P 4(R4), F20
	SINGLESF16(0)
	SUBS    $1, R3
	BNE     one
done:
	STORE16($64)
	RET

// SINGLESBF16 multiplies four panels with element i of V20.
#define SINGLESBF16(i) \
	LOADBF16(R0) \
	MULTIPLY(0, 1, 2, 3, 20, i) \
	LOADBF16(R10) \
	MULTIPLY(4, 5, 6, 7, 20, i) \
	LOADBF16(R11) \
	MULTIPLY(8, 9, 10, 11, 20, i) \
	LOADBF16(R12) \
	MULTIPLY(12, 13, 14, 15, 20, i)

// func bf16NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·bf16NEONx4(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	MOVD stride+40(FP), R9
	ADD  R3<<2, R4, R5
	ADD  R3<<2, R5, R6
	ADD  R3<<2, R6, R7
	LSL  $2, R9
	CLEAR16
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	VLD1.P 16(R5), [V21.S4]
	VLD1.P 16(R6), [V22.S4]
	VLD1.P 16(R7), [V23.S4]
	LOADBF16(R0)
	MULTIPLY4(0)
	LOADBF16(R0)
	MULTIPLY4(1)
	LOADBF16(R0)
	MULTIPLY4(2)
	LOADBF16(R0)
	MULTIPLY4(3)
	SUBS   $4, R3
	BGE    four
tail:
	ADDS $4, R3
	BEQ  done
one:
	FMOVS.P 4(R4), F20
	FMOVS.P 4(R5), F21
	FMOVS.P 4(R6), F22
	FMOVS.P 4(R7), F23
	LOADBF16(R0)
	MULTIPLY4(0)
	SUBS    $1, R3
	BNE     one
done:
	STORE16(R9)
	RET

// func bf16NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·bf16NEONx1(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	CLEAR
one:
	FMOVS.P 4(R4), F20
	LOADBF16(R0)
	MULTIPLY(0, 1, 2, 3, 20, 0)
	SUBS    $1, R3
	BNE     one
	VST1    [V0.S4, V1.S4, V2.S4, V3.S4], (R8)
	RET

// func bf16NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)
TEXT ·bf16NEONx1x4(SB), NOSPLIT, $0-48
	MOVD w+0(FP), R0
	MOVD panelBytes+8(FP), R2
	MOVD k+16(FP), R3
	MOVD x+24(FP), R4
	MOVD out+32(FP), R8
	ADD  R2, R0, R10
	ADD  R2, R10, R11
	ADD  R2, R11, R12
	CLEAR16
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	SINGLESBF16(0)
	SINGLESBF16(1)
	SINGLESBF16(2)
	SINGLESBF16(3)
	SUBS   $4, R3
	BGE    four
tail:
	ADDS $4, R3
	BEQ  done
one:
	FMOVS.P 4(R4), F20
	SINGLESBF16(0)
	SUBS    $1, R3
	BNE     one
done:
	STORE16($64)
	RET
