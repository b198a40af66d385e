package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Fused is Base with the fused operations, panels of weights, and pages in the layout that the kernels like: for backends with tensors in
// host memory, which is always mapped.
type Fused struct{ *Base }

// NewFused makes a Fused, as NewBase makes a Base.
func NewFused(kernels *asm.Kernels, runner Runner) Fused {
	b := NewBase(kernels, runner)
	b.machine.pages = b.kernels.Pages()
	return Fused{b}
}

// Fusions lists what the kernels compute at once.
func (b Fused) Fusions() []backend.Fusion {
	return []backend.Fusion{backend.FuseNormMatMul, backend.FuseNormSwiGLU, backend.FuseMatMulAdd, backend.FuseProject, backend.FuseFeedExperts}
}

// KeepsLatents returns true: the values of a tile are made of its keys.
func (b Fused) KeepsLatents() bool { return true }

// Run computes operations.
func (b Fused) Run(ops ...backend.Op) error { return backend.Each(ops, b.Compute) }

// Compute computes an operation that has been checked.
func (b Fused) Compute(op backend.Op) error {
	switch o := op.(type) {
	case *backend.NormMatMul:
		return b.normMatMul("NormMatMul", o.X, o.Norm, o.Eps, o.Normed, o.Ws, o.Outs, nil)
	case *backend.NormSwiGLU:
		ws, outs := [2]*tensor.Tensor{o.Gate, o.Up}, [2]*tensor.Tensor{o.Out, o.Product}
		return b.normMatMul("NormSwiGLU", o.X, o.Norm, o.Eps, o.Normed, ws[:], outs[:], swiGLU)
	case *backend.MatMulAdd:
		return b.matMulAdd(o)
	case *backend.Project:
		return b.project(o)
	case *backend.FeedExperts:
		return b.feedExperts(o)
	}
	return b.Base.Compute(op)
}

// normMatMul normalises x and multiplies with several weights, as the operation with a name.
func (b Fused) normMatMul(name string, x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor, e epilogue) error {
	f := b.fusing(name, x)
	defer f.end()
	from := activation{x: f.of(x), eps: eps}
	if norm != nil {
		from.norm, from.normed = f.of(norm), f.of(normed)
	}
	for i, w := range ws {
		f.add(backend.Linear{Weight: w}, outs[i])
	}
	f.epilogue = e
	return f.compute(from)
}

// project normalises x, multiplies with several weights, and adds their biases.
func (b Fused) project(o *backend.Project) error {
	f := b.fusing("Project", o.X)
	defer f.end()
	from := activation{x: f.of(o.X), eps: o.Eps, centred: true}
	if o.Norm != nil {
		from.norm, from.bias, from.normed = f.of(o.Norm), f.of(o.NormBias), f.of(o.Normed)
	}
	for i, to := range o.Maps {
		f.add(to, o.Outs[i])
	}
	if o.GELU {
		f.epilogue = geluErf
	}
	return f.compute(from)
}

// geluErf joins the products of gate and up, or computes the activation of one.
func geluErf(k *asm.Kernels, p *product, lo, hi int) {
	gate := p.terms[0].out[lo:hi]
	if len(p.terms) == 1 {
		k.GELUErf(gate)
		return
	}
	k.GELUErfMul(gate, gate, p.terms[1].out[lo:hi])
}

// matMulAdd multiplies, and adds the product and a bias.
func (b Fused) matMulAdd(o *backend.MatMulAdd) error {
	f := b.fusing("MatMulAdd", o.X)
	defer f.end()
	f.add(backend.Linear{Weight: o.W, Bias: o.Bias}, o.Product)
	f.sum = f.of(o.Out)
	return f.compute(activation{x: f.of(o.X)})
}

// fusing is a product in the making, with the tensors that are mapped for it.
type fusing struct {
	*product
	products *products
	maps     mapped
	err      error // the first one of a tensor that cannot be mapped or multiplied
}

// fusing begins a product of the rows of x; end ends it.
func (b Fused) fusing(name string, x *tensor.Tensor) fusing {
	p := b.products.tasks.get()
	p.held = &b.held
	p.begin(name, b.kernels, x.Shape().Rows(), x.Shape().Dim(-1))
	return fusing{product: p, products: &b.products}
}

// end unmaps the tensors and gives the task back.
func (f *fusing) end() {
	f.maps.unmap()
	f.products.tasks.put(f.product)
}

// of maps a tensor and returns its elements; nil for a nil tensor.
func (f *fusing) of(t *tensor.Tensor) []float32 {
	if t == nil || f.err != nil {
		return nil
	}
	if f.err = f.maps.add(f.name, t); f.err != nil {
		return nil
	}
	return floats(t)
}

// add adds a term.
func (f *fusing) add(to backend.Linear, out *tensor.Tensor) {
	bias := f.of(to.Bias)
	if f.of(out); f.err == nil {
		f.err = needWholePanels(to.Weight)
	}
	if f.err == nil {
		f.err = f.maps.addWeights(f.name, to.Weight)
	}
	if f.err == nil {
		f.product.add(to.Weight, out)
		f.terms[len(f.terms)-1].bias = bias
	}
}

// compute computes the product.
func (f *fusing) compute(from activation) error {
	if f.err != nil {
		return f.err
	}
	if err := f.activate(f.products.runner, from); err != nil {
		return err
	}
	return f.multiply(f.products.runner)
}

// swiGLU joins the products of gate and up.
func swiGLU(k *asm.Kernels, p *product, lo, hi int) {
	gate := p.terms[0].out[lo:hi]
	k.SiLUMul(gate, gate, p.terms[1].out[lo:hi])
}
