package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// Operations that treat each row by itself. An operation is a rowOp: its operands, and a plain function for rows [lo, hi). onRows cuts the
// rows into pieces for the threads, so that a piece has about elementsPerPiece elements or more. AddAssign of tensors [7, 4096] on four
// threads:
//
//	elements   7·4096 = 28672
//	pieces     min(7 rows, 4 threads, 28672/8192) = 3
//	rows       [0, 2), [2, 4) and [4, 7)

// rowOp is an operation that can compute its rows in any order. It is data and a plain function, not a closure, so that the decode loop
// need not allocate.
type rowOp struct {
	run     func(k *asm.Kernels, o *rowOp, lo, hi int) // computes rows [lo, hi)
	name    string
	rows    int
	x, y    *tensor.Tensor // the operands; which is written is run's affair
	number  float32        // a norm's eps, Softcap's limit
	bias    []float32      // LayerNorm's or Softplus', mapped; nil: no bias
	vector  []float32      // SumExperts' weights, mapped
	table   bool           // x is a table of weights, which may be packed
	indices []int32        // of its rows; AddExpertBias's experts

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

// rowOps has the operations that work row by row.
type rowOps struct {
	*machine
	tasks pool[rowOp, *rowOp]
}

// onRows runs an operation, in as many pieces as there are threads, or as are worth it.
func (b *rowOps) onRows(op rowOp) error {
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
	task := b.tasks.get()
	defer b.tasks.put(task)
	*task = op
	elements := max(op.x.Shape().NumElements(), op.y.Shape().NumElements())
	if op.table {
		elements = op.y.Shape().NumElements() // of a table only some rows
	}
	task.kernels, task.pieces = b.kernels, max(min(op.rows, b.runner.Size(), elements/elementsPerPiece), 1)
	return b.runner.Run(task, task.pieces)
}

// AddAssign computes a += b.
func (b *rowOps) AddAssign(a, c *tensor.Tensor) error {
	if err := backend.CheckAddAssign(a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "AddAssign", run: addRows, rows: a.Shape().Rows(), x: a, y: c})
}

func addRows(k *asm.Kernels, o *rowOp, lo, hi int) { changeRows(k.Add, o, lo, hi) }

// MulAssign computes a *= b.
func (b *rowOps) MulAssign(a, c *tensor.Tensor) error {
	if err := backend.CheckMulAssign(a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "MulAssign", run: mulRows, rows: a.Shape().Rows(), x: a, y: c})
}

func mulRows(k *asm.Kernels, o *rowOp, lo, hi int) { changeRows(k.Mul, o, lo, hi) }

// changeRows changes rows of x by those of y, or by its only one.
func changeRows(change func(dst, src []float32), o *rowOp, lo, hi int) {
	dim, src := o.x.Shape().Dim(-1), floats(o.y)
	dst := floats(o.x)[lo*dim : hi*dim]
	if len(src) > dim { // not one row for all
		src = src[lo*dim : hi*dim]
	}
	for ; len(dst) > 0; dst = dst[len(src):] {
		change(dst[:len(src)], src)
	}
}

// Scale computes x *= v.
func (b *rowOps) Scale(x *tensor.Tensor, v float32) error {
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
func (b *rowOps) SiLUMul(a, c *tensor.Tensor) error {
	return b.gated("SiLUMul", a, c, siluMulRows, siluRows)
}

func siluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.SiLUMul(gate, gate, up)
}

func siluRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, _ := o.gateAndUp(lo, hi)
	k.SiLU(gate)
}

// SigmoidMul computes a = σ(a)·b.
func (b *rowOps) SigmoidMul(a, c *tensor.Tensor) error {
	return b.gated("SigmoidMul", a, c, sigmoidMulRows, sigmoidRows)
}

func sigmoidMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.SigmoidMul(gate, gate, up)
}

func sigmoidRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, _ := o.gateAndUp(lo, hi)
	k.Sigmoid(gate)
}

// gated runs an operation a = act(a)·c, which is alone's where c is nil.
func (b *rowOps) gated(name string, a, c *tensor.Tensor, both, alone func(k *asm.Kernels, o *rowOp, lo, hi int)) error {
	if err := backend.CheckGated(name, a, c); err != nil {
		return err
	}
	if c == nil {
		return b.onRows(rowOp{name: name, run: alone, rows: a.Shape().Rows(), x: a, y: a})
	}
	return b.onRows(rowOp{name: name, run: both, rows: a.Shape().Rows(), x: a, y: c})
}

// gateAndUp returns rows of x and y.
func (o *rowOp) gateAndUp(lo, hi int) (gate, up []float32) {
	dim := o.x.Shape().Dim(-1)
	return floats(o.x)[lo*dim : hi*dim], floats(o.y)[lo*dim : hi*dim]
}

// Softplus computes a = ln(1+e^(a+bias)).
func (b *rowOps) Softplus(a, bias *tensor.Tensor) error {
	if err := backend.CheckSoftplus(a, bias); err != nil {
		return err
	}
	op := rowOp{name: "Softplus", run: softplusRows, rows: a.Shape().Rows(), x: a, y: a}
	if bias == nil {
		return b.onRows(op)
	}
	var m mapped
	defer m.unmap()
	if err := m.add(op.name, bias); err != nil {
		return err
	}
	op.bias = floats(bias)
	return b.onRows(op)
}

func softplusRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		for i, v := range rows[:dim] {
			if o.bias != nil {
				v += o.bias[i]
			}
			rows[i] = exact.Softplus(v)
		}
	}
}

// GELUMul computes a = gelu(a)·b.
func (b *rowOps) GELUMul(a, c *tensor.Tensor) error {
	if err := backend.CheckSame("GELUMul", a, c); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "GELUMul", run: geluMulRows, rows: a.Shape().Rows(), x: a, y: c})
}

func geluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.GELUMul(gate, gate, up)
}

// GELUErf computes a = gelu(a)·b, of the form with the error function.
func (b *rowOps) GELUErf(a, c *tensor.Tensor) error {
	return b.gated("GELUErf", a, c, geluErfMulRows, geluErfRows)
}

func geluErfRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, _ := o.gateAndUp(lo, hi)
	k.GELUErf(gate)
}

func geluErfMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.GELUErfMul(gate, gate, up)
}

// LayerNorm normalises the rows of x about their means.
func (b *rowOps) LayerNorm(x, w, bias *tensor.Tensor, eps float32) error {
	rows, _, err := backend.CheckLayerNorm(x, w, bias)
	if err != nil {
		return err
	}
	op := rowOp{name: "LayerNorm", run: layerNormRows, rows: rows, x: x, y: w, number: eps}
	if bias == nil {
		return b.onRows(op)
	}
	var m mapped
	defer m.unmap()
	if err := m.add(op.name, bias); err != nil {
		return err
	}
	op.bias = floats(bias)
	return b.onRows(op)
}

func layerNormRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, w := o.x.Shape().Dim(-1), floats(o.y)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		k.LayerNorm(rows[:dim], w, o.bias, o.number)
	}
}

// Softcap limits the elements of x.
func (b *rowOps) Softcap(x *tensor.Tensor, limit float32) error {
	if err := backend.CheckSoftcap(x, limit); err != nil {
		return err
	}
	return b.onRows(rowOp{name: "Softcap", run: softcapRows, rows: x.Shape().Rows(), x: x, y: x, number: limit})
}

func softcapRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	k.Softcap(floats(o.x)[lo*dim:hi*dim], o.number)
}

// RMSNorm normalises the rows of x.
func (b *rowOps) RMSNorm(x, w *tensor.Tensor, eps float32) error {
	rows, _, err := backend.CheckRMSNorm(x, w)
	if err != nil {
		return err
	}
	return b.onRows(rowOp{name: "RMSNorm", run: rmsNormRows, rows: rows, x: x, y: w, number: eps})
}

func rmsNormRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, w := o.x.Shape().Dim(-1), floats(o.y)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		k.RMSNorm(rows[:dim], rows[:dim], w, o.number)
	}
}

// Softmax replaces each row of x by its softmax.
func (b *rowOps) Softmax(x *tensor.Tensor) error {
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
func (b *rowOps) RoPE(x, table *tensor.Tensor) error {
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
func (b *rowOps) Gather(table *tensor.Tensor, indices []int32, out *tensor.Tensor) error {
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

// Cast converts between element types.
func (b *rowOps) Cast(src, dst *tensor.Tensor) error {
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
	case o.x.DType() == tensor.F32: // rows are whole blocks: all of them are quantised at once
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

// convertRow writes a row in another format. The scratch has room for its elements; it is not used if the formats are the same.
func convertRow(k *asm.Kernels, to, from quant.Format, dst, src []byte, scratch []float32) {
	if from == to {
		copy(dst, src)
		return
	}
	k.Dequantize(from, scratch, src)
	k.Quantize(to, dst, scratch)
}
