//go:build (amd64 || arm64) && !purego

package attention

import (
	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/quant"
)

// integerKernels is the assembly for pages of Q8_0 and Q4_0. The comments of the functions say what each computes. Kernels over vectors and
// products by panels stand in for nil functions.
type integerKernels struct {
	weigh                func(p *float32, scales *byte, q *int8, d *float32, sums *int32, rows int)
	scoreQ8_0, scoreQ4_0 integerProduct
	addQ8_0, addQ4_0     integerProduct // of values
	negative             bool           // addQ8_0 takes weights below 0, too
	leastRows, mostRows  int            // for which the products are kernels here; mostRows of 0 is for any number
}

// take reports whether the products of a number of rows are kernels here.
func (k *integerKernels) take(rows int) bool {
	return rows >= k.leastRows && (k.mostRows == 0 || rows <= k.mostRows)
}

// integerProduct multiplies rows of integers with pairs of panels.
type integerProduct func(w *byte, panelBytes, pairs, blocks int, q *int8, d *float32, sums *int32, rows int, out *float32, stride int)

// scoring returns the kernel of the scores of some rows with keys of a format, or nil.
func (k *integerKernels) scoring(f quant.Format, rows int) integerProduct {
	switch {
	case !k.take(rows):
		return nil
	case f == quant.Q8_0:
		return k.scoreQ8_0
	case f == quant.Q4_0:
		return k.scoreQ4_0
	}
	return nil
}

// adding returns the kernel of some rows' sums of values of a format, or nil.
func (k *integerKernels) adding(f quant.Format, rows int) integerProduct {
	switch {
	case !k.take(rows):
		return nil
	case f == quant.Q4_0:
		return k.addQ4_0
	}
	return k.addQ8_0
}

// anyNegative reports whether any of some binary16 has a sign.
func anyNegative(halves []byte) bool {
	var or byte
	for i := 1; i < len(halves); i += 2 {
		or |= halves[i]
	}
	return or >= 0x80
}

// mostIntegers is how many integers of rows a call of assembly multiplies at most: a few tens of microseconds.
const mostIntegers = 1 << 14

// rowsOfTiles is of what the number of rows is a multiple that a Unit's tiles multiply.
const rowsOfTiles = 16

// multiply multiplies all rows of a with pairs of panels: by tiles, unless it is nil, as many as these can.
func (rest integerProduct) multiply(tiles integerProduct, w []byte, panelBytes, pairs int, a *quant.Activation, out []float32, stride int) {
	blocks, each := a.K/32, max(mostIntegers/a.K/rowsOfTiles*rowsOfTiles, rowsOfTiles)
	for r := 0; r < a.Rows; {
		n, run := min(each, a.Rows-r), rest
		if tiles != nil && n >= rowsOfTiles {
			n, run = n/rowsOfTiles*rowsOfTiles, tiles
		}
		run(&w[:2*pairs*panelBytes][0], panelBytes, pairs, blocks, &a.Q[r*a.K], &a.D[r*blocks], &a.Sums[r*blocks], n,
			&out[r*stride:][:(n-1)*stride+2*pairs*panels.Rows][0], stride)
		r += n
	}
}

// score computes the scores of the first slots.
func (p *panelPages) score(t *Tile, slots int) {
	bytes := panels.Rows * t.Format.Bytes(t.HeadDim)
	if score := p.unit.scoring(t.Format, t.Queries.Rows); score != nil {
		pairs := (slots + 2*panels.Rows - 1) / (2 * panels.Rows)
		score.multiply(p.unit.tiles.scoring(t.Format, t.Queries.Rows), t.Keys, bytes, pairs, t.Queries, t.Scores, TileKeys)
		return
	}
	n := (slots + panels.Rows - 1) / panels.Rows
	t.product = panels.Product{Panels: t.Keys[:n*bytes], Count: n, Acts: t.Queries, Out: t.Scores, Stride: TileKeys}
	panels.Find(p.panels, t.Format).Multiply(&t.product)
}

// addIntegers adds the values of the first slots, which are integers.
func (p *panelPages) addIntegers(t *Tile, slots int) {
	v := valuesOf(t.Format, t.HeadDim, t.Values)
	t.Weights.Reserve(quant.Int8x32, t.Queries.Rows, TileKeys)
	for r, n := range t.Visible[:t.Queries.Rows] {
		clear(t.Scores[r*TileKeys:][n:TileKeys]) // whatever their scales are, NaN included
	}
	for b := range t.HeadDim / 32 {
		scales := v.scales[2*b*TileKeys:][:2*TileKeys]
		add := p.unit.adding(t.Format, t.Queries.Rows)
		if t.Format == quant.Q8_0 && !p.unit.negative && anyNegative(scales[:2*slots]) {
			add = nil // so would be some weights; no scale is negative that quant.Format.Quantize wrote
		}
		p.weigh(t, scales, slots, add == nil || t.Format == quant.Q4_0)
		size, out := v.group*TileKeys/32, t.Out[b*32:]
		quants := v.quants[2*b*size:][:2*size]
		if add != nil {
			add.multiply(p.unit.tiles.adding(t.Format, t.Queries.Rows), quants, size, 1, t.Weights, out, t.HeadDim)
			continue
		}
		t.product = panels.Product{Panels: quants, Count: 2, Acts: t.Weights, Out: out, Stride: t.HeadDim, Unscaled: true}
		panels.Find(p.panels, t.Format).Multiply(&t.product)
	}
}

// maxWeighed is how many rows one call of assembly weighs at most: some ten microseconds.
const maxWeighed = 256

// weigh brings the weights of the rows, times the scales of a block of the first slots, into integers, with or without their sums. The
// weights of other slots are 0.
func (p *panelPages) weigh(t *Tile, scales []byte, slots int, withSums bool) {
	w := t.Weights
	if p.unit.weigh == nil {
		p.unit.convert.Dequantize(quant.F16, t.scales[:slots], scales[:2*slots])
		for r, n := range t.Visible[:w.Rows] {
			for j, p := range t.Scores[r*TileKeys:][:n] {
				t.weights[j] = weight(p, t.scales[j])
			}
			clear(t.weights[n:])
			p.unit.vectors.Prepare(w, r, t.weights[:])
		}
		return
	}
	for r := 0; r < w.Rows; r += maxWeighed {
		n := min(maxWeighed, w.Rows-r)
		var sums *int32
		if withSums {
			sums = &w.Sums[r*TileKeys/32]
		}
		p.unit.weigh(&t.Scores[r*TileKeys:][:n*TileKeys][0], &scales[0], &w.Q[r*TileKeys], &w.D[r*TileKeys/32], sums, n)
	}
}
