package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// towerLayer is a layer of a tower (arXiv 2010.11929): x += post(attention(norm(x))); x += post(network(norm(x))). The patches of a view see each other.
type towerLayer struct {
	norm, post               norm // a post without a weight changes nothing
	q, k, v, o               projection
	bounds                   map[*projection]*bounds // empty: nothing is cut off
	qNorm, kNorm             *tensor.Tensor          // [headDim]; nil: there are no such norms
	networkNorm, networkPost norm
	gate, up, down           projection // a gate without a weight does not exist
	windowed                 bool       // the patches of a window see each other, and no others
}

// build makes the layer without its tensors.
func (l *towerLayer) build(t *Tower, n int) {
	l.windowed = t.Config.Window > 0 && !slices.Contains(t.Config.Unwindowed, n)
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
		if t.Config.Traits.Clipped {
			if l.bounds == nil {
				l.bounds = map[*projection]*bounds{}
			}
			l.bounds[p.at] = newBounds(t, p.part, n)
		}
	}
}

// bounds are those of a projection: inputs and outputs below or above are cut off.
type bounds struct {
	tensors [model.NumBounds]*tensor.Tensor
	at      [model.NumBounds]float32
}

// newBounds makes the bounds of a projection, without their tensors.
func newBounds(t *Tower, of model.Part, layer int) *bounds {
	b := &bounds{}
	for i := range b.tensors {
		t.place(model.BoundOf(of, model.Bound(i)), layer, &b.tensors[i])
	}
	t.finish(func() error {
		for i, from := range b.tensors {
			if from == nil { // the tower has no such projection
				return nil
			}
			list, err := t.hostFloats(from)
			if err != nil {
				return err
			}
			b.at[i] = list[0]
		}
		if !(b.at[model.InputMin] <= b.at[model.InputMax] && b.at[model.OutputMin] <= b.at[model.OutputMax]) {
			return fmt.Errorf("the bounds of %v in layer %d of the tower are %v: a least one must not be above the greatest", of, layer, b.at)
		}
		return nil
	})
	return b
}

// projected computes projections of x to outs, between their bounds. The scratch has x's shape; it is nil if x may be changed.
func (l *towerLayer) projected(p *program, x, scratch *tensor.Tensor, outs []*tensor.Tensor, projections ...*projection) {
	if len(l.bounds) == 0 {
		p.project(x, outs, projections...)
		return
	}
	if scratch == nil {
		scratch = x
	}
	for i, j := range projections {
		b := l.bounds[j]
		p.do(&backend.Clamp{X: x, Out: scratch, Min: b.at[model.InputMin], Max: b.at[model.InputMax]})
		p.project(scratch, outs[i:i+1], j)
		p.do(&backend.Clamp{X: outs[i], Out: outs[i], Min: b.at[model.OutputMin], Max: b.at[model.OutputMax]})
	}
}

// forward computes a layer: s.x in place.
func (l *towerLayer) forward(s *sight) error {
	var lost []*tensor.Tensor
	for i := range s.chunks {
		c := &s.chunks[i]
		lost = append(lost, c.normed, c.product, c.up)
	}
	together := s.texts
	if l.windowed {
		together = s.windows
	}
	return s.program(lost, func(p *program) {
		for i := range s.chunks {
			s.pause(p)
			l.project(p, s, &s.chunks[i])
		}
		p.do(&backend.AttendTexts{Q: s.byHead[0], K: s.byHead[1], V: s.byHead[2], Out: s.byHead[3], Texts: together})
		for i := range s.chunks {
			s.pause(p)
			l.add(p, s, &s.chunks[i])
		}
	})
}

// project computes queries, keys and values.
func (l *towerLayer) project(p *program, s *sight, c *chunk) {
	l.projected(p, l.norm.of(p, c.x, c.normed), c.product, []*tensor.Tensor{c.q, c.k, c.v}, &l.q, &l.k, &l.v)
	p.rmsNorm(c.qHeads, l.qNorm, s.Config.Eps)
	p.rmsNorm(c.kHeads, l.kNorm, s.Config.Eps)
	if s.Config.Traits.ValueNorms {
		p.rmsNorm(c.vHeads, s.ones, s.Config.Eps)
	}
	if s.Config.Traits.Unscaled { // attention divides scores by the same root
		p.scale(c.q, float32(math.Sqrt(float64(s.Config.HeadDim))))
	}
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
		l.projected(p, in, c.product, []*tensor.Tensor{c.gate, c.up}, &l.gate, &l.up)
		p.activateTower(s.Config.Traits.Activation, c.gate, c.up)
		l.sum(p, c, c.gate, &l.down, &l.networkPost)
		return
	}
	l.projected(p, in, c.product, []*tensor.Tensor{c.up}, &l.up)
	p.activateTower(s.Config.Traits.Activation, c.up, nil)
	l.sum(p, c, c.up, &l.down, &l.networkPost)
}

// quickFactor is what GELUQuick multiplies by within its exponential.
const quickFactor = 1.702

// activateTower computes a = act(a)·b; a b that is nil counts as ones.
func (p *program) activateTower(act model.TowerActivation, a, b *tensor.Tensor) {
	switch act {
	case model.SiLU:
		p.do(&backend.SiLUMul{A: a, B: b})
	case model.GELU:
		p.do(&backend.GELUErf{A: a, B: b})
	case model.GELUQuick: // silu(1.702·x)/1.702
		p.scale(a, quickFactor)
		p.do(&backend.SiLUMul{A: a, B: b})
		p.scale(a, 1/quickFactor)
	default:
		p.do(&backend.GELUMul{A: a, B: b})
	}
}

// sum computes x += post(to(in)), and may change in.
func (l *towerLayer) sum(p *program, c *chunk, in *tensor.Tensor, to *projection, post *norm) {
	if post.weight == nil && len(l.bounds) == 0 { // in the order that is one operation
		p.do(&backend.MatMulTransposed{X: in, W: to.weight, Out: c.product})
		p.do(&backend.AddAssign{A: c.x, B: c.product})
		p.addBias(c.x, to.bias)
		return
	}
	l.projected(p, in, nil, []*tensor.Tensor{c.product}, to)
	post.in(p, c.product)
	p.do(&backend.AddAssign{A: c.x, B: c.product})
}
