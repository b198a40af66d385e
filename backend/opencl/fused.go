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
	w      [maxTerms]weights
	out    [maxTerms]operand
	counts [maxTerms]int // rows of the weights
	n      int
}

// rows returns how many rows all weights have.
func (t *terms) rows() (n int) {
	for _, count := range t.counts {
		n += count
	}
	return n
}

// add adds a weight and its output; false: no fused kernel takes it with the ones before.
func (t *terms) add(b *Backend, w, out *tensor.Tensor, k int) bool {
	if t.n == maxTerms {
		return false
	}
	table, ok := b.multiplicable(w, k)
	if !ok || len(table.parts) != 1 || k != table.k || table.format.name != t.w[0].format.name && t.n > 0 {
		return false
	}
	if t.out[t.n] = b.operand(out); !t.out[t.n].ok {
		return false
	}
	t.w[t.n], t.counts[t.n] = table, w.Shape().Dim(0)
	t.n++
	return true
}

// weights passes the terms' weights to a kernel.
func (t *terms) weights(k *cl.Kernel, slots int) {
	for i := range slots {
		j := min(i, t.n-1) // a slot without a term has some weights and no rows
		w := &t.w[j]
		weight(k, w, &w.parts[0], w.first, w.first+t.counts[i])
	}
}

// pass passes the terms' weights to a kernel and returns with which group each term begins, and how many groups there are.
func (t *terms) pass(k *cl.Kernel, size teams) (begins [maxTerms]int, blocks int) {
	t.weights(k, maxTerms)
	for i := range begins {
		begins[i] = blocks
		blocks += size.blocks(t.counts[i], t.w[0].lanes)
	}
	return begins, blocks
}

// NormMatMul computes outs[i] = rmsnorm(x)·ws[i]ᵀ: for few rows in one kernel, for more with activations that are rounded once.
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
	together := true
	for i := 0; i < len(ws) && together; i++ {
		together = t.add(b, ws[i], outs[i], k)
	}
	if together && t.n > 0 {
		defer b.mu.Unlock()
		return b.normMultiply(from, gain, scratch, eps, &t, m, k)
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

// normMultiply multiplies the norms of rows with all terms.
func (b *Backend) normMultiply(x, gain, normed operand, eps float32, t *terms, m, k int) error {
	by := b.way("norm_matvec", t.w[0].format.name, t.rows(), k, m, t.w[0].split(), func(by teams) error {
		return b.normMultiplyBy(by, x, gain, normed, eps, t, m, k)
	})
	return b.normMultiplyBy(by, x, gain, normed, eps, t, m, k)
}

// normMultiplyBy does so in a way: row by row it is one kernel.
func (b *Backend) normMultiplyBy(by teams, x, gain, normed operand, eps float32, t *terms, m, k int) error {
	if by != rowByRow {
		return b.normThenMultiply("NormMatMul", by, x, gain, normed, eps, t, m, k)
	}
	shape := productShape{kernel: "norm_matvec", format: t.w[0].format.name, n: t.rows(), k: k}
	size, ok := b.tuning.known(shape)
	if !ok {
		size = b.tune(shape, b.tuning.try, func(try teams) error { return b.normMatvec(try, x, gain, eps, t, m, k) })
	}
	if p := (waitingProduct{true, size, x, gain, eps, *t, k}); m == 1 && p.storable() && !b.closed {
		if err := b.settle(); err != nil {
			return err
		}
		b.waiting, b.fresh.mem = p, nil
		return nil
	}
	return b.normMatvec(size, x, gain, eps, t, m, k)
}

// normThenMultiply norms rows, rounds them once where weights are in blocks, and multiplies them with each term.
func (b *Backend) normThenMultiply(what string, by teams, x, gain, normed operand, eps float32, t *terms, m, k int) error {
	if err := b.norm(x, gain, normed, m, k, eps); err != nil {
		return err
	}
	var rounded activations
	if t.w[0].split() {
		var err error
		if rounded, err = b.round(what, normed, m, k, t.w[0].format.blockLen); err != nil {
			return err
		}
	}
	for i := range t.n {
		w, n := &t.w[i], t.counts[i]
		var err error
		if w.split() {
			err = b.multiplyRounded(what, by, rounded, w, &w.parts[0], w.first, w.first+n, t.out[i], n, false)
		} else {
			err = b.multiplyMany(what, normed, w, &w.parts[0], w.first, w.first+n, t.out[i], m, n, k, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// normMatvec enqueues the kernel.
func (b *Backend) normMatvec(size teams, x, gain operand, eps float32, t *terms, m, k int) error {
	kernel, err := b.kernel(b.tuning.program("norm_matvec", t.w[0].format.name, t.w[0].lanes, size), "norm_matvec")
	if err != nil {
		return err
	}
	begins, blocks := t.pass(kernel, size)
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

// NormSwiGLU computes out = silu(n·gateᵀ)·(n·upᵀ) of the normed x: for few rows in one kernel, for more as NormMatMul does.
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
	from, gain, scratch := b.operand(x), b.operand(norm), b.operand(normed)
	var t terms
	if gate.Shape() == up.Shape() && from.ok && gain.ok && scratch.ok && from.float4s() && gain.float4s() &&
		scratch.float4s() && t.add(b, gate, out, k) && t.add(b, up, product, k) {
		defer b.mu.Unlock()
		n := t.counts[0]
		by := b.way("norm_swiglu", t.w[0].format.name, n, k, m, t.w[0].split(), func(by teams) error {
			return b.normSwiGLU(by, from, gain, scratch, eps, &t, n, m, k)
		})
		return b.normSwiGLU(by, from, gain, scratch, eps, &t, n, m, k)
	}
	b.mu.Unlock()
	if err := b.NormMatMul(x, norm, eps, normed, ws[:], outs[:]); err != nil {
		return err
	}
	return b.SiLUMul(out, product)
}

// normSwiGLU computes NormSwiGLU in a way: row by row it is one kernel.
func (b *Backend) normSwiGLU(by teams, x, gain, normed operand, eps float32, t *terms, n, m, k int) error {
	if by != rowByRow {
		if err := b.normThenMultiply("NormSwiGLU", by, x, gain, normed, eps, t, m, k); err != nil {
			return err
		}
		return b.siluMul(t.out[0], t.out[1], m*n)
	}
	shape := productShape{kernel: "norm_swiglu", format: t.w[0].format.name, n: n, k: k}
	size, ok := b.tuning.known(shape)
	if !ok {
		size = b.tune(shape, rounding32(b.tuning.try, &t.w[0]), func(try teams) error { return b.swiGLU(try, x, gain, eps, t, n, m, k) })
	}
	return b.swiGLU(size, x, gain, eps, t, n, m, k)
}

// swiGLU enqueues the kernel.
func (b *Backend) swiGLU(size teams, x, gain operand, eps float32, t *terms, n, m, k int) error {
	kernel, err := b.kernel(b.tuning.program("norm_swiglu", t.w[0].format.name, t.w[0].lanes, size), "norm_swiglu")
	if err != nil {
		return err
	}
	t.weights(kernel, 2)
	a := activations{m: m, k: n}
	rounds := size.rounds(t.w[0].lanes) && n%roundedBlock == 0
	if rounds {
		err = b.place(&a, roundedBlock)
	} else {
		a.mem = t.out[0].mem // some buffer, which is not written to for this
	}
	if err != nil {
		return err
	}
	t.w[0].dims(kernel, k)
	kernel.Mem(x.mem).Int(x.elements(16)).Mem(gain.mem).Int(gain.elements(16)).Float(eps)
	kernel.Mem(t.out[0].mem).Int(t.out[0].elements(4)).Mem(a.mem).Int(a.stepsAt / 4).Int(a.sumsAt / 2)
	err = b.enqueued("NormSwiGLU", kernel.Run([3]int{size.blocks(n, t.w[0].lanes), m, 1}, [3]int{size.Group, 1, 1}))
	if err == nil && rounds {
		b.fresh = freshlyRounded{t.out[0], a}
	}
	return err
}
