package quant

import "github.com/antigravity-go/antigravity/internal/exact"

// DotRows multiplies rows of w, which begin every rowBytes bytes and have a.K elements, with each row of the activation:
//
//	out[t·stride + r] = w[r·rowBytes:] · a.Row(t)   r < rows, t < a.Rows
//
// See the package's documentation for the order of operations. It unpacks each block of w once for all rows of the activation. out, w and
// the activation must be long enough for these indices; no other elements are read or written.
func (f Format) DotRows(out []float32, stride int, w []byte, rowBytes, rows int, a *Activation) {
	for t := range a.Rows {
		clear(out[t*stride : t*stride+rows])
	}
	switch f.ActivationForm() {
	case Float:
		f.dotFloats(out, stride, w, rowBytes, rows, a)
	case Int8x32:
		f.dot32(out, stride, w, rowBytes, rows, a)
	case Int8x256:
		f.dot256(out, stride, w, rowBytes, rows, a)
	}
}

// dot32 is DotRows for blocks of 32.
func (f Format) dot32(out []float32, stride int, w []byte, rowBytes, rows int, a *Activation) {
	var u unpacked
	blocks, blockBytes, minimums := a.K/32, f.BlockBytes(), f.minimums()
	for r := range rows {
		row := w[r*rowBytes:]
		for b := range blocks {
			f.unpack(row[b*blockBytes:(b+1)*blockBytes], &u)
			for t := range a.Rows {
				at := t*blocks + b
				da := a.D[at]
				isum := dot16((*[16]int8)(u.q[:]), (*[16]int8)(a.Q[at*32:])) + dot16((*[16]int8)(u.q[16:]), (*[16]int8)(a.Q[at*32+16:]))
				acc := exact.FMA(u.d*da, float32(isum), out[t*stride+r])
				if minimums {
					acc = exact.FMA(u.m*da, float32(a.Sums[at]), acc)
				}
				out[t*stride+r] = acc
			}
		}
	}
}

// dot256 is DotRows for blocks of 256.
func (f Format) dot256(out []float32, stride int, w []byte, rowBytes, rows int, a *Activation) {
	var u unpacked
	blocks, blockBytes, minimums := a.K/256, f.BlockBytes(), f.minimums()
	group := f.facts().groupLen
	for r := range rows {
		row := w[r*rowBytes:]
		for b := range blocks {
			f.unpack(row[b*blockBytes:(b+1)*blockBytes], &u)
			for t := range a.Rows {
				at := t*blocks + b
				q, sums := a.Q[at*256:(at+1)*256], a.Sums[at*16:(at+1)*16]
				var isum, msum int32
				for s := range 16 {
					g := s * 16 / group
					isum += u.scale[g] * dot16((*[16]int8)(u.q[s*16:]), (*[16]int8)(q[s*16:]))
					msum += u.min[g] * sums[s]
				}
				da := a.D[at]
				acc := exact.FMA(u.d*da, float32(isum), out[t*stride+r])
				if minimums {
					acc = exact.FMA(u.m*da, float32(msum), acc)
				}
				out[t*stride+r] = acc
			}
		}
	}
}

// minimums reports whether the format has minimums, and so a second multiply-add for each block.
func (f Format) minimums() bool { return f.facts().minimum }

// dot16 returns Σ x[i]·y[i].
func dot16(x, y *[16]int8) (sum int32) {
	for i := 0; i < 16; i += 4 {
		sum += int32(x[i])*int32(y[i]) + int32(x[i+1])*int32(y[i+1]) + int32(x[i+2])*int32(y[i+2]) + int32(x[i+3])*int32(y[i+3])
	}
	return sum
}

// strip is how many elements of each of four rows are widened at a time: few enough to stay in the first-level cache.
const strip = 128

// dotFloats is DotRows for the float formats. The sums of four rows advance together, so that their chains of additions
// overlap.
func (f Format) dotFloats(out []float32, stride int, w []byte, rowBytes, rows int, a *Activation) {
	var wide [4][strip]float32
	for r := 0; r < rows; r += 4 {
		n := min(4, rows-r)
		for k := 0; k < a.K; k += strip {
			m := min(strip, a.K-k)
			for i := range n {
				f.widen(wide[i][:m], w[(r+i)*rowBytes+f.Bytes(k):][:f.Bytes(m)])
			}
			for t := range a.Rows {
				dot4(out[t*stride+r:][:n], &wide, a.X[t*a.K+k:][:m])
			}
		}
	}
}

// dot4 adds Σ wide[i][k]·x[k] to acc[i], in order of k. Each step is exact.FMA, written out with the test of
// exact.Suspect so that the loop makes no calls for ordinary numbers.
func dot4(acc []float32, wide *[4][strip]float32, x []float32) {
	var s [4]float32
	copy(s[:], acc)
	s0, s1, s2, s3 := s[0], s[1], s[2], s[3]
	for k, v := range x[:min(len(x), strip)] {
		w0, w1, w2, w3 := wide[0][k], wide[1][k], wide[2][k], wide[3][k]
		y := float64(v)
		t0 := float64(w0)*y + float64(s0) // a product of two float32 is exact in float64: fused or not, the sum is the same
		t1 := float64(w1)*y + float64(s1)
		t2 := float64(w2)*y + float64(s2)
		t3 := float64(w3)*y + float64(s3)
		if exact.Suspect(t0) || exact.Suspect(t1) || exact.Suspect(t2) || exact.Suspect(t3) {
			s0, s1, s2, s3 = exact.FMA(w0, v, s0), exact.FMA(w1, v, s1), exact.FMA(w2, v, s2), exact.FMA(w3, v, s3)
			continue
		}
		s0, s1, s2, s3 = float32(t0), float32(t1), float32(t2), float32(t3)
	}
	s = [4]float32{s0, s1, s2, s3}
	copy(acc, s[:])
}
