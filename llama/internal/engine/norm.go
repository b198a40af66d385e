package engine

import (
	"fmt"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/llama/internal/fault"
	"github.com/antigravity-go/antigravity/tensor"
)

// norm is RMSNorm (arXiv 1910.07467) or, if it is centred, LayerNorm (arXiv 1607.06450). If its weight is nil, the family has no such norm,
// and nothing is normalised.
type norm struct {
	weight, bias *tensor.Tensor // [n]; a nil bias adds nothing
	eps          float32
	centred      bool
	stays        bool // the residual stream x becomes norm(x) before something is added to it. Only norms that are centred do
}

// build makes the norm of a place, without its tensors.
func (n *norm) build(w *Weights, at place) {
	w.places[at] = &n.weight
	w.places[place{at.part, at.layer, true}] = &n.bias
	n.eps, n.centred = w.Config.RMSNormEps, w.Config.LayerNorm
}

// buildAfter makes the norm of a place or, if the model has a norm of the sum before it, that one, which stays.
func (n *norm) buildAfter(w *Weights, at, sum place) error {
	switch {
	case !w.has(sum):
		n.build(w, at)
		return nil
	case w.has(at) || !w.Config.LayerNorm:
		return fmt.Errorf("a norm of a sum, and another one after it or one without a mean: %w", fault.ErrUnsupported)
	}
	n.build(w, sum)
	n.stays = true
	return nil
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

// centre returns a norm that is centred as operations want it.
func (n *norm) centre() backend.LayerNorm {
	return backend.LayerNorm{Weight: n.weight, Bias: n.bias, Eps: n.eps}
}

// kept returns where norm(x) goes: to x if the norm stays, and else to normed.
func (n *norm) kept(x, normed *tensor.Tensor) *tensor.Tensor {
	if n.stays {
		return x
	}
	return normed
}

// fuses reports whether the backend's fused operations have the norm: RMSNorm.
func (n *norm) fuses() bool { return n.weight != nil && !n.centred }
