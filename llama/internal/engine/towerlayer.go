package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// towerLayer is a layer of a tower (arXiv 2010.11929): x += post(attention(norm(x))); x += post(network(norm(x))). The patches of a view see each other.
type towerLayer struct {
	norm, post               norm // a post without a weight changes nothing
	q, k, v, o               projection
	qNorm, kNorm             *tensor.Tensor // [headDim]; nil: there are no such norms
	networkNorm, networkPost norm
	gate, up, down           projection // a gate without a weight does not exist
}

// build makes the layer without its tensors.
func (l *towerLayer) build(t *Tower, n int) {
	t.placeNorm(model.AttentionNorm, n, &l.norm)
	t.placeNorm(model.AttentionPostNorm, n, &l.post)
	t.placeNorm(model.FeedForwardNorm, n, &l.networkNorm)
	t.placeNorm(model.FeedForwardPostNorm, n, &l.networkPost)
	t.place(model.QueryNorm, n, &l.qNorm)
	t.place(model.KeyNorm, n, &l.kNorm)
	for _, p := range []struct {
		part model.Part
		at   *projection
	}{{model.Query, &l.q}, {model.Key, &l.k}, {model.Value, &l.v}, {model.AttentionOutput, &l.o}, {model.Gate, &l.gate}, {model.Up, &l.up}, {model.Down, &l.down}} {
		t.placeProjection(p.part, n, p.at)
	}
}

// forward computes a layer: s.x in place.
func (l *towerLayer) forward(s *sight) error {
	var lost []*tensor.Tensor
	for i := range s.chunks {
		c := &s.chunks[i]
		lost = append(lost, c.normed, c.product, c.up)
	}
	return s.program(lost, func(p *program) {
		for i := range s.chunks {
			s.pause(p)
			l.project(p, s, &s.chunks[i])
		}
		p.do(&backend.AttendTexts{Q: s.byHead[0], K: s.byHead[1], V: s.byHead[2], Out: s.byHead[3], Texts: s.texts})
		for i := range s.chunks {
			s.pause(p)
			l.add(p, s, &s.chunks[i])
		}
	})
}

// project computes queries, keys and values.
func (l *towerLayer) project(p *program, s *sight, c *chunk) {
	p.project(l.norm.of(p, c.x, c.normed), []*tensor.Tensor{c.q, c.k, c.v}, &l.q, &l.k, &l.v)
	p.rmsNorm(c.qHeads, l.qNorm, s.Config.Eps)
	p.rmsNorm(c.kHeads, l.kNorm, s.Config.Eps)
	if c.angles != nil {
		p.do(&backend.RoPE{X: c.qHeads, Table: c.angles})
		p.do(&backend.RoPE{X: c.kHeads, Table: c.angles})
	}
}

// add adds what attention gives, and then what the network gives.
func (l *towerLayer) add(p *program, s *sight, c *chunk) {
	l.sum(p, c, c.out, &l.o, &l.post)
	in := l.networkNorm.of(p, c.x, c.normed)
	if l.gate.weight != nil {
		p.project(in, []*tensor.Tensor{c.gate, c.up}, &l.gate, &l.up)
		p.do(&backend.GELUMul{A: c.gate, B: c.up})
		l.sum(p, c, c.gate, &l.down, &l.networkPost)
		return
	}
	p.project(in, []*tensor.Tensor{c.up}, &l.up)
	p.do(&backend.GELUMul{A: c.up})
	l.sum(p, c, c.up, &l.down, &l.networkPost)
}

// sum computes x += post(to(in)).
func (l *towerLayer) sum(p *program, c *chunk, in *tensor.Tensor, to *projection, post *norm) {
	p.do(&backend.MatMulTransposed{X: in, W: to.weight, Out: c.product})
	if post.weight == nil {
		p.do(&backend.AddAssign{A: c.x, B: c.product})
		p.addBias(c.x, to.bias)
		return
	}
	p.addBias(c.product, to.bias)
	post.in(p, c.product)
	p.do(&backend.AddAssign{A: c.x, B: c.product})
}
