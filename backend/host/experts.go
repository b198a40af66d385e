package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// experts computes feed-forward networks of experts.
type experts struct {
	*machine
	rows   rowOps
	routes pool[routing, *routing]
	passes pool[expertPass, *expertPass]
}

// AddExpertBias adds each pair's expert's bias to its row.
func (b *experts) AddExpertBias(out, bias, chosen *tensor.Tensor) error {
	const op = "AddExpertBias"
	pairs, n, _, err := backend.CheckAddExpertBias(out, bias, chosen)
	if err != nil {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add(op, chosen); err != nil {
		return err
	}
	indices := integers(chosen)
	if err := backend.CheckChosen(op, indices, n); err != nil {
		return err
	}
	return b.rows.onRows(rowOp{name: op, run: addExpertBiasRows, rows: pairs, x: out, y: bias, indices: indices})
}

func addExpertBiasRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	n, bias := o.x.Shape().Dim(-1), floats(o.y)
	for pair, out := lo, floats(o.x)[lo*n:hi*n]; pair < hi; pair, out = pair+1, out[n:] {
		k.Add(out[:n], bias[int(o.indices[pair])*n:][:n])
	}
}

// SumExperts adds up the rows of pairs.
func (b *experts) SumExperts(y, weights, out *tensor.Tensor) error {
	const op = "SumExperts"
	rows, _, _, err := backend.CheckSumExperts(y, weights, out)
	if err != nil {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add(op, weights); err != nil {
		return err
	}
	return b.rows.onRows(rowOp{name: op, run: sumExpertsRows, rows: rows, x: out, y: y, vector: floats(weights)})
}

func sumExpertsRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	n, y := o.x.Shape().Dim(-1), floats(o.y)
	choices := len(o.vector) / o.rows
	for row := lo; row < hi; row++ {
		out := floats(o.x)[row*n:][:n]
		for pair := row * choices; pair < (row+1)*choices; pair++ {
			k.Axpy(out, o.vector[pair], y[pair*n:][:n])
		}
	}
}

// SwiGLUClamped computes a = (u+1)·g·σ(1.702·g) of the clamped a and b.
func (b *experts) SwiGLUClamped(a, c *tensor.Tensor, limit float32) error {
	if err := backend.CheckSwiGLUClamped(a, c, limit); err != nil {
		return err
	}
	return b.rows.onRows(rowOp{name: "SwiGLUClamped", run: swiGLUClampedRows, rows: a.Shape().Rows(), x: a, y: c, number: limit})
}

func swiGLUClampedRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	gate := floats(o.x)[lo*dim : hi*dim]
	k.SwiGLUClamped(gate, gate, floats(o.y)[lo*dim:hi*dim], o.number)
}
