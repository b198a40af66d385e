//go:build !purego

#include "textflag.h"
#include "words_arm64.h"

// The chains of package limits. V0 and V1 are the factors, V8 to V31 the sums, which take turns. The numbers do not matter; these
// change many bits of the sums at each step, as products of weights do.

#define BYTES 0x5ac3963c
#define FLOAT 0x3f9a3d71 // 1.205

#define BEGIN(number) \
	MOVD turns+0(FP), R0 \
	MOVD $number, R1     \
	VDUP R1, V0.S4       \
	VDUP R1, V1.S4       \
	MOVI0(8)             \
	MOVI0(9)             \
	MOVI0(10)            \
	MOVI0(11)            \
	MOVI0(12)            \
	MOVI0(13)            \
	MOVI0(14)            \
	MOVI0(15)            \
	MOVI0(16)            \
	MOVI0(17)            \
	MOVI0(18)            \
	MOVI0(19)            \
	MOVI0(20)            \
	MOVI0(21)            \
	MOVI0(22)            \
	MOVI0(23)            \
	MOVI0(24)            \
	MOVI0(25)            \
	MOVI0(26)            \
	MOVI0(27)            \
	MOVI0(28)            \
	MOVI0(29)            \
	MOVI0(30)            \
	MOVI0(31)

// STEPS takes two instructions with a register each, in turn.
#define STEPS(EVEN, ODD) \
	EVEN(8)  \
	ODD(9)   \
	EVEN(10) \
	ODD(11)  \
	EVEN(12) \
	ODD(13)  \
	EVEN(14) \
	ODD(15)  \
	EVEN(16) \
	ODD(17)  \
	EVEN(18) \
	ODD(19)  \
	EVEN(20) \
	ODD(21)  \
	EVEN(22) \
	ODD(23)  \
	EVEN(24) \
	ODD(25)  \
	EVEN(26) \
	ODD(27)  \
	EVEN(28) \
	ODD(29)  \
	EVEN(30) \
	ODD(31)

#define LOWER(sum) SMLAL8H(sum, 0, 1)
#define UPPER(sum) SMLAL2_8H(sum, 0, 1)
#define DOT(sum) SDOTE(sum, 0, 1, 0)
#define MATRIX(sum) SMMLA4S(sum, 0, 1)
#define FLOATS(sum) FMLA4S(sum, 0, 1)

// func integersNEON(turns int)
TEXT ·integersNEON(SB), NOSPLIT, $0-8
	BEGIN(BYTES)
turn:
	STEPS(LOWER, UPPER)
	SUBS $1, R0
	BNE  turn
	RET

// func integersSDOT(turns int)
TEXT ·integersSDOT(SB), NOSPLIT, $0-8
	BEGIN(BYTES)
turn:
	STEPS(DOT, DOT)
	SUBS $1, R0
	BNE  turn
	RET

// func integersI8MM(turns int)
TEXT ·integersI8MM(SB), NOSPLIT, $0-8
	BEGIN(BYTES)
turn:
	STEPS(MATRIX, MATRIX)
	SUBS $1, R0
	BNE  turn
	RET

// func floatsNEON(turns int)
TEXT ·floatsNEON(SB), NOSPLIT, $0-8
	BEGIN(FLOAT)
turn:
	STEPS(FLOATS, FLOATS)
	SUBS $1, R0
	BNE  turn
	RET
