package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Fused is Base with the fused operations, panels of weights, and pages in the layout that the kernels like: for backends whose tensors
// are host memory, which is always mapped.
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
	var maps mapped
	defer maps.unmap()
	if err := maps.add(name, x, normed); err != nil {
		return err
	}
	from := activation{x: floats(x)}
	if norm != nil {
		if err := maps.add(name, norm); err != nil {
			return err
		}
		from = activation{floats(x), floats(norm), floats(normed), eps}
	}
	if err := maps.addWeights(name, ws...); err != nil {
		return err
	}
	if err := maps.add(name, outs...); err != nil {
		return err
	}
	p := b.products.tasks.get()
	p.held = &b.held
	defer b.products.tasks.put(p)
	p.begin(name, b.kernels, x.Shape().Rows(), x.Shape().Dim(-1))
	for i, w := range ws {
		if err := needWholePanels(w); err != nil {
			return err
		}
		p.add(w, outs[i])
	}
	p.epilogue = e
	if err := p.activate(b.runner, from); err != nil {
		return err
	}
	return p.multiply(b.runner)
}

// MatMulAdd computes out += x·wᵀ.
func (b Fused) MatMulAdd(x, w, product, out *tensor.Tensor) error {
	m, _, k, err := backend.CheckMatMulTransposed(x, w, product)
	if err != nil {
		return err
	}
	if err := backend.CheckSame("MatMulAdd", out, product); err != nil {
		return err
	}
	if err := needWholePanels(w); err != nil {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("MatMulAdd", x, product, out); err != nil {
		return err
	}
	if err := maps.addWeights("MatMulAdd", w); err != nil {
		return err
	}
	p := b.products.tasks.get()
	p.held = &b.held
	defer b.products.tasks.put(p)
	p.begin("MatMulAdd", b.kernels, m, k)
	p.add(w, product)
	p.epilogue, p.sum = addProduct, floats(out)
	if err := p.activate(b.runner, activation{x: floats(x)}); err != nil {
		return err
	}
	return p.multiply(b.runner)
}

// addProduct adds the product to the sum.
func addProduct(k *asm.Kernels, p *product, lo, hi int) {
	k.Add(p.sum[lo:hi], p.terms[0].out[lo:hi])
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
