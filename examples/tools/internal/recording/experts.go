package recording

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// expertWork is the work of multiplying a row of each pair with the weights of its expert: only those of chosen experts are read.
func (b plain) expertWork(chosen *tensor.Tensor, weights ...*tensor.Tensor) (work machine.Work) {
	list := make([]int32, chosen.Shape().NumElements())
	pairs := len(list)
	if err := b.Backend.ReadBuffer(chosen, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), 4*pairs)); err != nil {
		return work // the next operation fails as well
	}
	slices.Sort(list)
	experts := len(slices.Compact(list))
	work = machine.ExpertWork(pairs, experts, weights...)
	work.Experts, work.Routed = int64(experts), int64(chosen.Shape().Dim(0))
	return work
}

func (b plain) Route(logits *tensor.Tensor, r backend.Routing, chosen, weights *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.Route(logits, r, chosen, weights) }, func() (Operation, machine.Work) {
		return rowwise("Route", logits), machine.TensorWork(logits, chosen, weights)
	})
}

func (b plain) MatMulExperts(x, w, chosen, out *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.MatMulExperts(x, w, chosen, out) }, func() (Operation, machine.Work) {
		return weighted("MatMulExperts", w, w.Shape().Dim(1), w.Shape().Dim(-1)), b.expertWork(chosen, w).Plus(machine.TensorWork(x, out))
	})
}

func (b plain) AddExpertBias(out, bias, chosen *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.AddExpertBias(out, bias, chosen) }, func() (Operation, machine.Work) {
		return rowwise("AddExpertBias", out), machine.TensorWork(out, out, out)
	})
}

func (b plain) SumExperts(y, weights, out *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.SumExperts(y, weights, out) }, func() (Operation, machine.Work) {
		return rowwise("SumExperts", y), machine.TensorWork(y, out, out)
	})
}

func (b plain) SwiGLUClamped(x, y *tensor.Tensor, limit float32) error {
	return b.call(func() error { return b.Backend.SwiGLUClamped(x, y, limit) }, func() (Operation, machine.Work) {
		return rowwise("SwiGLUClamped", x), machine.TensorWork(x, x, y)
	})
}

// expertFuser reports the fused operation for experts.
type expertFuser struct {
	plain
	fuser backend.ExpertFuser
}

func (b expertFuser) FeedExperts(x *tensor.Tensor, n *backend.ExpertNetwork, chosen, weights, gate, up, down, out *tensor.Tensor) error {
	return b.call(func() error { return b.fuser.FeedExperts(x, n, chosen, weights, gate, up, down, out) }, func() (Operation, machine.Work) {
		work := b.expertWork(chosen, n.Gate, n.Up, n.Down).Plus(machine.TensorWork(x, out, out))
		return weighted("FeedExperts", n.Gate, n.Gate.Shape().Dim(1)+n.Up.Shape().Dim(1), n.Gate.Shape().Dim(-1)), work
	})
}
