// What the kernels share that multiply floats by elements of registers: V16 to V19 hold sixteen weights, keys or values, one
// in each lane; V20 to V23 hold four rows' numbers to multiply them with; V0 to V15 are sums, four registers a row.

// WIDENF16 and WIDENBF16 widen the sixteen numbers in V24 and V25 to V16 to V19.
#define WIDENF16 \
	FCVTL4S(16, 24) \
	FCVTL8H(17, 24) \
	FCVTL4S(18, 25) \
	FCVTL8H(19, 25)

#define WIDENBF16 \
	SHLL4S(16, 24) \
	SHLL8H(17, 24) \
	SHLL4S(18, 25) \
	SHLL8H(19, 25)

// MULTIPLY adds the weights, times element i of register x, to the sums in registers a0 to a3.
#define MULTIPLY(a0, a1, a2, a3, x, i) \
	FMLA4SE(a0, 16, x, i) \
	FMLA4SE(a1, 17, x, i) \
	FMLA4SE(a2, 18, x, i) \
	FMLA4SE(a3, 19, x, i)

// MULTIPLY4 adds the weights, times element i of V20 to V23, to the sums of four rows.
#define MULTIPLY4(i) \
	MULTIPLY(0, 1, 2, 3, 20, i) \
	MULTIPLY(4, 5, 6, 7, 21, i) \
	MULTIPLY(8, 9, 10, 11, 22, i) \
	MULTIPLY(12, 13, 14, 15, 23, i)
