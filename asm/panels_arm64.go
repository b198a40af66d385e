//go:build !purego

package asm

import "unsafe"

// panelsNEON sets the products with panels of weights.
func panelsNEON(k *Kernels) {
	k.replacePanels(
		floatPanelsOf(layoutF32, []floatTile{{4, f32NEONx4}, {1, f32NEONx1}}, f32NEONx1x4),
		floatPanelsOf(layoutF16, []floatTile{{4, f16NEONx4}, {1, f16NEONx1}}, f16NEONx1x4),
		floatPanelsOf(layoutBF16, []floatTile{{4, bf16NEONx4}, {1, bf16NEONx1}}, bf16NEONx1x4),
		panelsOf(layoutQ4_0, 8, []blockTile{{2, q4_0NEONx2}, {1, q4_0NEONx1}}),
		panelsOf(layoutQ4_1, 8, []blockTile{{2, q4_1NEONx2}, {1, q4_1NEONx1}}),
		panelsOf(layoutQ8_0, 8, []blockTile{{2, q8_0NEONx2}, {1, q8_0NEONx1}}),
		panelsOf(layoutQ4_K, 8, []blockTile{{1, q4_KNEONx1}}),
		panelsOf(layoutQ5_K, 8, []blockTile{{1, q5_KNEONx1}}),
		panelsOf(layoutQ6_K, 8, []blockTile{{1, q6_KNEONx1}}),
	)
}

// panelsSDOT sets the products with panels of weights.
func panelsSDOT(k *Kernels) {
	k.replacePanels(
		arrangedPanelsOf(layoutQ4_0, sdotQ4_0, 4, panelsOf(layoutQ4_0, 8, []blockTile{{4, q4_0SDOTx4}, {1, q4_0SDOTx1}})),
		arrangedPanelsOf(layoutQ4_1, sdotQ4_1, 4, panelsOf(layoutQ4_1, 8, []blockTile{{4, q4_1SDOTx4}, {1, q4_1SDOTx1}})),
		arrangedPanelsOf(layoutQ8_0, sdotQ8_0, 4, panelsOf(layoutQ8_0, 8, []blockTile{{4, q8_0SDOTx4}, {1, q8_0SDOTx1}})),
		panelsOf(layoutQ4_K, 8, []blockTile{{8, inHalves(q4_KSDOTx8, 16)}, {2, q4_KSDOTx2}, {1, q4_KSDOTx1}}),
		panelsOf(layoutQ5_K, 8, []blockTile{{8, inHalves(q5_KSDOTx8, 16)}, {2, q5_KSDOTx2}, {1, q5_KSDOTx1}}),
		panelsOf(layoutQ6_K, 8, []blockTile{{8, inHalves(q6_KSDOTx8, 4)}, {2, q6_KSDOTx2}, {1, q6_KSDOTx1}}),
	)
}

// blockKernel is the form of the kernels for panels in blocks, see blockTile.
type blockKernel func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// inHalves makes a kernel for eight rows of weights of one for four; four rows have so many bytes of an inner scales' line.
func inHalves(run blockKernel, innerBytes int) blockKernel {
	return func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int) {
		run(w, scales, inner, blocks, q, d, sums, k, out, stride)
		w, scales, inner = forward(w, 16), forward(scales, 8), forward(inner, innerBytes)
		run(w, scales, inner, blocks, q, d, sums, k, (*float32)(unsafe.Add(unsafe.Pointer(out), 16)), stride)
	}
}

// forward returns a pointer n bytes on.
func forward(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

// q4_0SDOTx4 multiplies 8 rows of weights with 4 of activations, see blockTile:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_0SDOTx1 does so with 1 row of activations.
//
//go:noescape
func q4_0SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1SDOTx4 multiplies 8 rows of weights with 4 of activations, see blockTile:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1SDOTx1 does so with 1 row of activations.
//
//go:noescape
func q4_1SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0SDOTx4 multiplies 8 rows of weights with 4 of activations, as q4_0SDOTx4 does.
//
//go:noescape
func q8_0SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0SDOTx1 does so with 1 row of activations.
//
//go:noescape
func q8_0SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KSDOTx2 multiplies 8 rows of weights with 2 of activations, see blockTile:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func q6_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KSDOTx1 does so with 1 row of activations.
//
//go:noescape
func q6_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_0NEONx2 multiplies 8 rows of weights with 2 of activations, as q4_0SDOTx4 does with 4.
//
//go:noescape
func q4_0NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_0NEONx1 does so with 1 row of activations.
//
//go:noescape
func q4_0NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1NEONx2 multiplies 8 rows of weights with 2 of activations, as q4_1SDOTx4 does with 4.
//
//go:noescape
func q4_1NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1NEONx1 does so with 1 row of activations.
//
//go:noescape
func q4_1NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0NEONx2 multiplies 8 rows of weights with 2 of activations, as q4_0SDOTx4 does with 4.
//
//go:noescape
func q8_0NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0NEONx1 does so with 1 row of activations.
//
//go:noescape
func q8_0NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KSDOTx2 multiplies 8 rows of weights with 2 of activations, see blockTile:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KSDOTx1 does so with 1 row of activations.
//
//go:noescape
func q4_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KSDOTx2 multiplies 8 rows of weights with 2 of activations, as q4_KSDOTx2 does.
//
//go:noescape
func q5_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KSDOTx1 does so with 1 row of activations.
//
//go:noescape
func q5_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KNEONx1 multiplies 8 rows of weights with 1 of activations, as q4_KSDOTx1 does.
//
//go:noescape
func q4_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KNEONx1 multiplies 8 rows of weights with 1 of activations, as q5_KSDOTx1 does.
//
//go:noescape
func q5_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KNEONx1 multiplies 8 rows of weights with 1 of activations, as q6_KSDOTx1 does.
//
//go:noescape
func q6_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KSDOTx8 multiplies 4 rows of weights with 8 of activations, as q4_KSDOTx2 does 8 with 2.
//
//go:noescape
func q4_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KSDOTx8 multiplies 4 rows of weights with 8 of activations, as q5_KSDOTx2 does 8 with 2.
//
//go:noescape
func q5_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KSDOTx8 multiplies 4 rows of weights with 8 of activations, as q6_KSDOTx2 does 8 with 2.
//
//go:noescape
func q6_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_0SDOTx8 multiplies 4 rows of weights with 8 of arranged activations, and adds to out, see arrangedPanels.run.
//
//go:noescape
func q4_0SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_1SDOTx8 does so for Q4_1.
//
//go:noescape
func q4_1SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q8_0SDOTx8 does so for Q8_0.
//
//go:noescape
func q8_0SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)
