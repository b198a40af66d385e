package engine

import (
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/kvcache"
	"github.com/antigravity-go/antigravity/tensor"
)

// attention is the mixer softmax(q·kᵀ/√headDim)·v with grouped queries (arXiv 2305.13245) and rotary positions (arXiv 2104.09864). Keys
// and values of earlier tokens come from the conversation's cache.
//
// For example, 3 rows of a layer with 32 heads, 8 heads of keys and headDim 128. The same memory has two shapes:
//
//	project   q [3, 4096], k [3, 1024] and v [3, 1024], or by heads [3, 32, 128], [3, 8, 128] and [3, 8, 128]; q and k are normed
//	Append    rotates q and k, and appends k and v to the caches of the rows' jobs
//	Attend    heads 0 to 3 of q read head 0 of the keys, heads 4 to 7 head 1, and so on: out [3, 32, 128]
//	add       the product of out, as [3, 4096], with o is added to the residual stream
type attention struct {
	cache        int // the layer with the cache that is read
	shape        int // which of the model's shapes of heads
	q, k, v, o   projection
	gate         projection // the result is multiplied by its sigmoid (arXiv 2505.06708), if attention is gated
	gated        bool
	qNorm, kNorm *tensor.Tensor // [headDim]: of each head; or [heads·headDim]: of all heads together; nil: no norm
	subNorm      *tensor.Tensor // [heads·headDim]: of the result; nil: no norm
	sinks        *tensor.Tensor // [heads]: scores that join the softmax and have no value; nil: no sinks
	eps          float32
	queryScale   float32 // what queries are multiplied by beyond 1/√headDim, which the operation does by itself
	rotary       int     // which of the model's
	tied         bool    // values are the projections of keys
	late         bool    // norms of queries and keys come after RoPE
	valueNorm    bool    // the values of each head are normalised, without weights
	together     model.Together
	windowed     bool // the layer has a sliding window
}

// build makes the mixer of a layer without its tensors.
func (a *attention) build(w *Weights, layer int, is *model.Layer, rotary int) {
	c := w.Config
	a.cache, a.shape = w.cacheOf[layer], w.shapeOf(is)
	a.together, a.windowed = c.Together, is.Window > 0
	a.late = c.LateNorms
	a.eps, a.queryScale, a.rotary, a.valueNorm, a.tied = c.RMSNormEps, 1, rotary, is.ValueNorm, is.Mixer == model.TiedAttention
	if c.ScoreScale != 0 {
		a.queryScale = float32(c.ScoreScale * math.Sqrt(float64(is.HeadDim)))
	}
	w.placeProjection(model.Query, layer, &a.q)
	if a.gated {
		w.placeProjection(model.QueryGate, layer, &a.gate)
	}
	w.place(model.QueryNorm, layer, &a.qNorm)
	w.place(model.AttentionSubNorm, layer, &a.subNorm)
	w.placeProjection(model.AttentionOutput, layer, &a.o)
	if is.Mixer == model.SharedAttention {
		return
	}
	w.placeProjection(model.Key, layer, &a.k)
	w.place(model.KeyNorm, layer, &a.kNorm)
	w.place(model.Sinks, layer, &a.sinks)
	if !a.tied {
		w.placeProjection(model.Value, layer, &a.v)
	}
}

// write appends the rows' keys and values to the jobs' caches, and lets the rows attend.
func (a *attention) write(p *program, around *residual) {
	a.project(p, around)
	a.attend(p)
	a.addTo(p, around)
}

// attend appends the rows' keys and values to the jobs' caches, and computes their results.
func (a *attention) attend(p *program) {
	s := &p.attention[a.shape]
	table := &p.angles[a.rotary].table
	if a.late {
		table = nil // all are rotated
	}
	p.call(func() error {
		a.addCaches(p.pass)
		if err := p.caches.Append(&s.q, &s.k, &s.v, table); err != nil {
			return err
		}
		if err := p.scaleQueries(a); err != nil {
			return err
		}
		return p.caches.Attend(&s.q, &s.out)
	})
}

// addTo adds the projection of the result to the stream.
func (a *attention) addTo(p *program, around *residual) {
	s := &p.attention[a.shape]
	if !a.gated {
		p.rmsNorm(&s.outFlat, a.subNorm, a.eps)
		around.add(p, &s.outFlat, &a.o)
		return
	}
	p.do(&backend.SigmoidMul{A: &s.gate, B: &s.outFlat})
	around.add(p, &s.gate, &a.o)
}

// addCaches makes p.caches those of the pass's jobs.
func (a *attention) addCaches(p *pass) {
	p.caches.Reset()
	for _, j := range p.jobs {
		switch cache := j.Memory.caches[a.cache]; {
		case j.rows == 0:
		case j.seesItself(a.together, a.windowed):
			p.caches.AddTogether(cache, j.rows, a.together == model.Entirely)
		default:
			p.caches.Add(cache, j.rows)
		}
	}
}

// project computes the rows' queries, keys and values, normed and scaled, but not rotated unless norms come after that.
func (a *attention) project(p *program, around *residual) {
	s := &p.attention[a.shape]
	a.projectAll(p, around)
	if a.valueNorm {
		p.rmsNorm(&s.v, s.ones, a.eps)
	}
	if a.late {
		for _, x := range [2]*tensor.Tensor{&s.q, &s.k} {
			p.do(&backend.RoPE{X: x, Table: &p.angles[a.rotary].table})
		}
	}
	p.normHeads(&s.k, &s.kFlat, a.kNorm, a.eps)
	a.normQueries(p)
}

// normQueries normalises and scales queries.
func (a *attention) normQueries(p *program) {
	s := &p.attention[a.shape]
	p.normHeads(&s.q, &s.qFlat, a.qNorm, a.eps)
	p.scale(&s.q, a.queryScale)
}

// normHeads normalises each head of x [rows, heads, headDim] by a norm [headDim] or, by a longer norm, all heads of a row together; flat is
// the same memory as [rows, heads·headDim]. Nil changes nothing.
func (p *program) normHeads(x, flat, norm *tensor.Tensor, eps float32) {
	if norm != nil && norm.Shape().Dim(0) != x.Shape().Dim(-1) {
		x = flat
	}
	p.rmsNorm(x, norm, eps)
}

// projectAll computes queries, keys and values.
func (a *attention) projectAll(p *program, around *residual) {
	s := &p.attention[a.shape]
	switch {
	case a.gated:
		around.project(p, s.projected[:], &a.q, &a.k, &a.v, &a.gate)
	case !a.tied:
		around.project(p, s.projected[:3], &a.q, &a.k, &a.v)
	default:
		around.project(p, s.projected[:2], &a.q, &a.k)
		p.do(&backend.Cast{Src: &s.kFlat, Dst: &s.vFlat})
	}
}

// sharedAttention is the mixer of a layer that has queries alone, and reads the keys and values that an earlier layer has appended to its cache.
type sharedAttention struct{ attention }

// write lets the rows attend.
func (a *sharedAttention) write(p *program, around *residual) {
	s := &p.attention[a.shape]
	around.project(p, s.projected[:1], &a.q)
	a.normQueries(p)
	p.do(&backend.RoPE{X: &s.q, Table: &p.angles[a.rotary].table})
	p.call(func() error {
		if err := p.scaleQueries(&a.attention); err != nil {
			return err
		}
		a.addCaches(p.pass)
		return p.caches.Read(&s.q, &s.out)
	})
	around.add(p, &s.outFlat, &a.o)
}

// headShape is the shape of a layer's queries, and of its keys and values.
type headShape struct{ heads, kvHeads, headDim int }

// shapeOf returns the number of a layer's shape among the model's, a new one if no layer before had it.
func (w *Weights) shapeOf(is *model.Layer) int {
	s := headShape{w.Config.Heads, is.KVHeads, is.HeadDim}
	if i := slices.Index(w.shapes, s); i >= 0 {
		return i
	}
	w.shapes = append(w.shapes, s)
	return len(w.shapes) - 1
}

// attentionRows is the memory of a pass's rows in attention of one shape. By heads it is [rows, heads, headDim], and the same memory as rows
// [rows, heads·headDim] is flat. projected are qFlat, kFlat, vFlat and gate.
type attentionRows struct {
	q, k, v, out                 tensor.Tensor
	qFlat, kFlat, vFlat, outFlat tensor.Tensor
	gate                         tensor.Tensor // as rows, of models with gated attention
	projected                    [4]*tensor.Tensor
	scaled                       tensor.Tensor  // some rows of q
	ones                         *tensor.Tensor // [headDim]: weights that change nothing; nil if no values are normalised
}

// reserveAttention allocates the memory of attention of all shapes, which share it: only one layer is computed at a time.
func (p *pass) reserveAttention(w *Weights) error {
	p.caches, p.attention = kvcache.NewBatch(p.arena.device), make([]attentionRows, len(w.shapes))
	q, kv := 0, 0
	for _, s := range w.shapes {
		q, kv = max(q, s.heads*s.headDim), max(kv, s.kvHeads*s.headDim)
	}
	var memory [4]*tensor.Tensor
	for i, cols := range [...]int{q, kv, kv, q} {
		t, err := p.allocate(p.most, cols)
		if err != nil {
			return err
		}
		memory[i] = t
	}
	for i, shape := range w.shapes {
		s := &p.attention[i]
		s.projected = [...]*tensor.Tensor{&s.qFlat, &s.kFlat, &s.vFlat, &s.gate}
		for n, t := range []struct {
			flat, byHeads *tensor.Tensor
			heads         int
		}{{&s.qFlat, &s.q, shape.heads}, {&s.kFlat, &s.k, shape.kvHeads}, {&s.vFlat, &s.v, shape.kvHeads}, {&s.outFlat, &s.out, shape.heads}} {
			if err := p.shareHeads(memory[n], t.flat, t.byHeads, t.heads, shape.headDim); err != nil {
				return err
			}
		}
		if slices.Contains(w.Config.Mixers, model.GatedAttention) {
			if err := p.reserve(&s.gate, shape.heads*shape.headDim); err != nil {
				return err
			}
		}
		if !w.normsValues {
			continue
		}
		var err error
		if s.ones, err = p.allocateConstant(shape.headDim, 1); err != nil {
			return err
		}
	}
	return nil
}
