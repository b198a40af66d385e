package engine

import (
	"slices"

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
	return r.norm.buildAfter(w, place{part: norm, layer: layer}, before)
}

// project computes projections of norm(x) [rows, hidden] to outs, in their order.
func (r *residual) project(p *pass, outs []*tensor.Tensor, projections ...*projection) error {
	p.list(projections)
	if err := p.device.project(&p.x, &r.norm, &p.normed, &p.operands, outs); err != nil {
		return err
	}
	in := &p.x
	if r.norm.weight != nil && !r.norm.stays && slices.ContainsFunc(projections, p.adapts) { // project leaves p.normed undefined
		in = &p.normed
		if err := p.device.normOf(&p.x, &r.norm, in); err != nil {
			return err
		}
	}
	for i, j := range projections {
		if err := p.adapted.add(p.device, j.number, in, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// project computes projections of x [rows, hidden] to outs, in their order.
func (p *pass) project(x *tensor.Tensor, outs []*tensor.Tensor, projections ...*projection) error {
	p.list(projections)
	if err := p.device.project(x, &norm{}, &p.product, &p.operands, outs); err != nil {
		return err
	}
	for i, j := range projections {
		if err := p.adapted.add(p.device, j.number, x, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// activated computes gelu(gate(x))·up(x) of norm(x), or gelu(gate(x)) if it gets one projection, to outs[0]; outs has a tensor for each.
func (r *residual) activated(p *pass, outs []*tensor.Tensor, projections ...*projection) error {
	p.list(projections)
	if r.norm.centred && !p.operands.scaled && !slices.ContainsFunc(projections, p.adapts) {
		return p.device.projects.Project(&p.x, r.norm.centre(), r.norm.kept(&p.x, &p.normed), p.operands.maps, outs, true)
	}
	if err := r.project(p, outs, projections...); err != nil {
		return err
	}
	var up *tensor.Tensor
	if len(outs) > 1 {
		up = outs[1]
	}
	return p.device.GELUErf(outs[0], up)
}

// operands are the weights that projections multiply with, the same with their biases, and the projections' scales.
type operands struct {
	weights []*tensor.Tensor
	maps    []backend.Linear
	scales  []float32
	scaled  bool             // some scale is not 1
	bare    []backend.Linear // the weights without biases
}

// list makes p.operands those of projections.
func (p *pass) list(projections []*projection) {
	o := &p.operands
	o.weights, o.maps, o.scales, o.scaled, o.bare = o.weights[:0], o.maps[:0], o.scales[:0], false, o.bare[:0]
	for _, j := range projections {
		o.weights = append(o.weights, j.weight)
		o.maps = append(o.maps, backend.Linear{Weight: j.weight, Bias: j.bias})
		o.scales = append(o.scales, j.scale)
		o.scaled = o.scaled || j.scale != 1
		o.bare = append(o.bare, backend.Linear{Weight: j.weight})
	}
}

// add computes x += scale·post(to(in)). in is [rows, k].
func (r *residual) add(p *pass, in *tensor.Tensor, to *projection) error {
	if r.post.weight == nil && r.scale == 1 && to.scale == 1 {
		if err := p.device.projectAdd(in, to, &p.product, &p.x); err != nil {
			return err
		}
		return p.adapted.add(p.device, to.number, in, &p.x)
	}
	if err := r.result(p, in, to); err != nil {
		return err
	}
	return p.device.AddAssign(&p.x, &p.product)
}

// result computes scale·post(to(in)) into p.product.
func (r *residual) result(p *pass, in *tensor.Tensor, to *projection) error {
	out := &p.product
	if err := p.device.MatMulTransposed(in, to.weight, out); err != nil {
		return err
	}
	if err := to.complete(p, in, out); err != nil {
		return err
	}
	return r.finish(p, out)
}

// finish computes out = scale·post(out).
func (r *residual) finish(p *pass, out *tensor.Tensor) error {
	if err := r.post.apply(p.device, out); err != nil {
		return err
	}
	return p.device.scale(out, r.scale)
}

// projection is a linear map x ↦ scale·x·weightᵀ + bias, to which the adapters of a pass's rows may add something. The weight is [out, in], the bias
// [out]; a nil bias adds nothing, and a scale of 1 changes nothing.
type projection struct {
	weight, bias *tensor.Tensor
	scale        float32
	number       int // among the model's projections: what adapters know it by
}

// plain reports whether the projection is x·weightᵀ alone, but for adapters.
func (j *projection) plain() bool { return j.bias == nil && j.scale == 1 }

// complete makes of out, which has in·weightᵀ already, the projection of in.
func (j *projection) complete(p *pass, in, out *tensor.Tensor) error {
	if err := p.device.scale(out, j.scale); err != nil {
		return err
	}
	if err := p.device.addBias(out, j.bias); err != nil {
		return err
	}
	return p.adapted.add(p.device, j.number, in, out)
}
