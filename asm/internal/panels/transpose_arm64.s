//go:build !purego

#include "textflag.h"

// In all functions R0 is dst, R1 src, R2 rowBytes, R3 blocks, R4 srcStep and R5 dstStep. Where there are chunks, R6 is their number and R7
// how many of them are left. R9 goes through the rows.

#define ARGUMENTS \
	MOVD dst+0(FP), R0 \
	MOVD src+8(FP), R1 \
	MOVD rowBytes+16(FP), R2 \
	MOVD blocks+24(FP), R3 \
	MOVD srcStep+32(FP), R4 \
	MOVD dstStep+40(FP), R5

// CHUNKS takes off the steps from block to block what the chunks move on.
#define CHUNKS \
	MOVD chunks+48(FP), R6 \
	SUB  R6<<4, R4, R4 \
	SUB  R6<<8, R5, R5

// ROW loads 16 bytes of the next row.
#define ROW(f) \
	FMOVQ (R9), f \
	ADD   R2, R9, R9

// FOUR transposes four rows of four elements of 32 bits, which are written 64 bytes apart.
#define FOUR(at) \
	ROW(F0) \
	ROW(F1) \
	ROW(F2) \
	ROW(F3) \
	VTRN1 V1.S4, V0.S4, V4.S4 \
	VTRN2 V1.S4, V0.S4, V5.S4 \
	VTRN1 V3.S4, V2.S4, V6.S4 \
	VTRN2 V3.S4, V2.S4, V7.S4 \
	VTRN1 V6.D2, V4.D2, V0.D2 \
	VTRN1 V7.D2, V5.D2, V1.D2 \
	VTRN2 V6.D2, V4.D2, V2.D2 \
	VTRN2 V7.D2, V5.D2, V3.D2 \
	FMOVQ F0, at+0(R0) \
	FMOVQ F1, at+64(R0) \
	FMOVQ F2, at+128(R0) \
	FMOVQ F3, at+192(R0)

// func transpose4NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)
TEXT ·transpose4NEON(SB), NOSPLIT, $0-56
	ARGUMENTS
	CHUNKS
block:
	MOVD R6, R7
chunk:
	MOVD R1, R9
	FOUR(0)
	FOUR(16)
	FOUR(32)
	FOUR(48)
	ADD  $16, R1
	ADD  $256, R0
	SUBS $1, R7
	BNE  chunk
	ADD  R4, R1
	ADD  R5, R0
	SUBS $1, R3
	BNE  block
	RET

// ZIP8 interleaves registers a to d with e to h, element by element: three times this transposes eight rows of eight elements.
#define ZIP8(T, a, b, c, d, e, f, g, h, o0, o1, o2, o3, o4, o5, o6, o7) \
	VZIP1 e.T, a.T, o0.T \
	VZIP2 e.T, a.T, o1.T \
	VZIP1 f.T, b.T, o2.T \
	VZIP2 f.T, b.T, o3.T \
	VZIP1 g.T, c.T, o4.T \
	VZIP2 g.T, c.T, o5.T \
	VZIP1 h.T, d.T, o6.T \
	VZIP2 h.T, d.T, o7.T

// EIGHT transposes eight rows of eight elements of 16 bits, which are written 32 bytes apart.
#define EIGHT(at) \
	ROW(F0) \
	ROW(F1) \
	ROW(F2) \
	ROW(F3) \
	ROW(F4) \
	ROW(F5) \
	ROW(F6) \
	ROW(F7) \
	ZIP8(H8, V0, V1, V2, V3, V4, V5, V6, V7, V16, V17, V18, V19, V20, V21, V22, V23) \
	ZIP8(H8, V16, V17, V18, V19, V20, V21, V22, V23, V0, V1, V2, V3, V4, V5, V6, V7) \
	ZIP8(H8, V0, V1, V2, V3, V4, V5, V6, V7, V16, V17, V18, V19, V20, V21, V22, V23) \
	FMOVQ F16, at+0(R0) \
	FMOVQ F17, at+32(R0) \
	FMOVQ F18, at+64(R0) \
	FMOVQ F19, at+96(R0) \
	FMOVQ F20, at+128(R0) \
	FMOVQ F21, at+160(R0) \
	FMOVQ F22, at+192(R0) \
	FMOVQ F23, at+224(R0)

// func transpose2NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)
TEXT ·transpose2NEON(SB), NOSPLIT, $0-56
	ARGUMENTS
	CHUNKS
block:
	MOVD R6, R7
chunk:
	MOVD R1, R9
	EIGHT(0)
	EIGHT(16)
	ADD  $16, R1
	ADD  $256, R0
	SUBS $1, R7
	BNE  chunk
	ADD  R4, R1
	ADD  R5, R0
	SUBS $1, R3
	BNE  block
	RET

// UP16 interleaves registers V0 to V7 with the next eight, byte by byte, in V16 to V31, and DOWN16 does so the other way. Four times this
// transposes sixteen rows.
#define UP16 \
	ZIP8(B16, V0, V1, V2, V3, V8, V9, V10, V11, V16, V17, V18, V19, V20, V21, V22, V23) \
	ZIP8(B16, V4, V5, V6, V7, V12, V13, V14, V15, V24, V25, V26, V27, V28, V29, V30, V31)

#define DOWN16 \
	ZIP8(B16, V16, V17, V18, V19, V24, V25, V26, V27, V0, V1, V2, V3, V4, V5, V6, V7) \
	ZIP8(B16, V20, V21, V22, V23, V28, V29, V30, V31, V8, V9, V10, V11, V12, V13, V14, V15)

// func transpose1NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep, chunks int)
TEXT ·transpose1NEON(SB), NOSPLIT, $0-56
	ARGUMENTS
	CHUNKS
block:
	MOVD R6, R7
chunk:
	MOVD R1, R9
	ROW(F0)
	ROW(F1)
	ROW(F2)
	ROW(F3)
	ROW(F4)
	ROW(F5)
	ROW(F6)
	ROW(F7)
	ROW(F8)
	ROW(F9)
	ROW(F10)
	ROW(F11)
	ROW(F12)
	ROW(F13)
	ROW(F14)
	ROW(F15)
	UP16
	DOWN16
	UP16
	DOWN16
	FMOVQ F0, 0(R0)
	FMOVQ F1, 16(R0)
	FMOVQ F2, 32(R0)
	FMOVQ F3, 48(R0)
	FMOVQ F4, 64(R0)
	FMOVQ F5, 80(R0)
	FMOVQ F6, 96(R0)
	FMOVQ F7, 112(R0)
	FMOVQ F8, 128(R0)
	FMOVQ F9, 144(R0)
	FMOVQ F10, 160(R0)
	FMOVQ F11, 176(R0)
	FMOVQ F12, 192(R0)
	FMOVQ F13, 208(R0)
	FMOVQ F14, 224(R0)
	FMOVQ F15, 240(R0)
	ADD  $16, R1
	ADD  $256, R0
	SUBS $1, R7
	BNE  chunk
	ADD  R4, R1
	ADD  R5, R0
	SUBS $1, R3
	BNE  block
	RET

// func column4NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep int)
TEXT ·column4NEON(SB), NOSPLIT, $0-48
	ARGUMENTS
block:
	MOVD R1, R9
	MOVWU (R9), R10
	ADD   R2, R9, R9
	MOVW  R10, 0(R0)
	MOVWU (R9), R11
	ADD   R2, R9, R9
	MOVW  R11, 4(R0)
	MOVWU (R9), R12
	ADD   R2, R9, R9
	MOVW  R12, 8(R0)
	MOVWU (R9), R13
	ADD   R2, R9, R9
	MOVW  R13, 12(R0)
	MOVWU (R9), R10
	ADD   R2, R9, R9
	MOVW  R10, 16(R0)
	MOVWU (R9), R11
	ADD   R2, R9, R9
	MOVW  R11, 20(R0)
	MOVWU (R9), R12
	ADD   R2, R9, R9
	MOVW  R12, 24(R0)
	MOVWU (R9), R13
	ADD   R2, R9, R9
	MOVW  R13, 28(R0)
	MOVWU (R9), R10
	ADD   R2, R9, R9
	MOVW  R10, 32(R0)
	MOVWU (R9), R11
	ADD   R2, R9, R9
	MOVW  R11, 36(R0)
	MOVWU (R9), R12
	ADD   R2, R9, R9
	MOVW  R12, 40(R0)
	MOVWU (R9), R13
	ADD   R2, R9, R9
	MOVW  R13, 44(R0)
	MOVWU (R9), R10
	ADD   R2, R9, R9
	MOVW  R10, 48(R0)
	MOVWU (R9), R11
	ADD   R2, R9, R9
	MOVW  R11, 52(R0)
	MOVWU (R9), R12
	ADD   R2, R9, R9
	MOVW  R12, 56(R0)
	MOVWU (R9), R13
	MOVW  R13, 60(R0)
	ADD  R4, R1
	ADD  R5, R0
	SUBS $1, R3
	BNE  block
	RET

// func column2NEON(dst, src *byte, rowBytes, blocks, srcStep, dstStep int)
TEXT ·column2NEON(SB), NOSPLIT, $0-48
	ARGUMENTS
block:
	MOVD R1, R9
	MOVHU (R9), R10
	ADD   R2, R9, R9
	MOVH  R10, 0(R0)
	MOVHU (R9), R11
	ADD   R2, R9, R9
	MOVH  R11, 2(R0)
	MOVHU (R9), R12
	ADD   R2, R9, R9
	MOVH  R12, 4(R0)
	MOVHU (R9), R13
	ADD   R2, R9, R9
	MOVH  R13, 6(R0)
	MOVHU (R9), R10
	ADD   R2, R9, R9
	MOVH  R10, 8(R0)
	MOVHU (R9), R11
	ADD   R2, R9, R9
	MOVH  R11, 10(R0)
	MOVHU (R9), R12
	ADD   R2, R9, R9
	MOVH  R12, 12(R0)
	MOVHU (R9), R13
	ADD   R2, R9, R9
	MOVH  R13, 14(R0)
	MOVHU (R9), R10
	ADD   R2, R9, R9
	MOVH  R10, 16(R0)
	MOVHU (R9), R11
	ADD   R2, R9, R9
	MOVH  R11, 18(R0)
	MOVHU (R9), R12
	ADD   R2, R9, R9
	MOVH  R12, 20(R0)
	MOVHU (R9), R13
	ADD   R2, R9, R9
	MOVH  R13, 22(R0)
	MOVHU (R9), R10
	ADD   R2, R9, R9
	MOVH  R10, 24(R0)
	MOVHU (R9), R11
	ADD   R2, R9, R9
	MOVH  R11, 26(R0)
	MOVHU (R9), R12
	ADD   R2, R9, R9
	MOVH  R12, 28(R0)
	MOVHU (R9), R13
	MOVH  R13, 30(R0)
	ADD  R4, R1
	ADD  R5, R0
	SUBS $1, R3
	BNE  block
	RET
