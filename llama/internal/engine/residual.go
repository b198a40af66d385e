package engine

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

// residual is what stands around a sublayer f: x = sum(x + scale·post(f(norm(x)))). A family has at most two of the norms.
type residual struct {
	norm, post, sum norm
	scale           float32 // 1 changes nothing
}

// build makes what stands around a sublayer, without its norms, which are tensors of these parts.
func (r *residual) build(w *Weights, layer int, norm, post, sum checkpoint.Part) {
	r.norm.build(w, norm, layer)
	r.post.build(w, post, layer)
	r.sum.build(w, sum, layer)
	r.scale = 1
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
	if err := p.device.normMatMul(&p.x, &r.norm, &p.normed, p.operands, outs); err != nil {
		return err
	}
	in := &p.x
	if r.norm.weight != nil && slices.ContainsFunc(projections, p.adapts) { // normMatMul leaves p.normed undefined
		in = &p.normed
		if err := p.device.normOf(&p.x, &r.norm, in); err != nil {
			return err
		}
	}
	for i, j := range projections {
		if err := j.complete(p, in, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// add computes x = sum(x + scale·post(to(in))). in is [rows, k].
func (r *residual) add(p *pass, in *tensor.Tensor, to *projection) error {
	if err := r.addTo(p, in, to); err != nil {
		return err
	}
	return r.sum.apply(p.device, &p.x)
}

// addTo computes x += scale·post(to(in)).
func (r *residual) addTo(p *pass, in *tensor.Tensor, to *projection) error {
	plain := r.post.weight == nil && r.scale == 1
	out := &p.x
	var err error
	if plain {
		err = p.device.fused.MatMulAdd(in, to.weight, &p.product, out)
	} else {
		out = &p.product
		err = p.device.MatMulTransposed(in, to.weight, out)
	}
	if err != nil {
		return err
	}
	if err := to.complete(p, in, out); err != nil || plain {
		return err
	}
	if err := r.post.apply(p.device, out); err != nil {
		return err
	}
	if err := p.device.scale(out, r.scale); err != nil {
		return err
	}
	return p.device.AddAssign(&p.x, out)
}

// projection is a linear map x ↦ x·weightᵀ + bias, to which the adapters of a pass's rows may add something. The weight is [out, in], the bias
// [out]; a nil bias adds nothing.
type projection struct {
	weight, bias *tensor.Tensor
	number       int // among the model's projections: what adapters know it by
}

// complete adds to out, which has in·weightᵀ already, what else belongs to the projection of in.
func (j *projection) complete(p *pass, in, out *tensor.Tensor) error {
	if err := p.device.addBias(out, j.bias); err != nil {
		return err
	}
	return p.adapted.add(p.device, j.number, in, out)
}
