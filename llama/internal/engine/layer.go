package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// layer is one block of the transformer (arXiv 2302.13971): a mixer, which lets tokens see each other, and a feed-forward network. Each reads the
// normed stream x, and its result is added to the stream:
//
//	x += post(mixer(norm(x)));  x += post(feedForward(norm(x)))
type layer struct {
	mixer, feedForward             sublayer
	aroundMixer, aroundFeedForward residual
}

// sublayer is a mixer or a feed-forward network.
type sublayer interface {
	// forward computes the rows of a pass, f of x += post(f(norm(x))): it reads norm(x) by around.project, and ends with around.add.
	forward(p *pass, around *residual) error
}

// forward computes the rows of a pass: p.x [rows, hidden] in place.
func (l *layer) forward(p *pass) error {
	if err := l.mixer.forward(p, &l.aroundMixer); err != nil {
		return err
	}
	return l.feedForward.forward(p, &l.aroundFeedForward)
}

// build makes the n-th layer of a model as its configuration says, without its tensors.
func (l *layer) build(w *Weights, n int, is *checkpoint.Layer, rotary int) (err error) {
	l.aroundMixer.build(w, n, checkpoint.AttentionNorm, checkpoint.AttentionPostNorm)
	l.aroundFeedForward.build(w, n, checkpoint.FeedForwardNorm, checkpoint.FeedForwardPostNorm)
	switch is.Mixer {
	case checkpoint.Attention:
		l.mixer = newAttention(w, n, rotary)
	default:
		return fmt.Errorf("layer %d: a mixer of kind %d: %w", n, is.Mixer, fault.ErrUnsupported)
	}
	switch is.FeedForward {
	case checkpoint.Dense:
		l.feedForward, err = newDense(w, n)
		return err
	}
	return fmt.Errorf("layer %d: a feed-forward network of kind %d: %w", n, is.FeedForward, fault.ErrUnsupported)
}

// residual is what stands around a sublayer f: x += scale·post(f(norm(x))).
type residual struct {
	norm, post *tensor.Tensor // [hidden]; nil: the family has no such norm, and nothing is normalised
	eps        float32        // of the norms
	scale      float32        // 1 changes nothing
}

// build makes what stands around a sublayer, without its norms, which are tensors of these parts.
func (r *residual) build(w *Weights, layer int, norm, post checkpoint.Part) {
	w.place(norm, layer, &r.norm)
	w.place(post, layer, &r.post)
	r.eps, r.scale = w.Config.RMSNormEps, 1
	if s := w.Config.ResidualScale; s != 0 {
		r.scale = float32(s)
	}
}

// project computes projections of norm(x) [rows, hidden] to outs, in their order.
func (r *residual) project(p *pass, outs []*tensor.Tensor, projections ...*projection) error {
	p.operands = p.operands[:0]
	for _, j := range projections {
		p.operands = append(p.operands, j.weight)
	}
	if err := p.device.normMatMul(&p.x, r.norm, r.eps, &p.normed, p.operands, outs); err != nil {
		return err
	}
	for i, j := range projections {
		if err := p.device.addBias(outs[i], j.bias); err != nil {
			return err
		}
	}
	return p.adapted.addOfNorm(p, r, projections, outs)
}

// add computes x += scale·post(to(in)). in is [rows, k].
func (r *residual) add(p *pass, in *tensor.Tensor, to *projection) error {
	if r.post == nil && r.scale == 1 {
		if err := p.device.fused.MatMulAdd(in, to.weight, &p.product, &p.x); err != nil {
			return err
		}
		return to.complete(p, in, &p.x)
	}
	if err := to.apply(p, in, &p.product); err != nil {
		return err
	}
	if err := p.device.norm(&p.product, r.post, r.eps); err != nil {
		return err
	}
	if err := p.device.scale(&p.product, r.scale); err != nil {
		return err
	}
	return p.device.AddAssign(&p.x, &p.product)
}
