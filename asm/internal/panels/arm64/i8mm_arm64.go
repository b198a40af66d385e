//go:build !purego

package arm64

import "github.com/antigravity-go/antigravity/asm/internal/panels"

// I8MM returns panels that the products of small matrices multiply. With fewer than eight rows of activations SDOT does.
func I8MM() []*panels.Panels {
	below := SDOT()
	of := func(l *panels.Layout, kernel arrangedKernel, rows int) *panels.Panels {
		return arrangedPanelsOf(l, kernel, rows, panels.Find(below, l.Format))
	}
	return append(unpackedPanelsOf(i8mm),
		of(panels.LayoutQ4_0, i8mmQ4_0, 8), of(panels.LayoutQ4_1, i8mmQ4_1, 8), of(panels.LayoutQ8_0, i8mmQ8_0, 8),
		of(panels.LayoutQ4_K, i8mmQ4_K, 4), of(panels.LayoutQ5_K, i8mmQ5_K, 4), of(panels.LayoutQ6_K, i8mmQ6_K, 4),
	)
}

// q4_0I8MMx8 multiplies 8 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_1I8MMx8 multiplies 8 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func q4_1I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q8_0I8MMx8 multiplies 8 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q8_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_KI8MMx8 multiplies 4 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                   then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// q5_KI8MMx8 multiplies 4 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                   then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q5_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// q6_KI8MMx8 multiplies 4 rows of weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func q6_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// bytes32MinimumsI8MMx8 multiplies 8 rows of unpacked weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i], then + (m[b][r]·d[t][b])·sums[t][b]
//
//go:noescape
func bytes32MinimumsI8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// bytes32PowersI8MMx8 multiplies 8 rows of unpacked weights with 8 rows of arranged activations, and adds to out, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func bytes32PowersI8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// weighedMinimumsI8MMx8 multiplies 4 rows of weights, as weighPairs leaves them, with 8 rows of arranged activations, and adds to out, see
// arrangedPanels.run:
//
//	out[t·stride+r] += −Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i],
//	                   then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func weighedMinimumsI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// weighedI8MMx8 multiplies 4 rows of weights, as weighPairs leaves them, with 8 rows of arranged activations, and adds to out, see
// arrangedPanels.run:
//
//	out[t·stride+r] += −Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func weighedI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// runsI8MMx8 multiplies 4 rows of weights, as pairLines leaves them, with 8 rows of arranged activations, and adds to out, see
// arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i]
//
//go:noescape
func runsI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
