package backendtest

import (
	"context"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// A Device passes each call on to another backend, and asks a function first whether the call is to fail. Operations that the other backend
// lacks are composed of plain ones, which are asked about, too. With a function that returns an error for "RMSNorm" alone:
//
//	d.Scale(x, 2)                   asks about Scale, and scales
//	d.RMSNorm(x, w, eps)            asks about RMSNorm, and returns the error
//	d.NormMatMul(…), b has it       asks about NormMatMul, and computes
//	d.NormMatMul(…), b lacks it     asks about NormMatMul, CopySlice and RMSNorm, and returns the error

// Device is a backend that computes with another one, and asks before each call whether that is to fail: see NewDevice.
type Device struct {
	plain
	fuser    backend.Fuser
	experts  backend.ExpertFuser
	projects backend.Projector
	selector backend.Selector
}

// NewDevice returns a backend that computes with b. Ahead of each call of the interfaces of package backend, and of Alloc of its memory,
// before is called with the call's name and its first tensor, which is nil for Alloc, Synchronize and Compact. When it returns an error,
// the call computes nothing and returns that. Fault.Before is made for it. Where b lacks fused operations or selection, the plain
// operations that stand in for them are calls, too.
func NewDevice(b backend.Backend, before func(call string, operand *tensor.Tensor) error) *Device {
	p := plain{b, before}
	d := &Device{plain: p, fuser: backend.Fused(p), experts: backend.FusedExperts(p), projects: backend.Projecting(p), selector: backend.Selecting(p)}
	if f, ok := b.(backend.Fuser); ok {
		d.fuser = f
	}
	if f, ok := b.(backend.ExpertFuser); ok {
		d.experts = f
	}
	if p, ok := b.(backend.Projector); ok {
		d.projects = p
	}
	if s, ok := b.(backend.Selector); ok {
		d.selector = s
	}
	return d
}

// plain has the operations that every backend has.
type plain struct {
	backend.Backend
	before func(string, *tensor.Tensor) error
}

// call computes unless it is to fail.
func (d plain) call(name string, operand *tensor.Tensor, compute func() error) error {
	if err := d.before(name, operand); err != nil {
		return err
	}
	return compute()
}

// Name is the other backend's name with "-test" added.
func (d plain) Name() string { return d.Backend.Name() + "-test" }

// BitExact passes on.
func (d plain) BitExact() bool { return backend.BitExact(d.Backend) }

// ScratchBytes passes on.
func (d plain) ScratchBytes() int64 { return backend.Scratch(d.Backend) }

// Memory is the other backend's, except that Alloc may fail.
func (d plain) Memory() tensor.Memory { return memoryOf{d.Backend.Memory(), d.before} }

type memoryOf struct {
	tensor.Memory
	before func(string, *tensor.Tensor) error
}

func (m memoryOf) Alloc(size int, d tensor.DType) (tensor.Buffer, error) {
	if err := m.before("Alloc", nil); err != nil {
		return nil, err
	}
	return m.Memory.Alloc(size, d)
}

func (d plain) CopyFrom(t *tensor.Tensor) (*tensor.Tensor, error) {
	if err := d.before("CopyFrom", t); err != nil {
		return nil, err
	}
	return d.Backend.CopyFrom(t)
}

// Prepare prepares weights as the other backend wants them.
func (d plain) Prepare(ctx context.Context, w *tensor.Tensor) (*tensor.Tensor, error) {
	if err := d.before("Prepare", w); err != nil {
		return nil, err
	}
	return backend.Prepare(ctx, d.Backend, w)
}

func (d plain) MatMul(a, b, out *tensor.Tensor) error {
	return d.call("MatMul", a, func() error { return d.Backend.MatMul(a, b, out) })
}

func (d plain) MatMulTransposed(a, w, out *tensor.Tensor) error {
	return d.call("MatMulTransposed", a, func() error { return d.Backend.MatMulTransposed(a, w, out) })
}

func (d plain) AddAssign(a, b *tensor.Tensor) error {
	return d.call("AddAssign", a, func() error { return d.Backend.AddAssign(a, b) })
}

func (d plain) Scale(x *tensor.Tensor, v float32) error {
	return d.call("Scale", x, func() error { return d.Backend.Scale(x, v) })
}

func (d plain) SiLUMul(a, b *tensor.Tensor) error {
	return d.call("SiLUMul", a, func() error { return d.Backend.SiLUMul(a, b) })
}

func (d plain) MulAssign(a, b *tensor.Tensor) error {
	return d.call("MulAssign", a, func() error { return d.Backend.MulAssign(a, b) })
}

func (d plain) SigmoidMul(a, b *tensor.Tensor) error {
	return d.call("SigmoidMul", a, func() error { return d.Backend.SigmoidMul(a, b) })
}

func (d plain) Softplus(a, bias *tensor.Tensor) error {
	return d.call("Softplus", a, func() error { return d.Backend.Softplus(a, bias) })
}

func (d plain) Convolve(x, w, b, out *tensor.Tensor, of []backend.Stretch) error {
	return d.call("Convolve", out, func() error { return d.Backend.Convolve(x, w, b, out, of) })
}

func (d plain) Recur(q, k, v, g, beta, out *tensor.Tensor, delta bool, of []backend.Stretch) error {
	return d.call("Recur", out, func() error { return d.Backend.Recur(q, k, v, g, beta, out, delta, of) })
}

func (d plain) GELUErf(a, b *tensor.Tensor) error {
	return d.call("GELUErf", a, func() error { return d.Backend.GELUErf(a, b) })
}

func (d plain) LayerNorm(x, w, b *tensor.Tensor, eps float32) error {
	return d.call("LayerNorm", x, func() error { return d.Backend.LayerNorm(x, w, b, eps) })
}

func (d plain) AttendTexts(q, k, v, out *tensor.Tensor, texts []int, reach int) error {
	return d.call("AttendTexts", out, func() error { return d.Backend.AttendTexts(q, k, v, out, texts, reach) })
}

func (d plain) GELUMul(a, b *tensor.Tensor) error {
	return d.call("GELUMul", a, func() error { return d.Backend.GELUMul(a, b) })
}

func (d plain) Softcap(x *tensor.Tensor, limit float32) error {
	return d.call("Softcap", x, func() error { return d.Backend.Softcap(x, limit) })
}

func (d plain) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	return d.call("RMSNorm", x, func() error { return d.Backend.RMSNorm(x, w, eps) })
}

func (d plain) Softmax(x *tensor.Tensor) error {
	return d.call("Softmax", x, func() error { return d.Backend.Softmax(x) })
}

func (d plain) RoPE(x, table *tensor.Tensor) error {
	return d.call("RoPE", x, func() error { return d.Backend.RoPE(x, table) })
}

func (d plain) RoPEStore(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
	return d.call("RoPEStore", k, func() error { return d.Backend.RoPEStore(q, k, v, table, runs) })
}

func (d plain) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	return d.call("Attend", q, func() error { return d.Backend.Attend(q, out, runs) })
}

func (d plain) AccumulateAttention(q, sums *tensor.Tensor, run backend.Run) error {
	return d.call("AccumulateAttention", q, func() error { return d.Backend.AccumulateAttention(q, sums, run) })
}

func (d plain) Compact(s *backend.Slots, keep [][]int32) error {
	return d.call("Compact", nil, func() error { return d.Backend.Compact(s, keep) })
}

func (d plain) CopyPage(from, to backend.Page) error {
	return d.call("CopyPage", from.Slab, func() error { return d.Backend.CopyPage(from, to) })
}

func (d plain) ReadSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	return d.call("ReadSlots", keys, func() error { return d.Backend.ReadSlots(s, head, first, keys, values) })
}

func (d plain) WriteSlots(s *backend.Slots, head, first int, keys, values *tensor.Tensor) error {
	return d.call("WriteSlots", keys, func() error { return d.Backend.WriteSlots(s, head, first, keys, values) })
}

func (d plain) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	return d.call("Gather", table, func() error { return d.Backend.Gather(table, indices, out) })
}

func (d plain) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) error {
	return d.call("CopySlice", src, func() error { return d.Backend.CopySlice(src, dst, srcOff, dstOff, n) })
}

func (d plain) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	return d.call("ReadBuffer", t, func() error { return d.Backend.ReadBuffer(t, dst) })
}

func (d plain) Cast(src, dst *tensor.Tensor) error {
	return d.call("Cast", src, func() error { return d.Backend.Cast(src, dst) })
}

func (d plain) Synchronize() error { return d.call("Synchronize", nil, d.Backend.Synchronize) }

// NormMatMul is backend.Fuser's.
func (d *Device) NormMatMul(x, norm *tensor.Tensor, eps float32, normed *tensor.Tensor, ws, outs []*tensor.Tensor) error {
	return d.call("NormMatMul", x, func() error { return d.fuser.NormMatMul(x, norm, eps, normed, ws, outs) })
}

// MatMulAdd is backend.Fuser's.
func (d *Device) MatMulAdd(x, w, product, out *tensor.Tensor) error {
	return d.call("MatMulAdd", x, func() error { return d.fuser.MatMulAdd(x, w, product, out) })
}

// Project is backend.Projector's.
func (d *Device) Project(x *tensor.Tensor, norm backend.LayerNorm, normed *tensor.Tensor, maps []backend.Linear, outs []*tensor.Tensor, gelu bool) error {
	return d.call("Project", x, func() error { return d.projects.Project(x, norm, normed, maps, outs, gelu) })
}

// ProjectAdd is backend.Projector's.
func (d *Device) ProjectAdd(x *tensor.Tensor, to backend.Linear, product, out *tensor.Tensor) error {
	return d.call("ProjectAdd", x, func() error { return d.projects.ProjectAdd(x, to, product, out) })
}

// NormSwiGLU is backend.Fuser's.
func (d *Device) NormSwiGLU(x, norm *tensor.Tensor, eps float32, normed, gate, up, product, out *tensor.Tensor) error {
	return d.call("NormSwiGLU", x, func() error { return d.fuser.NormSwiGLU(x, norm, eps, normed, gate, up, product, out) })
}

// Largest is backend.Selector's.
func (d *Device) Largest(x *tensor.Tensor, indices []int32, values []float32) error {
	return d.call("Largest", x, func() error { return d.selector.Largest(x, indices, values) })
}

// Mask is backend.Selector's.
func (d *Device) Mask(x *tensor.Tensor, allowed []uint64) error {
	return d.call("Mask", x, func() error { return d.selector.Mask(x, allowed) })
}
