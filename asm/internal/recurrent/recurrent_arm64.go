//go:build !purego

package recurrent

// NEON is the unit of Advanced SIMD.
var NEON = Unit{recurNEON, 8}

// recurNEON computes Pass for the first 8 columns of a block. keyDim is in elements and a multiple of 4, the strides are in bytes; keyDim and
// rows are above 0, delta is 0 or 1.
//
//go:noescape
func recurNEON(state, q, k, v, out, decay, beta *float32, keyDim, keyStride, valueStride, rows, delta int)
