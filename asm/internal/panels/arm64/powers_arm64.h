// POWERS is SCALES for scales that are powers of two, of which bytes have the exponents: 2^(e-127), which has no exponent where e is 0, is
// halved.
#define POWERS \
	VLD1   (R1), [V28.B8] \
	ADD    $16, R1 \
	MOVD   $0x00400000, R21 \
	VDUP   R21, V24.S4 \
	FMOVS  $0.5, F25 \
	VUXTL  V28.B8, V28.H8 \
	VUXTL2 V28.H8, V29.S4 \
	VUXTL  V28.H4, V28.S4 \
	VSHL   $23, V28.S4, V28.S4 \
	VSHL   $23, V29.S4, V29.S4 \
	VUMAX  V24.S4, V28.S4, V28.S4 \
	VUMAX  V24.S4, V29.S4, V29.S4 \
	FMUL4SE(28, 28, 25, 0) \
	FMUL4SE(29, 29, 25, 0)
