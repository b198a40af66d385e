//go:build !purego

package arm64

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
)

// The tiles that attention uses too, for scores of keys that it has laid out as panels.
var (
	BlocksQ4_0SDOT = panels.BlockTiles{Layout: panels.LayoutQ4_0, Rows: 8, Tiles: []panels.BlockTile{{Tokens: 4, Run: q4_0SDOTx4}, {Tokens: 1, Run: q4_0SDOTx1}}}
	BlocksQ8_0SDOT = panels.BlockTiles{Layout: panels.LayoutQ8_0, Rows: 8, Tiles: []panels.BlockTile{{Tokens: 4, Run: q8_0SDOTx4}, {Tokens: 1, Run: q8_0SDOTx1}}}
)

// SDOT returns panels that the dot products of four bytes multiply.
func SDOT() []*panels.Panels {
	tile := func(tokens int, run panels.BlockKernel) panels.BlockTile {
		return panels.BlockTile{Tokens: tokens, Run: run}
	}
	return append(unpackedPanelsOf(sdot),
		arrangedPanelsOf(panels.LayoutQ4_0, sdotQ4_0, 4, BlocksQ4_0SDOT.Panels()),
		arrangedPanelsOf(panels.LayoutQ4_1, sdotQ4_1, 4, eightRows(panels.LayoutQ4_1, tile(4, q4_1SDOTx4), tile(1, q4_1SDOTx1))),
		arrangedPanelsOf(panels.LayoutQ8_0, sdotQ8_0, 4, BlocksQ8_0SDOT.Panels()),
		eightRows(panels.LayoutQ4_K, tile(8, inHalves(q4_KSDOTx8, 16)), tile(2, q4_KSDOTx2), tile(1, q4_KSDOTx1)),
		eightRows(panels.LayoutQ5_K, tile(8, inHalves(q5_KSDOTx8, 16)), tile(2, q5_KSDOTx2), tile(1, q5_KSDOTx1)),
		eightRows(panels.LayoutQ6_K, tile(8, inHalves(q6_KSDOTx8, 4)), tile(2, q6_KSDOTx2), tile(1, q6_KSDOTx1)),
	)
}

// inHalves makes a kernel for eight rows of weights of one for four. In a line of the plane of inner scales, four rows have
// innerBytes.
func inHalves(run panels.BlockKernel, innerBytes int) panels.BlockKernel {
	return func(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int) {
		run(w, scales, inner, blocks, q, d, sums, k, out, stride)
		w, scales, inner = forward(w, 16), forward(scales, 8), forward(inner, innerBytes)
		run(w, scales, inner, blocks, q, d, sums, k, (*float32)(unsafe.Add(unsafe.Pointer(out), 16)), stride)
	}
}

// forward returns a pointer n bytes on.
func forward(p *byte, n int) *byte { return (*byte)(unsafe.Add(unsafe.Pointer(p), n)) }

// q4_0SDOTx8 multiplies 4 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_0SDOTx4 multiplies 8 rows of weights with 4 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_0SDOTx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1SDOTx8 multiplies 4 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_1SDOTx4 multiplies 8 rows of weights with 4 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1SDOTx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0SDOTx8 multiplies 4 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q8_0SDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q8_0SDOTx4 multiplies 8 rows of weights with 4 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q8_0SDOTx4(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0SDOTx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q8_0SDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// bytes32MinimumsSDOTx8 multiplies 4 rows of unpacked weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func bytes32MinimumsSDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// bytes32PowersSDOTx8 multiplies 4 rows of unpacked weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func bytes32PowersSDOTx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_KSDOTx8 multiplies 4 rows of weights with 8 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KSDOTx2 multiplies 8 rows of weights with 2 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KSDOTx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KSDOTx8 multiplies 4 rows of weights with 8 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q5_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KSDOTx2 multiplies 8 rows of weights with 2 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q5_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KSDOTx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q5_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KSDOTx8 multiplies 4 rows of weights with 8 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func q6_KSDOTx8(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KSDOTx2 multiplies 8 rows of weights with 2 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func q6_KSDOTx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KSDOTx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func q6_KSDOTx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
