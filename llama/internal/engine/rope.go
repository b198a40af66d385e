package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// rotary is how positions turn into angles, for some of the layers.
type rotary struct {
	half        int         // a head's pairs of elements
	frequencies []float64   // of the first pairs, in radians a position; the others are not rotated
	long        []float64   // for long conversations; nil: the same
	axes        []int       // by which of a row's positions each pair turns
	attention   float64     // what cosines and sines are multiplied by
	scales      *model.RoPE // by which queries are scaled by their positions; nil: they are not
}

// newRotary makes a rotary for heads of headDim elements. If r is nil, the layers have no RoPE, and all angles are 0: every layer has keys
// that are rotated, though some by nothing.
func newRotary(r *model.RoPE, headDim int) rotary {
	if r == nil {
		return rotary{half: headDim / 2}
	}
	attention := r.Attention
	if attention == 0 {
		attention = 1
	}
	made := rotary{half: headDim / 2, frequencies: r.Frequencies(headDim), long: r.LongFrequencies(headDim), attention: attention}
	for pair := range made.frequencies {
		made.axes = append(made.axes, r.Axis(pair))
	}
	if r.QueryScale != 0 {
		made.scales = r
	}
	return made
}

// table fills rows of [cos…, sin…], one for each row start, start+1, … of a conversation with spans; dst is [rows, headDim].
func (r *rotary) table(dst []float32, spans []Span, start int, long bool) {
	frequencies := r.frequencies
	if long && r.long != nil {
		frequencies = r.long
	}
	half := r.half
	for row := 0; row*2*half < len(dst); row++ {
		angles, at := dst[row*2*half:(row+1)*2*half], positions(spans, start+row)
		for i, f := range frequencies {
			sin, cos := exact.Sincos(float64(float64(at[r.axes[i]]) * f))
			angles[i], angles[half+i] = float32(cos*r.attention), float32(sin*r.attention)
		}
		for i := len(frequencies); i < half; i++ {
			angles[i], angles[half+i] = 1, 0
		}
	}
}

// angles are the cosines and sines by which a pass's rows are rotated, of one of the model's rotaries.
type angles struct {
	table  tensor.Tensor  // [rows, headDim]: cosines, then sines
	host   *tensor.Tensor // [most, headDim] on the host: the table is computed here before it is copied
	scaled []scaledRows   // the rows with queries that are scaled by their positions
}

// reserve allocates the memory for heads of width elements.
func (s *angles) reserve(a *arena, width int) (err error) {
	if err := a.reserve(&s.table, width); err != nil {
		return err
	}
	if s.host, err = tensor.New(nil, tensor.F32, tensor.ShapeOf(a.most, width)); err != nil { // no device: the host
		return err
	}
	a.own(s.host)
	return nil
}

// rotate computes the angles of the pass's rows for one of the model's rotaries, and which rows' queries are scaled.
func (p *pass) rotate(w *Weights, number int) error {
	s, r := &p.angles[number], &w.rotaries[number]
	table, err := tensor.Mut[float32](s.host)
	if err != nil {
		return err
	}
	width := 2 * r.half
	s.scaled = s.scaled[:0]
	for _, j := range p.jobs {
		r.table(table[j.first*width:][:j.rows*width], j.Spans, j.start(), j.Long)
		if r.scales != nil {
			s.scaled = appendScaled(s.scaled, r.scales, j)
		}
	}
	return p.copied.Run(p.device, backend.CopySlice{Src: s.host, Dst: &s.table, N: p.rows * width})
}
