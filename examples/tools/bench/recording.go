package main

import (
	"context"
	"time"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/examples/tools/internal/machine"
	"github.com/antigravity-go/antigravity/tensor"
)

// recording is a backend that computes with another backend, waits for the end of each operation, and tells a recorder how
// long the operation took. It has the optional interfaces too: where the other backend lacks one, package backend's
// substitute computes with the plain operations, which are then recorded.
type recording struct {
	plain
	backend.Fuser
	backend.Selector
}

// record returns a backend that computes with b and tells r.
func record(b backend.Backend, r *recorder) *recording {
	p := plain{b, r}
	result := &recording{plain: p, Fuser: backend.Fused(p), Selector: backend.Selecting(p)}
	if f, ok := b.(backend.Fuser); ok {
		result.Fuser = recordingFuser{p, f}
	}
	if s, ok := b.(backend.Selector); ok {
		result.Selector = recordingSelector{p, s}
	}
	return result
}

// Prepare prepares weights as the other backend wants them. The weights may lie on a host backend that a loader converted
// them with; the other backend is then given a copy of its own, so that it need not know that backend.
func (b *recording) Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error) {
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

// plain records the operations that every backend has; those that only load a model are passed on.
type plain struct {
	backend.Backend
	recorder *recorder
}

// call computes one operation and records it.
func (b plain) call(o operation, work machine.Work, compute func() error) error {
	began := time.Now()
	if err := compute(); err != nil {
		return err
	}
	if err := b.Backend.Synchronize(); err != nil {
		return err
	}
	b.recorder.add(o, time.Since(began), work)
	return nil
}

// weighted returns an operation on weights w, of which it takes the leading rows and columns.
func weighted(name string, w *tensor.Tensor, rows, cols int) operation {
	return operation{name, rows, cols, w.DType()}
}

// rowwise returns an operation on the rows of x.
func rowwise(name string, x *tensor.Tensor) operation {
	return operation{name, 0, x.Shape().Dim(-1), x.DType()}
}

// headwise returns an operation on the heads of x [.., heads, headDim], with cached keys and values, or heads, of type d.
func headwise(name string, x *tensor.Tensor, d tensor.DType) operation {
	return operation{name, x.Shape().Dim(-2), x.Shape().Dim(-1), d}
}

func (b plain) MatMul(x, y, out *tensor.Tensor) error {
	work := machine.Moving(x, y, out)
	work.Float = int64(x.Shape().NumElements()) * int64(y.Shape().Dim(-1))
	return b.call(weighted("MatMul", y, y.Shape().Dim(0), y.Shape().Dim(-1)), work, func() error { return b.Backend.MatMul(x, y, out) })
}

func (b plain) MatMulTransposed(x, w, out *tensor.Tensor) error {
	work := machine.Weighing(x.Shape().Rows(), w).Plus(machine.Moving(x, out))
	o := weighted("MatMulTransposed", w, w.Shape().Dim(0), w.Shape().Dim(-1))
	return b.call(o, work, func() error { return b.Backend.MatMulTransposed(x, w, out) })
}

func (b plain) MatMulSlice(x, w *tensor.Tensor, rows, cols int, out *tensor.Tensor) error {
	work := machine.Corner(x.Shape().Rows(), w, rows, cols).Plus(machine.Moving(x, out))
	return b.call(weighted("MatMulSlice", w, rows, cols), work, func() error { return b.Backend.MatMulSlice(x, w, rows, cols, out) })
}

func (b plain) AddAssign(x, y *tensor.Tensor) error {
	return b.call(rowwise("AddAssign", x), machine.Moving(x, x, y), func() error { return b.Backend.AddAssign(x, y) })
}

func (b plain) Scale(x *tensor.Tensor, v float32) error {
	return b.call(rowwise("Scale", x), machine.Moving(x, x), func() error { return b.Backend.Scale(x, v) })
}

func (b plain) SiLUMul(x, y *tensor.Tensor) error {
	return b.call(rowwise("SiLUMul", x), machine.Moving(x, x, y), func() error { return b.Backend.SiLUMul(x, y) })
}

func (b plain) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	return b.call(rowwise("RMSNorm", x), machine.Moving(x, x, w), func() error { return b.Backend.RMSNorm(x, w, eps) })
}

func (b plain) Softmax(x *tensor.Tensor) error {
	return b.call(rowwise("Softmax", x), machine.Moving(x, x), func() error { return b.Backend.Softmax(x) })
}

func (b plain) RoPE(x, table *tensor.Tensor) error {
	return b.call(headwise("RoPE", x, x.DType()), machine.Moving(x, x, table), func() error { return b.Backend.RoPE(x, table) })
}

func (b plain) AttentionGen(q, k, v, out *tensor.Tensor, n int) error {
	return b.call(headwise("AttentionGen", q, k.DType()), machine.Attending(q, machine.OneToken(k, n)), func() error { return b.Backend.AttentionGen(q, k, v, out, n) })
}

func (b plain) RoPEStore(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
	work := machine.Moving(k, v)
	if table != nil {
		work = work.Plus(machine.Moving(q, q, table))
	}
	work.Cache += 2 * stored(runs, func(r backend.Run) int { return r.Tokens * len(r.Slots.Heads) })
	return b.call(pagewise("RoPEStore", k, runs), work, func() error { return b.Backend.RoPEStore(q, k, v, table, runs) })
}

func (b plain) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	return b.call(pagewise("Attend", q, runs), machine.Attending(q, runs...), func() error { return b.Backend.Attend(q, out, runs) })
}

func (b plain) AccumulateAttention(q, sums *tensor.Tensor, run backend.Run) error {
	return b.call(pagewise("AccumulateAttention", q, []backend.Run{run}), machine.Scoring(q, run), func() error {
		return b.Backend.AccumulateAttention(q, sums, run)
	})
}

func (b plain) Compact(s *backend.Slots, keep [][]int32) error {
	work := machine.Work{}
	for _, list := range keep {
		work.Memory += 4 * int64(len(list)) * int64(s.SlotBytes()) // keys and values, read and written
	}
	return b.call(slotwise("Compact", s), work, func() error { return b.Backend.Compact(s, keep) })
}

func (b plain) CopyPage(from, to backend.Page) error {
	work := machine.Work{Memory: 2 * int64(from.Slab.Size()) / int64(from.Slab.Shape().Dim(0))}
	return b.call(rowwise("CopyPage", from.Slab), work, func() error { return b.Backend.CopyPage(from, to) })
}

func (b plain) ReadSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	return b.call(slotwise("ReadSlots", s), moving(keys, values), func() error { return b.Backend.ReadSlots(s, head, first, keys, values) })
}

func (b plain) WriteSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	return b.call(slotwise("WriteSlots", s), moving(keys, values), func() error { return b.Backend.WriteSlots(s, head, first, keys, values) })
}

// moving is the work of copying keys and values, either of which may be nil.
func moving(keys, values *tensor.Tensor) (work machine.Work) {
	for _, t := range [2]*tensor.Tensor{keys, values} {
		if t != nil {
			work = work.Plus(machine.Moving(t, t))
		}
	}
	return work
}

// stored returns the bytes of the slots of all runs, of which there are as many in each as slots says.
func stored(runs []backend.Run, slots func(r backend.Run) int) (bytes int64) {
	for _, r := range runs {
		bytes += int64(slots(r)) * int64(r.Slots.SlotBytes())
	}
	return bytes
}

// pagewise returns an operation on the heads of x [rows, heads, headDim] and the caches of runs, which are told apart by the type of the
// first.
func pagewise(name string, x *tensor.Tensor, runs []backend.Run) operation {
	d := x.DType()
	if len(runs) > 0 {
		d = runs[0].Slots.DType
	}
	return headwise(name, x, d)
}

// slotwise returns an operation on the slots of a cache.
func slotwise(name string, s *backend.Slots) operation {
	return operation{name, len(s.Heads), s.HeadDim, s.DType}
}

func (b plain) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	work := machine.Moving(out).Plus(machine.Work{Memory: int64(len(indices)) * int64(table.RowBytes())})
	o := weighted("Gather", table, table.Shape().Dim(0), table.Shape().Dim(-1))
	return b.call(o, work, func() error { return b.Backend.Gather(table, indices, out) })
}

func (b plain) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) error {
	bytes, _ := src.DType().Bytes(max(n, 0)) // the backend checks n
	work := machine.Work{Cache: 2 * int64(bytes)}
	return b.call(rowwise("CopySlice", dst), work, func() error { return b.Backend.CopySlice(src, dst, srcOff, dstOff, n) })
}

func (b plain) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	return b.call(rowwise("ReadBuffer", t), machine.Moving(t, t), func() error { return b.Backend.ReadBuffer(t, dst) })
}

func (b plain) Cast(src, dst *tensor.Tensor) error {
	return b.call(rowwise("Cast", dst), machine.Moving(src, dst), func() error { return b.Backend.Cast(src, dst) })
}

// recordingFuser records the fused operations.
type recordingFuser struct {
	plain
	fuser backend.Fuser
}

func (b recordingFuser) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	if len(ws) == 0 {
		return b.fuser.NormMatMul(x, norm, eps, normed, ws, outs)
	}
	rows := 0
	for _, w := range ws {
		rows += w.Shape().Dim(0)
	}
	work := machine.Weighing(x.Shape().Rows(), ws...).Plus(machine.Moving(append(outs[:len(outs):len(outs)], x, norm)...))
	return b.call(weighted("NormMatMul", ws[0], rows, ws[0].Shape().Dim(-1)), work, func() error {
		return b.fuser.NormMatMul(x, norm, eps, normed, ws, outs)
	})
}

func (b recordingFuser) MatMulAdd(x, w, scratch, out *tensor.Tensor) error {
	work := machine.Weighing(x.Shape().Rows(), w).Plus(machine.Moving(x, out, out))
	return b.call(weighted("MatMulAdd", w, w.Shape().Dim(0), w.Shape().Dim(-1)), work, func() error {
		return b.fuser.MatMulAdd(x, w, scratch, out)
	})
}

func (b recordingFuser) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, scratch, out *tensor.Tensor) error {
	work := machine.Weighing(x.Shape().Rows(), gate, up).Plus(machine.Moving(x, norm, out))
	rows := gate.Shape().Dim(0) + up.Shape().Dim(0)
	return b.call(weighted("NormSwiGLU", gate, rows, gate.Shape().Dim(-1)), work, func() error {
		return b.fuser.NormSwiGLU(x, norm, eps, normed, gate, up, scratch, out)
	})
}

// recordingSelector records selections.
type recordingSelector struct {
	plain
	selector backend.Selector
}

func (b recordingSelector) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	return b.call(rowwise("Largest", x), machine.Moving(x), func() error { return b.selector.Largest(x, indices, values) })
}

func (b recordingSelector) Mask(x *tensor.Tensor, allowed []uint64) error {
	return b.call(rowwise("Mask", x), machine.Moving(x), func() error { return b.selector.Mask(x, allowed) })
}
