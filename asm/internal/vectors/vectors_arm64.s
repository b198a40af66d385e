//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// In all loops R0 and up point to the operands in the order of the arguments, and R8 counts elements. Four elements at a
// time go through a register; what is left goes through the same instructions one by one, in the lowest lane.

// func addNEON(dst, src *float32, n int)
TEXT ·addNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
	SUBS $4, R8
	BLT  tail
four:
	VLD1   (R0), [V0.S4]
	VLD1.P 16(R1), [V1.S4]
	FADD4S(0, 0, 1)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FMOVS.P 4(R1), F1
	FADDS   F1, F0
	FMOVS.P F0, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// func mulNEON(dst, src *float32, n int)
TEXT ·mulNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R8
	SUBS $4, R8
	BLT  tail
four:
	VLD1   (R0), [V0.S4]
	VLD1.P 16(R1), [V1.S4]
	FMUL4S(0, 0, 1)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FMOVS.P 4(R1), F1
	FMULS   F1, F0
	FMOVS.P F0, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// func scaleNEON(x *float32, n int, v float32)
TEXT ·scaleNEON(SB), NOSPLIT, $0-20
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R8
	FMOVS v+16(FP), F2
	VDUP  V2.S[0], V2.S4
	SUBS  $4, R8
	BLT   tail
four:
	VLD1   (R0), [V0.S4]
	FMUL4S(0, 0, 2)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FMULS   F2, F0
	FMOVS.P F0, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// func divideNEON(x *float32, n int, v float32)
TEXT ·divideNEON(SB), NOSPLIT, $0-20
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R8
	FMOVS v+16(FP), F2
	VDUP  V2.S[0], V2.S4
	SUBS  $4, R8
	BLT   tail
four:
	VLD1   (R0), [V0.S4]
	FDIV4S(0, 0, 2)
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FDIVS   F2, F0
	FMOVS.P F0, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// func axpyNEON(dst, x *float32, n int, a float32)
TEXT ·axpyNEON(SB), NOSPLIT, $0-28
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  n+16(FP), R8
	FMOVS a+24(FP), F2
	VDUP  V2.S[0], V2.S4
	SUBS  $4, R8
	BLT   tail
four:
	VLD1   (R0), [V0.S4]
	VLD1.P 16(R1), [V1.S4]
	VFMLA  V1.S4, V2.S4, V0.S4
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FMOVS.P 4(R1), F1
	FMADDS  F1, F0, F2, F0
	FMOVS.P F0, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// func axpbyNEON(dst, x *float32, n int, a, b float32)
TEXT ·axpbyNEON(SB), NOSPLIT, $0-32
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  n+16(FP), R8
	FMOVS a+24(FP), F2
	FMOVS b+28(FP), F3
	VDUP  V2.S[0], V2.S4
	VDUP  V3.S[0], V3.S4
	SUBS  $4, R8
	BLT   tail
four:
	VLD1   (R0), [V0.S4]
	VLD1.P 16(R1), [V1.S4]
	FMUL4S(0, 0, 3)
	VFMLA  V1.S4, V2.S4, V0.S4
	VST1.P [V0.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FMOVS.P 4(R1), F1
	FMULS   F3, F0
	FMADDS  F1, F0, F2, F0
	FMOVS.P F0, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// func normNEON(dst, x, w *float32, n int, s float32)
TEXT ·normNEON(SB), NOSPLIT, $0-36
	MOVD  dst+0(FP), R0
	MOVD  x+8(FP), R1
	MOVD  w+16(FP), R2
	MOVD  n+24(FP), R8
	FMOVS s+32(FP), F3
	VDUP  V3.S[0], V3.S4
	SUBS  $4, R8
	BLT   tail
four:
	VLD1.P 16(R1), [V1.S4]
	VLD1.P 16(R2), [V2.S4]
	FMUL4S(1, 1, 3)
	FMUL4S(1, 1, 2)
	VST1.P [V1.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS.P 4(R1), F1
	FMOVS.P 4(R2), F2
	FMULS   F3, F1
	FMULS   F2, F1
	FMOVS.P F1, 4(R0)
	SUBS    $1, R8
	BNE     one
done:
	RET

// ROTATE turns V0 and V1 by the angles whose cosines and sines are V2 and V3; the results are V5 and V4.
#define ROTATE \
	FMUL4S(4, 1, 2) \
	FMUL4S(5, 1, 3) \
	FNEG4S(5, 5) \
	VFMLA V0.S4, V2.S4, V5.S4 \
	VFMLA V0.S4, V3.S4, V4.S4

// func ropeNEON(lo, hi, cos, sin *float32, n int)
TEXT ·ropeNEON(SB), NOSPLIT, $0-40
	MOVD lo+0(FP), R0
	MOVD hi+8(FP), R1
	MOVD cos+16(FP), R2
	MOVD sin+24(FP), R3
	MOVD n+32(FP), R8
	SUBS $4, R8
	BLT  tail
four:
	VLD1   (R0), [V0.S4]
	VLD1   (R1), [V1.S4]
	VLD1.P 16(R2), [V2.S4]
	VLD1.P 16(R3), [V3.S4]
	ROTATE
	VST1.P [V5.S4], 16(R0)
	VST1.P [V4.S4], 16(R1)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS   (R0), F0
	FMOVS   (R1), F1
	FMOVS.P 4(R2), F2
	FMOVS.P 4(R3), F3
	ROTATE
	FMOVS.P F5, 4(R0)
	FMOVS.P F4, 4(R1)
	SUBS    $1, R8
	BNE     one
done:
	RET

// FOLD adds the sixteen lanes V0 to V3 up in halves; the sum is the lowest lane of V0.
#define FOLD \
	FADD4S(0, 0, 2) \
	FADD4S(1, 1, 3) \
	FADD4S(0, 0, 1) \
	VEXT $8, V0.B16, V0.B16, V1.B16 \
	FADD4S(0, 0, 1) \
	VEXT $4, V0.B16, V0.B16, V1.B16 \
	FADD4S(0, 0, 1)

// func sumOfSquaresNEON(x *float32, n int) float32
//
// What is left after whole strips of sixteen is added to lanes in memory.
TEXT ·sumOfSquaresNEON(SB), NOSPLIT, $64-20
	MOVD x+0(FP), R0
	MOVD n+8(FP), R8
	MOVD $lanes-64(SP), R1
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	SUBS $16, R8
	BLT  tail
sixteen:
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VFMLA  V4.S4, V4.S4, V0.S4
	VFMLA  V5.S4, V5.S4, V1.S4
	VFMLA  V6.S4, V6.S4, V2.S4
	VFMLA  V7.S4, V7.S4, V3.S4
	SUBS   $16, R8
	BGE    sixteen
tail:
	ADDS $16, R8
	BEQ  done
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R1)
	MOVD R1, R2
one:
	FMOVS.P 4(R0), F4
	FMOVS   (R2), F5
	FMADDS  F4, F5, F4, F5
	FMOVS.P F5, 4(R2)
	SUBS    $1, R8
	BNE     one
	VLD1    (R1), [V0.S4, V1.S4, V2.S4, V3.S4]
done:
	FOLD
	FMOVS F0, ret+16(FP)
	RET

// func maximumNEON(x *float32, n int) float32
TEXT ·maximumNEON(SB), NOSPLIT, $0-20
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R8
	VLD1R (R0), [V0.S4]
	SUBS  $4, R8
	BLT   tail
four:
	VLD1.P 16(R0), [V1.S4]
	FCMGT4S(2, 1, 0)
	VBIT   V2.B16, V1.B16, V0.B16
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	VLD1R (R0), [V1.S4]
	FCMGT4S(2, 1, 0)
	VBIT  V2.B16, V1.B16, V0.B16
	ADD   $4, R0
	SUBS  $1, R8
	BNE   one
done:
	FMAXV4S(0, 0)
	FMOVS F0, ret+16(FP)
	RET

// The constants of exact.Exp, the polynomial's from the sixth power down.
DATA exponential<>+0(SB)/4, $0x42b0bd71  // ExpHigh
DATA exponential<>+4(SB)/4, $0x3fb8aa3b  // ExpLog2E
DATA exponential<>+8(SB)/4, $0x4b40007f  // ExpMagic
DATA exponential<>+12(SB)/4, $0xbf317218 // -ExpLn2Hi
DATA exponential<>+16(SB)/4, $0x3102e308 // -ExpLn2Lo
DATA exponential<>+20(SB)/4, $0x3ab51252 // ExpC6
DATA exponential<>+24(SB)/4, $0x3c091cd1 // ExpC5
DATA exponential<>+28(SB)/4, $0x3d2aac78 // ExpC4
DATA exponential<>+32(SB)/4, $0x3e2aaa49 // ExpC3
DATA exponential<>+36(SB)/4, $0x3efffffe // ExpC2
DATA exponential<>+40(SB)/4, $0x3f800000 // 1
DATA exponential<>+44(SB)/4, $0xc2aea8f6 // ExpLow
GLOBL exponential<>(SB), RODATA|NOPTR, $48

// LOADEXP loads these constants to V16 to V27. It uses R9.
#define LOADEXP \
	MOVD    $exponential<>(SB), R9 \
	VLD4R.P 16(R9), [V16.S4, V17.S4, V18.S4, V19.S4] \
	VLD4R.P 16(R9), [V20.S4, V21.S4, V22.S4, V23.S4] \
	VLD4R   (R9), [V24.S4, V25.S4, V26.S4, V27.S4]

// EXP replaces V0 by exact.Exp of its lanes, in the steps described there. It uses V4 to V7.
#define EXP \
	FCMGT4S(7, 27, 0) \
	FMIN4S(0, 0, 16) \
	VMOV  V18.B16, V4.B16 \
	VFMLA V0.S4, V17.S4, V4.S4 \
	FSUB4S(5, 4, 18) \
	VFMLA V5.S4, V19.S4, V0.S4 \
	VFMLA V5.S4, V20.S4, V0.S4 \
	VMOV  V22.B16, V5.B16 \
	VFMLA V21.S4, V0.S4, V5.S4 \
	VMOV  V23.B16, V6.B16 \
	VFMLA V5.S4, V0.S4, V6.S4 \
	VMOV  V24.B16, V5.B16 \
	VFMLA V6.S4, V0.S4, V5.S4 \
	VMOV  V25.B16, V6.B16 \
	VFMLA V5.S4, V0.S4, V6.S4 \
	VMOV  V26.B16, V5.B16 \
	VFMLA V6.S4, V0.S4, V5.S4 \
	VMOV  V26.B16, V6.B16 \
	VFMLA V5.S4, V0.S4, V6.S4 \
	VSHL  $23, V4.S4, V4.S4 \
	FMUL4S(0, 6, 4) \
	BIC16B(0, 0, 7)

// ACTIVATE begins a function of dst, gate, up and n, and ends it: dst[i] = up[i] multiplied by an activation of gate[i], for i < n. ACTIVATION
// multiplies V2 by the activation of V1, and LOADMORE loads what ACTIVATION needs.
#define ACTIVATE(LOADMORE, ACTIVATION) \
	MOVD   dst+0(FP), R0 \
	MOVD   gate+8(FP), R1 \
	MOVD   up+16(FP), R2 \
	MOVD   n+24(FP), R8 \
	LOADMORE \
	SUBS   $4, R8 \
	BLT    tail \
four: \
	VLD1.P 16(R1), [V1.S4] \
	VLD1.P 16(R2), [V2.S4] \
	ACTIVATION \
	VST1.P [V2.S4], 16(R0) \
	SUBS   $4, R8 \
	BGE    four \
tail: \
	ADDS   $4, R8 \
	BEQ    done \
one: \
	FMOVS.P 4(R1), F1 \
	FMOVS.P 4(R2), F2 \
	ACTIVATION \
	FMOVS.P F2, 4(R0) \
	SUBS   $1, R8 \
	BNE    one \
done: \
	RET

// SILU multiplies V2 by exact.SiLU of V1.
#define SILU \
	FNEG4S(0, 1) \
	EXP \
	FADD4S(0, 26, 0) \
	FDIV4S(0, 1, 0) \
	FMUL4S(2, 0, 2)

// func siluMulNEON(dst, gate, up *float32, n int)
TEXT ·siluMulNEON(SB), NOSPLIT, $0-32
	ACTIVATE(LOADEXP, SILU)

// SIGMOID multiplies V2 by exact.Sigmoid of V1.
#define SIGMOID \
	FNEG4S(0, 1) \
	EXP \
	FADD4S(0, 26, 0) \
	FDIV4S(0, 26, 0) \
	FMUL4S(2, 0, 2)

// func sigmoidMulNEON(dst, gate, up *float32, n int)
TEXT ·sigmoidMulNEON(SB), NOSPLIT, $0-32
	ACTIVATE(LOADEXP, SIGMOID)

// The constants of exact.GELU.
DATA gelu<>+0(SB)/4, $0xbfcc422a // -GELUC1
DATA gelu<>+4(SB)/4, $0xbd922279 // -GELUC3
GLOBL gelu<>(SB), RODATA|NOPTR, $8

// LOADGELU is LOADEXP, and loads these constants to V28 and V29.
#define LOADGELU \
	LOADEXP \
	MOVD  $gelu<>(SB), R9 \
	VLD2R (R9), [V28.S4, V29.S4]

// GELU multiplies V2 by exact.GELU of V1. V28 and V29 have its constants, and V3 is used up.
#define GELU \
	FMUL4S(3, 1, 1) \
	VMOV  V28.B16, V0.B16 \
	VFMLA V3.S4, V29.S4, V0.S4 \
	FMUL4S(0, 1, 0) \
	EXP \
	FADD4S(0, 26, 0) \
	FDIV4S(0, 1, 0) \
	FMUL4S(2, 0, 2)

// func geluMulNEON(dst, gate, up *float32, n int)
TEXT ·geluMulNEON(SB), NOSPLIT, $0-32
	ACTIVATE(LOADGELU, GELU)

// The constants of exact.GELUErf.
DATA geluErf<>+0(SB)/4, $0x3fcc4230 // GELUErfC0
DATA geluErf<>+4(SB)/4, $0x3d94d200 // GELUErfC1
DATA geluErf<>+8(SB)/4, $0xb888b6c2 // GELUErfC2
DATA geluErf<>+12(SB)/4, $0xb8e7f892 // GELUErfC3
DATA geluErf<>+16(SB)/4, $0x370508fa // GELUErfC4
DATA geluErf<>+20(SB)/4, $0xb48e04af // GELUErfC5
DATA geluErf<>+24(SB)/4, $0x31715ff5 // GELUErfC6
DATA geluErf<>+28(SB)/4, $0x42100000 // GELUErfMost
GLOBL geluErf<>(SB), RODATA|NOPTR, $32

// LOADGELUERF is LOADEXP, and loads these constants to V8 to V15.
#define LOADGELUERF \
	LOADEXP \
	MOVD    $geluErf<>(SB), R9 \
	VLD4R.P 16(R9), [V8.S4, V9.S4, V10.S4, V11.S4] \
	VLD4R   (R9), [V12.S4, V13.S4, V14.S4, V15.S4]

// GELUERF multiplies V2 by exact.GELUErf of V1. V8 to V14 have its coefficients, V15 the limit of squares; V3 and V28 are used up.
#define GELUERF \
	FMUL4S(3, 1, 1) \
	FMIN4S(3, 3, 15) \
	VMOV  V13.B16, V0.B16 \
	VFMLA V3.S4, V14.S4, V0.S4 \
	VMOV  V12.B16, V28.B16 \
	VFMLA V3.S4, V0.S4, V28.S4 \
	VMOV  V11.B16, V0.B16 \
	VFMLA V3.S4, V28.S4, V0.S4 \
	VMOV  V10.B16, V28.B16 \
	VFMLA V3.S4, V0.S4, V28.S4 \
	VMOV  V9.B16, V0.B16 \
	VFMLA V3.S4, V28.S4, V0.S4 \
	VMOV  V8.B16, V28.B16 \
	VFMLA V3.S4, V0.S4, V28.S4 \
	FMUL4S(0, 1, 28) \
	FNEG4S(0, 0) \
	EXP \
	FADD4S(0, 26, 0) \
	FDIV4S(0, 1, 0) \
	FMUL4S(2, 0, 2)

// func geluErfMulNEON(dst, gate, up *float32, n int)
TEXT ·geluErfMulNEON(SB), NOSPLIT, $0-32
	ACTIVATE(LOADGELUERF, GELUERF)

// CLAMPED multiplies V2 + 1 by V1's part of exact.SwiGLUClamped, both clamped. V28 has the negative slope, V29 the limit.
#define CLAMPED \
	FMIN4S(1, 1, 29) \
	FMIN4S(2, 2, 29) \
	FNEG4S(2, 2) \
	FMIN4S(2, 2, 29) \
	FNEG4S(2, 2) \
	FADD4S(2, 2, 26) \
	FMUL4S(0, 1, 28) \
	EXP \
	FADD4S(0, 26, 0) \
	FDIV4S(0, 1, 0) \
	FMUL4S(2, 0, 2)

// LOADCLAMPED is LOADEXP, and loads -exact.SwiGLUClampedSlope to V28 and the limit, which is in F29, to V29.
#define LOADCLAMPED \
	LOADEXP \
	MOVW  $0xbfd9db23, R9 \
	VDUP  R9, V28.S4 \
	VDUP  V29.S[0], V29.S4

// func swiGLUClampedNEON(dst, gate, up *float32, n int, limit float32)
TEXT ·swiGLUClampedNEON(SB), NOSPLIT, $0-36
	FMOVS limit+32(FP), F29
	ACTIVATE(LOADCLAMPED, CLAMPED)

// SOFTCAP replaces V1 by exact.Softcap of it. V28 has the signs' bits, V29 the factor and V30 the limit, and V2 and V3 are used up.
#define SOFTCAP \
	VAND V28.B16, V1.B16, V2.B16 \
	VEOR V2.B16, V1.B16, V0.B16 \
	FMUL4S(0, 0, 29) \
	EXP \
	FSUB4S(3, 26, 0) \
	FADD4S(0, 26, 0) \
	FDIV4S(0, 3, 0) \
	FMUL4S(0, 0, 30) \
	VORR V2.B16, V0.B16, V1.B16

// func softcapNEON(x *float32, n int, factor, limit float32)
TEXT ·softcapNEON(SB), NOSPLIT, $0-24
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R8
	LOADEXP
	MOVW  $0x80000000, R9
	VDUP  R9, V28.S4
	FMOVS factor+16(FP), F29
	VDUP  V29.S[0], V29.S4
	FMOVS limit+20(FP), F30
	VDUP  V30.S[0], V30.S4
	SUBS  $4, R8
	BLT   tail
four:
	VLD1   (R0), [V1.S4]
	SOFTCAP
	VST1.P [V1.S4], 16(R0)
	SUBS   $4, R8
	BGE    four
tail:
	ADDS $4, R8
	BEQ  done
one:
	FMOVS (R0), F1
	SOFTCAP
	FMOVS.P F1, 4(R0)
	SUBS  $1, R8
	BNE   one
done:
	RET

// EXP2 is EXP of x and y, step by step of one and of the other: a step waits for the one before. It uses V4 to V7, V9, V14, V15
// and V28. xn and yn are the numbers of x and y.
#define EXP2(x, y, xn, yn) \
	FCMGT4S(15, 27, xn) \
	FCMGT4S(28, 27, yn) \
	FMIN4S(xn, xn, 16) \
	FMIN4S(yn, yn, 16) \
	VMOV  V18.B16, V4.B16 \
	VMOV  V18.B16, V5.B16 \
	VFMLA x.S4, V17.S4, V4.S4 \
	VFMLA y.S4, V17.S4, V5.S4 \
	FSUB4S(6, 4, 18) \
	FSUB4S(7, 5, 18) \
	VFMLA V6.S4, V19.S4, x.S4 \
	VFMLA V7.S4, V19.S4, y.S4 \
	VFMLA V6.S4, V20.S4, x.S4 \
	VFMLA V7.S4, V20.S4, y.S4 \
	VMOV  V22.B16, V6.B16 \
	VMOV  V22.B16, V7.B16 \
	VFMLA V21.S4, x.S4, V6.S4 \
	VFMLA V21.S4, y.S4, V7.S4 \
	VMOV  V23.B16, V9.B16 \
	VMOV  V23.B16, V14.B16 \
	VFMLA V6.S4, x.S4, V9.S4 \
	VFMLA V7.S4, y.S4, V14.S4 \
	VMOV  V24.B16, V6.B16 \
	VMOV  V24.B16, V7.B16 \
	VFMLA V9.S4, x.S4, V6.S4 \
	VFMLA V14.S4, y.S4, V7.S4 \
	VMOV  V25.B16, V9.B16 \
	VMOV  V25.B16, V14.B16 \
	VFMLA V6.S4, x.S4, V9.S4 \
	VFMLA V7.S4, y.S4, V14.S4 \
	VMOV  V26.B16, V6.B16 \
	VMOV  V26.B16, V7.B16 \
	VFMLA V9.S4, x.S4, V6.S4 \
	VFMLA V14.S4, y.S4, V7.S4 \
	VMOV  V26.B16, V9.B16 \
	VMOV  V26.B16, V14.B16 \
	VFMLA V6.S4, x.S4, V9.S4 \
	VFMLA V7.S4, y.S4, V14.S4 \
	VSHL  $23, V4.S4, V4.S4 \
	VSHL  $23, V5.S4, V5.S4 \
	FMUL4S(xn, 9, 4) \
	FMUL4S(yn, 14, 5) \
	BIC16B(xn, xn, 15) \
	BIC16B(yn, yn, 28)

// func exponentialsNEON(x *float32, n int, max float32) float32
//
// The lanes are V10 to V13; what is left after whole strips of sixteen is added to lanes in memory. A strip is loaded before any of it
// is computed, and its address does not wait for the stores of the one before: with four elements at a time, at an address that
// their store raised, llvm-mca saw four times the cycles.
TEXT ·exponentialsNEON(SB), NOSPLIT, $64-28
	MOVD  x+0(FP), R0
	MOVD  n+8(FP), R8
	FMOVS max+16(FP), F8
	VDUP  V8.S[0], V8.S4
	MOVD  $lanes-64(SP), R1
	LOADEXP
	VEOR  V10.B16, V10.B16, V10.B16
	VEOR  V11.B16, V11.B16, V11.B16
	VEOR  V12.B16, V12.B16, V12.B16
	VEOR  V13.B16, V13.B16, V13.B16
	SUBS  $16, R8
	BLT   tail
sixteen:
	VLD1 (R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	FSUB4S(0, 0, 8)
	FSUB4S(1, 1, 8)
	FSUB4S(2, 2, 8)
	FSUB4S(3, 3, 8)
	EXP2(V0, V1, 0, 1)
	EXP2(V2, V3, 2, 3)
	VST1 [V0.S4, V1.S4, V2.S4, V3.S4], (R0)
	ADD  $64, R0
	FADD4S(10, 10, 0)
	FADD4S(11, 11, 1)
	FADD4S(12, 12, 2)
	FADD4S(13, 13, 3)
	SUBS $16, R8
	BGE  sixteen
tail:
	VST1 [V10.S4, V11.S4, V12.S4, V13.S4], (R1)
	ADDS $16, R8
	BEQ  done
	MOVD R1, R2
one:
	FMOVS   (R0), F0
	FSUBS   F8, F0
	EXP
	FMOVS.P F0, 4(R0)
	FMOVS   (R2), F1
	FADDS   F0, F1
	FMOVS.P F1, 4(R2)
	SUBS    $1, R8
	BNE     one
done:
	VLD1 (R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	FOLD
	FMOVS F0, ret+24(FP)
	RET

// MAGNITUDE raises the lanes of V16 to the magnitudes of those of v, as unsigned integers, which have the order of the floats; NaNs are
// the largest. V17 masks the sign; V18 is used.
#define MAGNITUDE(v) \
	VAND  v.B16, V17.B16, V18.B16 \
	VUMAX V18.S4, V16.S4, V16.S4

// FACTOR stores the scale of the block whose magnitudes are in V16, and leaves its reciprocal in V19, 0 where that is
// infinite. F20 is 127, F21 is 1 and R5 is +Inf; R6 is used.
#define FACTOR \
	UMAXV4S(19, 16) \
	FDIVS   F20, F19, F19 \
	FMOVS.P F19, 4(R2) \
	FDIVS   F19, F21, F19 \
	FMOVS   F19, R6 \
	CMPW    R5, R6 \
	CSELW   EQ, ZR, R6, R6 \
	VDUP    R6, V19.S4

// QUANTISE converts V0 to V3 to sixteen integers, stores them and leaves their sum in R7. All bytes of V22 are -127: the
// conversions saturate to -128, and give 0 for NaN.
#define QUANTISE \
	FMUL4S(0, 0, 19) \
	FMUL4S(1, 1, 19) \
	FMUL4S(2, 2, 19) \
	FMUL4S(3, 3, 19) \
	FCVTNS4S(0, 0) \
	FCVTNS4S(1, 1) \
	FCVTNS4S(2, 2) \
	FCVTNS4S(3, 3) \
	SQXTN4H(0, 0) \
	SQXTN8H(0, 1) \
	SQXTN4H(2, 2) \
	SQXTN8H(2, 3) \
	SQXTN8B(0, 0) \
	SQXTN16B(0, 2) \
	SMAX16B(0, 0, 22) \
	VST1.P [V0.B16], 16(R1) \
	SADDLV16B(0, 0) \
	FMOVS  F0, R7 \
	MOVH   R7, R7

// LOADPREPARE loads the constants of MAGNITUDE, FACTOR and QUANTISE.
#define LOADPREPARE \
	MOVW  $0x7FFFFFFF, R6 \
	VDUP  R6, V17.S4 \
	FMOVS $1.0, F21 \
	MOVD  $127, R6 \
	SCVTFWS R6, F20 \
	MOVD  $0x81, R6 \
	VDUP  R6, V22.B16 \
	MOVD  $0x7F800000, R5

// func prepare32NEON(x *float32, q *int8, d *float32, sums *int32, blocks int)
TEXT ·prepare32NEON(SB), NOSPLIT, $0-40
	MOVD x+0(FP), R0
	MOVD q+8(FP), R1
	MOVD d+16(FP), R2
	MOVD sums+24(FP), R3
	MOVD blocks+32(FP), R8
	LOADPREPARE
block:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VEOR   V16.B16, V16.B16, V16.B16
	MAGNITUDE(V0)
	MAGNITUDE(V1)
	MAGNITUDE(V2)
	MAGNITUDE(V3)
	MAGNITUDE(V4)
	MAGNITUDE(V5)
	MAGNITUDE(V6)
	MAGNITUDE(V7)
	FACTOR
	QUANTISE
	MOVD   R7, R4
	VMOV   V4.B16, V0.B16
	VMOV   V5.B16, V1.B16
	VMOV   V6.B16, V2.B16
	VMOV   V7.B16, V3.B16
	QUANTISE
	ADD    R7, R4
	MOVW.P R4, 4(R3)
	SUBS   $1, R8
	BNE    block
	RET

// func prepare256NEON(x *float32, q *int8, d *float32, sums *int32, blocks int)
TEXT ·prepare256NEON(SB), NOSPLIT, $0-40
	MOVD x+0(FP), R0
	MOVD q+8(FP), R1
	MOVD d+16(FP), R2
	MOVD sums+24(FP), R3
	MOVD blocks+32(FP), R8
	LOADPREPARE
block:
	VEOR V16.B16, V16.B16, V16.B16
	MOVD R0, R9
	MOVD $16, R4
largest:
	VLD1.P 64(R9), [V0.S4, V1.S4, V2.S4, V3.S4]
	MAGNITUDE(V0)
	MAGNITUDE(V1)
	MAGNITUDE(V2)
	MAGNITUDE(V3)
	SUBS   $1, R4
	BNE    largest
	FACTOR
	MOVD   $16, R4
group:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	QUANTISE
	MOVW.P R7, 4(R3)
	SUBS   $1, R4
	BNE    group
	SUBS   $1, R8
	BNE    block
	RET

// func convolveNEON(dst *float32, taps *[]float32, w, b *float32, n, width, stride int)
//
// R4 is where a loop is, in bytes; R10, R11 and R12 walk the slices of the taps, the rows of the weights and the number of both.
TEXT ·convolveNEON(SB), NOSPLIT, $0-56
	MOVD dst+0(FP), R0
	MOVD taps+8(FP), R1
	MOVD w+16(FP), R2
	MOVD b+24(FP), R3
	MOVD n+32(FP), R8
	MOVD width+40(FP), R5
	MOVD stride+48(FP), R6
	MOVD $0, R4
	SUBS $8, R8
	BLT  tail
eight:
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	CBZ  R3, eightBegun
	ADD  R3, R4, R13
	VLD1 (R13), [V0.S4, V1.S4]
eightBegun:
	MOVD R1, R10
	ADD  R2, R4, R11
	MOVD R5, R12
eightTap:
	MOVD.P 24(R10), R13
	ADD    R4, R13
	VLD1   (R13), [V2.S4, V3.S4]
	VLD1   (R11), [V4.S4, V5.S4]
	ADD    R6, R11
	VFMLA  V2.S4, V4.S4, V0.S4
	VFMLA  V3.S4, V5.S4, V1.S4
	SUBS   $1, R12
	BNE    eightTap
	ADD    R0, R4, R13
	VST1   [V0.S4, V1.S4], (R13)
	ADD    $32, R4
	SUBS   $8, R8
	BGE    eight
tail:
	ADDS $8, R8
	BEQ  done
one:
	VEOR  V0.B16, V0.B16, V0.B16
	CBZ   R3, oneBegun
	FMOVS (R3)(R4), F0
oneBegun:
	MOVD R1, R10
	ADD  R2, R4, R11
	MOVD R5, R12
oneTap:
	MOVD.P 24(R10), R13
	FMOVS  (R13)(R4), F2
	FMOVS  (R11), F4
	ADD    R6, R11
	FMADDS F2, F0, F4, F0
	SUBS   $1, R12
	BNE    oneTap
	FMOVS  F0, (R0)(R4)
	ADD    $4, R4
	SUBS   $1, R8
	BNE    one
done:
	RET
