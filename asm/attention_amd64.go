//go:build !purego

package asm

import (
	"slices"

	"github.com/antigravity-go/antigravity/quant"
)

// cacheReader is the assembly that reads keys and values of one format.
type cacheReader struct {
	format    *quant.Format
	transpose func(panel *float32, k *byte, stride, n, headDim int)
	values    func(out0, out1, out2, out3, p *float32, v *byte, stride, n, headDim, rows int)
}

// rowsTogether is how many query rows one call works on: they share what it reads.
const rowsTogether = 4

// reader returns what reads a format, nil where there is no such assembly.
func (u *vectorUnit) reader(f *quant.Format) *cacheReader {
	for i := range u.caches {
		if u.caches[i].format == f {
			return &u.caches[i]
		}
	}
	return nil
}

// Attend is the unit's attend. Scores are computed with a key in each lane, which needs the keys transposed, and sums of
// values with an element of the head in each lane; so every sum keeps the order that the portable form has.
func (u *vectorUnit) Attend(t *AttentionTile) {
	reader := u.reader(t.Format)
	if reader == nil || t.HeadDim == 0 || t.HeadDim%u.width != 0 {
		attend(t)
		return
	}
	visible := t.Visible[:t.Queries.Rows]
	longest := 0
	for _, n := range visible {
		longest = max(longest, n)
	}
	if longest > 0 {
		u.scoreTile(t, reader, visible, longest)
	}
	for r, n := range visible {
		p := &t.Results[r]
		clear(p.Out)
		p.Max, p.Sum = 0, 0
		if n > 0 {
			row := &t.Scores[r*TileKeys]
			p.Max = u.maximum(row, n)
			p.Sum = u.exponentials(row, n, p.Max)
		}
	}
	if longest > 0 {
		u.sumTile(t, reader, visible, longest)
	}
}

// scoreTile computes the scores of all rows. Those that a row does not see are computed too, and not used.
func (u *vectorUnit) scoreTile(t *AttentionTile, reader *cacheReader, visible []int, longest int) {
	d, together := t.HeadDim, 2*u.width
	k := t.K[:(longest-1)*t.Stride+t.Format.Bytes(d)]
	x, scores, panel := t.Queries.X[:len(visible)*d], t.Scores[:len(visible)*TileKeys], t.Panel[:together*d]
	for j := 0; j < longest; j += together {
		for at := j; at < min(j+together, longest); at += u.width {
			reader.transpose(&panel[at-j], &k[at*t.Stride], t.Stride, min(u.width, longest-at), d)
		}
		for r := 0; r < len(visible); r += rowsTogether {
			rows := min(rowsTogether, len(visible)-r)
			if slices.Max(visible[r:r+rows]) > j {
				u.scores(&scores[r*TileKeys+j], &panel[0], &x[r*d], d, rows)
			}
		}
	}
}

// sumTile adds the weighted values to the results: first the slots that all rows of a call see, then what a row sees beyond.
func (u *vectorUnit) sumTile(t *AttentionTile, reader *cacheReader, visible []int, longest int) {
	d := t.HeadDim
	v := t.V[:(longest-1)*t.Stride+t.Format.Bytes(d)]
	scores := t.Scores[:len(visible)*TileKeys]
	for r := 0; r < len(visible); r += rowsTogether {
		rows := min(rowsTogether, len(visible)-r)
		common := slices.Min(visible[r : r+rows])
		var out [rowsTogether]*float32
		for i := range out {
			out[i] = &t.Results[r+min(i, rows-1)].Out[:d][0]
		}
		if common > 0 {
			reader.values(out[0], out[1], out[2], out[3], &scores[r*TileKeys], &v[0], t.Stride, common, d, rows)
		}
		for i, n := range visible[r : r+rows] {
			if n > common {
				o := out[i]
				reader.values(o, o, o, o, &scores[(r+i)*TileKeys+common], &v[common*t.Stride], t.Stride, n-common, d, 1)
			}
		}
	}
}

// Merge is the unit's merge.
func (u *vectorUnit) Merge(dst, src *Partial) {
	if src.Sum == 0 || dst.Sum == 0 || len(src.Out) == 0 {
		merge(dst, src)
		return
	}
	a, b := dst.join(src)
	out := dst.Out[:len(src.Out)]
	u.axpby(&out[0], &src.Out[0], len(out), b, a)
}
