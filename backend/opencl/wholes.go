//go:build opencl && (amd64 || arm64)

package opencl

import "github.com/antigravity-go/antigravity/backend"

// wholeProducts computes products of rows that are rounded by one scale each. One kernel rounds the rows of the activations, and the products follow as of
// rows that are rounded by blocks. Weights of floats are multiplied with the floats that the rounded rows stand for.
type wholeProducts struct{ *products }

// matMulRounded multiplies rows that are rounded by one scale each. The rows are rounded anew for each of the weights, which takes little of the time.
func (p wholeProducts) matMulRounded(op *backend.MatMulRounded) error {
	m, k := op.X.Shape().Rows(), op.X.Shape().Dim(-1)
	if m == 0 {
		return nil
	}
	p.mu.Lock()
	x := p.operand(op.X)
	able := x.ok && x.float4s()
	for i, w := range op.Ws {
		_, ok := multiplicable(p.queue, w, k)
		able = able && ok && p.operand(op.Outs[i]).ok
	}
	if !able {
		p.mu.Unlock()
		return p.opOnHost(op)
	}
	defer p.mu.Unlock()
	for i, w := range op.Ws {
		table, _ := multiplicable(p.queue, w, k)
		if err := p.multiplyWhole(x, m, &table, w.Shape().Dim(0), p.operand(op.Outs[i])); err != nil {
			return err
		}
	}
	return nil
}

// multiplyWhole is matMulRounded for one of the weights, of n rows.
func (p wholeProducts) multiplyWhole(x operand, m int, w *weights, n int, to operand) error {
	const what = "MatMulRounded"
	rounded, err := p.roundWhole(what, &x, m, w)
	if err != nil {
		return err
	}
	for i := range w.parts {
		own := &w.parts[i]
		c := product{what, x, m, *w, own, max(own.row, w.first), min(own.row+own.rows, w.first+n), to, n, false}
		if c.lo >= c.hi {
			continue
		}
		c.out.at += 4 * (c.lo - w.first)
		if !w.split() {
			by := tiled
			if m <= fewRows {
				by = rowByRow
			}
			if err := p.multiplyBy(by, &c); err != nil {
				return err
			}
			continue
		}
		by, fits := tiled, false
		if m <= fewRows {
			if by, fits = p.roundedTeams(&c, rounded); !fits {
				by = tiled
			}
		}
		if err := p.multiplyRounded(by, rounded, &c); err != nil {
			return err
		}
	}
	return nil
}

// roundWhole rounds each row of x [m, K] by one scale, for weights. If these are floats, x becomes the floats that the rounded rows stand for.
func (p wholeProducts) roundWhole(what string, x *operand, m int, w *weights) (a activations, err error) {
	if !w.split() {
		mem, err := p.scratchOf(roundScratch, 4*m*w.k)
		if err != nil {
			return a, err
		}
		kernel, err := p.kernel(rounding, "round_whole_floats")
		if err != nil {
			return a, err
		}
		to := operand{mem: mem, ok: true}
		floats(floats(kernel, *x).Int(w.k), to)
		*x = to
		return a, p.run(what, kernel, groupSize, m, 1, 1)
	}
	if a, err = p.roundable(m, w.k, w.format.blockLen); err != nil {
		return a, err
	}
	kernel, err := p.kernel(rounding, "round_whole")
	if err != nil {
		return a, err
	}
	a.pass(quads(kernel, *x).Int(w.k).Int(w.format.blockLen))
	return a, p.run(what, kernel, groupSize, m, 1, 1)
}
