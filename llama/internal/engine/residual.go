package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/model"
	"github.com/antigravity-go/antigravity/tensor"
)

// residual is the part of a layer around a sublayer f: x += scale·post(f(norm(x))). A family has at most two of the norms.
//
// Encoders such as BERT norm the sum instead: x = norm(x + f(x)). The next sublayer that reads x norms it, and x stays normed: see
// norm.stays. So the norm of a sum is the next sublayer's, or the one after the last layer.
type residual struct {
	norm, post norm
	scale      float32 // 1 changes nothing
}

// build makes a residual without its norms, which are tensors of these parts. before is the norm of the sum before it.
func (r *residual) build(w *Weights, layer int, norm, post model.Part, before place) error {
	r.scale = 1
	if s := w.Config.ResidualScale; s != 0 {
		r.scale = float32(s)
	}
	r.post.build(w, place{part: post, layer: layer})
	if eps := w.Config.PostNormEps; eps != 0 {
		r.post.eps = eps
	}
	return r.norm.buildAfter(w, place{part: norm, layer: layer}, before)
}

// project computes projections of norm(x) [rows, hidden] to outs, in their order.
func (r *residual) project(p *program, outs []*tensor.Tensor, projections ...*projection) {
	p.project(r.norm.of(p, &p.x, &p.normed), outs, projections...)
}

// add computes x += scale·post(to(in)). in is [rows, k].
func (r *residual) add(p *program, in *tensor.Tensor, to *projection) {
	if r.post.weight != nil || r.scale != 1 || to.scale != 1 {
		r.result(p, in, to)
		p.do(&backend.AddAssign{A: &p.x, B: &p.product})
		return
	}
	p.multiply(in, to, &p.product)
	p.do(&backend.AddAssign{A: &p.x, B: &p.product})
	p.addBias(&p.x, to.bias)
	p.adapt(to, in, &p.x)
}

// result computes scale·post(to(in)) into p.product.
func (r *residual) result(p *program, in *tensor.Tensor, to *projection) {
	out := &p.product
	p.multiply(in, to, out)
	p.complete(to, in, out)
	r.finish(p, out)
}

// finish computes out = scale·post(out).
func (r *residual) finish(p *program, out *tensor.Tensor) {
	r.post.in(p, out)
	p.scale(out, r.scale)
}

// projection is a linear map x ↦ scale·x·weightᵀ + bias, to which the adapters of a pass's rows may add something. The weight is [out, in], the bias
// [out]; a nil bias adds nothing, and a scale of 1 changes nothing.
type projection struct {
	weight, bias *tensor.Tensor
	scale        float32
	rounded      bool   // each row of x is rounded to eight bits before, as in BitNet
	number       int    // among the model's projections: what adapters know it by
	stage        *stage // that computes it; nil in towers
}
