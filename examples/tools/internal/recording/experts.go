package recording

import (
	"slices"
	"unsafe"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// expertWork is the work of multiplying a row of each pair with the weights of its expert: only those of chosen experts are read.
func (b *Backend) expertWork(chosen *tensor.Tensor, weights ...*tensor.Tensor) (work machine.Work) {
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

// describeExperts describes an operation of experts, and any other by its name alone.
func (b *Backend) describeExperts(name string, op backend.Op) (Operation, machine.Work) {
	switch o := op.(type) {
	case *backend.Route:
		return rowwise(name, o.Logits), machine.TensorWork(o.Logits, o.Chosen, o.Weights)
	case *backend.MatMulExperts:
		return weighted(name, o.W, o.W.Shape().Dim(1), o.W.Shape().Dim(-1)), b.expertWork(o.Chosen, o.W).Plus(machine.TensorWork(o.X, o.Out))
	case *backend.AddExpertBias:
		return rowwise(name, o.Out), machine.TensorWork(o.Out, o.Out, o.Out)
	case *backend.SumExperts:
		return rowwise(name, o.Y), machine.TensorWork(o.Y, o.Out, o.Out)
	case *backend.FeedExperts:
		n := &o.Network
		work := b.expertWork(o.Chosen, n.Gate, n.Up, n.Down).Plus(machine.TensorWork(o.X, o.Out, o.Out))
		return weighted(name, n.Gate, n.Gate.Shape().Dim(1)+n.Up.Shape().Dim(1), n.Gate.Shape().Dim(-1)), work
	}
	return Operation{Name: name}, machine.Work{}
}
