// Package attention holds the kernels of attention: of query rows to one tile of a cache's slots, and what joins the results of
// tiles. The portable forms, Attend and Merge, are the specification.
package attention

//go:generate go -C ../../asmgen run . attention headers

import (
	"math"

	"github.com/antigravity-go/antigravity/asm/internal/vectors"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/quant"
)

// TileKeys is the number of cache slots of one tile of attention. Tiles begin at multiples of it, so that a token's result
// does not depend on how a prompt was cut into chunks nor on how many threads share the tiles.
const TileKeys = 128

// PanelKeys is how many keys a Tile's Panel has room for.
const PanelKeys = 32

// Tile is the attention of some query rows to the slots of one tile, for one KV head.
//
// Row r has the query Queries.Row(r), already divided by √HeadDim and in Format's form, and sees the first Visible[r] slots.
// Slot j's key and value are HeadDim elements at K[j·Stride:] and V[j·Stride:]. Without values, V nil, only the weights of the
// keys are wanted: Scores[r·TileKeys+j] = exp(score-Max) for the slots that row r sees, which the kernels leave there in any
// case, and Results[r].Max and Sum.
type Tile struct {
	Format  quant.Format
	K, V    []byte
	Stride  int
	HeadDim int
	Queries *quant.Activation
	Visible []int
	Results []Partial // one for each row: written
	Next    []byte    // keys of the tile that will be asked for next, with the same Stride: a hint, nil where there is none

	Scores []float32 // [Queries.Rows, TileKeys]: the weights of the keys, written
	Value  []float32 // scratch, HeadDim
	Panel  []float32 // scratch, PanelKeys·HeadDim: keys or values as a tier's kernels like them
}

// Partial is a row's attention to some of the slots: the largest score, Σ exp(score-Max), and Σ exp(score-Max)·value. Sum is
// 0 when there were no slots.
type Partial struct {
	Max, Sum float32
	Out      []float32 // [HeadDim]
}

// Attend computes a tile: scores by Format.Dot, their maximum, exponentials and their sum in lanes, and the weighted sum of
// the values, slot by slot in order, each step one FMA.
func Attend(t *Tile) {
	longest := 0
	for r := range t.Queries.Rows {
		n, p := t.Visible[r], &t.Results[r]
		scores := t.Scores[r*TileKeys:][:n]
		query := t.Queries.Row(r)
		t.Format.DotRows(scores, 0, t.K, t.Stride, n, &query)
		p.Max = vectors.Maximum(scores)
		p.Sum = vectors.Exponentials(scores, p.Max)
		clear(p.Out)
		longest = max(longest, n)
	}
	if t.V == nil {
		return
	}
	for j := range longest {
		_ = t.Format.Dequantize(t.Value, t.V[j*t.Stride:][:t.Format.Bytes(t.HeadDim)])
		for r := range t.Queries.Rows {
			if j < t.Visible[r] {
				vectors.Axpy(t.Results[r].Out, t.Scores[r*TileKeys+j], t.Value)
			}
		}
	}
}

// Merge joins the result of the next tile to that of the tiles before:
//
//	m = max(dst.Max, src.Max), a = exp(dst.Max-m), b = exp(src.Max-m)
//	dst.Sum = fma(src.Sum, b, dst.Sum·a), dst.Out[i] = fma(src.Out[i], b, dst.Out[i]·a)
//
// An empty side leaves the other as it is.
func Merge(dst, src *Partial) {
	if src.Sum == 0 {
		return
	}
	if dst.Sum == 0 {
		dst.Max, dst.Sum = src.Max, src.Sum
		copy(dst.Out, src.Out)
		return
	}
	a, b := dst.join(src)
	for i, v := range src.Out {
		dst.Out[i] = exact.FMA(v, b, float32(dst.Out[i]*a))
	}
}

// join merges the maximum and the sum of src, and returns the factors by which the two sides' values are to be multiplied.
func (p *Partial) join(src *Partial) (a, b float32) {
	m := max(p.Max, src.Max)
	a, b = exact.Exp(p.Max-m), exact.Exp(src.Max-m)
	p.Max, p.Sum = m, exact.FMA(src.Sum, b, float32(p.Sum*a))
	return a, b
}

// Finish divides by the sum and writes the row's attention to dst [HeadDim].
func (p *Partial) Finish(dst []float32) {
	for i, v := range p.Out {
		dst[i] = v / p.Sum
	}
}

// QueryScale returns 1/√headDim, by which queries are multiplied before they are prepared.
func QueryScale(headDim int) float32 {
	return float32(1 / math.Sqrt(float64(headDim)))
}
