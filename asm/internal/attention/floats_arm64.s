//go:build !purego

#include "textflag.h"
#include "words_arm64.h"
#include "floats_arm64.h"

// VALUEF32, VALUEF16 and VALUEBF16 load sixteen elements of a value, as binary32, and go on to the next value.
#define VALUEF32 \
	VLD1.P (R0)(R2), [V16.S4, V17.S4, V18.S4, V19.S4]

#define VALUEF16 \
	VLD1.P (R0)(R2), [V24.H8, V25.H8] \
	WIDENF16

#define VALUEBF16 \
	VLD1.P (R0)(R2), [V24.H8, V25.H8] \
	WIDENBF16

// func valuesF32NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
//
// R4-R7 point to the rows of p, R10-R13 to the outputs, and R0 to the values; R1 is where sixteen elements begin.
TEXT ·valuesF32NEONx4(SB), NOSPLIT, $0-72
	MOVD out0+0(FP), R10
	MOVD out1+8(FP), R11
	MOVD out2+16(FP), R12
	MOVD out3+24(FP), R13
	MOVD v+40(FP), R1
	MOVD stride+48(FP), R2
	MOVD headDim+64(FP), R8
sixteen:
	MOVD R1, R0
	ADD  $64, R1
	MOVD p+32(FP), R4
	ADD  $512, R4, R5
	ADD  $512, R5, R6
	ADD  $512, R6, R7
	MOVD n+56(FP), R3
	VLD1 (R10), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R11), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R12), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R13), [V12.S4, V13.S4, V14.S4, V15.S4]
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	VLD1.P 16(R5), [V21.S4]
	VLD1.P 16(R6), [V22.S4]
	VLD1.P 16(R7), [V23.S4]
	VALUEF32
	MULTIPLY4(0)
	VALUEF32
	MULTIPLY4(1)
	VALUEF32
	MULTIPLY4(2)
	VALUEF32
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
	VALUEF32
	MULTIPLY4(0)
	SUBS    $1, R3
	BNE     one
done:
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R11)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R12)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R13)
	SUBS   $16, R8
	BGT    sixteen
	RET

// func valuesF32NEONx1(out, p *float32, v *byte, stride, n, headDim int)
TEXT ·valuesF32NEONx1(SB), NOSPLIT, $0-48
	MOVD out+0(FP), R10
	MOVD v+16(FP), R1
	MOVD stride+24(FP), R2
	MOVD headDim+40(FP), R8
sixteen:
	MOVD R1, R0
	ADD  $64, R1
	MOVD p+8(FP), R4
	MOVD n+32(FP), R3
	VLD1 (R10), [V0.S4, V1.S4, V2.S4, V3.S4]
one:
	FMOVS.P 4(R4), F20
	VALUEF32
	MULTIPLY(0, 1, 2, 3, 20, 0)
	SUBS    $1, R3
	BNE     one
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)
	SUBS   $16, R8
	BGT    sixteen
	RET

// func valuesF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
//
// R4-R7 point to the rows of p, R10-R13 to the outputs, and R0 to the values; R1 is where sixteen elements begin.
TEXT ·valuesF16NEONx4(SB), NOSPLIT, $0-72
	MOVD out0+0(FP), R10
	MOVD out1+8(FP), R11
	MOVD out2+16(FP), R12
	MOVD out3+24(FP), R13
	MOVD v+40(FP), R1
	MOVD stride+48(FP), R2
	MOVD headDim+64(FP), R8
sixteen:
	MOVD R1, R0
	ADD  $32, R1
	MOVD p+32(FP), R4
	ADD  $512, R4, R5
	ADD  $512, R5, R6
	ADD  $512, R6, R7
	MOVD n+56(FP), R3
	VLD1 (R10), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R11), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R12), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R13), [V12.S4, V13.S4, V14.S4, V15.S4]
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	VLD1.P 16(R5), [V21.S4]
	VLD1.P 16(R6), [V22.S4]
	VLD1.P 16(R7), [V23.S4]
	VALUEF16
	MULTIPLY4(0)
	VALUEF16
	MULTIPLY4(1)
	VALUEF16
	MULTIPLY4(2)
	VALUEF16
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
	VALUEF16
	MULTIPLY4(0)
	SUBS    $1, R3
	BNE     one
done:
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R11)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R12)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R13)
	SUBS   $16, R8
	BGT    sixteen
	RET

// func valuesF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)
TEXT ·valuesF16NEONx1(SB), NOSPLIT, $0-48
	MOVD out+0(FP), R10
	MOVD v+16(FP), R1
	MOVD stride+24(FP), R2
	MOVD headDim+40(FP), R8
sixteen:
	MOVD R1, R0
	ADD  $32, R1
	MOVD p+8(FP), R4
	MOVD n+32(FP), R3
	VLD1 (R10), [V0.S4, V1.S4, V2.S4, V3.S4]
one:
	FMOVS.P 4(R4), F20
	VALUEF16
	MULTIPLY(0, 1, 2, 3, 20, 0)
	SUBS    $1, R3
	BNE     one
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)
	SUBS   $16, R8
	BGT    sixteen
	RET

// func valuesBF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
//
// R4-R7 point to the rows of p, R10-R13 to the outputs, and R0 to the values; R1 is where sixteen elements begin.
TEXT ·valuesBF16NEONx4(SB), NOSPLIT, $0-72
	MOVD out0+0(FP), R10
	MOVD out1+8(FP), R11
	MOVD out2+16(FP), R12
	MOVD out3+24(FP), R13
	MOVD v+40(FP), R1
	MOVD stride+48(FP), R2
	MOVD headDim+64(FP), R8
sixteen:
	MOVD R1, R0
	ADD  $32, R1
	MOVD p+32(FP), R4
	ADD  $512, R4, R5
	ADD  $512, R5, R6
	ADD  $512, R6, R7
	MOVD n+56(FP), R3
	VLD1 (R10), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1 (R11), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1 (R12), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1 (R13), [V12.S4, V13.S4, V14.S4, V15.S4]
	SUBS $4, R3
	BLT  tail
four:
	VLD1.P 16(R4), [V20.S4]
	VLD1.P 16(R5), [V21.S4]
	VLD1.P 16(R6), [V22.S4]
	VLD1.P 16(R7), [V23.S4]
	VALUEBF16
	MULTIPLY4(0)
	VALUEBF16
	MULTIPLY4(1)
	VALUEBF16
	MULTIPLY4(2)
	VALUEBF16
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
	VALUEBF16
	MULTIPLY4(0)
	SUBS    $1, R3
	BNE     one
done:
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R11)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R12)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R13)
	SUBS   $16, R8
	BGT    sixteen
	RET

// func valuesBF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)
TEXT ·valuesBF16NEONx1(SB), NOSPLIT, $0-48
	MOVD out+0(FP), R10
	MOVD v+16(FP), R1
	MOVD stride+24(FP), R2
	MOVD headDim+40(FP), R8
sixteen:
	MOVD R1, R0
	ADD  $32, R1
	MOVD p+8(FP), R4
	MOVD n+32(FP), R3
	VLD1 (R10), [V0.S4, V1.S4, V2.S4, V3.S4]
one:
	FMOVS.P 4(R4), F20
	VALUEBF16
	MULTIPLY(0, 1, 2, 3, 20, 0)
	SUBS    $1, R3
	BNE     one
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R10)
	SUBS   $16, R8
	BGT    sixteen
	RET
