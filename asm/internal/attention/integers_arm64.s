//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// func weighNEON(p *float32, scales *byte, q *int8, d *float32, sums *int32, rows int)
//
// The scales of 32 slots stay in V24 to V31 for all rows, in which four such groups follow each other. R0 and R2 to R4 point to where
// the first row has a group, and R10 to R13 to where a row has it. A row need not wait for the divisions of the ones before.
//
// The largest magnitude passes over what is no number (FMAXNM), of which the conversion to an integer makes 0. What is converted
// lies within -127 to 127, so that its lowest byte is all of it. R14 is sums, 0 where there are to be none.
TEXT ·weighNEON(SB), NOSPLIT, $0-48
	MOVD    p+0(FP), R0
	MOVD    scales+8(FP), R1
	MOVD    q+16(FP), R2
	MOVD    d+24(FP), R3
	MOVD    sums+32(FP), R4
	MOVD    rows+40(FP), R5
	MOVD    R4, R14
	MOVD    $4, R6
	MOVD    $127, R8
	SCVTFWS R8, F20
	VEOR    V21.B16, V21.B16, V21.B16
	FMOVS   $1.0, F22
	MOVD    $0x7F800000, R8
	VDUP    R8, V23.S4
group:
	VLD1.P 64(R1), [V0.H8, V1.H8, V2.H8, V3.H8]
	FCVTL4S(24, 0)
	FCVTL8H(25, 0)
	FCVTL4S(26, 1)
	FCVTL8H(27, 1)
	FCVTL4S(28, 2)
	FCVTL8H(29, 2)
	FCVTL4S(30, 3)
	FCVTL8H(31, 3)
	MOVD R0, R10
	MOVD R2, R11
	MOVD R3, R12
	MOVD R4, R13
	MOVD R5, R7
row:
	VLD1.P 64(R10), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1   (R10), [V4.S4, V5.S4, V6.S4, V7.S4]
	ADD    $(512-64), R10
	FMUL4S(0, 0, 24)
	FMUL4S(1, 1, 25)
	FMUL4S(2, 2, 26)
	FMUL4S(3, 3, 27)
	FMUL4S(4, 4, 28)
	FMUL4S(5, 5, 29)
	FMUL4S(6, 6, 30)
	FMUL4S(7, 7, 31)
	FABS4S(8, 0)
	FABS4S(9, 1)
	FABS4S(10, 2)
	FABS4S(11, 3)
	FABS4S(12, 4)
	FABS4S(13, 5)
	FABS4S(14, 6)
	FABS4S(15, 7)
	FMAXNM4S(8, 8, 9)
	FMAXNM4S(10, 10, 11)
	FMAXNM4S(12, 12, 13)
	FMAXNM4S(14, 14, 15)
	FMAXNM4S(8, 8, 10)
	FMAXNM4S(12, 12, 14)
	FMAXNM4S(8, 8, 12)
	FMAXNM4S(8, 8, 21)
	FMAXNMV4S(8, 8)
	FDIVS   F20, F8, F8
	FMOVS.P F8, 16(R12)
	FDIVS   F8, F22, F9
	FCMEQ4S(10, 9, 23)
	BIC16B(9, 9, 10)
	FMUL4SE(0, 0, 9, 0)
	FMUL4SE(1, 1, 9, 0)
	FMUL4SE(2, 2, 9, 0)
	FMUL4SE(3, 3, 9, 0)
	FMUL4SE(4, 4, 9, 0)
	FMUL4SE(5, 5, 9, 0)
	FMUL4SE(6, 6, 9, 0)
	FMUL4SE(7, 7, 9, 0)
	FCVTNS4S(0, 0)
	FCVTNS4S(1, 1)
	FCVTNS4S(2, 2)
	FCVTNS4S(3, 3)
	FCVTNS4S(4, 4)
	FCVTNS4S(5, 5)
	FCVTNS4S(6, 6)
	FCVTNS4S(7, 7)
	VUZP1   V1.H8, V0.H8, V0.H8
	VUZP1   V3.H8, V2.H8, V2.H8
	VUZP1   V5.H8, V4.H8, V4.H8
	VUZP1   V7.H8, V6.H8, V6.H8
	VUZP1   V2.B16, V0.B16, V0.B16
	VUZP1   V6.B16, V4.B16, V1.B16
	VST1    [V0.B16, V1.B16], (R11)
	ADD     $128, R11
	CBZ     R14, next
	SADDLP8H(2, 0)
	SADALP8H(2, 1)
	SADDLV8H(2, 2)
	FMOVS.P F2, 16(R13)
next:
	SUBS    $1, R7
	BNE     row
	ADD     $128, R0
	ADD     $32, R2
	ADD     $4, R3
	ADD     $4, R4
	SUBS    $1, R6
	BNE     group
	RET
