package backend

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/parallel"
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

// Base has every operation of the contract over memory that the host can map: the reference that other implementations are
// compared with. A device embeds a *Base and overrides what it does better; it must bring Name, Memory, CopyFrom, Describe
// and Close itself. The CPU is a Base with the processor's kernels and a pool of threads.
//
// Results do not depend on the kernels nor on the runner: see package asm.
type Base struct {
	kernels *asm.Kernels
	runner  Runner
	scratch scratchList
}

// NewBase makes a Base of a tier's kernels and a runner; nil stands for the portable kernels, and for computing on the
// caller's goroutine.
func NewBase(kernels *asm.Kernels, runner Runner) *Base {
	if kernels == nil {
		kernels = asm.Portable()
	}
	if runner == nil {
		runner = serial{}
	}
	return &Base{kernels: kernels, runner: runner}
}

// serial is the Runner without threads.
type serial struct{}

func (serial) Size() int { return 1 }

func (serial) Run(task Task, n int) error {
	for piece := range n {
		task.Do(0, piece)
	}
	return nil
}

// mapped is a set of tensors that the host may touch until unmap. It keeps them from being collected, which would give up
// their memory: an operation has only slices of that.
type mapped struct {
	tensors [8]*tensor.Tensor // those to unmap
	n       int
	held    [16]*tensor.Tensor // all
	holds   int
	more    []*tensor.Tensor // that are too many for it
}

// hold keeps tensors until unmap.
func (m *mapped) hold(tensors ...*tensor.Tensor) {
	free := m.held[m.holds:]
	n := copy(free, tensors)
	m.holds += n
	m.more = append(m.more, tensors[n:]...)
}

// mapAll makes tensors visible to the host; host memory already is.
func (m *mapped) mapAll(op string, tensors ...*tensor.Tensor) error {
	m.hold(tensors...)
	for _, t := range tensors {
		if t.Buffer().Mapped() {
			continue
		}
		if err := t.Buffer().Map(); err != nil {
			m.unmap()
			return fmt.Errorf("backend: %s: map %v: %w", op, t, err)
		}
		m.tensors[m.n] = t
		m.n++
	}
	return nil
}

// unmap gives the mapped ones back.
func (m *mapped) unmap() {
	for _, t := range m.tensors[:m.n] {
		t.Buffer().Unmap()
	}
	m.n = 0
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
	indices []int32

	kernels *asm.Kernels
	pieces  int
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
	if err := m.mapAll(op.name, op.x, op.y); err != nil {
		return err
	}
	defer m.unmap()
	s := b.scratch.get()
	defer b.scratch.put(s)
	s.rowOp = op
	elements := max(op.x.Shape().NumElements(), op.y.Shape().NumElements())
	if op.indices != nil {
		elements = op.y.Shape().NumElements() // of a table only some rows
	}
	s.rowOp.kernels, s.rowOp.pieces = b.kernels, max(min(op.rows, b.runner.Size(), elements/elementsPerPiece), 1)
	return b.runner.Run(&s.rowOp, s.rowOp.pieces)
}

// AddAssign computes a += b.
func (b *Base) AddAssign(a, c *tensor.Tensor) error {
	if err := CheckAddAssign(a, c); err != nil {
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
	if err := CheckSame("Scale", x); err != nil {
		return err
	}
	var m mapped
	if err := m.mapAll("Scale", x); err != nil {
		return err
	}
	defer m.unmap()
	b.kernels.Scale(floats(x), v)
	return nil
}

// SiLUMul computes a = silu(a)·b.
func (b *Base) SiLUMul(a, c *tensor.Tensor) error {
	if err := CheckSame("SiLUMul", a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "SiLUMul", run: siluMulRows, rows: a.Shape().Rows(), x: a, y: c})
}

func siluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	gate := floats(o.x)[lo*dim : hi*dim]
	k.SiLUMul(gate, gate, floats(o.y)[lo*dim:hi*dim])
}

// RMSNorm normalises the rows of x.
func (b *Base) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	rows, _, err := CheckRMSNorm(x, w)
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
	if err := CheckSame("Softmax", x); err != nil {
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
	tokens, _, _, err := CheckRoPE(x, table)
	if err != nil {
		return err
	}
	return b.onRows(rowOp{name: "RoPE", run: ropeRows, rows: tokens, x: x, y: table})
}

func ropeRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	heads, headDim := o.x.Shape().Dim(1), o.x.Shape().Dim(2)
	for token := lo; token < hi; token++ {
		angles := floats(o.y)[token*headDim : (token+1)*headDim]
		for row := floats(o.x)[token*heads*headDim : (token+1)*heads*headDim]; len(row) > 0; row = row[headDim:] {
			k.RoPE(row[:headDim], angles[:headDim/2], angles[headDim/2:])
		}
	}
}

// Gather looks rows up.
func (b *Base) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
	if _, err := CheckGather(table, indices, out); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "Gather", run: gatherRows, rows: len(indices), x: table, y: out, indices: indices})
}

func gatherRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, rowBytes, format := o.y.Shape().Dim(-1), o.x.RowBytes(), o.x.DType().Format()
	src, dst, panels := o.x.Data(), floats(o.y), panelsOf(o.x)
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
func (b *Base) CopySlice(src, dst *tensor.Tensor, srcOff, dstOff, n int) error {
	from, to, size, err := CheckCopySlice(src, dst, srcOff, dstOff, n)
	if err != nil {
		return err
	}
	if err := needRows("CopySlice", src, dst); err != nil {
		return err
	}
	var m mapped
	if err := m.mapAll("CopySlice", src, dst); err != nil {
		return err
	}
	defer m.unmap()
	copy(dst.Data()[to:to+size], src.Data()[from:from+size])
	return nil
}

// ReadBuffer copies a tensor's bytes to the host.
func (b *Base) ReadBuffer(t *tensor.Tensor, dst []byte) error {
	if err := CheckReadBuffer(t, dst); err != nil {
		return err
	}
	if err := needRows("ReadBuffer", t); err != nil {
		return err
	}
	if err := t.Buffer().Sync(); err != nil {
		return fmt.Errorf("backend: ReadBuffer of %v: %w", t, err)
	}
	var m mapped
	if err := m.mapAll("ReadBuffer", t); err != nil {
		return err
	}
	defer m.unmap()
	copy(dst, t.Data())
	return nil
}

// Cast converts between element types.
func (b *Base) Cast(src, dst *tensor.Tensor) error {
	if err := CheckCast(src, dst); err != nil {
		return err
	}
	if err := needRows("Cast", src, dst); err != nil {
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
			k.Dequantize(from, row, src[:o.x.RowBytes()])
			k.Quantize(to, dst[:o.y.RowBytes()], row)
		}
	}
}

// ScratchBytes returns the memory that operations have taken to work in, in bytes, and keep for the next ones.
func (b *Base) ScratchBytes() int64 { return b.scratch.held.Load() }

// Synchronize has nothing to wait for: the operations above are done when they return.
func (b *Base) Synchronize() error { return nil }

// scratch is the temporary memory of one operation.
type scratch struct {
	rowOp     rowOp
	product   product
	rotation  rotation
	attention attention
	weighing  weighing
	compact   compact
}

// scratchList lends temporary memory, so that operations need not allocate once a few calls have been made.
type scratchList struct {
	mu   sync.Mutex
	free []*scratch
	held atomic.Int64 // bytes of the parts that grow with a model's sizes, lent ones included: they are never given back
}

func (l *scratchList) get() *scratch {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(l.free); n > 0 {
		s := l.free[n-1]
		l.free = l.free[:n-1]
		return s
	}
	s := new(scratch)
	s.product.held, s.attention.held, s.weighing.held = &l.held, &l.held, &l.held
	return s
}

func (l *scratchList) put(s *scratch) {
	s.rowOp, s.rotation = rowOp{}, rotation{} // or they would keep their tensors from being collected
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, s)
}
