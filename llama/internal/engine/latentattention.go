package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// latentAttention is multi-head latent attention (arXiv 2405.04434). Keys and values of all heads are made of one row c of each token, and all heads share
// the few elements r of a key that are rotated:
//
//	q, s = W_q x for each head;  c = norm(W_c x), r = W_r x
//	key = (W_k c, rope(r)), value = W_v c for each head;  out = W_o softmax((q, rope(s))·keyᵀ·scale)·value
//
// The cache has c and r alone, as one head of keys and values that all query heads share: q·W_k c is W_kᵀq·c, so that queries are brought to the length of
// a row, and W_v makes a head's result of the rows' weighted sum. A row of the cache has the elements of rotated pairs where RoPE wants them, in the first
// and the second half, and c in the rest:
//
//	r₀ c₀ | r₁ c₁
//
// What lies apart is joined, and parted, by gathers of chunks of a length that divides all four.
type latentAttention struct {
	attention
	queryDown                               projection // without a weight queries are made of the stream
	latentQuery, rotatedQuery, row, rotated projection
	downNorm, rowNorm                       *tensor.Tensor
	keyUp, valueUp                          *tensor.Tensor // [heads, rank, key], [heads, value, rank]
}

// newLatentAttention makes the mixer of a layer without its tensors.
func newLatentAttention(w *Weights, layer int, is *model.Layer, rotary int) *latentAttention {
	c := w.Config
	a := &latentAttention{}
	a.cache, a.shape, a.rotary, a.eps = w.cacheOf[layer], w.shapeOf(is), rotary, c.RMSNormEps
	a.queryScale = float32(c.ScoreScale * math.Sqrt(float64(is.HeadDim)))
	for _, p := range []struct {
		part model.Part
		at   *projection
	}{{model.QueryDown, &a.queryDown}, {model.LatentQuery, &a.latentQuery}, {model.RotatedQuery, &a.rotatedQuery}, {model.LatentRow, &a.row},
		{model.RotatedKey, &a.rotated}, {model.AttentionOutput, &a.o}} {
		w.placeProjection(p.part, layer, p.at)
	}
	w.place(model.QueryDownNorm, layer, &a.downNorm)
	w.place(model.LatentNorm, layer, &a.rowNorm)
	w.place(model.KeyUp, layer, &a.keyUp)
	w.place(model.ValueUp, layer, &a.valueUp)
	return a
}

// write appends the rows to the jobs' caches, and lets the rows attend.
func (a *latentAttention) write(p *program, around *residual) {
	s, l := &p.attention[a.shape], &p.latent
	x := around.norm.of(p, &p.x, &p.normed)
	if a.queryDown.weight == nil {
		p.project(x, l.projected[:], &a.latentQuery, &a.rotatedQuery, &a.row, &a.rotated)
	} else {
		p.project(x, []*tensor.Tensor{&l.down, &l.rows.latent, &l.rows.rotated}, &a.queryDown, &a.row, &a.rotated)
		p.rmsNorm(&l.down, a.downNorm, a.eps)
		p.project(&l.down, l.projected[:2], &a.latentQuery, &a.rotatedQuery)
	}
	p.rmsNorm(&l.rows.latent, a.rowNorm, a.eps)
	p.do(&backend.MatMulExperts{X: &l.queries, W: a.keyUp, Chosen: &l.heads, Out: &l.joined.latent})
	p.call(func() error { return l.joined.join(p.pass) })
	p.call(func() error { return l.rows.join(p.pass) })
	p.do(&backend.Cast{Src: &s.kFlat, Dst: &s.vFlat})
	p.scale(&s.q, a.queryScale)
	a.attend(p)
	p.call(func() error { return l.part(p.pass) })
	p.do(&backend.MatMulExperts{X: &l.joined.latent, W: a.valueUp, Chosen: &l.heads, Out: &l.values})
	around.add(p, &l.valuesFlat, &a.o)
}

// latentRows is the memory of a pass's rows in latent attention. projected are queriesFlat, joined.rotated, rows.latent and rows.rotated.
type latentRows struct {
	down                 tensor.Tensor // [rows, queryRank]
	queries, queriesFlat tensor.Tensor // [rows, heads, key], and [rows, heads·key]
	values, valuesFlat   tensor.Tensor // [rows, heads, value], and [rows, heads·value]
	heads                tensor.Tensor // [rows, heads] of type I32: 0 1 2 … in each row
	joined, rows         halves        // of queries, for each head, and of rows of the cache
	projected            [4]*tensor.Tensor
	sums                 *tensor.Tensor // attention's results of the largest pass, as chunks
	parted               []int32        // the chunks of sums that are latent
}

// halves are rows in two parts, the latent one and the rotated one. All latent parts lie before all rotated ones, and joined rows are elsewhere.
type halves struct {
	latent, rotated tensor.Tensor  // [n, rank] for times rows of each of the pass's, and [rows, times·rotated]
	chunked         tensor.Tensor  // latent as chunks
	out             tensor.Tensor  // joined rows as chunks
	chunks          *tensor.Tensor // both parts of the largest pass, as chunks
	order           []int32        // which chunk comes where in the joined rows of the largest pass
}

// reserveLatent allocates the memory, if the model has latent attention.
func (p *pass) reserveLatent(w *Weights) error {
	c, s := w.Config, &p.latent
	l := &c.Latent
	if l.Rank == 0 {
		return nil
	}
	is := c.Layer(0)
	of := &p.attention[w.shapeOf(&is)]
	s.projected = [...]*tensor.Tensor{&s.queriesFlat, &s.joined.rotated, &s.rows.latent, &s.rows.rotated}
	if l.QueryRank > 0 {
		if err := p.reserve(&s.down, l.QueryRank); err != nil {
			return err
		}
	}
	if err := p.reserveHeads(&s.queriesFlat, &s.queries, c.Heads, l.KeyDim); err != nil {
		return err
	}
	if err := p.reserveHeads(&s.valuesFlat, &s.values, c.Heads, l.ValueDim); err != nil {
		return err
	}
	chunk := chunkOf(l)
	if err := s.joined.reserve(&p.arena, l, c.Heads, chunk, &of.q); err != nil {
		return err
	}
	if err := s.rows.reserve(&p.arena, l, 1, chunk, &of.k); err != nil {
		return err
	}
	for i, from := range s.joined.order {
		if int(from) < p.most*c.Heads*l.Rank/chunk { // in order, since joined rows have it so
			s.parted = append(s.parted, int32(i))
		}
	}
	var err error
	if s.sums, err = p.whole(&of.out).Reshape(len(s.joined.order), chunk); err != nil {
		return err
	}
	return p.reserveHeadNumbers(&s.heads, c.Heads)
}

// reserveHeadNumbers makes view [rows, heads] in each pass, with 0 1 2 … in each row.
func (a *arena) reserveHeadNumbers(view *tensor.Tensor, heads int) error {
	if err := a.reserveTimes(view, tensor.I32, 1, heads); err != nil {
		return err
	}
	numbers, err := tensor.New(nil, tensor.I32, tensor.ShapeOf(a.most, heads))
	if err != nil {
		return err
	}
	defer numbers.Free()
	list, err := tensor.Mut[int32](numbers)
	if err != nil {
		return err
	}
	for i := range list {
		list[i] = int32(i % heads)
	}
	return a.device.Run(backend.Copy(numbers, a.whole(view)))
}

// reserve allocates the memory of times rows for each row of a pass, as chunks of a length. to is the view that gets the joined rows.
func (h *halves) reserve(a *arena, l *model.Latent, times, chunk int, to *tensor.Tensor) error {
	n, width := a.most*times, l.Rank+l.RotatedDim
	memory, err := a.allocate(n, width)
	if err != nil {
		return err
	}
	if h.chunks, err = memory.Reshape(n*width/chunk, chunk); err != nil {
		return err
	}
	add := func(of *tensor.Tensor, from, to int, view *tensor.Tensor, rows, times int) error {
		part, err := of.Slice(from, to)
		if err != nil {
			return err
		}
		if part, err = part.Reshape(rows, part.Shape().NumElements()/rows); err == nil {
			a.addTimes(part, view, times)
		}
		return err
	}
	latent, rotated := l.Rank/chunk, l.RotatedDim/chunk
	if err := add(h.chunks, 0, n*latent, &h.latent, n, times); err != nil {
		return err
	}
	if err := add(h.chunks, 0, n*latent, &h.chunked, n*latent, times*latent); err != nil {
		return err
	}
	if err := add(h.chunks, n*latent, n*(latent+rotated), &h.rotated, a.most, 1); err != nil {
		return err
	}
	joined, err := a.whole(to).Reshape(n*width/chunk, chunk)
	if err != nil {
		return err
	}
	a.addTimes(joined, &h.out, times*width/chunk)
	h.order = make([]int32, 0, n*width/chunk)
	for row := range n {
		for half := range 2 {
			for i := range rotated / 2 {
				h.order = append(h.order, int32(n*latent+row*rotated+half*rotated/2+i))
			}
			for i := range latent / 2 {
				h.order = append(h.order, int32(row*latent+half*latent/2+i))
			}
		}
	}
	return nil
}

// join writes the joined rows.
func (h *halves) join(p *pass) error {
	return p.gathered.Run(p.device, backend.Gather{Table: h.chunks, Indices: h.order[:h.out.Shape().Dim(0)], Out: &h.out})
}

// part writes the latent parts of attention's results to joined.latent.
func (s *latentRows) part(p *pass) error {
	to := &s.joined.chunked
	return p.gathered.Run(p.device, backend.Gather{Table: s.sums, Indices: s.parted[:to.Shape().Dim(0)], Out: to})
}

// chunkOf returns the greatest length that divides the halves of both parts of a row.
func chunkOf(l *model.Latent) int {
	a, b := l.Rank/2, l.RotatedDim/2
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
