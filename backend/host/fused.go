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

// NormMatMul normalises x and multiplies with several weights.
func (b Fused) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	return b.normMatMul("NormMatMul", x, norm, eps, normed, ws, outs, nil)
}

// normMatMul is NormMatMul as a part of an operation with a name.
func (b Fused) normMatMul(name string, x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor, e epilogue) error {
	if norm != nil {
		if _, _, err := backend.CheckRMSNorm(x, norm); err != nil {
			return err
		}
	}
	if err := backend.CheckNormMatMul(x, normed, ws, outs); err != nil {
		return err
	}
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

// Project normalises x, multiplies with several weights, and adds their biases.
func (b Fused) Project(x *tensor.Tensor, norm backend.LayerNorm, normed *tensor.Tensor, maps []backend.Linear, outs []*tensor.Tensor, gelu bool) error {
	if err := backend.CheckProject(x, norm, normed, maps, outs, gelu); err != nil {
		return err
	}
	f := b.fusing("Project", x)
	defer f.end()
	from := activation{x: f.of(x), eps: norm.Eps, centred: true}
	if norm.Weight != nil {
		from.norm, from.bias, from.normed = f.of(norm.Weight), f.of(norm.Bias), f.of(normed)
	}
	for i, to := range maps {
		f.add(to, outs[i])
	}
	if gelu {
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

// MatMulAdd computes out += x·wᵀ.
func (b Fused) MatMulAdd(x, w, product, out *tensor.Tensor) error {
	return b.projectAdd("MatMulAdd", x, backend.Linear{Weight: w}, product, out)
}

// ProjectAdd computes out = (out + x·to.Weightᵀ) + to.Bias.
func (b Fused) ProjectAdd(x *tensor.Tensor, to backend.Linear, product, out *tensor.Tensor) error {
	return b.projectAdd("ProjectAdd", x, to, product, out)
}

// projectAdd is ProjectAdd as an operation with a name.
func (b Fused) projectAdd(name string, x *tensor.Tensor, to backend.Linear, product, out *tensor.Tensor) error {
	if err := backend.CheckProjectAdd(x, to, product, out); err != nil {
		return err
	}
	f := b.fusing(name, x)
	defer f.end()
	f.add(to, product)
	f.sum = f.of(out)
	return f.compute(activation{x: f.of(x)})
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

// NormSwiGLU computes out = silu(n·gateᵀ)·(n·upᵀ) of the normalised x.
func (b Fused) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error {
	if err := backend.CheckSame("NormSwiGLU", out, product); err != nil {
		return err
	}
	ws, outs := [2]*tensor.Tensor{gate, up}, [2]*tensor.Tensor{out, product}
	return b.normMatMul("NormSwiGLU", x, norm, eps, normed, ws[:], outs[:], swiGLU)
}

// swiGLU joins the products of gate and up.
func swiGLU(k *asm.Kernels, p *product, lo, hi int) {
	gate := p.terms[0].out[lo:hi]
	k.SiLUMul(gate, gate, p.terms[1].out[lo:hi])
}
