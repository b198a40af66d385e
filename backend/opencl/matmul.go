//go:build opencl && (amd64 || arm64)

package opencl

import (
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/tensor"
)

// fewRows is how many rows of activations are multiplied row by row where nothing was tuned. More are multiplied together.
const fewRows = 8

// maxPanel bounds the widened weights of one product, in bytes; larger ones are multiplied in several.
const maxPanel = 256 << 20

// MatMulTransposed computes out = a·wᵀ.
func (b *Backend) MatMulTransposed(a, w, out *tensor.Tensor) error {
	return b.MatMulSlice(a, w, w.Shape().Dim(0), w.Shape().Dim(-1), out)
}

// MatMulSlice computes out = a·(w[:rows, :cols])ᵀ.
func (b *Backend) MatMulSlice(a, w *tensor.Tensor, rows, cols int, out *tensor.Tensor) error {
	m, n, k, err := backend.CheckMatMulSlice(a, w, rows, cols, out)
	if err != nil || m*n == 0 {
		return err
	}
	b.mu.Lock()
	x, to := b.operand(a), b.operand(out)
	table, ok := b.multiplicable(w, k)
	if !ok || !x.ok || !x.float4s() || !to.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.MatMulSlice(a, w, rows, cols, out) })
	}
	defer b.mu.Unlock()
	return b.multiply("MatMulTransposed", x, &table, to, m, n, k, false)
}

// multiplicable returns weights for products of their first k columns; ok is false where no kernel takes them.
func (b *Backend) multiplicable(t *tensor.Tensor, k int) (w weights, ok bool) {
	w, ok = b.weightsOf(t)
	if !ok || w.format.name == "" || k == 0 || k%4 != 0 {
		return w, false
	}
	if w.split() {
		return w, k%w.format.blockLen == 0
	}
	return w, k%w.format.laneLen == 0 && w.k%w.format.laneLen == 0 && w.parts[0].at%w.rowBytes == 0
}

// multiply computes out [m, n] = x [m, k] · w[:n, :k]ᵀ, or adds it to out.
func (b *Backend) multiply(what string, x operand, w *weights, out operand, m, n, k int, add bool) error {
	for i := range w.parts {
		p := &w.parts[i]
		lo, hi := max(p.row, w.first), min(p.row+p.rows, w.first+n)
		if lo >= hi {
			continue
		}
		to := out
		to.at += 4 * (lo - w.first)
		by := b.way("multiply", w.format.name, hi-lo, k, m, w.split(), func(by teams) error {
			scratch, err := b.scratchOf(partScratch, 4*(hi-lo)*m)
			if err != nil {
				return err
			}
			return b.multiplyBy(what, by, x, w, p, lo, hi, operand{mem: scratch}, m, hi-lo, k, add)
		})
		if err := b.multiplyBy(what, by, x, w, p, lo, hi, to, m, n, k, add); err != nil {
			return err
		}
	}
	return nil
}

// multiplyBy multiplies with rows [lo, hi) of a part in a way.
func (b *Backend) multiplyBy(what string, by teams, x operand, w *weights, p *part, lo, hi int, out operand, m, width, k int, add bool) error {
	switch {
	case by == rowByRow && b.fresh.is(x, w, m, k):
		return b.multiplyFresh(what, w, p, lo, hi, out, width, add)
	case by == rowByRow:
		return b.multiplyFew(what, x, w, p, lo, hi, out, m, width, k, add)
	case w.split():
		rounded, err := b.round(what, x, m, k, w.format.blockLen)
		if err != nil {
			return err
		}
		return b.multiplyRounded(what, by, rounded, w, p, lo, hi, out, width, add)
	}
	return b.multiplyMany(what, x, w, p, lo, hi, out, m, width, k, add)
}

// weight passes rows [lo, hi) of a part to a product's kernel.
func weight(k *cl.Kernel, w *weights, p *part, lo, hi int) {
	k.Mem(p.mem).Int(p.scalesAt).Int(lo - p.row + w.skipped(p)).Int(hi - lo)
}

// skipped returns how many rows lie before a plain part's first.
func (w *weights) skipped(p *part) int {
	if w.split() {
		return 0
	}
	return p.at / w.rowBytes
}

// dims passes how rows are divided.
func (w *weights) dims(kernel *cl.Kernel, k int) { kernel.Int(k).Int(w.stride) }

// multiplyFew multiplies row by row of x with rows [lo, hi) of a part.
func (b *Backend) multiplyFew(what string, x operand, w *weights, p *part, lo, hi int, out operand, m, width, k int, add bool) error {
	shape := productShape{kernel: "matvec", format: w.format.name, n: hi - lo, k: k}
	size, ok := b.tuning.known(shape)
	if !ok {
		scratch, err := b.scratchOf(partScratch, 4*(hi-lo)*m)
		if err != nil {
			return err
		}
		size = b.tune(shape, b.tuning.try, func(t teams) error {
			return b.matvec(what, t, x, w, p, lo, hi, operand{mem: scratch}, m, hi-lo, k, add)
		})
	}
	return b.matvec(what, size, x, w, p, lo, hi, out, m, width, k, add)
}

// multiplyFresh is multiplyFew for activations that are rounded already.
func (b *Backend) multiplyFresh(what string, w *weights, p *part, lo, hi int, out operand, width int, add bool) error {
	a := b.fresh.activations
	shape := productShape{kernel: "several", format: w.format.name, n: hi - lo, k: a.k}
	size, ok := b.tuning.known(shape)
	if !ok {
		scratch, err := b.scratchOf(partScratch, 4*(hi-lo)*a.m)
		if err != nil {
			return err
		}
		size = b.tune(shape, b.tuning.try, func(t teams) error {
			t.Columns = 1
			return b.multiplyRounded(what, t, a, w, p, lo, hi, operand{mem: scratch}, hi-lo, add)
		})
	}
	size.Columns = 1
	return b.multiplyRounded(what, size, a, w, p, lo, hi, out, width, add)
}

// matvec enqueues the kernel.
func (b *Backend) matvec(what string, t teams, x operand, w *weights, p *part, lo, hi int, out operand, m, width, k int, add bool) error {
	kernel, err := b.kernel(b.tuning.program("matvec", w.format.name, w.lanes, t), "matvec")
	if err != nil {
		return err
	}
	weight(kernel, w, p, lo, hi)
	w.dims(kernel, k)
	kernel.Mem(x.mem).Int(x.elements(16)).Mem(out.mem).Int(out.elements(4)).Int(width).Int(flag(add))
	return b.enqueued(what, kernel.Run([3]int{t.blocks(hi-lo, w.lanes), m, 1}, [3]int{t.Group, 1, 1}))
}

// multiplyMany multiplies many rows with rows [lo, hi) of a part that is not in blocks: halves are widened, as many rows at once
// as the scratch memory may have.
func (b *Backend) multiplyMany(what string, x operand, w *weights, p *part, lo, hi int, out operand, m, width, k int, add bool) error {
	if w.dtype == tensor.F32 && k == w.k {
		panel := operand{p.mem, p.at + (lo-p.row)*w.rowBytes, true}
		return b.gemm(what, x, panel, out, m, hi-lo, k, width, add)
	}
	perPanel := max(1, int(min(maxPanel, b.maxAlloc)/int64(4*k)))
	scratch, err := b.scratchOf(panelScratch, 4*k*min(perPanel, hi-lo))
	if err != nil {
		return err
	}
	panel := operand{mem: scratch, ok: true}
	for row := lo; row < hi; row += perPanel {
		n := min(perPanel, hi-row)
		if err := b.widenRows(what, w, p, choice{first: row, count: n}, panel, k); err != nil {
			return err
		}
		if err := b.gemm(what, x, panel, out, m, n, k, width, add); err != nil {
			return err
		}
		out.at += 4 * n
	}
	return nil
}

// activations are rows of activations that round has rounded, [m, k] in scratch memory.
type activations struct {
	mem             *cl.Mem
	stepsAt, sumsAt int // bytes to the blocks' steps, and to the sums
	m, k            int
}

// round rounds activations x [m, k] to eight bits, in blocks of a length. What it returns is good until it is called again.
func (b *Backend) round(what string, x operand, m, k, block int) (a activations, err error) {
	a = activations{m: m, k: k}
	if err := b.place(&a, block); err != nil {
		return a, err
	}
	kernel, err := b.kernel(rounding, "round_rows")
	if err != nil {
		return a, err
	}
	kernel.Mem(x.mem).Int(x.elements(16)).Int(k).Int(block)
	a.pass(kernel)
	const perGroup = 8 * groupSize // elements
	return a, b.enqueued(what, kernel.Run([3]int{groups(k, perGroup), m, 1}, [3]int{groupSize, 1, 1}))
}

// place finds the place of rounded activations, in blocks of a length.
func (b *Backend) place(a *activations, block int) (err error) {
	a.stepsAt = a.m * a.k
	a.sumsAt = a.stepsAt + 4*a.m*(a.k/block)
	a.mem, err = b.scratchOf(roundScratch, a.sumsAt+2*a.m*(a.k/16))
	return err
}

// roundedBlock is the length of the blocks that kernels round what they compute in, for the product that comes next.
const roundedBlock = 32

// freshlyRounded are activations that the latest command has left both as floats and rounded, in blocks of roundedBlock.
type freshlyRounded struct {
	of operand
	activations
}

// is tells whether they are m rows of k elements of x, as weights take them.
func (f *freshlyRounded) is(x operand, w *weights, m, k int) bool {
	return f.mem != nil && f.of == x && f.m == m && f.k == k && w.split() && w.format.blockLen == roundedBlock
}

// pass passes the activations to a kernel.
func (a *activations) pass(kernel *cl.Kernel) {
	kernel.Mem(a.mem).Mem(a.mem).Int(a.stepsAt / 4).Mem(a.mem).Int(a.sumsAt / 2)
}

// multiplyRounded multiplies rounded activations with rows [lo, hi) of a part in blocks: in tiles, or by several.cl.
func (b *Backend) multiplyRounded(what string, by teams, a activations, w *weights, p *part, lo, hi int, out operand, width int, add bool) error {
	if by != tiled {
		kernel, err := b.kernel(b.tuning.program("several", w.format.name, w.lanes, by), "several")
		if err != nil {
			return err
		}
		a.pass(kernel)
		weight(kernel, w, p, lo, hi)
		w.dims(kernel, a.k)
		kernel.Mem(out.mem).Int(out.elements(4)).Int(a.m).Int(width).Int(flag(add))
		return b.enqueued(what, kernel.Run([3]int{by.blocks(hi-lo, w.lanes), groups(a.m, by.Columns), 1}, [3]int{by.Group, 1, 1}))
	}
	kernel, err := b.kernel(b.tuning.gemm(w.format.name), "gemm_blocks")
	if err != nil {
		return err
	}
	a.pass(kernel)
	kernel.Mem(p.mem).Int(p.scalesAt).Int(lo - p.row).Int(w.stride).Mem(out.mem).Int(out.elements(4))
	kernel.Int(a.m).Int(hi - lo).Int(a.k).Int(width).Int(flag(add))
	return b.enqueued(what, kernel.Run([3]int{groups(hi-lo, gemmTile), groups(a.m, gemmTile), 1}, [3]int{128, 1, 1}))
}

// gemmTile is the side of the square that a group of the gemm kernel computes.
const gemmTile = 64

// gemm computes out [m, n] = x [m, k] · w [n, k]ᵀ of floats, out being columns of a matrix of a width.
func (b *Backend) gemm(what string, x, w, out operand, m, n, k, width int, add bool) error {
	kernel, err := b.kernel(gemm, "gemm")
	if err != nil {
		return err
	}
	kernel.Mem(x.mem).Int(x.elements(16)).Mem(w.mem).Int(w.elements(16)).Mem(out.mem).Int(out.elements(4))
	kernel.Int(m).Int(n).Int(k).Int(width).Int(flag(add))
	return b.enqueued(what, kernel.Run([3]int{groups(n, gemmTile), groups(m, gemmTile), 1}, [3]int{128, 1, 1}))
}

// flag is a bool as kernels take it.
func flag(v bool) int {
	if v {
		return 1
	}
	return 0
}
