//go:build !purego

package attention

import "slices"

// AVXVNNI is AVX2 with AVX-VNNI.
var AVXVNNI = AVX2.with(integersAVXVNNI)

// AVX512VNNI is AVX512 with AVX-512 VNNI.
var AVX512VNNI = AVX512.with(integersAVX512VNNI)

// with returns the unit with other products of integers.
func (u Unit) with(k integerKernels) Unit {
	k.weigh = u.weigh
	u.integerKernels = k
	return u
}

// valueKernels is assembly that adds weighted values of one format to the results of up to rowsTogether query rows. The comments of the
// functions say what each computes.
type valueKernels struct {
	run func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim, rows int)
}

// rowsTogether is how many query rows one call works on: they share what it reads.
const rowsTogether = 4

// add adds n weighted values, v, from slot first on, to the results of all rows: first the slots that all rows of a call see, then what a
// row sees beyond.
func (k *valueKernels) add(t *Tile, first int, v []byte, n int) {
	d, stride, visible := t.HeadDim, len(v)/n, t.Visible[:t.Queries.Rows]
	for r := 0; r < len(visible); r += rowsTogether {
		seen := visible[r:min(r+rowsTogether, len(visible))]
		var out [rowsTogether]*float32
		for i := range out {
			out[i] = &t.Out[(r+min(i, len(seen)-1))*d:][:d][0]
		}
		common := max(min(slices.Min(seen)-first, n), 0)
		if common > 0 {
			k.run(out[0], out[1], out[2], out[3], &t.Scores[r*TileKeys+first], &v[0], stride, common, d, len(seen))
		}
		for i, last := range seen {
			if more := min(last-first, n) - common; more > 0 {
				k.run(out[i], out[i], out[i], out[i], &t.Scores[(r+i)*TileKeys+first+common], &v[common*stride], stride, more, d, 1)
			}
		}
	}
}
