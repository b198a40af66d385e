package host

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/parallel"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// Task is work that can be done in pieces; see Runner.
type Task = parallel.Task

// Runner computes the pieces of a task, perhaps several at a time.
type Runner interface {
	// Run computes pieces 0 … n-1 of the task and returns when all are done.
	Run(task Task, n int) error
	// Size returns how many pieces can be computed at once.
	Size() int
}

// Base has every operation of the contract over memory that the host can map. A device embeds a *Base and overrides what it does
// better; it must bring Name, Memory, CopyFrom, Describe and Close itself. Base may be used by several goroutines, whose
// operations borrow their scratch memory from one small pool for each kind of task.
//
// Results do not depend on the kernels nor on the runner: see package asm.
type Base struct {
	kernels *asm.Kernels
	pages   asm.Pages // how keys and values lie in pages
	runner  Runner

	rows        pool[rowOp, *rowOp]
	products    pool[product, *product]
	rotations   pool[rotation, *rotation]
	attentions  pool[attention, *attention]
	weighings   pool[weighing, *weighing]
	compactions pool[compaction, *compaction]
	selections  pool[choice, *choice]
	held        atomic.Int64 // bytes that lent tasks keep to work in, as far as they grow with a model's sizes
}

// NewBase makes a Base of a tier's kernels and a runner; nil stands for the portable kernels, and for computing on the
// caller's goroutine. In its pages keys and values lie one after another, whatever the kernels: a device that embeds it may lay them out
// so too, and leave to it what it does not do itself.
func NewBase(kernels *asm.Kernels, runner Runner) *Base {
	if kernels == nil {
		kernels = asm.Portable()
	}
	if runner == nil {
		runner = serial{}
	}
	return &Base{kernels: kernels, pages: asm.Portable().Pages(), runner: runner}
}

// serial is the Runner without threads.
type serial struct{}

func (serial) Size() int { return 1 }

// Run turns a memory fault, such as a mapped file that was cut short, into an error.
func (serial) Run(task Task, n int) (err error) {
	defer mmap.Catch(&err)()
	for piece := range n {
		task.Do(0, piece)
	}
	return nil
}

// mapped is a set of tensors that the host may touch until unmap. It keeps them from being collected, which would give up
// their memory: an operation has only slices of that.
type mapped struct {
	few    [16]*tensor.Tensor
	n      int              // how many are in few
	more   []*tensor.Tensor // those that are too many for few
	device bool             // among them are some of a device's memory, which must be unmapped
}

// add maps tensors. After an error, none is mapped any more.
func (m *mapped) add(op string, tensors ...*tensor.Tensor) error {
	for _, t := range tensors {
		if _, host := t.Buffer().(*tensor.SharedBuffer); !host { // which is always mapped
			if err := t.Buffer().Map(); err != nil {
				m.unmap()
				return fmt.Errorf("host: %s: map %v: %w", op, t, err)
			}
			m.device = true
		}
		m.hold(t)
		if t.Data() == nil && t.Size() > 0 {
			m.unmap()
			return fmt.Errorf("host: %s: map %v: the buffer has been freed", op, t)
		}
	}
	return nil
}

// addWeights maps weights, which may be packed.
func (m *mapped) addWeights(op string, tensors ...*tensor.Tensor) error {
	for _, t := range tensors {
		if panelsOf(t) != nil && dataOf(t) != nil {
			m.hold(t) // Unmap does nothing to it
		} else if err := m.add(op, t); err != nil {
			return err
		}
	}
	return nil
}

func (m *mapped) hold(t *tensor.Tensor) {
	if m.n == len(m.few) {
		m.more = append(m.more, t)
		return
	}
	m.few[m.n] = t
	m.n++
}

// unmap gives the tensors back.
func (m *mapped) unmap() {
	if m.device {
		for _, tensors := range [2][]*tensor.Tensor{m.few[:m.n], m.more} {
			for _, t := range tensors {
				t.Buffer().Unmap()
			}
		}
	}
	m.n, m.more, m.device = 0, nil, false
	runtime.KeepAlive(m)
}

// floats returns the data of a mapped F32 tensor.
func floats(t *tensor.Tensor) []float32 {
	x, err := tensor.As[float32](t)
	if err != nil {
		return nil // the checks and mapAll leave no way here
	}
	return x
}

// rowOp is an operation whose rows can be computed in any order. It is data and a plain function, not a closure, so that
// the decode loop need not allocate.
type rowOp struct {
	run     func(k *asm.Kernels, o *rowOp, lo, hi int) // computes rows [lo, hi)
	name    string
	rows    int
	x, y    *tensor.Tensor // the operands; which is written is run's affair
	eps     float32
	table   bool    // x is a table of weights, which may be packed
	indices []int32 // of its rows

	kernels *asm.Kernels
	pieces  int
}

// reset forgets the operation.
func (o *rowOp) reset() { *o = rowOp{} }

// Phase says what the operation is.
func (o *rowOp) Phase() timing.Phase {
	p := timing.Phase{Operation: o.name, Cols: o.x.Shape().Dim(-1), DType: o.x.DType()}
	if o.table {
		p.Rows = o.x.Shape().Dim(0)
	}
	return p
}

// Do computes the rows of one piece.
func (o *rowOp) Do(_, piece int) {
	o.run(o.kernels, o, piece*o.rows/o.pieces, (piece+1)*o.rows/o.pieces)
}

// elementsPerPiece is the fewest elements worth handing to another thread.
const elementsPerPiece = 1 << 13

// onRows runs an operation, in as many pieces as there are threads, or as are worth it.
func (b *Base) onRows(op rowOp) error {
	var m mapped
	defer m.unmap()
	if err := m.add(op.name, op.y); err != nil {
		return err
	}
	var err error
	if op.table {
		err = m.addWeights(op.name, op.x)
	} else {
		err = m.add(op.name, op.x)
	}
	if err != nil {
		return err
	}
	task := b.rows.get()
	defer b.rows.put(task)
	*task = op
	elements := max(op.x.Shape().NumElements(), op.y.Shape().NumElements())
	if op.table {
		elements = op.y.Shape().NumElements() // of a table only some rows
	}
	task.kernels, task.pieces = b.kernels, max(min(op.rows, b.runner.Size(), elements/elementsPerPiece), 1)
	return b.runner.Run(task, task.pieces)
}

// AddAssign computes a += b.
func (b *Base) AddAssign(a, c *tensor.Tensor) error {
	if err := backend.CheckAddAssign(a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "AddAssign", run: addRows, rows: a.Shape().Rows(), x: a, y: c})
}

func addRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, src := o.x.Shape().Dim(-1), floats(o.y)
	dst := floats(o.x)[lo*dim : hi*dim]
	if len(src) > dim { // not one row for all
		src = src[lo*dim : hi*dim]
	}
	for ; len(dst) > 0; dst = dst[len(src):] {
		k.Add(dst[:len(src)], src)
	}
}

// Scale computes x *= v.
func (b *Base) Scale(x *tensor.Tensor, v float32) error {
	if err := backend.CheckSame("Scale", x); err != nil {
		return err
	}
	var m mapped
	if err := m.add("Scale", x); err != nil {
		return err
	}
	defer m.unmap()
	b.kernels.Scale(floats(x), v)
	return nil
}

// SiLUMul computes a = silu(a)·b.
func (b *Base) SiLUMul(a, c *tensor.Tensor) error {
	if err := backend.CheckSame("SiLUMul", a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "SiLUMul", run: siluMulRows, rows: a.Shape().Rows(), x: a, y: c})
}

func siluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	gate := floats(o.x)[lo*dim : hi*dim]
	k.SiLUMul(gate, gate, floats(o.y)[lo*dim:hi*dim])
}

// GELUMul computes a = gelu(a)·b.
func (b *Base) GELUMul(a, c *tensor.Tensor) error {
	if err := backend.CheckSame("GELUMul", a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "GELUMul", run: geluMulRows, rows: a.Shape().Rows(), x: a, y: c})
}

func geluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	gate := floats(o.x)[lo*dim : hi*dim]
	k.GELUMul(gate, gate, floats(o.y)[lo*dim:hi*dim])
}

// RMSNorm normalises the rows of x.
func (b *Base) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	rows, _, err := backend.CheckRMSNorm(x, w)
	if err != nil {
		return err
	}
	return b.onRows(rowOp{name: "RMSNorm", run: rmsNormRows, rows: rows, x: x, y: w, eps: eps})
}

func rmsNormRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, w := o.x.Shape().Dim(-1), floats(o.y)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		k.RMSNorm(rows[:dim], rows[:dim], w, o.eps)
	}
}

// Softmax replaces each row of x by its softmax.
func (b *Base) Softmax(x *tensor.Tensor) error {
	if err := backend.CheckSame("Softmax", x); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "Softmax", run: softmaxRows, rows: x.Shape().Rows(), x: x, y: x})
}

func softmaxRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		k.Softmax(rows[:dim])
	}
}

// RoPE rotates the heads of x.
func (b *Base) RoPE(x, table *tensor.Tensor) error {
	tokens, _, _, err := backend.CheckRoPE(x, table)
	if err != nil {
		return err
	}
	return b.onRows(rowOp{name: "RoPE", run: ropeRows, rows: tokens, x: x, y: table})
}

func ropeRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	heads, headDim := o.x.Shape().Dim(1), o.x.Shape().Dim(2)
	for token := lo; token < hi; token++ {
		rotateVectors(k, floats(o.x)[token*heads*headDim:][:heads*headDim], floats(o.y)[token*headDim:][:headDim])
	}
}

// rotateVectors rotates neighbouring vectors by a row of RoPE's table: the cosines of the angles, and then the sines.
func rotateVectors(k *asm.Kernels, vectors, table []float32) {
	d := len(table)
	for ; len(vectors) > 0; vectors = vectors[d:] {
		k.RoPE(vectors[:d], table[:d/2], table[d/2:])
	}
}

// Gather looks rows up.
func (b *Base) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	if _, err := backend.CheckGather(table, indices, out); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "Gather", run: gatherRows, rows: len(indices), x: table, y: out, table: true, indices: indices})
}

func gatherRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, rowBytes, format := o.y.Shape().Dim(-1), o.x.RowBytes(), o.x.DType().Format()
	src, dst, panels := dataOf(o.x), floats(o.y), panelsOf(o.x)
	for i := lo; i < hi; i++ {
		row, out := int(o.indices[i]), dst[i*dim:(i+1)*dim]
		if panels == nil {
			k.Dequantize(format, out, src[row*rowBytes:][:rowBytes])
			continue
		}
		panel := src[row/asm.PanelRows*asm.PanelRows*rowBytes:][:asm.PanelRows*rowBytes]
		panels.Unpack(out, panel, row%asm.PanelRows, dim)
	}
}

// CopySlice copies elements.
func (b *Base) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) (err error) {
	defer mmap.Catch(&err)()
	from, to, size, err := backend.CheckCopySlice(src, dst, srcOff, dstOff, n)
	if err != nil {
		return err
	}
	var m mapped
	if err := m.add("CopySlice", src, dst); err != nil {
		return err
	}
	defer m.unmap()
	copy(dst.Data()[to:to+size], src.Data()[from:from+size])
	return nil
}

// ReadBuffer copies a tensor's bytes to the host.
func (b *Base) ReadBuffer(t *tensor.Tensor, dst []byte) (err error) {
	defer mmap.Catch(&err)()
	if err := backend.CheckReadBuffer(t, dst); err != nil {
		return err
	}
	if err := t.Buffer().Sync(); err != nil {
		return fmt.Errorf("host: ReadBuffer of %v: %w", t, err)
	}
	var m mapped
	if err := m.add("ReadBuffer", t); err != nil {
		return err
	}
	defer m.unmap()
	copy(dst, t.Data())
	return nil
}

// Cast converts between element types.
func (b *Base) Cast(src, dst *tensor.Tensor) error {
	if err := backend.CheckCast(src, dst); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "Cast", run: castRows, rows: src.Shape().Rows(), x: src, y: dst})
}

func castRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	from, to, dim := o.x.DType().Format(), o.y.DType().Format(), o.x.Shape().Dim(-1)
	src, dst := o.x.Data()[lo*o.x.RowBytes():hi*o.x.RowBytes()], o.y.Data()[lo*o.y.RowBytes():hi*o.y.RowBytes()]
	switch {
	case from == to:
		copy(dst, src)
	case o.x.DType() == tensor.F32: // rows are whole blocks, so many quantise as one
		k.Quantize(to, dst, floats(o.x)[lo*dim:hi*dim])
	case o.y.DType() == tensor.F32:
		k.Dequantize(from, floats(o.y)[lo*dim:hi*dim], src)
	default:
		row := make([]float32, dim)
		for ; len(src) > 0; src, dst = src[o.x.RowBytes():], dst[o.y.RowBytes():] {
			convertRow(k, to, from, dst[:o.y.RowBytes()], src[:o.x.RowBytes()], row)
		}
	}
}

// convertRow writes a row in another format. The scratch has room for its elements; the same format needs none.
func convertRow(k *asm.Kernels, to, from quant.Format, dst, src []byte, scratch []float32) {
	if from == to {
		copy(dst, src)
		return
	}
	k.Dequantize(from, scratch, src)
	k.Quantize(to, dst, scratch)
}

// ScratchBytes returns the memory that operations have taken to work in, in bytes, and keep for the next ones.
func (b *Base) ScratchBytes() int64 { return b.held.Load() }

// Synchronize has nothing to wait for: the operations above are done when they return.
func (b *Base) Synchronize() error { return nil }
