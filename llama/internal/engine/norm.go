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
	again        bool // the mixer of the layer has normed the stream already, and nothing is computed
	stays        bool // the residual stream x becomes norm(x) before something is added to it. Only norms that are centred do
}

// build makes the norm of a place, without its tensors.
func (n *norm) build(w *Weights, at place) {
	w.register(at, &n.weight)
	w.register(place{at.part, at.layer, true}, &n.bias)
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

// op returns the operation that normalises the rows of x [rows, n] to out, which may be x.
func (n *norm) op(x, out *tensor.Tensor) backend.Op {
	if n.centred {
		return &backend.LayerNorm{X: x, W: n.weight, B: n.bias, Eps: n.eps, Out: out}
	}
	return &backend.RMSNorm{X: x, W: n.weight, Eps: n.eps, Out: out}
}

// of computes the norm of x to out unless it is there, or to x if the norm stays, and returns the tensor that has it: x, if nothing is normalised.
func (n *norm) of(p *program, x, out *tensor.Tensor) *tensor.Tensor {
	switch {
	case n.again:
		return out
	case n.weight == nil:
		return x
	case n.stays:
		out = x
	}
	p.do(n.op(x, out))
	return out
}

// in normalises each row of x [rows, n] in place.
func (n *norm) in(p *program, x *tensor.Tensor) {
	if n.weight != nil {
		p.do(n.op(x, x))
	}
}

// apply normalises each row of x [rows, n] in place, outside programs.
func (n *norm) apply(b backend.Backend, x *tensor.Tensor) error {
	if n.weight == nil {
		return nil
	}
	return b.Run(n.op(x, x))
}
