//go:build !purego

package attention

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// NEON is the unit of Advanced SIMD, and SDOT that of its products of integers.
var (
	NEON = unitOf(integersNEON)
	SDOT = unitOf(integersSDOT)
)

// unitOf returns the unit with some kernels of integers.
func unitOf(integers integerKernels) Unit {
	return Unit{
		vectors: &vectors.NEON,
		convert: convert.NEON,
		kernels: kernels{
			{quant.F16, valueKernels{valuesF16NEONx4, valuesF16NEONx1}},
			{quant.F32, valueKernels{valuesF32NEONx4, valuesF32NEONx1}},
			{quant.BF16, valueKernels{valuesBF16NEONx4, valuesBF16NEONx1}},
		},
		integerKernels: integers,
	}
}

// kernels is the assembly of this architecture that adds weighted values, for each float format.
type kernels []struct {
	format quant.Format
	valueKernels
}

// of returns the assembly for the values of a format, or nil.
func (k kernels) of(f quant.Format) *valueKernels {
	for i := range k {
		if k[i].format == f {
			return &k[i].valueKernels
		}
	}
	return nil
}

// scoreFloats computes the scores of keys of a float format, and reports whether it has assembly for it, which it has not.
func (u *Unit) scoreFloats(*Tile) bool { return false }

// weighRows replaces scores by weights.
func (u *Unit) weighRows(t *Tile) {
	for r, n := range t.Visible[:t.Queries.Rows] {
		result := &t.Results[r]
		result.Max, result.Sum = 0, 0
		if n > 0 {
			row := t.Scores[r*TileKeys:][:n]
			result.Max = u.vectors.Maximum(row)
			result.Sum = u.vectors.Exponentials(row, result.Max)
		}
	}
}

// manyRows is for how many query rows values of 16 bits are worth being widened once for all of them.
const manyRows = 8

// addFloats sets the results to the weighted sums of values of a float format, and reports whether it has assembly for it.
func (u *Unit) addFloats(t *Tile) bool {
	kernels, d, slots := u.of(t.Format), t.HeadDim, slices.Max(t.Visible[:t.Queries.Rows])
	if kernels == nil || slots == 0 || d < panels.Rows {
		return false
	}
	clear(t.Out[:t.Queries.Rows*d])
	size := t.Format.Bytes(d)
	if t.Format == quant.F32 || t.Queries.Rows < manyRows {
		kernels.add(t, 0, t.Values[:slots*size], slots)
		return true
	}
	wide := t.wide(WideSlots)
	for first := 0; first < slots; first += WideSlots {
		n := min(WideSlots, slots-first)
		u.convert.Dequantize(t.Format, wide[:n*d], t.Values[first*size:][:n*size])
		u.of(quant.F32).add(t, first, unsafe.Slice((*byte)(unsafe.Pointer(&wide[0])), 4*n*d), n)
	}
	return true
}

// Merge is the portable Merge.
func (u *Unit) Merge(dst, src []Partial) {
	for r := range dst {
		d, s := &dst[r], &src[r]
		if s.Sum == 0 || d.Sum == 0 || len(s.Out) == 0 {
			Merge(dst[r:r+1], src[r:r+1])
			continue
		}
		a, b := d.join(s)
		u.vectors.Axpby(d.Out, s.Out, b, a)
	}
}

// valueKernels add weighted values of one format to the results of query rows: of four, and of one.
type valueKernels struct {
	four func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim int)
	one  func(out, p *float32, v *byte, stride, n, headDim int)
}

// add adds n weighted values, v, from slot first on, to the results of all rows, some rows at a time.
func (k *valueKernels) add(t *Tile, first int, v []byte, n int) {
	d, rest := t.HeadDim, t.HeadDim%panels.Rows
	element := len(v) / (n * d)
	for r := 0; r < t.Queries.Rows; {
		rows := 1
		if t.Queries.Rows-r >= 4 {
			rows = 4
		}
		if rest > 0 {
			for i := range rows {
				copy(t.last[i*panels.Rows:][:panels.Rows], t.Out[(r+i+1)*d-panels.Rows:])
			}
			k.addTo(t.last[:], panels.Rows, panels.Rows, t, r, rows, first, v[(d-panels.Rows)*element:], d*element, n)
		}
		k.addTo(t.Out[r*d:], d, d-rest, t, r, rows, first, v, d*element, n)
		if rest > 0 {
			t.keepLast(r, rows, rest)
		}
		r += rows
	}
}

// addTo adds n weighted values, which are size bytes apart in v, from slot first on, to out: elements for each of four rows or one, from row r
// on, at distances of stride. It adds first the slots that all of these rows see, and then what a row sees beyond.
func (k *valueKernels) addTo(out []float32, stride, elements int, t *Tile, r, rows, first int, v []byte, size, n int) {
	visible, common := t.Visible[r:][:rows], 0
	to := func(i int) *float32 { return &out[i*stride:][:elements][0] }
	if rows == 4 {
		common = max(min(slices.Min(visible)-first, n), 0)
	}
	if common > 0 {
		k.four(to(0), to(1), to(2), to(3), &t.Scores[r*TileKeys+first:][:3*TileKeys+common][0], &v[0], size, common, elements)
	}
	for i, seen := range visible {
		if more := min(seen-first, n) - common; more > 0 {
			k.one(to(i), &t.Scores[(r+i)*TileKeys+first+common:][:more][0], &v[common*size], size, more, elements)
		}
	}
}
