//go:build !purego

package attention

// integersNEON are the kernels of Advanced SIMD.
var integersNEON = integerKernels{weigh: weighNEON}

// integersSDOT are the kernels of SDOT. Below three rows each by itself is faster, and from eight on rows that were arranged.
var integersSDOT = integerKernels{
	weigh: weighNEON, negative: true, leastRows: 3, mostRows: 7,
	scoreQ8_0: scoreQ8_0SDOT, scoreQ4_0: scoreQ4_0SDOT, addQ8_0: addQ8_0SDOT, addQ4_0: addQ4_0SDOT,
}

// weighNEON computes quant.Activation.Prepare, in the form Int8x32, of p[r·TileKeys+j]·scales[j] for j < TileKeys, r < rows, rows > 0.
// scales are binary16. Products that are no numbers count as 0. With nil sums it writes no sums.
//
//go:noescape
func weighNEON(p *float32, scales *byte, q *int8, d *float32, sums *int32, rows int)

// scoreQ8_0SDOT multiplies rows of integers with pairs of panels, which are panelBytes apart:
//
//	out[r·stride+i] = Σ_b (scale[b][i]·d[r][b]) · Σ_j w[b][i][j]·q[r][b][j]
//
//go:noescape
func scoreQ8_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)

// scoreQ4_0SDOT multiplies rows of integers with pairs of panels, which are panelBytes apart:
//
//	out[r·stride+i] = Σ_b (scale[b][i]·d[r][b]) · Σ_j w[b][i][j]·q[r][b][j]
//
//go:noescape
func scoreQ4_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)

// addQ8_0SDOT multiplies rows of integers with pairs of panels, which are panelBytes apart:
//
//	out[r·stride+i] = Σ_b d[r][b] · Σ_j w[b][i][j]·q[r][b][j]
//
// The panels have quants alone.
//
//go:noescape
func addQ8_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)

// addQ4_0SDOT multiplies rows of integers with pairs of panels, which are panelBytes apart:
//
//	out[r·stride+i] = Σ_b d[r][b] · Σ_j w[b][i][j]·q[r][b][j]
//
// The panels have quants alone.
//
//go:noescape
func addQ4_0SDOT(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)
