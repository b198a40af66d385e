//go:build !purego

package attention

// valuesF32NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesF32NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesF32NEONx1 computes it for one row.
//
//go:noescape
func valuesF32NEONx1(out, p *float32, v *byte, stride, n, headDim int)

// valuesF16NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesF16NEONx1 computes it for one row.
//
//go:noescape
func valuesF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)

// valuesBF16NEONx4 computes outᵣ[i] = fma(p[r·TileKeys+j], v[j][i], outᵣ[i]) for i < headDim, in order of j < n; headDim is a
// multiple of 16, and values are stride bytes apart.
//
//go:noescape
func valuesBF16NEONx4(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)

// valuesBF16NEONx1 computes it for one row.
//
//go:noescape
func valuesBF16NEONx1(out, p *float32, v *byte, stride, n, headDim int)
