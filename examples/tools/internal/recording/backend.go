// Package recording observes the operations that a model computes: how often each of them is called, how long it takes, and the work that
// it gives the machine. New makes a backend that computes with another one and reports to an Observer; a Recorder is one that adds up.
package recording

import (
	"context"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/internal/precise"
	"github.com/antigravity-go/antigravity/tensor"
)

// Each operation first asks the Observer for a mode. With Compute it only computes. With Time it also takes the time and describes itself
// by its name, its dimensions and its type; with Wait it waits for the device before the time ends. A fused operation is reported as one if
// the other backend has it, and otherwise as the plain operations that replace it. For example, x [1, 2048] times weights of Q8_0:
//
//	MatMulTransposed(x, w, out)
//	Operation   "MatMulTransposed", 2048, 2048, Q8_0
//	Work        Memory 4456448 (2048·2048/32 blocks of 34 bytes), Cache 16384 (x and out), Integer 4194304

// Backend computes with another backend and reports each operation to an Observer. It gives the same results, and has the optional
// interfaces too: in place of an interface that the other backend lacks, package backend's substitute computes with the plain operations,
// and these are reported. It is as safe for concurrent use as the other one.
type Backend struct {
	plain
	backend.Fuser
	backend.ExpertFuser
	backend.Selector
}

// New returns a backend that computes with b and reports to o. Closing it closes b.
func New(b backend.Backend, o Observer) *Backend {
	p := plain{b, o}
	result := &Backend{plain: p, Fuser: backend.Fused(p), ExpertFuser: backend.FusedExperts(p), Selector: backend.Selecting(p)}
	if f, ok := b.(backend.Fuser); ok {
		result.Fuser = fuser{p, f}
	}
	if f, ok := b.(backend.ExpertFuser); ok {
		result.ExpertFuser = expertFuser{p, f}
	}
	if s, ok := b.(backend.Selector); ok {
		result.Selector = selector{p, s}
	}
	return result
}

// BitExact reports whether the other backend promises the bits of the portable reference.
func (b *Backend) BitExact() bool { return backend.BitExact(b.plain.Backend) }

// PassRows returns how many rows of prompts and of answers a pass of the other backend computes best.
func (b *Backend) PassRows() (prompts, answers int) { return backend.PassRows(b.plain.Backend) }

// ScratchBytes returns what the other backend's operations keep to work in, in bytes.
func (b *Backend) ScratchBytes() int64 { return backend.Scratch(b.plain.Backend) }

// Prepare prepares weights as the other backend wants them. The weights may lie on a host backend that a loader converted
// them with; the other backend is then given a copy of its own, so that it need not know that backend.
func (b *Backend) Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error) {
	inner := b.plain.Backend
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

// plain is the operations that every backend has; those that only load a model are passed on without a report.
type plain struct {
	backend.Backend
	observer Observer
}

// call computes one operation as the Observer wants it. describe is called only if the operation is to be reported.
func (b plain) call(compute func() error, describe func() (Operation, machine.Work)) error {
	mode := b.observer.Watch()
	if mode == Compute {
		return compute()
	}
	began := precise.Now()
	if err := compute(); err != nil {
		return err
	}
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

func (b plain) MatMul(x, y, out *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.MatMul(x, y, out) }, func() (Operation, machine.Work) {
		work := machine.TensorWork(x, y, out)
		work.Float = int64(x.Shape().NumElements()) * int64(y.Shape().Dim(-1))
		return weighted("MatMul", y, y.Shape().Dim(0), y.Shape().Dim(-1)), work
	})
}

func (b plain) MatMulTransposed(x, w, out *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.MatMulTransposed(x, w, out) }, func() (Operation, machine.Work) {
		work := machine.MatMulWork(x.Shape().Rows(), w).Plus(machine.TensorWork(x, out))
		return weighted("MatMulTransposed", w, w.Shape().Dim(0), w.Shape().Dim(-1)), work
	})
}

func (b plain) AddAssign(x, y *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.AddAssign(x, y) }, func() (Operation, machine.Work) {
		return rowwise("AddAssign", x), machine.TensorWork(x, x, y)
	})
}

func (b plain) Scale(x *tensor.Tensor, v float32) error {
	return b.call(func() error { return b.Backend.Scale(x, v) }, func() (Operation, machine.Work) {
		return rowwise("Scale", x), machine.TensorWork(x, x)
	})
}

func (b plain) SiLUMul(x, y *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.SiLUMul(x, y) }, func() (Operation, machine.Work) {
		return gated("SiLUMul", x, y)
	})
}

func (b plain) SigmoidMul(x, y *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.SigmoidMul(x, y) }, func() (Operation, machine.Work) {
		return gated("SigmoidMul", x, y)
	})
}

// gated returns an operation x = act(x)·y and its work; y may be nil.
func gated(name string, x, y *tensor.Tensor) (Operation, machine.Work) {
	if y == nil {
		return rowwise(name, x), machine.TensorWork(x, x)
	}
	return rowwise(name, x), machine.TensorWork(x, x, y)
}

func (b plain) MulAssign(x, y *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.MulAssign(x, y) }, func() (Operation, machine.Work) {
		return rowwise("MulAssign", x), machine.TensorWork(x, x, y)
	})
}

func (b plain) Softplus(x, bias *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.Softplus(x, bias) }, func() (Operation, machine.Work) {
		return gated("Softplus", x, bias)
	})
}

func (b plain) Convolve(x, w, bias, out *tensor.Tensor, of []backend.Stretch) error {
	return b.call(func() error { return b.Backend.Convolve(x, w, bias, out, of) }, func() (Operation, machine.Work) {
		work := machine.TensorWork(x, w, out).Plus(machine.StatesWork(of))
		work.Float = int64(x.Shape().NumElements()) * int64(w.Shape().Dim(0))
		return rowwise("Convolve", x), work
	})
}

func (b plain) Recur(q, k, v, g, beta, out *tensor.Tensor, delta bool, of []backend.Stretch) error {
	return b.call(func() error { return b.Backend.Recur(q, k, v, g, beta, out, delta, of) }, func() (Operation, machine.Work) {
		return headwise("Recur", v, v.DType()), machine.RecurWork(q, v, delta, of)
	})
}

func (b plain) GELUMul(x, y *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.GELUMul(x, y) }, func() (Operation, machine.Work) {
		return rowwise("GELUMul", x), machine.TensorWork(x, x, y)
	})
}

func (b plain) GELUErf(x, y *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.GELUErf(x, y) }, func() (Operation, machine.Work) {
		return gated("GELUErf", x, y)
	})
}

func (b plain) LayerNorm(x, w, y *tensor.Tensor, eps float32) error {
	return b.call(func() error { return b.Backend.LayerNorm(x, w, y, eps) }, func() (Operation, machine.Work) {
		return rowwise("LayerNorm", x), machine.TensorWork(x, x, w)
	})
}

func (b plain) AttendTexts(q, k, v, out *tensor.Tensor, texts []int, reach int) error {
	return b.call(func() error { return b.Backend.AttendTexts(q, k, v, out, texts, reach) }, func() (Operation, machine.Work) {
		work := machine.TensorWork(q, k, v, out)
		for _, n := range texts {
			seen := n
			if reach > 0 {
				seen = min(n, 2*reach+1)
			}
			work.Float += 2 * int64(n) * int64(seen) * int64(q.Shape().Dim(1)) * int64(q.Shape().Dim(2))
		}
		return headwise("AttendTexts", q, q.DType()), work
	})
}

func (b plain) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	return b.call(func() error { return b.Backend.RMSNorm(x, w, eps) }, func() (Operation, machine.Work) {
		return rowwise("RMSNorm", x), machine.TensorWork(x, x, w)
	})
}

func (b plain) Softmax(x *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.Softmax(x) }, func() (Operation, machine.Work) {
		return rowwise("Softmax", x), machine.TensorWork(x, x)
	})
}

func (b plain) RoPE(x, table *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.RoPE(x, table) }, func() (Operation, machine.Work) {
		return headwise("RoPE", x, x.DType()), machine.TensorWork(x, x, table)
	})
}

func (b plain) RoPEStore(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
	return b.call(func() error { return b.Backend.RoPEStore(q, k, v, table, runs) }, func() (Operation, machine.Work) {
		work := machine.TensorWork(k, v)
		if table != nil {
			work = work.Plus(machine.TensorWork(q, q, table))
		}
		work.Cache += 2 * stored(runs, func(r backend.Run) int { return r.Tokens * len(r.Slots.Heads) })
		return pagewise("RoPEStore", k, runs), work
	})
}

func (b plain) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	return b.call(func() error { return b.Backend.Attend(q, out, runs) }, func() (Operation, machine.Work) {
		return pagewise("Attend", q, runs), machine.AttentionWork(q, runs...)
	})
}

func (b plain) AccumulateAttention(q, sums *tensor.Tensor, run backend.Run) error {
	return b.call(func() error { return b.Backend.AccumulateAttention(q, sums, run) }, func() (Operation, machine.Work) {
		return pagewise("AccumulateAttention", q, []backend.Run{run}), machine.ScoreWork(q, run)
	})
}

func (b plain) Compact(s *backend.Slots, keep [][]int32) error {
	return b.call(func() error { return b.Backend.Compact(s, keep) }, func() (Operation, machine.Work) {
		var work machine.Work
		for _, list := range keep {
			work.Memory += 4 * int64(len(list)) * int64(s.SlotBytes()) // keys and values, read and written
		}
		return slotwise("Compact", s), work
	})
}

func (b plain) CopyPage(from, to backend.Page) error {
	return b.call(func() error { return b.Backend.CopyPage(from, to) }, func() (Operation, machine.Work) {
		work := machine.Work{Memory: 2 * int64(from.Slab.Size()) / int64(from.Slab.Shape().Dim(0))}
		return rowwise("CopyPage", from.Slab), work
	})
}

func (b plain) ReadSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.ReadSlots(s, head, first, keys, values) }, func() (Operation, machine.Work) {
		return slotwise("ReadSlots", s), slotWork(keys, values)
	})
}

func (b plain) WriteSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.WriteSlots(s, head, first, keys, values) }, func() (Operation, machine.Work) {
		return slotwise("WriteSlots", s), slotWork(keys, values)
	})
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

func (b plain) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.Gather(table, indices, out) }, func() (Operation, machine.Work) {
		work := machine.TensorWork(out).Plus(machine.Work{Memory: int64(len(indices)) * int64(table.RowBytes())})
		return weighted("Gather", table, table.Shape().Dim(0), table.Shape().Dim(-1)), work
	})
}

func (b plain) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) error {
	return b.call(func() error { return b.Backend.CopySlice(src, dst, srcOff, dstOff, n) }, func() (Operation, machine.Work) {
		bytes, _ := src.DType().Bytes(max(n, 0)) // the backend checks n
		work := machine.Work{Cache: 2 * int64(bytes)}
		return rowwise("CopySlice", dst), work
	})
}

func (b plain) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	return b.call(func() error { return b.Backend.ReadBuffer(t, dst) }, func() (Operation, machine.Work) {
		return rowwise("ReadBuffer", t), machine.TensorWork(t, t)
	})
}

func (b plain) Cast(src, dst *tensor.Tensor) error {
	return b.call(func() error { return b.Backend.Cast(src, dst) }, func() (Operation, machine.Work) {
		return rowwise("Cast", dst), machine.TensorWork(src, dst)
	})
}

// fuser reports the fused operations.
type fuser struct {
	plain
	fuser backend.Fuser
}

func (b fuser) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	if len(ws) == 0 {
		return b.fuser.NormMatMul(x, norm, eps, normed, ws, outs)
	}
	return b.call(func() error { return b.fuser.NormMatMul(x, norm, eps, normed, ws, outs) }, func() (Operation, machine.Work) {
		rows := 0
		for _, w := range ws {
			rows += w.Shape().Dim(0)
		}
		read := append(outs[:len(outs):len(outs)], x)
		if norm != nil {
			read = append(read, norm)
		}
		work := machine.MatMulWork(x.Shape().Rows(), ws...).Plus(machine.TensorWork(read...))
		return weighted("NormMatMul", ws[0], rows, ws[0].Shape().Dim(-1)), work
	})
}

func (b fuser) MatMulAdd(x, w, scratch, out *tensor.Tensor) error {
	return b.call(func() error { return b.fuser.MatMulAdd(x, w, scratch, out) }, func() (Operation, machine.Work) {
		work := machine.MatMulWork(x.Shape().Rows(), w).Plus(machine.TensorWork(x, out, out))
		return weighted("MatMulAdd", w, w.Shape().Dim(0), w.Shape().Dim(-1)), work
	})
}

func (b fuser) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, scratch, out *tensor.Tensor) error {
	return b.call(func() error { return b.fuser.NormSwiGLU(x, norm, eps, normed, gate, up, scratch, out) }, func() (Operation, machine.Work) {
		work := machine.MatMulWork(x.Shape().Rows(), gate, up).Plus(machine.TensorWork(x, norm, out))
		rows := gate.Shape().Dim(0) + up.Shape().Dim(0)
		return weighted("NormSwiGLU", gate, rows, gate.Shape().Dim(-1)), work
	})
}

// selector reports selections.
type selector struct {
	plain
	selector backend.Selector
}

func (b selector) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	return b.call(func() error { return b.selector.Largest(x, indices, values) }, func() (Operation, machine.Work) {
		return rowwise("Largest", x), machine.TensorWork(x)
	})
}

func (b selector) Mask(x *tensor.Tensor, allowed []uint64) error {
	return b.call(func() error { return b.selector.Mask(x, allowed) }, func() (Operation, machine.Work) {
		return rowwise("Mask", x), machine.TensorWork(x)
	})
}
