package engine

import (
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// inputs are what each layer gets of its own from the tokens (Gemma 4's per-layer embeddings): for all layers at once, and for each token,
//
//	p = (table[token]·√width + norm(projection(x₀)/√hidden)) / √2, or without a table
//	p = norm(projection(x₀)/√hidden)
//
// where x₀ is the token's embedding. The table is only looked up in, and may stay in its file. The system maps some pages more than a row has, so that a long
// prompt would soon make most of the table resident: every releaseRows tokens it hears that the pages are not needed.
type inputs struct {
	table      *tensor.Tensor // [vocab, layers·width]; nil: the model has no table
	projection projection     // [layers·width, hidden]
	norm       norm           // [width]
	width      int
	rows       int    // of the table, if that has fewer than the vocabulary: later tokens have that of token 0; 0: it has not
	release    func() // says to the system that the table's pages are not needed for now; nil: the table is not in a mapped file
}

// releaseRows is after how many tokens the table is released. Their rows, and what the system maps with them, are some 60 MB of E2B's table. Releasing takes a
// millisecond, and pages come back from the system's cache of files.
const releaseRows = 1024

// build makes the inputs without their tensors.
func (in *inputs) build(w *Weights) {
	in.width, in.rows = w.Config.PerLayerWidth, w.Config.PerLayerVocab
	if in.width == 0 {
		return
	}
	w.place(model.PerLayerEmbedding, 0, &in.table)
	w.placeProjection(model.PerLayerProjection, 0, &in.projection)
	in.norm.build(w, place{part: model.PerLayerNorm})
}

// inputRows is the memory of a pass's inputs.
type inputRows struct {
	all, looked tensor.Tensor  // [rows, layers·width]
	byLayer     tensor.Tensor  // all as [rows, layers, width]
	table       *tensor.Tensor // all rows of it as [most·layers, width]
	own         tensor.Tensor  // [rows, width]: of the layer under way
	gate        tensor.Tensor  // [rows, width]
	tokens      []int32        // those to look up in a table of fewer rows than the vocabulary
	rows        []int32        // which of the rows of all are in the pass
	which       []int32        // which rows of table the layer under way reads
	unreleased  int            // tokens that were looked up since the table was released
	projected   [1]*tensor.Tensor
	join        joinRows // of a head that predicts further tokens
}

// reserve allocates the memory.
func (s *inputRows) reserve(a *arena, c *model.Config) error {
	if err := s.join.reserve(a, c); err != nil {
		return err
	}
	if c.PerLayerWidth == 0 {
		return nil
	}
	width := c.PerLayerWidth * c.Layers
	memory, err := a.allocate(a.most, width)
	if err != nil {
		return err
	}
	if err := a.shareHeads(memory, &s.all, &s.byLayer, c.Layers, c.PerLayerWidth); err != nil {
		return err
	}
	if s.table, err = memory.Reshape(a.most*c.Layers, c.PerLayerWidth); err != nil {
		return err
	}
	s.rows, s.which, s.projected = make([]int32, 0, a.most), make([]int32, 0, a.most), [...]*tensor.Tensor{&s.gate}
	for _, t := range []struct {
		view *tensor.Tensor
		cols int
	}{{&s.looked, width}, {&s.own, c.PerLayerWidth}, {&s.gate, c.PerLayerWidth}} {
		if err := a.reserve(t.view, t.cols); err != nil {
			return err
		}
	}
	return nil
}

// write computes the inputs of the pass's rows, from their tokens p.tokens and embeddings p.x.
func (in *inputs) write(p *program) {
	s := &p.inputs
	p.call(func() error {
		s.rows = s.rows[:0]
		for row := range p.rows {
			s.rows = append(s.rows, int32(row))
		}
		if in.table == nil {
			return nil
		}
		tokens := p.tokens
		if in.rows > 0 {
			s.tokens = s.tokens[:0]
			for _, t := range tokens {
				if int(t) >= in.rows {
					t = 0
				}
				s.tokens = append(s.tokens, t)
			}
			tokens = s.tokens
		}
		if err := p.gathered.Run(p.device, backend.Gather{Table: in.table, Indices: tokens, Out: &s.looked}); err != nil {
			return err
		}
		if s.unreleased += p.rows; in.release != nil && s.unreleased >= releaseRows {
			s.unreleased = 0
			in.release()
		}
		return nil
	})
	if in.table != nil {
		p.scale(&s.looked, float32(math.Sqrt(float64(in.width))))
	}
	p.do(&backend.MatMulTransposed{X: &p.x, W: in.projection.weight, Out: &s.all})
	p.complete(&in.projection, &p.x, &s.all)
	p.scale(&s.all, float32(1/math.Sqrt(float64(p.x.Shape().Dim(1)))))
	in.norm.in(p, &s.byLayer)
	if in.table == nil {
		return
	}
	p.do(&backend.AddAssign{A: &s.all, B: &s.looked})
	p.scale(&s.all, float32(1/math.Sqrt2))
}

// layerInput is the part of a layer that reads the layer's own input p: x += norm(up(gelu(gate(x))·p)).
type layerInput struct {
	gate, up projection
	around   residual
}

// build makes the part of a layer without its tensors.
func (l *layerInput) build(w *Weights, layer int) {
	w.placeProjection(model.PerLayerGate, layer, &l.gate)
	w.placeProjection(model.PerLayerUp, layer, &l.up)
	l.around.post.build(w, place{part: model.PerLayerPostNorm, layer: layer})
	l.around.scale = 1
}

// write computes the pass's rows.
func (l *layerInput) write(p *program, layer int) {
	s := &p.inputs
	l.own(p, layer)
	l.around.project(p, s.projected[:], &l.gate)
	p.do(&backend.GELUMul{A: &s.gate, B: &s.own})
	l.around.add(p, &s.gate, &l.up)
}

// own gathers the layer's own inputs of the pass's rows.
func (l *layerInput) own(p *program, layer int) {
	s := &p.inputs
	p.call(func() error {
		s.which = s.which[:0]
		layers := int32(s.byLayer.Shape().Dim(1))
		for _, row := range s.rows {
			s.which = append(s.which, row*layers+int32(layer))
		}
		return p.gathered.Run(p.device, backend.Gather{Table: s.table, Indices: s.which, Out: &s.own})
	})
}
