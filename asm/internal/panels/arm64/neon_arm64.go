//go:build !purego

package arm64

import "github.com/antigravity-go/antigravity/asm/internal/panels"

// The tiles that attention uses too, for scores of keys that it has laid out as panels.
var (
	FloatsF32NEON  = []panels.FloatTile{{Tokens: 4, Run: f32NEONx4}, {Tokens: 1, Run: f32NEONx1}}
	FloatsF16NEON  = []panels.FloatTile{{Tokens: 4, Run: f16NEONx4}, {Tokens: 1, Run: f16NEONx1}}
	FloatsBF16NEON = []panels.FloatTile{{Tokens: 4, Run: bf16NEONx4}, {Tokens: 1, Run: bf16NEONx1}}

	BlocksQ4_0NEON = panels.BlockTiles{Layout: panels.LayoutQ4_0, Rows: 8, Tiles: []panels.BlockTile{{Tokens: 2, Run: q4_0NEONx2}, {Tokens: 1, Run: q4_0NEONx1}}}
	BlocksQ8_0NEON = panels.BlockTiles{Layout: panels.LayoutQ8_0, Rows: 8, Tiles: []panels.BlockTile{{Tokens: 2, Run: q8_0NEONx2}, {Tokens: 1, Run: q8_0NEONx1}}}
)

// NEON returns panels that Advanced SIMD multiplies.
func NEON() []*panels.Panels {
	return append(unpackedPanelsOf(neon),
		panels.FloatTiles{Layout: panels.LayoutF32, Tiles: FloatsF32NEON, Single: f32NEONx1x4}.Panels(),
		panels.FloatTiles{Layout: panels.LayoutF16, Tiles: FloatsF16NEON, Single: f16NEONx1x4}.Panels(),
		panels.FloatTiles{Layout: panels.LayoutBF16, Tiles: FloatsBF16NEON, Single: bf16NEONx1x4}.Panels(),
		BlocksQ4_0NEON.Panels(),
		eightRows(panels.LayoutQ4_1, panels.BlockTile{Tokens: 2, Run: q4_1NEONx2}, panels.BlockTile{Tokens: 1, Run: q4_1NEONx1}),
		BlocksQ8_0NEON.Panels(),
		eightRows(panels.LayoutQ4_K, panels.BlockTile{Tokens: 1, Run: q4_KNEONx1}),
		eightRows(panels.LayoutQ5_K, panels.BlockTile{Tokens: 1, Run: q5_KNEONx1}),
		eightRows(panels.LayoutQ6_K, panels.BlockTile{Tokens: 1, Run: q6_KNEONx1}),
	)
}

// eightRows returns panels of a format in blocks that tiles of eight rows of weights multiply.
func eightRows(l *panels.Layout, tiles ...panels.BlockTile) *panels.Panels {
	return panels.BlockTiles{Layout: l, Rows: 8, Tiles: tiles}.Panels()
}

// f32NEONx4 multiplies 1 panel with 4 rows of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func f32NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)

// f32NEONx1 multiplies 1 panel with 1 row of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func f32NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)

// f32NEONx1x4 multiplies 4 panels with 1 row of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func f32NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)

// f16NEONx4 multiplies 1 panel with 4 rows of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func f16NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)

// f16NEONx1 multiplies 1 panel with 1 row of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func f16NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)

// f16NEONx1x4 multiplies 4 panels with 1 row of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func f16NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)

// bf16NEONx4 multiplies 1 panel with 4 rows of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func bf16NEONx4(w *byte, panelBytes, k int, x, out *float32, stride int)

// bf16NEONx1 multiplies 1 panel with 1 row of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func bf16NEONx1(w *byte, panelBytes, k int, x, out *float32, stride int)

// bf16NEONx1x4 multiplies 4 panels with 1 row of activations, k > 0, see panels.FloatKernel:
//
//	out[t·stride+r] = fma(w[k−1][r], x[t][k−1], … fma(w[0][r], x[t][0], 0))
//
//go:noescape
func bf16NEONx1x4(w *byte, panelBytes, k int, x, out *float32, stride int)

// q4_0NEONx2 multiplies 8 rows of weights with 2 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_0NEONx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1NEONx2 multiplies 8 rows of weights with 2 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_1NEONx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0NEONx2 multiplies 8 rows of weights with 2 rows of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q8_0NEONx2(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q8_0NEONx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q8_0NEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q4_KNEONx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q5_KNEONx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                  then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q5_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)

// q6_KNEONx1 multiplies 8 rows of weights with 1 row of activations, see panels.BlockKernel:
//
//	out[t·stride+r] = Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func q6_KNEONx1(w, scales, inner *byte, blocks int, q *int8, d *float32, sums *int32, k int, out *float32, stride int)
