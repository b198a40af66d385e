package engine

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// attention is the mixer softmax(q·kᵀ/√headDim)·v with grouped queries (arXiv 2305.13245) and rotary positions (arXiv 2104.09864). Keys and values
// of earlier tokens come from the conversation's cache.
type attention struct {
	layer        int
	q, k, v, o   projection
	gate         projection // by whose sigmoid the result is multiplied (arXiv 2505.06708), if attention is gated
	gated        bool
	qNorm, kNorm *tensor.Tensor // [headDim]: of each head; or [heads·headDim]: of all heads together; nil: the family has none
	sinks        *tensor.Tensor // [heads]: scores that join the softmax and have no value; nil: there are none
	eps          float32
	queryScale   float32 // what queries are multiplied by beyond 1/√headDim, which the operation does by itself
	rotary       int     // which of the model's
}

// build makes the mixer of a layer without its tensors.
func (a *attention) build(w *Weights, layer, rotary int) {
	c := w.Config
	a.layer, a.eps, a.queryScale, a.rotary = layer, c.RMSNormEps, 1, rotary
	if c.ScoreScale != 0 {
		a.queryScale = float32(c.ScoreScale * math.Sqrt(float64(c.HeadDim)))
	}
	w.placeProjection(checkpoint.Query, layer, &a.q)
	w.placeProjection(checkpoint.Key, layer, &a.k)
	w.placeProjection(checkpoint.Value, layer, &a.v)
	w.placeProjection(checkpoint.AttentionOutput, layer, &a.o)
	if a.gated {
		w.placeProjection(checkpoint.QueryGate, layer, &a.gate)
	}
	w.place(checkpoint.QueryNorm, layer, &a.qNorm)
	w.place(checkpoint.KeyNorm, layer, &a.kNorm)
	w.place(checkpoint.Sinks, layer, &a.sinks)
}

// forward appends the rows' keys and values to the jobs' caches, and lets the rows attend.
func (a *attention) forward(p *pass, around *residual) error {
	s := &p.attention
	if err := a.project(p, around); err != nil {
		return err
	}
	s.caches.Reset()
	for _, j := range p.jobs {
		s.caches.Add(j.Memory.caches[a.layer], j.Rows)
	}
	if err := s.caches.Append(&s.q, &s.k, &s.v, &p.ropes[a.rotary]); err != nil {
		return err
	}
	if err := p.scaleQueries(a.rotary); err != nil {
		return err
	}
	if err := s.caches.Attend(&s.q, &s.out); err != nil {
		return err
	}
	if a.gated {
		if err := p.device.SigmoidMul(&s.gate, &s.outFlat); err != nil {
			return err
		}
		return around.add(p, &s.gate, &a.o)
	}
	return around.add(p, &s.outFlat, &a.o)
}

// project computes the rows' queries, keys and values, normed and scaled, but not rotated.
func (a *attention) project(p *pass, around *residual) error {
	s := &p.attention
	var err error
	if a.gated {
		err = around.project(p, s.projected[:], &a.q, &a.k, &a.v, &a.gate)
	} else {
		err = around.project(p, s.projected[:3], &a.q, &a.k, &a.v)
	}
	if err != nil {
		return err
	}
	if err := p.device.normHeads(&s.q, &s.qFlat, a.qNorm, a.eps); err != nil {
		return err
	}
	if err := p.device.normHeads(&s.k, &s.kFlat, a.kNorm, a.eps); err != nil {
		return err
	}
	return p.device.scale(&s.q, a.queryScale)
}

// attentionRows is the memory of a pass's rows in attention. By heads it is [rows, heads, headDim], and the same memory as rows
// [rows, heads·headDim] is flat. projected are qFlat, kFlat, vFlat and gate.
type attentionRows struct {
	q, k, v, out                 tensor.Tensor
	qFlat, kFlat, vFlat, outFlat tensor.Tensor
	gate                         tensor.Tensor // as rows, of models with gated attention
	projected                    [4]*tensor.Tensor
	scaled                       tensor.Tensor  // some rows of q
	caches                       *kvcache.Batch // of the layer under way
}

// reserve allocates the memory.
func (s *attentionRows) reserve(a *arena, c *checkpoint.Config) error {
	s.caches, s.projected = kvcache.NewBatch(a.device), [...]*tensor.Tensor{&s.qFlat, &s.kFlat, &s.vFlat, &s.gate}
	for _, t := range []struct {
		flat, byHeads *tensor.Tensor
		heads         int
	}{{&s.qFlat, &s.q, c.Heads}, {&s.kFlat, &s.k, c.KVHeads}, {&s.vFlat, &s.v, c.KVHeads}, {&s.outFlat, &s.out, c.Heads}} {
		if err := a.reserveHeads(t.flat, t.byHeads, t.heads, c.HeadDim); err != nil {
			return err
		}
	}
	if slices.Contains(c.Mixers, checkpoint.GatedAttention) {
		return a.reserve(&s.gate, c.Heads*c.HeadDim)
	}
	return nil
}
