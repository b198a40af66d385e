//go:build !purego

package asm

// panelsI8MM sets the products with panels of weights.
func panelsI8MM(k *Kernels) {
	of := func(l *panelLayout, kernel arrangedKernel, rows int) *Panels {
		return arrangedPanelsOf(l, kernel, rows, k.PanelsFor(l.format))
	}
	k.replacePanels(
		of(layoutQ4_0, i8mmQ4_0, 8), of(layoutQ4_1, i8mmQ4_1, 8), of(layoutQ8_0, i8mmQ8_0, 8),
		of(layoutQ4_K, i8mmQ4_K, 4), of(layoutQ5_K, i8mmQ5_K, 4), of(layoutQ6_K, i8mmQ6_K, 4),
	)
}

// q4_0I8MMx8 multiplies 8 rows of weights with 8 of arranged activations, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_i w[b][r][i]·q[t][b][i]
//
//go:noescape
func q4_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_1I8MMx8 does so for Q4_1, and adds (m[b][r]·d[t][b])·sums[t][b] after each block.
//
//go:noescape
func q4_1I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q8_0I8MMx8 does so for Q8_0.
//
//go:noescape
func q8_0I8MMx8(w, scales *byte, blocks int, acts *byte, out *float32, stride int)

// q4_KI8MMx8 multiplies 4 rows of weights with 8 of arranged activations, see arrangedPanels.run:
//
//	out[t·stride+r] += Σ_b (scale[b][r]·d[t][b]) · Σ_g s[b][r][g]·Σ_i w[b][r][g][i]·q[t][b][g][i],
//	                   then − (min[b][r]·d[t][b])·Σ_g m[b][r][g]·sums[t][b][g]
//
//go:noescape
func q4_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// q5_KI8MMx8 does so for Q5_K.
//
//go:noescape
func q5_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)

// q6_KI8MMx8 does so for Q6_K, which has no minimums.
//
//go:noescape
func q6_KI8MMx8(w, scales, inner *byte, blocks int, acts *byte, out *float32, stride int)
