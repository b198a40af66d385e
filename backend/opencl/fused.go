//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// maxTerms is how many weights a fused product takes.
const maxTerms = 3

// terms are the weights and outputs of a fused product.
type terms struct {
	w   [maxTerms]weights
	out [maxTerms]operand
	n   int
}

// add adds a weight and, unless nil, its output; false: no fused kernel takes it with the ones before.
func (t *terms) add(b *Backend, w, out *tensor.Tensor, k int) bool {
	if t.n == maxTerms {
		return false
	}
	table, ok := b.multiplicable(w, k)
	if !ok || len(table.parts) != 1 || k != table.k || table.format.name != t.w[0].format.name && t.n > 0 {
		return false
	}
	t.w[t.n] = table
	if out != nil {
		if t.out[t.n] = b.operand(out); !t.out[t.n].ok {
			return false
		}
	}
	t.n++
	return true
}

// begin starts a kernel with the terms' weights, of which there are counts rows.
func (t *terms) begin(b *Backend, name string, size teams, counts *[maxTerms]int, slots int) (*cl.Kernel, error) {
	k, err := b.kernel(b.tuning.program(name, t.w[0].format.name, t.w[0].lanes, size), name)
	if err != nil {
		return nil, err
	}
	for i := range slots {
		j := min(i, t.n-1) // a slot without a term has some weights and no rows
		w := &t.w[j]
		weight(k, w, &w.parts[0], w.first, w.first+counts[i])
	}
	return k, nil
}

// NormMatMul computes outs[i] = rmsnorm(x)·ws[i]ᵀ: for few rows in one kernel.
func (b *Backend) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	m, k, err := backend.CheckRMSNorm(x, norm)
	if err != nil {
		return err
	}
	if err := backend.CheckNormMatMul(x, normed, ws, outs); err != nil {
		return err
	}
	b.mu.Lock()
	from, gain, scratch := b.operand(x), b.operand(norm), b.operand(normed)
	if !from.ok || !gain.ok || !scratch.ok || !from.float4s() || !gain.float4s() || !scratch.float4s() {
		b.mu.Unlock()
		return b.composed.NormMatMul(x, norm, eps, normed, ws, outs)
	}
	var t terms
	fused := m <= fewRows
	for i := 0; i < len(ws) && fused; i++ {
		fused = t.add(b, ws[i], outs[i], k)
	}
	if fused && t.n > 0 {
		defer b.mu.Unlock()
		return b.normMultiply(from, gain, eps, &t, ws, m, k)
	}
	err = b.norm(from, gain, scratch, m, k, eps)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	for i, w := range ws {
		if err := b.MatMulTransposed(normed, w, outs[i]); err != nil {
			return err
		}
	}
	return nil
}

// normMultiply enqueues norm_matvec.
func (b *Backend) normMultiply(x, gain operand, eps float32, t *terms, ws []*tensor.Tensor, m, k int) error {
	var counts [maxTerms]int
	total := 0
	for i, w := range ws {
		counts[i] = w.Shape().Dim(0)
		total += counts[i]
	}
	shape := productShape{"norm_matvec", t.w[0].format.name, total, k}
	size, ok := b.tuning.known(shape)
	if !ok {
		size = b.tune(shape, func(try teams) error { return b.normMatvec(try, x, gain, eps, t, &counts, m, k) })
	}
	return b.normMatvec(size, x, gain, eps, t, &counts, m, k)
}

// normMatvec enqueues the kernel.
func (b *Backend) normMatvec(size teams, x, gain operand, eps float32, t *terms, counts *[maxTerms]int, m, k int) error {
	kernel, err := t.begin(b, "norm_matvec", size, counts, maxTerms)
	if err != nil {
		return err
	}
	begins, blocks := [maxTerms]int{}, 0
	for i := range begins {
		begins[i] = blocks
		blocks += size.blocks(counts[i], t.w[0].lanes)
	}
	kernel.Int(begins[1]).Int(begins[2])
	t.w[0].dims(kernel, k)
	kernel.Mem(x.mem).Int(x.elements(16)).Mem(gain.mem).Int(gain.elements(16)).Float(eps)
	for i := range begins {
		out := t.out[min(i, t.n-1)]
		kernel.Mem(out.mem).Int(out.elements(4))
	}
	return b.enqueued("NormMatMul", kernel.Run([3]int{blocks, m, 1}, [3]int{size.Group, 1, 1}))
}

// MatMulAdd computes out += x·wᵀ.
func (b *Backend) MatMulAdd(x, w, product, out *tensor.Tensor) error {
	m, n, k, err := backend.CheckMatMulTransposed(x, w, out)
	if err != nil || m*n == 0 {
		return err
	}
	b.mu.Lock()
	from, to := b.operand(x), b.operand(out)
	table, ok := b.multiplicable(w, k)
	if !ok || !from.ok || !from.float4s() || !to.ok {
		b.mu.Unlock()
		return b.composed.MatMulAdd(x, w, product, out)
	}
	defer b.mu.Unlock()
	return b.multiply("MatMulAdd", from, &table, to, m, n, k, true)
}

// NormSwiGLU computes out = silu(n·gateᵀ)·(n·upᵀ) of the normed x: for few rows in one kernel.
func (b *Backend) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error {
	m, k, err := backend.CheckRMSNorm(x, norm)
	if err != nil {
		return err
	}
	ws, outs := [2]*tensor.Tensor{gate, up}, [2]*tensor.Tensor{out, product}
	if err := backend.CheckNormMatMul(x, normed, ws[:], outs[:]); err != nil {
		return err
	}
	b.mu.Lock()
	from, gain := b.operand(x), b.operand(norm)
	var t terms
	if m <= fewRows && gate.Shape() == up.Shape() && from.ok && gain.ok && from.float4s() && gain.float4s() &&
		t.add(b, gate, out, k) && t.add(b, up, nil, k) {
		defer b.mu.Unlock()
		return b.normSwiGLU(from, gain, eps, &t, gate.Shape().Dim(0), m, k)
	}
	b.mu.Unlock()
	if err := b.NormMatMul(x, norm, eps, normed, ws[:], outs[:]); err != nil {
		return err
	}
	return b.SiLUMul(out, product)
}

// normSwiGLU tunes norm_swiglu where it must, and enqueues it.
func (b *Backend) normSwiGLU(x, gain operand, eps float32, t *terms, n, m, k int) error {
	shape := productShape{"norm_swiglu", t.w[0].format.name, n, k}
	size, ok := b.tuning.known(shape)
	if !ok {
		size = b.tune(shape, func(try teams) error { return b.swiGLU(try, x, gain, eps, t, n, m, k) })
	}
	return b.swiGLU(size, x, gain, eps, t, n, m, k)
}

// swiGLU enqueues the kernel.
func (b *Backend) swiGLU(size teams, x, gain operand, eps float32, t *terms, n, m, k int) error {
	counts := [maxTerms]int{n, n}
	kernel, err := t.begin(b, "norm_swiglu", size, &counts, 2)
	if err != nil {
		return err
	}
	t.w[0].dims(kernel, k)
	kernel.Mem(x.mem).Int(x.elements(16)).Mem(gain.mem).Int(gain.elements(16)).Float(eps)
	kernel.Mem(t.out[0].mem).Int(t.out[0].elements(4))
	return b.enqueued("NormSwiGLU", kernel.Run([3]int{size.blocks(n, t.w[0].lanes), m, 1}, [3]int{size.Group, 1, 1}))
}
