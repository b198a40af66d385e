//go:build !purego

package attention

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm/internal/convert"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/quant"
)

// Unit is the assembly for one set of instructions. The comments of the functions that the fields are set to say what each
// computes.
type Unit struct {
	vectors *vectors.Unit
	convert *convert.Unit
	width   int           // elements of a register
	floats  []floatReader // keys and values in float formats
	blocks  []blockReader // keys in blocks of 32; the values are widened and then read as float32

	scores    func(out, panel, q *float32, headDim, rows int)
	scores32  func(out *float32, panel *int32, scales *float32, q *int16, d *float32, headDim, rows int)
	widen16   func(dst *int16, src *int8, n int)
	valuesF32 valuesKernel
}

// floatReader is the assembly that reads keys and values of a float format.
type floatReader struct {
	format    quant.Format
	transpose func(panel *float32, k *byte, stride, n, headDim int)
	values    valuesKernel
}

// blockReader is the assembly that reads keys of a format of blocks of 32.
type blockReader struct {
	format    quant.Format
	transpose func(panel *int32, scales *float32, k *byte, stride, n, headDim int)
}

// valuesKernel is assembly that adds weighted values.
type valuesKernel = func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim, rows int)

// rowsTogether is how many query rows one call works on: they share what it reads. Scores with wide registers take manyRows.
const (
	rowsTogether = 4
	manyRows     = 8
)

// Attend is the portable Attend. Scores are computed with a key in each lane, which needs the keys transposed, and sums of
// values with an element of the head in each lane; so every sum keeps the order that the portable form has.
func (u *Unit) Attend(t *Tile) {
	visible := t.Visible[:t.Queries.Rows]
	s := slots{unit: u, Tile: t, visible: visible, together: 2 * u.width}
	for _, n := range visible {
		s.n = max(s.n, n)
	}
	if s.n == 0 || t.HeadDim == 0 || !s.find() {
		Attend(t)
		return
	}
	s.score()
	if len(t.Next) > 0 && s.apart() { // the memory would be idle while values are summed
		prefetch(&t.Next[0], t.Stride, min(2*s.together, (len(t.Next)-1)/t.Stride+1), t.Format.Bytes(t.HeadDim))
	}
	for r, n := range visible {
		p := &t.Results[r]
		clear(p.Out)
		p.Max, p.Sum = 0, 0
		if n > 0 {
			row := t.Scores[r*TileKeys:][:n]
			p.Max = u.vectors.Maximum(row)
			p.Sum = u.vectors.Exponentials(row, p.Max)
		}
	}
	switch manyOf16 := len(visible) >= manyRows && t.Format != quant.F32 && t.HeadDim%16 == 0; {
	case t.V == nil:
	case s.blocks != nil || manyOf16: // widened once for all rows
		s.sumWidened(u.convert.Reader(t.Format))
	default:
		s.sum(0, s.n, &t.V[0], t.Stride, s.floats.values)
	}
}

// slots is a tile with what the assembly needs to know of it. One of the readers is set.
type slots struct {
	*Tile
	unit     *Unit
	floats   *floatReader
	blocks   *blockReader
	visible  []int // of each row
	n        int   // slots that the row that sees most sees
	together int   // keys of a panel
}

// find looks for the assembly that reads the tile, and limits the tile's memory to what that will read.
func (s *slots) find() bool {
	u, d := s.unit, s.HeadDim
	for i := range u.floats {
		if u.floats[i].format == s.Format && d%u.width == 0 {
			s.floats = &u.floats[i]
		}
	}
	for i := range u.blocks {
		if b := &u.blocks[i]; b.format == s.Format && d%s.Format.BlockLen() == 0 {
			s.blocks = b
		}
	}
	return s.floats != nil || s.blocks != nil
}

// score computes the scores of all rows. Those that a row does not see are computed too, and not used.
func (s *slots) score() {
	d, bytes := s.HeadDim, (s.n-1)*s.Stride+s.Format.Bytes(s.HeadDim)
	k, v := s.K[:bytes], s.V
	_, _ = s.Scores[:len(s.visible)*TileKeys], s.Panel[:PanelKeys*d] // what the assembly relies on
	if v != nil {
		v = v[:bytes]
	}
	s.prefetch(k, 0, 2*s.together)
	for j := 0; j < s.n; j += s.together {
		s.prefetch(k, j+2*s.together, s.together)
		if v != nil {
			s.prefetch(v, j, s.together)
		}
		for at := j; at < min(j+s.together, s.n); at += s.unit.width {
			s.transpose(&k[at*s.Stride], at-j, min(s.unit.width, s.n-at))
		}
		for r, rows := 0, 0; r < len(s.visible); r += rows {
			rows = min(rowsTogether, len(s.visible)-r)
			if s.unit.width == 16 && s.floats != nil && r+manyRows <= len(s.visible) {
				rows = manyRows
			}
			if slices.Max(s.visible[r:r+rows]) > j {
				s.scoreRows(&s.Scores[r*TileKeys+j], r, rows)
			}
		}
	}
}

// apart tells whether slots lie apart. Where they lie one after the other, as in pages, the processor guesses what comes next, and asking
// for it is in the way.
func (s *slots) apart() bool { return s.Stride > s.Format.Bytes(s.HeadDim) }

// prefetch asks for up to n slots of keys or values, from slot j on, where they lie apart.
func (s *slots) prefetch(cache []byte, j, n int) {
	if n := min(n, s.n-j); n > 0 && s.apart() {
		prefetch(&cache[j*s.Stride], s.Stride, n, s.Format.Bytes(s.HeadDim))
	}
}

// parts returns the parts of Panel that keys in blocks need: numbers [HeadDim/2, together] of 2·16 bits, their scales
// [HeadDim/32, together], and some rows of queries [rowsTogether, HeadDim] of 16 bits.
func (s *slots) parts() (numbers *int32, scales []float32, queries *int16) {
	d := s.HeadDim
	first, rest := s.Panel[:d/2*s.together], s.Panel[d/2*s.together:]
	scales, rest = rest[:d/32*s.together], rest[d/32*s.together:]
	return (*int32)(unsafe.Pointer(&first[0])), scales, (*int16)(unsafe.Pointer(&rest[:rowsTogether*d/2][0]))
}

// transpose writes n keys to the panel, from column at.
func (s *slots) transpose(k *byte, at, n int) {
	if s.floats != nil {
		s.floats.transpose(&s.Panel[at], k, s.Stride, n, s.HeadDim)
		return
	}
	_, scales, _ := s.parts()
	s.blocks.transpose((*int32)(unsafe.Pointer(&s.Panel[at])), &scales[at], k, s.Stride, n, s.HeadDim)
}

// scoreRows computes some rows' scores with the panel.
func (s *slots) scoreRows(out *float32, row, rows int) {
	d, q := s.HeadDim, s.Queries
	if s.floats != nil {
		x := q.X[row*d:][:rows*d]
		s.unit.scores(out, &s.Panel[0], &x[0], d, rows)
		return
	}
	numbers, scales, queries := s.parts()
	numbers8, factors := q.Q[row*d:][:rows*d], q.D[row*(d/32):][:rows*(d/32)]
	s.unit.widen16(queries, &numbers8[0], len(numbers8))
	s.unit.scores32(out, numbers, &scales[0], queries, &factors[0], d, rows)
}

// sumWidened adds the weighted values, which it widens some slots at a time, by read.
func (s *slots) sumWidened(read func(dst *float32, src *byte, n int)) {
	d := s.HeadDim
	for first := 0; first < s.n; first += PanelKeys {
		n := min(PanelKeys, s.n-first)
		for j := range n {
			read(&s.Panel[j*d], &s.V[(first+j)*s.Stride], d)
		}
		s.sum(first, n, (*byte)(unsafe.Pointer(&s.Panel[0])), 4*d, s.unit.valuesF32)
	}
}

// sum adds the weighted values of n slots from the first on, which lie at v: first the slots that all rows of a call see, then
// what a row sees beyond.
func (s *slots) sum(first, n int, v *byte, stride int, values valuesKernel) {
	d := s.HeadDim
	for r := 0; r < len(s.visible); r += rowsTogether {
		seen := s.visible[r:min(r+rowsTogether, len(s.visible))]
		var out [rowsTogether]*float32
		for i := range out {
			out[i] = &s.Results[r+min(i, len(seen)-1)].Out[:d][0]
		}
		common := min(slices.Min(seen)-first, n)
		if common > 0 {
			values(out[0], out[1], out[2], out[3], &s.Scores[r*TileKeys+first], v, stride, common, d, len(seen))
		}
		common = max(common, 0)
		for i, last := range seen {
			if more := min(last-first, n) - common; more > 0 {
				beyond := (*byte)(unsafe.Add(unsafe.Pointer(v), common*stride))
				values(out[i], out[i], out[i], out[i], &s.Scores[(r+i)*TileKeys+first+common], beyond, stride, more, d, 1)
			}
		}
	}
}
