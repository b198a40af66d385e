package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// Alternating updates (AltUp, arXiv 2301.13310): a model has several residual streams h₀, h₁, …, and a layer L computes with the first one alone, which is the
// pass's x. A router r(x) = tanh(R·norm(x)/hidden) gives numbers by which the streams are mixed before L, and by which they follow it afterwards:
//
//	pᵢ = hᵢ + Σⱼ (P·r(h₀))ᵢⱼ·hⱼ           the predictions
//	a = L(p₀)
//	hᵢ = pᵢ + (1 + (C·r(a))ᵢ)·(a − p₀)     the corrections
//
// The layer's own input reads h₀, and its result is added to the other streams.
type alternating struct {
	router, predict, correct projection
	norm                     norm
	scale                    *tensor.Tensor // [hidden]: what h₀ is multiplied by for the layer's input
	shrink                   float32        // 1/hidden
}

// newAlternating makes the part of a layer without its tensors.
func newAlternating(w *Weights, layer int) *alternating {
	a := &alternating{shrink: 1 / float32(w.Config.HiddenSize)}
	w.placeProjection(model.StreamRouter, layer, &a.router)
	w.placeProjection(model.StreamPredict, layer, &a.predict)
	w.placeProjection(model.StreamCorrect, layer, &a.correct)
	a.norm.build(w, place{part: model.StreamNorm, layer: layer})
	w.place(model.StreamScale, layer, &a.scale)
	return a
}

// route computes r(x).
func (a *alternating) route(p *program) {
	s := &p.streams
	p.do(&backend.Cast{Src: &p.x, Dst: &p.normed})
	a.norm.in(p, &p.normed)
	p.scale(&p.normed, a.shrink)
	p.project(&p.normed, []*tensor.Tensor{&s.routed}, &a.router)
	p.do(&backend.Softcap{X: &s.routed, Limit: 1}) // tanh
}

// mix makes the predictions of the streams, and keeps p₀.
func (a *alternating) mix(p *program) {
	s := &p.streams
	a.route(p)
	p.project(&s.routed, []*tensor.Tensor{&s.pairs}, &a.predict)
	list := s.all(p.pass)
	for i, h := range list {
		p.do(&backend.Cast{Src: h, Dst: &s.before[i]})
	}
	for i, h := range list {
		for j := range list {
			p.do(&backend.AddScaled{X: h, Y: &s.before[j], Weights: &s.pairs, At: i*len(list) + j})
		}
	}
	p.do(&backend.Cast{Src: &p.x, Dst: &s.before[0]})
}

// follow corrects the streams by what the layer has made of p₀.
func (a *alternating) follow(p *program) {
	s := &p.streams
	a.route(p)
	p.project(&s.routed, []*tensor.Tensor{&s.each}, &a.correct)
	change := &s.before[1]
	p.do(&backend.Cast{Src: &s.before[0], Dst: change})
	p.scale(change, -1)
	p.do(&backend.AddAssign{A: change, B: &p.x})
	p.do(&backend.Cast{Src: &s.before[0], Dst: &p.x})
	for i, h := range s.all(p.pass) {
		p.do(&backend.AddScaled{X: h, Y: change, Weights: &s.each, At: i, Plus: 1})
	}
}

// give adds what the layer's input makes of h₀ to the other streams.
func (a *alternating) give(p *program, l *layerInput, layer int) {
	s, in := &p.streams, &p.inputs
	l.own(p, layer)
	first := &s.before[0]
	p.do(&backend.Cast{Src: &p.x, Dst: first})
	p.do(&backend.MulAssign{A: first, B: a.scale})
	p.project(first, in.projected[:], &l.gate)
	p.do(&backend.GELUMul{A: &in.gate, B: &in.own})
	l.around.result(p, &in.gate, &l.up)
	for i := range s.others {
		p.do(&backend.AddAssign{A: &s.others[i], B: &p.product})
	}
}

// streams make the further streams of the embeddings, and one of all after the last layer.
type streams struct{ split, merge []projection }

// buildSplit makes the projections before the first layer, without their tensors.
func (s *streams) buildSplit(w *Weights) {
	s.split = make([]projection, max(w.Config.Streams-1, 0))
	for i := range s.split {
		w.placeProjection(model.StreamSplit, i, &s.split[i])
	}
}

// buildMerge makes those after the last layer.
func (s *streams) buildMerge(w *Weights) {
	s.merge = make([]projection, max(w.Config.Streams-1, 0))
	for i := range s.merge {
		w.placeProjection(model.StreamMerge, i, &s.merge[i])
	}
}

// leastSquare is the least mean of the squares of a row that counts.
const leastSquare = 1e-5

// begin makes the further streams, each as large as the first.
func (s *streams) begin(p *program) {
	for i := range s.split {
		h := &p.streams.others[i]
		p.project(&p.x, []*tensor.Tensor{h}, &s.split[i])
		p.do(&backend.MatchMagnitude{X: h, Like: &p.x, Least: leastSquare})
	}
}

// end makes x the mean of the streams, each as large as the first.
func (s *streams) end(p *program) {
	first := &p.streams.before[0]
	p.do(&backend.Cast{Src: &p.x, Dst: first})
	for i := range s.merge {
		p.project(&p.streams.others[i], []*tensor.Tensor{&p.product}, &s.merge[i])
		p.do(&backend.MatchMagnitude{X: &p.product, Like: first, Least: leastSquare})
		p.do(&backend.AddAssign{A: &p.x, B: &p.product})
	}
	p.scale(&p.x, 1/float32(len(s.merge)+1))
}

// streamRows is the memory of a pass's rows in models with several streams.
type streamRows struct {
	others, before      []tensor.Tensor // [rows, hidden] each: the streams but the first, and all as they were
	routed, each, pairs tensor.Tensor   // [rows, streams], [rows, streams] and [rows, streams·streams]
	low                 tensor.Tensor   // [rows, rank] of a bypass
}

// reserve allocates the memory, if the model has several streams or a bypass.
func (s *streamRows) reserve(a *arena, c *model.Config) error {
	type view struct {
		of   *tensor.Tensor
		cols int
	}
	var list []view
	if n := c.Streams; n > 1 {
		s.others, s.before = make([]tensor.Tensor, n-1), make([]tensor.Tensor, n)
		for i := range s.others {
			list = append(list, view{&s.others[i], c.HiddenSize})
		}
		for i := range s.before {
			list = append(list, view{&s.before[i], c.HiddenSize})
		}
		list = append(list, view{&s.routed, n}, view{&s.each, n}, view{&s.pairs, n * n})
	}
	if c.LaurelRank > 0 {
		list = append(list, view{&s.low, c.LaurelRank})
	}
	for _, v := range list {
		if err := a.reserve(v.of, v.cols); err != nil {
			return err
		}
	}
	return nil
}

// all returns the streams.
func (s *streamRows) all(p *pass) []*tensor.Tensor {
	list := []*tensor.Tensor{&p.x}
	for i := range s.others {
		list = append(list, &s.others[i])
	}
	return list
}

// bypass is a mixer with a learned residual of a small width next to it (LAuReL, arXiv 2411.07501):
//
//	x ← (x + post(mixer(norm(x))) + norm(x) + laurelNorm(up(down(norm(x)))))/√2
type bypass struct {
	mixer    sublayer
	down, up projection
	around   residual
}

// newBypass makes the part of a layer without its tensors.
func newBypass(w *Weights, layer int, mixer sublayer) *bypass {
	b := &bypass{mixer: mixer}
	w.placeProjection(model.LaurelDown, layer, &b.down)
	w.placeProjection(model.LaurelUp, layer, &b.up)
	b.around.post.build(w, place{part: model.LaurelNorm, layer: layer})
	b.around.scale = 1
	return b
}

// write computes the mixer, and then the bypass of what the mixer has read.
func (b *bypass) write(p *program, around *residual) {
	b.mixer.write(p, around)
	low := &p.streams.low
	p.project(&p.normed, []*tensor.Tensor{low}, &b.down)
	b.around.result(p, low, &b.up)
	p.do(&backend.AddAssign{A: &p.x, B: &p.product})
	p.do(&backend.AddAssign{A: &p.x, B: &p.normed})
	p.scale(&p.x, float32(1/math.Sqrt2))
}
