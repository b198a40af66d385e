package host

import (
	"math"

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
	rows    int            // of x, if it is 0
	x, y    *tensor.Tensor // the operands; which is written is run's affair. A y that is nil is x
	number  float32        // a norm's eps, a limit, Clamp's Min
	most    float32        // Clamp's Max
	curve   [4]float32     // XIELU's numbers
	at      int            // AddScaled's number of a row
	bias    *tensor.Tensor // LayerNorm's or Softplus'; nil: no bias
	vector  *tensor.Tensor // a norm's weights, SumExperts' weights; nil: nothing has weights
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
	if op.rows == 0 && !op.table {
		op.rows = op.x.Shape().Rows()
	}
	if op.y == nil {
		op.y = op.x
	}
	var m mapped
	defer m.unmap()
	if err := m.add(op.name, op.y); err != nil {
		return err
	}
	for _, t := range [2]*tensor.Tensor{op.vector, op.bias} {
		if t == nil {
			continue
		}
		if err := m.add(op.name, t); err != nil {
			return err
		}
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

// compute computes an operation that works row by row; false: op is another one.
func (b *rowOps) compute(op backend.Op) (bool, error) {
	var r rowOp
	switch o := op.(type) {
	case *backend.AddAssign:
		r = rowOp{name: "AddAssign", run: addRows, x: o.A, y: o.B}
	case *backend.MulAssign:
		r = rowOp{name: "MulAssign", run: mulRows, x: o.A, y: o.B}
	case *backend.SiLUMul:
		r = gated("SiLUMul", o.A, o.B, siluMulRows, siluRows)
	case *backend.SigmoidMul:
		r = gated("SigmoidMul", o.A, o.B, sigmoidMulRows, sigmoidRows)
	case *backend.GELUMul:
		r = gated("GELUMul", o.A, o.B, geluMulRows, geluRows)
	case *backend.GELUErf:
		r = gated("GELUErf", o.A, o.B, geluErfMulRows, geluErfRows)
	case *backend.ReLUSquared:
		r = rowOp{name: "ReLUSquared", run: reluSquaredRows, x: o.A}
	case *backend.XIELU:
		r = rowOp{name: "XIELU", run: xieluRows, x: o.A, curve: [4]float32{o.Positive, o.Negative, o.Linear, o.Floor}}
	case *backend.AddScaled:
		r = rowOp{name: "AddScaled", run: addScaledRows, x: o.X, y: o.Y, vector: o.Weights, number: o.Plus, at: o.At}
	case *backend.MatchMagnitude:
		r = rowOp{name: "MatchMagnitude", run: matchMagnitudeRows, x: o.X, y: o.Like, number: o.Least}
	case *backend.CutOff:
		r = rowOp{name: "CutOff", run: cutOffRows, x: o.A, number: o.Deviations}
	case *backend.SwiGLUClamped:
		r = rowOp{name: "SwiGLUClamped", run: swiGLUClampedRows, x: o.A, y: o.B, number: o.Limit}
	case *backend.Softplus:
		r = rowOp{name: "Softplus", run: softplusRows, x: o.A, bias: o.Bias}
	case *backend.Clamp:
		r = rowOp{name: "Clamp", run: clampRows, x: o.Out, y: o.X, number: o.Min, most: o.Max}
	case *backend.Softcap:
		r = rowOp{name: "Softcap", run: softcapRows, x: o.X, number: o.Limit}
	case *backend.RMSNorm:
		r = rowOp{name: "RMSNorm", run: rmsNormRows, x: o.To(), y: o.X, vector: o.W, number: o.Eps}
	case *backend.LayerNorm:
		r = rowOp{name: "LayerNorm", run: layerNormRows, x: o.To(), y: o.X, vector: o.W, bias: o.B, number: o.Eps}
	case *backend.Softmax:
		r = rowOp{name: "Softmax", run: softmaxRows, x: o.X}
	case *backend.RoPE:
		r = rowOp{name: "RoPE", run: ropeRows, rows: o.X.Shape().Dim(0), x: o.X, y: o.Table}
	case *backend.SumExperts:
		rows, _, _ := o.Dims()
		r = rowOp{name: "SumExperts", run: sumExpertsRows, rows: rows, x: o.Out, y: o.Y, vector: o.Weights}
	case *backend.Gather:
		if err := needWholePanels(o.Table); err != nil {
			return true, err
		}
		r = rowOp{name: "Gather", run: gatherRows, rows: len(o.Indices), x: o.Table, y: o.Out, table: true, indices: o.Indices}
	case *backend.Cast:
		r = rowOp{name: "Cast", run: castRows, x: o.Src, y: o.Dst}
	default:
		return false, nil
	}
	return true, b.onRows(r)
}

// gated is an operation a = act(a)·b, which is alone's where b is nil.
func gated(name string, a, b *tensor.Tensor, both, alone func(k *asm.Kernels, o *rowOp, lo, hi int)) rowOp {
	if b == nil {
		return rowOp{name: name, run: alone, x: a}
	}
	return rowOp{name: name, run: both, x: a, y: b}
}

// scale computes x *= by on the caller's goroutine.
func (b *rowOps) scale(o *backend.Scale) error {
	var m mapped
	if err := m.add("Scale", o.X); err != nil {
		return err
	}
	defer m.unmap()
	b.kernels.Scale(floats(o.X), o.By)
	return nil
}

func addRows(k *asm.Kernels, o *rowOp, lo, hi int) { changeRows(k.Add, o, lo, hi) }

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

func siluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.SiLUMul(gate, gate, up)
}

func siluRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, _ := o.gateAndUp(lo, hi)
	k.SiLU(gate)
}

func sigmoidMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.SigmoidMul(gate, gate, up)
}

func sigmoidRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, _ := o.gateAndUp(lo, hi)
	k.Sigmoid(gate)
}

// gateAndUp returns rows of x and y.
func (o *rowOp) gateAndUp(lo, hi int) (gate, up []float32) {
	dim := o.x.Shape().Dim(-1)
	return floats(o.x)[lo*dim : hi*dim], floats(o.y)[lo*dim : hi*dim]
}

// clampRows leaves NaN as it is.
func clampRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	to, from := o.gateAndUp(lo, hi)
	least, most := o.number, o.most
	for i, v := range from {
		if v < least {
			v = least
		}
		if v > most {
			v = most
		}
		to[i] = v
	}
}

func softplusRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	var bias []float32
	if o.bias != nil {
		bias = floats(o.bias)
	}
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		for i, v := range rows[:dim] {
			if bias != nil {
				v += bias[i]
			}
			rows[i] = exact.Softplus(v)
		}
	}
}

func reluSquaredRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	rows := floats(o.x)[lo*dim : hi*dim]
	for i, v := range rows {
		if v < 0 {
			v = 0
		}
		rows[i] = v * v
	}
}

func xieluRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	rows := floats(o.x)[lo*dim : hi*dim]
	for i, v := range rows {
		rows[i] = exact.XIELU(v, o.curve[0], o.curve[1], o.curve[2], o.curve[3])
	}
}

func addScaledRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim, n, weights := o.x.Shape().Dim(-1), o.vector.Shape().Dim(-1), floats(o.vector)
	x, y := floats(o.x), floats(o.y)
	for row := lo; row < hi; row++ {
		w, from := o.number+weights[row*n+o.at], y[row*dim:][:dim]
		for i, v := range x[row*dim:][:dim] {
			x[row*dim+i] = v + float32(w*from[i])
		}
	}
}

// meanSquare returns the mean of the squares of a row.
func meanSquare(row []float32) float64 {
	sum := 0.0
	for _, v := range row {
		sum += float64(float64(v) * float64(v))
	}
	return sum / float64(len(row))
}

func matchMagnitudeRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim, like := o.x.Shape().Dim(-1), floats(o.y)
	x := floats(o.x)
	for row := lo; row < hi; row++ {
		to := x[row*dim:][:dim]
		by := float32(math.Sqrt(meanSquare(like[row*dim:][:dim]) / max(meanSquare(to), float64(o.number))))
		for i, v := range to {
			to[i] = v * by
		}
	}
}

func cutOffRows(_ *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		row, mean, square := rows[:dim], 0.0, 0.0
		for _, v := range row {
			mean += float64(v)
		}
		mean /= float64(dim)
		for _, v := range row {
			d := float64(v) - mean
			square += float64(d * d)
		}
		limit := float32(mean + float64(math.Sqrt(square/float64(dim))*float64(o.number)))
		for i, v := range row {
			if row[i] = v - limit; row[i] < 0 {
				row[i] = 0
			}
		}
	}
}

func geluMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.GELUMul(gate, gate, up)
}

// ones are what geluRows multiplies by.
var ones = func() (list [256]float32) {
	for i := range list {
		list[i] = 1
	}
	return list
}()

func geluRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	for rest := floats(o.x)[lo*dim : hi*dim]; len(rest) > 0; {
		n := min(len(rest), len(ones))
		k.GELUMul(rest[:n], rest[:n], ones[:n])
		rest = rest[n:]
	}
}

func geluErfRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, _ := o.gateAndUp(lo, hi)
	k.GELUErf(gate)
}

func geluErfMulRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	gate, up := o.gateAndUp(lo, hi)
	k.GELUErfMul(gate, gate, up)
}

func layerNormRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, w, bias := o.x.Shape().Dim(-1), floats(o.vector), []float32(nil)
	if o.bias != nil {
		bias = floats(o.bias)
	}
	rows := floats(o.x)[lo*dim : hi*dim]
	if o.y != o.x {
		copy(rows, floats(o.y)[lo*dim:hi*dim])
	}
	for ; len(rows) > 0; rows = rows[dim:] {
		k.LayerNorm(rows[:dim], w, bias, o.number)
	}
}

func softcapRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	k.Softcap(floats(o.x)[lo*dim:hi*dim], o.number)
}

func rmsNormRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, w := o.x.Shape().Dim(-1), floats(o.vector)
	rows, from := floats(o.x)[lo*dim:hi*dim], floats(o.y)[lo*dim:hi*dim]
	for ; len(rows) > 0; rows, from = rows[dim:], from[dim:] {
		k.RMSNorm(rows[:dim], from[:dim], w, o.number)
	}
}

func softmaxRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim := o.x.Shape().Dim(-1)
	for rows := floats(o.x)[lo*dim : hi*dim]; len(rows) > 0; rows = rows[dim:] {
		k.Softmax(rows[:dim])
	}
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

func gatherRows(k *asm.Kernels, o *rowOp, lo, hi int) {
	dim, rowBytes, format := o.y.Shape().Dim(-1), o.x.RowBytes(), o.x.DType().Format()
	src, dst, panels := dataOf(o.x), floats(o.y), panelsOf(o.x)
	packed := o.x.Shape().Dim(0) / asm.PanelRows * asm.PanelRows
	for i := lo; i < hi; i++ {
		row, out := int(o.indices[i]), dst[i*dim:(i+1)*dim]
		if panels == nil || row >= packed {
			k.Dequantize(format, out, src[row*rowBytes:][:rowBytes])
			continue
		}
		panel := src[row/asm.PanelRows*asm.PanelRows*rowBytes:][:asm.PanelRows*rowBytes]
		panels.Unpack(out, panel, row%asm.PanelRows, dim)
	}
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
