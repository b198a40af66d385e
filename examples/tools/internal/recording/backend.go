// Package recording observes the operations that a model computes: how often each of them is called, how long it takes, and the work that
// it gives the machine. New makes a backend that computes with another one and reports to an Observer; a Recorder is one that adds up.
package recording

import (
	"context"
	"slices"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// Each operation first asks the Observer for a mode. With Compute it only computes. With Time it also takes the time and describes itself
// by its name, its dimensions and its type; with Wait it waits for the device before the time ends. For example, x [1, 2048] times weights of Q8_0:
//
//	Run(&backend.MatMulTransposed{X: x, W: w, Out: out})
//	Operation   "MatMulTransposed", 2048, 2048, Q8_0
//	Work        Memory 4456448 (2048·2048/32 blocks of 34 bytes), Cache 16384 (x and out), Integer 4194304

// Backend computes with another backend and reports each operation to an Observer. It gives the same results, and fuses what the other one
// fuses. It is as safe for concurrent use as the other one.
type Backend struct {
	backend.Backend
	observer Observer
}

// New returns a backend that computes with b and reports to o. Closing it closes b.
func New(b backend.Backend, o Observer) *Backend { return &Backend{b, o} }

// BitExact reports whether the other backend promises the bits of the portable reference.
func (b *Backend) BitExact() bool { return backend.BitExact(b.Backend) }

// PassRows returns how many rows of prompts and of answers a pass of the other backend computes best.
func (b *Backend) PassRows() (prompts, answers int) { return backend.PassRows(b.Backend) }

// MemoryBytes returns how much memory the other backend has; 0: it does not say.
func (b *Backend) MemoryBytes() int64 {
	if l, ok := b.Backend.(backend.Limited); ok {
		return l.MemoryBytes()
	}
	return 0
}

// ScratchBytes returns what the other backend's operations keep to work in, in bytes.
func (b *Backend) ScratchBytes() int64 { return backend.Scratch(b.Backend) }

// Prepare prepares weights as the other backend wants them. The weights may lie on a host backend that a loader converted
// them with; the other backend is then given a copy of its own, so that it need not know that backend.
func (b *Backend) Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error) {
	inner := b.Backend
	if w.Device() == nil || w.Device() == tensor.Device(inner) {
		return backend.Prepare(ctx, inner, w)
	}
	moved, err := inner.CopyFrom(w)
	if err != nil {
		return nil, err
	}
	ready, err := backend.Prepare(ctx, inner, moved)
	if err != nil || ready != moved {
		moved.Free()
	}
	return ready, err
}

// Run computes operations as the Observer wants them.
func (b *Backend) Run(ops ...backend.Op) error {
	for i, op := range ops {
		mode := b.observer.Watch()
		if mode == Compute {
			if err := b.Backend.Run(ops[i : i+1]...); err != nil {
				return err
			}
			continue
		}
		began := precise.Now()
		if err := b.Backend.Run(ops[i : i+1]...); err != nil {
			return err
		}
		if err := b.observe(mode, began, func() (Operation, machine.Work) { return b.describe(op) }); err != nil {
			return err
		}
	}
	return nil
}

// ReadBuffer copies to the host as the Observer wants it.
func (b *Backend) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	mode := b.observer.Watch()
	if mode == Compute {
		return b.Backend.ReadBuffer(t, dst)
	}
	began := precise.Now()
	if err := b.Backend.ReadBuffer(t, dst); err != nil {
		return err
	}
	return b.observe(mode, began, func() (Operation, machine.Work) { return rowwise("ReadBuffer", t), machine.TensorWork(t, t) })
}

// observe reports an operation that began at a time.
func (b *Backend) observe(mode Mode, began time.Time, describe func() (Operation, machine.Work)) error {
	if mode == Wait {
		if err := b.Backend.Synchronize(); err != nil {
			return err
		}
	}
	took := precise.Since(began)
	o, work := describe()
	b.observer.Observe(Call{o, began, took, work})
	return nil
}

// describe returns an operation as it is reported, and the work that it gives the machine.
func (b *Backend) describe(op backend.Op) (Operation, machine.Work) {
	name := backend.NameOf(op)
	switch o := op.(type) {
	case *backend.MatMul:
		work := machine.TensorWork(o.A, o.B, o.Out)
		work.Float = int64(o.A.Shape().NumElements()) * int64(o.B.Shape().Dim(-1))
		return weighted(name, o.B, o.B.Shape().Dim(0), o.B.Shape().Dim(-1)), work
	case *backend.MatMulTransposed:
		return products(name, []*tensor.Tensor{o.W}, o.X, o.Out)
	case *backend.MatMulRounded:
		return products(name, o.Ws, append([]*tensor.Tensor{o.X}, o.Outs...)...)
	case *backend.AddAssign:
		return rowwise(name, o.A), machine.TensorWork(o.A, o.A, o.B)
	case *backend.MulAssign:
		return rowwise(name, o.A), machine.TensorWork(o.A, o.A, o.B)
	case *backend.Scale:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X)
	case *backend.SiLUMul:
		return gated(name, o.A, o.B)
	case *backend.SigmoidMul:
		return gated(name, o.A, o.B)
	case *backend.GELUMul:
		return gated(name, o.A, o.B)
	case *backend.GELUErf:
		return gated(name, o.A, o.B)
	case *backend.SwiGLUClamped:
		return gated(name, o.A, o.B)
	case *backend.Softplus:
		return gated(name, o.A, o.Bias)
	case *backend.Softcap:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X)
	case *backend.ReLUSquared:
		return rowwise(name, o.A), machine.TensorWork(o.A, o.A)
	case *backend.AddScaled:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X, o.Y)
	case *backend.MatchMagnitude:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X, o.Like)
	case *backend.CutOff:
		return rowwise(name, o.A), machine.TensorWork(o.A, o.A)
	case *backend.XIELU:
		return rowwise(name, o.A), machine.TensorWork(o.A, o.A)
	case *backend.Softmax:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X)
	case *backend.RMSNorm:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X, o.W)
	case *backend.LayerNorm:
		return rowwise(name, o.X), machine.TensorWork(o.X, o.X, o.W)
	case *backend.RoPE:
		return headwise(name, o.X, o.X.DType()), machine.TensorWork(o.X, o.X, o.Table)
	case *backend.Convolve:
		work := machine.TensorWork(o.X, o.W, o.Out).Plus(machine.StatesWork(o.Of))
		work.Float = int64(o.X.Shape().NumElements()) * int64(o.W.Shape().Dim(0))
		return rowwise(name, o.X), work
	case *backend.Recur:
		return headwise(name, o.V, o.V.DType()), machine.RecurWork(o.Q, o.V, o.Delta, o.Of)
	case *backend.AttendTexts:
		work := machine.TensorWork(o.Q, o.K, o.V, o.Out)
		for _, n := range o.Texts {
			seen := n
			if o.Reach > 0 {
				seen = min(n, 2*o.Reach+1)
			}
			work.Float += 2 * int64(n) * int64(seen) * int64(o.Q.Shape().Dim(1)) * int64(o.Q.Shape().Dim(2))
		}
		return headwise(name, o.Q, o.Q.DType()), work
	case *backend.RoPEStore:
		work := machine.TensorWork(o.K, o.V)
		if o.Table != nil {
			work = work.Plus(machine.TensorWork(o.Q, o.Q, o.Table))
		}
		work.Cache += 2 * stored(o.Runs, func(r backend.Run) int { return r.Tokens * len(r.Slots.Heads) })
		return pagewise(name, o.K, o.Runs), work
	case *backend.Attend:
		return pagewise(name, o.Q, o.Runs), machine.AttentionWork(o.Q, o.Runs...)
	case *backend.AccumulateAttention:
		return pagewise(name, o.Q, []backend.Run{o.Run}), machine.ScoreWork(o.Q, o.Run)
	case *backend.Compact:
		var work machine.Work
		for _, list := range o.Keep {
			work.Memory += 4 * int64(len(list)) * int64(o.Slots.SlotBytes()) // keys and values, read and written
		}
		return slotwise(name, o.Slots), work
	case *backend.CopyPage:
		return rowwise(name, o.From.Slab), machine.Work{Memory: 2 * int64(o.From.Slab.Size()) / int64(o.From.Slab.Shape().Dim(0))}
	case *backend.ReadSlots:
		return slotwise(name, o.Slots), slotWork(o.Keys, o.Values)
	case *backend.WriteSlots:
		return slotwise(name, o.Slots), slotWork(o.Keys, o.Values)
	case *backend.Gather:
		work := machine.TensorWork(o.Out).Plus(machine.Work{Memory: int64(len(o.Indices)) * int64(o.Table.RowBytes())})
		return weighted(name, o.Table, o.Table.Shape().Dim(0), o.Table.Shape().Dim(-1)), work
	case *backend.CopySlice:
		_, _, bytes := o.Bytes()
		return rowwise(name, o.Dst), machine.Work{Cache: 2 * int64(bytes)}
	case *backend.Cast:
		return rowwise(name, o.Dst), machine.TensorWork(o.Src, o.Dst)
	case *backend.Largest:
		return rowwise(name, o.X), machine.TensorWork(o.X)
	case *backend.Mask:
		return rowwise(name, o.X), machine.TensorWork(o.X)
	case *backend.NormMatMul:
		return products(name, o.Ws, append([]*tensor.Tensor{o.X, o.Norm}, o.Outs...)...)
	case *backend.Project:
		var ws []*tensor.Tensor
		for _, to := range o.Maps {
			ws = append(ws, to.Weight)
		}
		return products(name, ws, append([]*tensor.Tensor{o.X, o.Norm}, o.Outs...)...)
	case *backend.MatMulAdd:
		return products(name, []*tensor.Tensor{o.W}, o.X, o.Out, o.Out)
	case *backend.NormSwiGLU:
		return products(name, []*tensor.Tensor{o.Gate, o.Up}, o.X, o.Norm, o.Out)
	}
	return b.describeExperts(name, op)
}

// products returns an operation that multiplies the rows of the first of some tensors with weights, and its work.
func products(name string, ws []*tensor.Tensor, tensors ...*tensor.Tensor) (Operation, machine.Work) {
	x := tensors[0]
	if len(ws) == 0 {
		return rowwise(name, x), machine.Work{}
	}
	rows := 0
	for _, w := range ws {
		rows += w.Shape().Dim(0)
	}
	tensors = slices.DeleteFunc(tensors, func(t *tensor.Tensor) bool { return t == nil })
	work := machine.MatMulWork(x.Shape().Rows(), ws...).Plus(machine.TensorWork(tensors...))
	return weighted(name, ws[0], rows, ws[0].Shape().Dim(-1)), work
}

// weighted returns an operation on the first rows and columns of weights w.
func weighted(name string, w *tensor.Tensor, rows, cols int) Operation {
	return Operation{name, rows, cols, w.DType()}
}

// rowwise returns an operation on the rows of x.
func rowwise(name string, x *tensor.Tensor) Operation {
	return Operation{name, 0, x.Shape().Dim(-1), x.DType()}
}

// headwise returns an operation on the heads of x [.., heads, headDim], with cached keys and values, or heads, of type d.
func headwise(name string, x *tensor.Tensor, d tensor.DType) Operation {
	return Operation{name, x.Shape().Dim(-2), x.Shape().Dim(-1), d}
}

// gated returns an operation x = act(x)·y and its work; y may be nil.
func gated(name string, x, y *tensor.Tensor) (Operation, machine.Work) {
	if y == nil {
		return rowwise(name, x), machine.TensorWork(x, x)
	}
	return rowwise(name, x), machine.TensorWork(x, x, y)
}

// slotWork is the work of copying keys and values. Both may be nil.
func slotWork(keys, values *tensor.Tensor) (work machine.Work) {
	for _, t := range [2]*tensor.Tensor{keys, values} {
		if t != nil {
			work = work.Plus(machine.TensorWork(t, t))
		}
	}
	return work
}

// stored returns the bytes of the slots of all runs. slots returns how many of a run's slots count.
func stored(runs []backend.Run, slots func(r backend.Run) int) (bytes int64) {
	for _, r := range runs {
		bytes += int64(slots(r)) * int64(r.Slots.SlotBytes())
	}
	return bytes
}

// pagewise returns an operation on the heads of x [rows, heads, headDim] and the caches of runs, named by the type of the first.
func pagewise(name string, x *tensor.Tensor, runs []backend.Run) Operation {
	d := x.DType()
	if len(runs) > 0 {
		d = runs[0].Slots.DType
	}
	return headwise(name, x, d)
}

// slotwise returns an operation on the slots of a cache.
func slotwise(name string, s *backend.Slots) Operation {
	return Operation{name, len(s.Heads), s.HeadDim, s.DType}
}
