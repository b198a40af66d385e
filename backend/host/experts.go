package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
)

// experts computes feed-forward networks of experts.
type experts struct {
	*machine
	rows   rowOps
	routes pool[routing, *routing]
	passes pool[expertPass, *expertPass]
}

// addExpertBias adds each pair's expert's bias to its row.
func (b *experts) addExpertBias(o *backend.AddExpertBias) error {
	const name = "AddExpertBias"
	var maps mapped
	defer maps.unmap()
	if err := maps.add(name, o.Chosen); err != nil {
		return err
	}
	indices := integers(o.Chosen)
	if err := backend.CheckChosen(name, indices, o.Bias.Shape().Dim(0)); err != nil {
		return err
	}
	return b.rows.onRows(rowOp{name: name, run: addExpertBiasRows, rows: len(indices), x: o.Out, y: o.Bias, indices: indices})
}

func addExpertBiasRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	n, bias := o.x.Shape().Dim(-1), floats(o.y)
	for pair, out := lo, floats(o.x)[lo*n:hi*n]; pair < hi; pair, out = pair+1, out[n:] {
		k.Add(out[:n], bias[int(o.indices[pair])*n:][:n])
	}
}

func sumExpertsRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	n, y := o.x.Shape().Dim(-1), floats(o.y)
	weights := floats(o.vector)
	choices := len(weights) / o.rows
	for row := lo; row < hi; row++ {
		out := floats(o.x)[row*n:][:n]
		for pair := row * choices; pair < (row+1)*choices; pair++ {
			k.Axpy(out, weights[pair], y[pair*n:][:n])
		}
	}
}

func swiGLUClampedRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	gate := floats(o.x)[lo*dim : hi*dim]
	k.SwiGLUClamped(gate, gate, floats(o.y)[lo*dim:hi*dim], o.number)
}
