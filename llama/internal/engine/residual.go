package engine

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

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
	in := &p.x
	if r.norm != nil && slices.ContainsFunc(projections, p.adapts) { // normMatMul leaves p.normed undefined
		in = &p.normed
		if err := p.device.CopySlice(&p.x, in, 0, 0, in.Shape().NumElements()); err != nil {
			return err
		}
		if err := p.device.RMSNorm(in, r.norm, r.eps); err != nil {
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

// add computes x += scale·post(to(in)). in is [rows, k].
func (r *residual) add(p *pass, in *tensor.Tensor, to *projection) error {
	plain := r.post == nil && r.scale == 1
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
	if err := p.device.norm(out, r.post, r.eps); err != nil {
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
