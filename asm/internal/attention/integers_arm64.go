//go:build !purego

package attention

// integersNEON are the kernels of Advanced SIMD.
var integersNEON = integerKernels{weigh: weighNEON}

// weighNEON computes quant.Activation.Prepare, in the form Int8x32, of p[r·TileKeys+j]·scales[j] for j < TileKeys, r < rows, rows > 0.
// scales are binary16. Products that are no numbers count as 0.
//
//go:noescape
func weighNEON(p *float32, scales *byte, q *int8, d *float32, sums *int32, rows int)
