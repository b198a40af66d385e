//go:build !purego

package attention

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// AVXVNNI is AVX2 with AVX-VNNI.
var AVXVNNI = AVX2.with(integersAVXVNNI)

// AVX512VNNI is AVX512 with AVX-512 VNNI.
var AVX512VNNI = AVX512.with(integersAVX512VNNI)

// AMX is AVX512VNNI with AMX.
var AMX = AVX512VNNI.withTiles(integersAMX)

// withTiles returns the unit with products of rows by sixteen.
func (u Unit) withTiles(k integerKernels) Unit {
	u.tiles = k
	return u
}

// with returns the unit with other products of integers.
func (u Unit) with(k integerKernels) Unit {
	k.weigh = u.weigh
	u.integerKernels = k
	return u
}

// kernels is the assembly of this architecture. The comments of the functions that the fields are set to say what each computes.
type kernels struct {
	weights func(scores *float32, visible *int, results *float32, rows int)
	merge   func(dst, src *float32, n, rows int)
	floats  []floatKernels
}

// The assembly knows how a Partial lies in memory.
var _ [32]struct{} = [unsafe.Sizeof(Partial{})]struct{}{}

// floatKernels is the assembly for keys and values of a float format.
type floatKernels struct {
	format  quant.Format
	product func(w *byte, group, step, groups, steps int, x *float32, xStride int, out *float32, outStride, rows, add int, ahead *byte)
	rows    []int // that it takes, from many to one
}

// of returns the assembly for a format, or nil.
func (k *kernels) of(f quant.Format) *floatKernels {
	for i := range k.floats {
		if k.floats[i].format == f {
			return &k.floats[i]
		}
	}
	return nil
}

// together returns how many of some rows the assembly takes at once.
func (k *floatKernels) together(rows int) int {
	for _, n := range k.rows {
		if n <= rows {
			return n
		}
	}
	return 0
}

// scoreFloats computes the scores of keys of a float format, and reports whether it has assembly for it.
func (k *kernels) scoreFloats(t *Tile) bool {
	f := k.of(t.Format)
	if f == nil {
		return false
	}
	ahead := t.Values
	if ahead == nil {
		ahead = t.Next
	}
	d, size := t.HeadDim, t.Format.Bytes(t.HeadDim)
	for r := 0; r < t.Queries.Rows; {
		n := f.together(t.Queries.Rows - r)
		if seen := slices.Max(t.Visible[r:][:n]); seen > 0 {
			groups := (seen + panels.Rows - 1) / panels.Rows
			keys, x, scores := t.Keys[:groups*panels.Rows*size], t.Queries.X[r*d:][:n*d], t.Scores[r*TileKeys:][:n*TileKeys]
			f.product(&keys[0], panels.Rows*size, panels.Rows*size/d, groups, d, &x[0], 4*d, &scores[0], 4*TileKeys, n, 0, start(ahead, keys))
		}
		r += n
	}
	return true
}

// start returns the first of bytes, or of others if bytes is empty.
func start(bytes, others []byte) *byte {
	if len(bytes) == 0 {
		bytes = others
	}
	return &bytes[0]
}

// weighRows replaces scores by weights.
func (k *kernels) weighRows(t *Tile) {
	if rows := t.Queries.Rows; rows > 0 {
		scores, visible, results := t.Scores[:rows*TileKeys], t.Visible[:rows], t.Results[:rows]
		k.weights(&scores[0], &visible[0], &results[0].Max, rows)
	}
}

// addFloats sets the results to the weighted sums of values of a float format, and reports whether it has assembly for it.
func (k *kernels) addFloats(t *Tile) bool {
	f, d := k.of(t.Format), t.HeadDim
	if f == nil || d < panels.Rows {
		return false
	}
	for r := 0; r < t.Queries.Rows; {
		n := f.together(t.Queries.Rows - r)
		f.add(t, r, n, 0, d/panels.Rows, t.Out[r*d:], d)
		if rest := d % panels.Rows; rest > 0 {
			f.add(t, r, n, d-panels.Rows, 1, t.last[:], panels.Rows)
			t.keepLast(r, n, rest)
		}
		r += n
	}
	return true
}

// add sets out to the weighted sums of some groups of elements, from one on, of the values, for n rows that are computed together, the first
// of them r. It adds first the slots that all of these rows see, and then what a row sees beyond.
func (k *floatKernels) add(t *Tile, r, n, from, groups int, out []float32, stride int) {
	size, element := t.Format.Bytes(t.HeadDim), t.Format.Bytes(1)
	values, group := t.Values[from*element:TileKeys*size], panels.Rows*element
	seen, weights := t.Visible[r:][:n], t.Scores[r*TileKeys:][:n*TileKeys]
	next, common := start(t.Next, values), slices.Min(seen)
	k.product(&values[0], group, size, groups, common, &weights[0], 4*TileKeys, &out[:(n-1)*stride+groups*panels.Rows][0], 4*stride, n, 0, next)
	for i, last := range seen {
		if more := last - common; more > 0 {
			k.product(&values[common*size], group, size, groups, more, &weights[i*TileKeys+common], 4*TileKeys, &out[i*stride], 4*stride, 1, 1, next)
		}
	}
}

// Merge is the portable Merge.
func (u *Unit) Merge(dst, src []Partial) {
	if len(dst) > 0 && len(src[0].Out) > 0 {
		u.merge(&dst[0].Max, &src[:len(dst)][0].Max, len(src[0].Out), len(dst))
		return
	}
	Merge(dst, src)
}
