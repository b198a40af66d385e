package quant

import "github.com/antigravity-go/antigravity/internal/exact"

// Dot returns the dot product of one row w with an activation that was prepared for the format; both have the same number of
// elements. See the package's documentation for the order of operations.
func (f *Format) Dot(w []byte, a *Activation) float32 {
	var out [1]float32
	f.DotRows(out[:], 1, w, len(w), 1, []Activation{*a})
	return out[0]
}

// DotRows multiplies the first rows of w, which begin every rowBytes bytes, with each of the activations:
//
//	out[t·stride + r] = Dot(w[r·rowBytes:], acts[t])   r < rows, t < len(acts)
//
// It unpacks each block of w once for all activations. The slices must be long enough; beyond that nothing is read or
// written.
func (f *Format) DotRows(out []float32, stride int, w []byte, rowBytes, rows int, acts []Activation) {
	if f.Partner == Float {
		f.dotFloats(out, stride, w, rowBytes, rows, acts)
		return
	}
	var u unpacked
	for r := range rows {
		for t := range acts {
			out[t*stride+r] = 0
		}
		row := w[r*rowBytes:]
		for b := range acts[0].D {
			f.unpack(row[b*f.BlockBytes:(b+1)*f.BlockBytes], &u)
			for t := range acts {
				acc := &out[t*stride+r]
				if f.Partner == Int8x32 {
					*acc = u.dot32(&acts[t], b, *acc)
				} else {
					*acc = u.dot256(&acts[t], b, *acc)
				}
			}
		}
	}
}

// dot32 adds the product with block b of an Int8x32 activation to acc.
func (u *unpacked) dot32(a *Activation, b int, acc float32) float32 {
	acc = exact.FMA(u.d*a.D[b], float32(dot8((*[32]int8)(u.q[:32]), (*[32]int8)(a.Q[b*32:]))), acc)
	if u.m != 0 {
		acc = exact.FMA(u.m*a.D[b], float32(a.Sums[b]), acc)
	}
	return acc
}

// dot256 adds the product with block b of an Int8x256 activation to acc.
func (u *unpacked) dot256(a *Activation, b int, acc float32) float32 {
	var isum, msum int32
	q, sums := a.Q[b*256:(b+1)*256], a.Sums[b*16:(b+1)*16]
	for g := range 16 {
		isum += u.scale[g] * dot8x16((*[16]int8)(u.q[g*16:]), (*[16]int8)(q[g*16:]))
		msum += u.min[g] * sums[g]
	}
	acc = exact.FMA(u.d*a.D[b], float32(isum), acc)
	if u.m != 0 {
		acc = exact.FMA(u.m*a.D[b], float32(msum), acc)
	}
	return acc
}

// dot8 returns Σ x[i]·y[i].
func dot8(x, y *[32]int8) (sum int32) {
	for i := 0; i < 32; i += 4 {
		sum += int32(x[i])*int32(y[i]) + int32(x[i+1])*int32(y[i+1]) + int32(x[i+2])*int32(y[i+2]) + int32(x[i+3])*int32(y[i+3])
	}
	return sum
}

// dot8x16 is dot8 for half as many.
func dot8x16(x, y *[16]int8) (sum int32) {
	for i := 0; i < 16; i += 4 {
		sum += int32(x[i])*int32(y[i]) + int32(x[i+1])*int32(y[i+1]) + int32(x[i+2])*int32(y[i+2]) + int32(x[i+3])*int32(y[i+3])
	}
	return sum
}

// strip is how many elements of four rows are widened at a time: they stay in the first-level cache.
const strip = 128

// dotFloats is DotRows for the float formats. The sums of four rows advance together, so that their chains of additions
// overlap.
func (f *Format) dotFloats(out []float32, stride int, w []byte, rowBytes, rows int, acts []Activation) {
	var wide [4][strip]float32
	for t := range acts {
		clear(out[t*stride : t*stride+rows])
	}
	for r := 0; r < rows; r += 4 {
		n := min(4, rows-r)
		for k := 0; k < len(acts[0].X); k += strip {
			m := min(strip, len(acts[0].X)-k)
			for i := range n {
				f.widen(wide[i][:m], w[(r+i)*rowBytes+f.Bytes(k):][:f.Bytes(m)])
			}
			for t := range acts {
				dot4(out[t*stride+r:][:n], &wide, acts[t].X[k:k+m])
			}
		}
	}
}

// dot4 adds Σ wide[i][k]·x[k] to acc[i], in order of k.
func dot4(acc []float32, wide *[4][strip]float32, x []float32) {
	var s [4]float32
	copy(s[:], acc)
	for k, v := range x {
		s[0] = exact.FMA(wide[0][k], v, s[0])
		s[1] = exact.FMA(wide[1][k], v, s[1])
		s[2] = exact.FMA(wide[2][k], v, s[2])
		s[3] = exact.FMA(wide[3][k], v, s[3])
	}
	copy(acc, s[:])
}
