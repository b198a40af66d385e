// Package attention holds the kernels of attention: of query rows to one tile of a cache's slots, and what joins the results of
// tiles. The portable forms, Attend and Merge, are the specification.
package attention

//go:generate go -C ../../asmgen run . attention integers headers

import (
	"math"

	"github.com/antigravity-go/antigravity/asm/internal/panels"
	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/quant"
)

// TileKeys is the number of cache slots of one tile of attention. Tiles begin at multiples of it, so that a token's result
// does not depend on how a prompt was cut into chunks nor on how many threads share the tiles.
const TileKeys = 128

// Tile is the attention of some query rows to the slots of one tile, for one KV head.
//
// Row r has the query Queries.Row(r), already divided by √HeadDim and in Format's form, and sees the first Visible[r] slots but not the
// first Hidden[r] of these; Hidden[r] < Visible[r] unless both are 0. If Hidden is nil, no slots are hidden. Keys and Values are the halves
// of a page, in the layout of the Pages that attend to it. Without values, Values nil, only the weights of the keys are wanted:
// Scores[r·TileKeys+j] = exp(score-Max) for the slots that row r sees, which the kernels leave there in any case, and Results[r].Max and
// Sum.
type Tile struct {
	Format       quant.Format
	Keys, Values []byte
	Next         []byte // a hint: the keys of the page that will be attended to after this one
	HeadDim      int
	Cap          float32 // limits the scores: see exact.Softcap; 0: they are not limited
	Queries      *quant.Activation
	Visible      []int
	Hidden       []int
	Bias         []float32 // [Queries.Rows, TileKeys]: added to the scores of the slots that a row sees, before they are limited; nil: nothing is
	Results      []Partial // one for each row: written
	Out          []float32 // [Queries.Rows, HeadDim]: Results[r].Out is row r of it

	Scores  []float32         // [Queries.Rows, TileKeys]: the weights of the keys, written
	Weights *quant.Activation // scratch: room for [Queries.Rows, TileKeys] in the form Int8x32
	Wide    []float32         // scratch: values as floats, made when it is too short

	// Scratch of the kernels, here because arguments of assembly that is called through a table would be allocated anew each time.
	product         panels.Product
	scales, weights [TileKeys]float32
	last            [mostTogether * panels.Rows]float32 // elements of some rows' results
}

// mostTogether is how many rows assembly adds values to at once, at most.
const mostTogether = 12

// Release forgets what the tile's fields point to, but for the scratch memory that is the caller's.
func (t *Tile) Release() {
	t.Keys, t.Values, t.Next, t.Bias, t.product = nil, nil, nil, nil, panels.Product{}
}

// WideSlots is how many values are widened at once.
const WideSlots = 32

// wide returns a Tile's Wide with room for some values.
func (t *Tile) wide(values int) []float32 {
	if n := values * t.HeadDim; len(t.Wide) < n {
		t.Wide = make([]float32, n)
	}
	return t.Wide[:values*t.HeadDim]
}

// Partial is a row's attention to some of the slots: the largest score, Σ exp(score-Max), and Σ exp(score-Max)·value. Sum is
// 0 when there were no slots.
type Partial struct {
	Max, Sum float32
	Out      []float32 // [HeadDim]
}

// Attend computes a tile of a page in rows: scores by Format.DotRows, their maximum, exponentials and their sum in lanes, and the
// weighted sum of the values.
//
// Values of a float format are added slot by slot in order, each step one FMA. Those of Q8_0 and Q4_0, integers with a scale for each
// block of 32 elements, are added in integers (the idea is SageAttention's, arXiv 2410.02367). For each block b of the head, the row's
// weights times the scales of the slots' blocks b (rounded to float32; 0 for NaN and for slots that the row does not see) are brought into the
// form Int8x32: for each group of 32 neighbouring slots g a scale d[g] and integers w[g][j], see quant.Activation.Prepare. Then
//
//	out[i] = fma(d[g], Σ_j w[g][j]·v[j][i], out[i])
//
// for the elements i of block b, in order of g, where v are the values' integers: the sum is exact, whoever makes it in which order. Other
// formats of blocks are widened to floats.
func Attend(t *Tile) {
	rows, size := t.Queries.Rows, t.Format.Bytes(t.HeadDim)
	longest := 0
	for r := range rows {
		n, p := t.Visible[r], &t.Results[r]
		scores := t.Scores[r*TileKeys:][:n]
		query := t.Queries.Row(r)
		t.Format.DotRows(scores, 0, t.Keys, size, n, &query)
		t.addBias(r)
		if t.Cap != 0 {
			vectors.Softcap(scores, t.Cap)
		}
		t.hide(r)
		p.Max = vectors.Maximum(scores)
		p.Sum = vectors.Exponentials(scores, p.Max)
		longest = max(longest, n)
	}
	switch {
	case t.Values == nil:
	case InIntegers(t.Format):
		clear(t.Out[:rows*t.HeadDim])
		for b := range t.HeadDim / 32 {
			t.addBlock(b, longest)
		}
	default:
		clear(t.Out[:rows*t.HeadDim])
		t.addWidened(longest)
	}
}

// Score computes the products of a tile's queries with the keys of the slots that they see, Scores[r·TileKeys+j], and nothing else of the tile.
func Score(t *Tile) {
	size := t.Format.Bytes(t.HeadDim)
	for r := range t.Queries.Rows {
		query := t.Queries.Row(r)
		t.Format.DotRows(t.Scores[r*TileKeys:][:t.Visible[r]], 0, t.Keys, size, t.Visible[r], &query)
	}
}

// addBias adds the bias to the scores of row r.
func (t *Tile) addBias(r int) {
	if t.Bias == nil {
		return
	}
	n := t.Visible[r]
	scores, bias := t.Scores[r*TileKeys:][:n], t.Bias[r*TileKeys:][:n]
	for i, b := range bias {
		scores[i] += b
	}
}

// hide gives the slots that are hidden from a row the score −∞, and so the weight 0.
func (t *Tile) hide(r int) {
	if t.Hidden == nil {
		return
	}
	hidden := t.Scores[r*TileKeys:][:t.Hidden[r]]
	for i := range hidden {
		hidden[i] = float32(math.Inf(-1))
	}
}

// addWidened adds the weighted values of the first slots, which lie one after another, to the rows' results, each widened to floats.
func (t *Tile) addWidened(slots int) {
	value, size := t.wide(1), t.Format.Bytes(t.HeadDim)
	for j := range slots {
		_ = t.Format.Dequantize(value, t.Values[j*size:][:size])
		for r := range t.Queries.Rows {
			if j < t.Visible[r] {
				vectors.Axpy(t.Out[r*t.HeadDim:][:t.HeadDim], t.Scores[r*TileKeys+j], value)
			}
		}
	}
}

// InIntegers reports whether values of a format are added in integers.
func InIntegers(f quant.Format) bool { return f == quant.Q8_0 || f == quant.Q4_0 }

// addBlock adds block b of the values of the first slots to the rows' results, in integers. The page is in rows.
func (t *Tile) addBlock(b, slots int) {
	var values [TileKeys][32]int8
	scales, weights := &t.scales, &t.weights
	size, block := t.Format.Bytes(t.HeadDim), t.Format.BlockBytes()
	for j := range slots {
		scales[j] = t.Format.Integers(&values[j], t.Values[j*size+b*block:][:block])
	}
	t.Weights.Reserve(quant.Int8x32, t.Queries.Rows, TileKeys)
	for r := range t.Queries.Rows {
		n := t.Visible[r]
		clear(weights[n:])
		for j, p := range t.Scores[r*TileKeys:][:n] {
			weights[j] = weight(p, scales[j])
		}
		t.Weights.Prepare(r, weights[:])
		row, out := t.Weights.Row(r), t.Out[r*t.HeadDim+b*32:][:32]
		for first := 0; first < n; first += 32 {
			var sums [32]int32
			for j, w := range row.Q[first:][:min(32, n-first)] {
				for i, v := range values[first+j] {
					sums[i] += int32(w) * int32(v)
				}
			}
			for i, sum := range sums {
				out[i] = exact.FMA(row.D[first/32], float32(sum), out[i])
			}
		}
	}
}

// weight returns p·scale, and 0 for NaN: a slot with the weight 0 does not count, whatever its scale is.
func weight(p, scale float32) float32 {
	if w := p * scale; w == w {
		return w
	}
	return 0
}

// Merge joins the results of the next tile to those of the tiles before, for each of some rows:
//
//	m = max(dst.Max, src.Max), a = exp(dst.Max-m), b = exp(src.Max-m)
//	dst.Sum = fma(src.Sum, b, dst.Sum·a), dst.Out[i] = fma(src.Out[i], b, dst.Out[i]·a)
//
// An empty side leaves the other as it is. The Outs of src have one length, and those of dst at least that.
func Merge(dst, src []Partial) {
	for r := range dst {
		dst[r].merge(&src[r])
	}
}

// merge is Merge for one row.
func (p *Partial) merge(src *Partial) {
	if src.Sum == 0 {
		return
	}
	if p.Sum == 0 {
		p.Max, p.Sum = src.Max, src.Sum
		copy(p.Out, src.Out)
		return
	}
	a, b := p.join(src)
	for i, v := range src.Out {
		p.Out[i] = exact.FMA(v, b, float32(p.Out[i]*a))
	}
}

// join merges the maximum and the sum of src, and returns the factors by which the two sides' values are to be multiplied.
func (p *Partial) join(src *Partial) (a, b float32) {
	m := max(p.Max, src.Max)
	a, b = exact.Exp(p.Max-m), exact.Exp(src.Max-m)
	p.Max, p.Sum = m, exact.FMA(src.Sum, b, float32(p.Sum*a))
	return a, b
}

// Sink joins a score that has no value: it takes its part of the sum of weights, and adds nothing to the values. The row has seen some slot.
func (p *Partial) Sink(score float32) {
	shrink, _ := p.join(&Partial{Max: score, Sum: 1})
	for i := range p.Out {
		p.Out[i] *= shrink
	}
}

// QueryScale returns 1/√headDim, by which queries are multiplied before they are prepared.
func QueryScale(headDim int) float32 {
	return float32(1 / math.Sqrt(float64(headDim)))
}
