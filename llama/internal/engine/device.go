package engine

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// device is a backend with its optional interfaces, which are looked up once: its own methods if it has them, package backend's substitutes
// otherwise.
type device struct {
	backend.Backend
	fused    backend.Fuser
	experts  backend.ExpertFuser
	projects backend.Projector
	choose   backend.Selector
}

func newDevice(b backend.Backend) *device {
	return &device{Backend: b, fused: backend.Fused(b), experts: backend.FusedExperts(b), projects: backend.Projecting(b), choose: backend.Selecting(b)}
}

// project computes outs[i] = scales[i]·n·maps[i].Weightᵀ + maps[i].Bias of its operands with n = norm(x), which x becomes if the norm stays. What normed,
// of x's shape, holds afterwards is undefined.
func (d *device) project(x *tensor.Tensor, n *norm, normed *tensor.Tensor, o *operands, outs []*tensor.Tensor) error {
	var err error
	switch {
	case n.centred && !o.scaled:
		return d.projects.Project(x, n.centre(), n.kept(x, normed), o.maps, outs, false)
	case n.centred:
		err = d.projects.Project(x, n.centre(), n.kept(x, normed), o.bare, outs, false)
	default:
		err = d.fused.NormMatMul(x, n.weight, n.eps, normed, o.weights, outs)
	}
	if err != nil {
		return err
	}
	for i := range o.maps {
		if err := d.scale(outs[i], o.scales[i]); err != nil {
			return err
		}
		if err := d.addBias(outs[i], o.maps[i].Bias); err != nil {
			return err
		}
	}
	return nil
}

// projectAdd computes out = (out + x·weightᵀ) + bias for a projection without a scale; the scratch is product, of out's shape.
func (d *device) projectAdd(x *tensor.Tensor, to *projection, product, out *tensor.Tensor) error {
	if to.bias == nil {
		return d.fused.MatMulAdd(x, to.weight, product, out)
	}
	return d.projects.ProjectAdd(x, backend.Linear{Weight: to.weight, Bias: to.bias}, product, out)
}

// normOf computes the norm of x into normed, of its shape.
func (d *device) normOf(x *tensor.Tensor, n *norm, normed *tensor.Tensor) error {
	if err := d.CopySlice(x, normed, 0, 0, x.Shape().NumElements()); err != nil {
		return err
	}
	return n.apply(d, normed)
}

// norm normalises each row of x [rows, n], or of its last two dimensions, by a norm [n]; nil changes nothing.
func (d *device) norm(x, norm *tensor.Tensor, eps float32) error {
	if norm == nil {
		return nil
	}
	return d.RMSNorm(x, norm, eps)
}

// normHeads normalises each head of x [rows, heads, headDim] by a norm [headDim] or, by a longer norm, all heads of a row together; flat is
// the same memory as [rows, heads·headDim]. Nil changes nothing.
func (d *device) normHeads(x, flat, norm *tensor.Tensor, eps float32) error {
	if norm != nil && norm.Shape().Dim(0) != x.Shape().Dim(-1) {
		x = flat
	}
	return d.norm(x, norm, eps)
}

// addBias adds a bias [out] to each row of x [rows, out]; nil adds nothing.
func (d *device) addBias(x, bias *tensor.Tensor) error {
	if bias == nil {
		return nil
	}
	return d.AddAssign(x, bias)
}

// scale multiplies x by a factor.
func (d *device) scale(x *tensor.Tensor, factor float32) error {
	if factor == 1 {
		return nil
	}
	return d.Scale(x, factor)
}
