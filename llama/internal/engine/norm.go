package engine

import (
	"github.com/antigravity-go/antigravity/internal/checkpoint"
	"github.com/antigravity-go/antigravity/tensor"
)

// norm is RMSNorm (arXiv 1910.07467) or, if it is centred, LayerNorm (arXiv 1607.06450). If its weight is nil, the family has no such norm,
// and nothing is normalised.
type norm struct {
	weight, bias *tensor.Tensor // [n]; a nil bias adds nothing
	eps          float32
	centred      bool
}

// build makes the norm of a part, without its tensors.
func (n *norm) build(w *Weights, p checkpoint.Part, layer int) {
	w.place(p, layer, &n.weight)
	w.places[place{p, layer, true}] = &n.bias
	n.eps, n.centred = w.Config.RMSNormEps, w.Config.Centred
}

// apply normalises each row of x [rows, n].
func (n *norm) apply(d *device, x *tensor.Tensor) error {
	switch {
	case n.weight == nil:
		return nil
	case n.centred:
		return d.LayerNorm(x, n.weight, n.bias, n.eps)
	}
	return d.RMSNorm(x, n.weight, n.eps)
}

// fuses reports whether the backend's fused operations have the norm: RMSNorm.
func (n *norm) fuses() bool { return n.weight != nil && !n.centred }
