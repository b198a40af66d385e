package host

import (
	"slices"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// A product multiplies the same activations with several weights. One phase brings the activations into the forms that the weights want,
// once for each form. A second phase multiplies: its pieces are ranges of the rows of all weights together, cut at multiples of
// rowsPerPiece. For queries, keys and values with 2048, 512 and 512 rows, three pieces are:
//
//	piece 0   rows 0 to 1023      the first half of the queries
//	piece 1   rows 1024 to 2047   the second half of the queries
//	piece 2   rows 2048 to 3071   keys and values

// products multiplies matrices.
type products struct {
	*machine
	tasks pool[product, *product]
}

// matMul multiplies two activations. The inner products run in order, one fused multiply-add a step, as those with weights do.
func (b *products) matMul(o *backend.MatMul) (err error) {
	defer mmap.Catch(&err)()
	m, n, k := o.Dims()
	var maps mapped
	if err := maps.add("MatMul", o.A, o.B, o.Out); err != nil {
		return err
	}
	defer maps.unmap()
	x, y, dst := floats(o.A), floats(o.B), floats(o.Out)
	clear(dst)
	for i := range m {
		for j := range k {
			b.kernels.Axpy(dst[i*n:(i+1)*n], x[i*k+j], y[j*n:(j+1)*n])
		}
	}
	return nil
}

// matMulTransposed multiplies with weights.
func (b *products) matMulTransposed(o *backend.MatMulTransposed) error {
	a, w, out := o.X, o.W, o.Out
	m, _, k := o.Dims()
	if err := needWholePanels(w); err != nil {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("MatMulTransposed", a, out); err != nil {
		return err
	}
	if err := maps.addWeights("MatMulTransposed", w); err != nil {
		return err
	}
	p := b.tasks.get()
	p.held = &b.held
	defer b.tasks.put(p)
	p.begin("MatMulTransposed", b.kernels, m, k)
	p.add(w, out)
	if err := p.activate(b.runner, activation{x: floats(a)}); err != nil {
		return err
	}
	return p.multiply(b.runner)
}

// matMulRounded multiplies rows that are rounded by one scale each with several weights.
func (b *products) matMulRounded(o *backend.MatMulRounded) error {
	const name = "MatMulRounded"
	var maps mapped
	defer maps.unmap()
	if err := maps.add(name, o.X); err != nil {
		return err
	}
	p := b.tasks.get()
	p.held = &b.held
	defer b.tasks.put(p)
	p.begin(name, b.kernels, o.X.Shape().Rows(), o.X.Shape().Dim(-1))
	for i, w := range o.Ws {
		if err := needWholePanels(w); err != nil {
			return err
		}
		if err := maps.addWeights(name, w); err != nil {
			return err
		}
		if err := maps.add(name, o.Outs[i]); err != nil {
			return err
		}
		p.add(w, o.Outs[i])
	}
	if len(p.terms) == 0 {
		return nil
	}
	if err := p.activate(b.runner, activation{x: floats(o.X), whole: true}); err != nil {
		return err
	}
	return p.multiply(b.runner)
}

// product is the multiplication of one activation matrix with one or several weights, as a task of two phases: the rows of
// the activation are prepared for the weights' formats, then the weights' rows are shared out.
type product struct {
	name    string // of the operation
	kernels *asm.Kernels
	held    *atomic.Int64 // counts the scratch memory below; it is the machine's
	m, k    int
	terms   []term
	rows    int // of all terms together
	pieces  int
	workers int

	activation activation
	partners   []quant.Activation // the activation in each form that a term wants
	preparing  bool
	epilogue   epilogue
	sum        []float32             // [m, rows], to which the products are added; nil: they are the result
	own        workerMemory[float32] // products on their way to the sum
	rounded    []float32             // [m, k]: the activation's rows that are rounded whole, for weights of floats
	calls      []asm.PanelProduct    // one for each worker, kept to spare an allocation
}

// term is one weight of a product.
type term struct {
	dtype    tensor.DType
	format   quant.Format
	panels   *asm.Panels // how w is packed; nil: as files have it
	partner  int         // index of the activation's form
	w        []byte
	rowBytes int
	rows     int
	bias     []float32 // [rows]; nil: no bias
	out      []float32 // [m, rows]
}

// activation is the rows to multiply: x [m, k], or their norm, which is then stored in normed. The norm is RMSNorm or, if it is centred,
// LayerNorm. normed may be x for LayerNorm.
type activation struct {
	x, norm, normed []float32
	eps             float32
	centred         bool
	bias            []float32 // of LayerNorm; nil: no bias
	whole           bool      // each row is rounded by one scale
}

// epilogue is what happens to a piece of the products as soon as it is computed, while it is in the cache. With one, all
// terms have equally many rows, and a piece is the same rows of each.
type epilogue func(k *asm.Kernels, p *product, lo, hi int) // of a token's outputs

// reset forgets the product's terms, and keeps the memory of the activation's forms.
func (p *product) reset() {
	p.kernels, p.epilogue, p.sum, p.activation, p.rows = nil, nil, nil, activation{}, 0
	clear(p.terms)
	clear(p.calls)
	for i := range p.partners {
		p.partners[i].X = nil
	}
	p.terms, p.partners = p.terms[:0], p.partners[:0]
}

// begin prepares for the terms of a product.
func (p *product) begin(name string, kernels *asm.Kernels, m, k int) {
	p.name, p.kernels, p.m, p.k = name, kernels, m, k
}

// add adds w as a term.
func (p *product) add(w, out *tensor.Tensor) {
	format, rows := w.DType().Format(), w.Shape().Dim(0)
	p.terms = append(p.terms, term{
		dtype: w.DType(), format: format, panels: panelsOf(w), partner: p.partner(format.ActivationForm()),
		w: dataOf(w), rowBytes: w.RowBytes(), rows: rows, out: floats(out),
	})
	p.rows += rows
}

// partner returns the index of the activation in a form.
func (p *product) partner(form quant.ActivationForm) int {
	for i := range p.partners {
		if p.partners[i].Form == form {
			return i
		}
	}
	n := len(p.partners)
	if n < cap(p.partners) {
		p.partners = p.partners[:n+1] // with the memory of an earlier product
	} else {
		p.partners = append(p.partners, quant.Activation{})
	}
	had := cap(p.partners[n].Q)
	p.partners[n].Reserve(form, p.m, p.k)
	if grown := cap(p.partners[n].Q) - had; grown != 0 { // the scales and sums are small next to the elements
		p.held.Add(int64(grown))
	}
	return n
}

// activate prepares the rows of the activation.
func (p *product) activate(r Runner, a activation) error {
	p.activation, p.preparing = a, true
	for i := range p.partners {
		switch {
		case a.whole && p.partners[i].Form == quant.Float:
			p.partners[i].X = p.ownFloats()
		case a.norm != nil:
			p.partners[i].X = a.normed
		default:
			p.partners[i].X = a.x
		}
	}
	if a.norm == nil && !a.whole && !slices.ContainsFunc(p.partners, func(a quant.Activation) bool { return a.Form != quant.Float }) {
		return nil // floats are multiplied as they are
	}
	p.pieces = min(p.m, r.Size())
	return r.Run(p, p.pieces)
}

// ownFloats returns memory for the activation, which stays with the product.
func (p *product) ownFloats() []float32 {
	had := cap(p.rounded)
	p.rounded = slices.Grow(p.rounded[:0], p.m*p.k)[:p.m*p.k]
	p.held.Add(4 * int64(cap(p.rounded)-had))
	return p.rounded
}

// rowsPerPiece is how many rows of weights are worth handing to another thread: enough to amortise the hand-over, few enough
// that threads end together. It is whole panels, as many as kernels take at once: for few rows of activations four, since
// kernels for them read memory in four places. On 16 threads of a Xeon (Sapphire Rapids), two runs each, tokens/s of 1, 4 and 16 sessions in pieces of 32 rows: 152
// and 102, 382 and 357, 796 and 847; in pieces of 64: 132 and 148, 444 and 408, 706 and 721. Two pieces a thread in place of eight, so that fewer
// are handed over: 119 and 118, 318 and 345, 649 and 704; the threads no longer end together.
//
// For one token on two threads, pieces that become smaller towards the end let these end within 5 µs in place of 17, and were as fast (1.0, five turns): a
// thread that is alone at the end reads faster. Nor does it help if threads that wait for the last piece ask their caches for 128 KB each of the
// weights that followed last time: 1.01 to 1.02 times as fast on two threads of a Zen 5, 0.91 to 1.11 on 16 of the Xeon.
//
// Pieces are fewer panels if threads would have no piece: a router of 128 rows of 2048 in F32, a megabyte, was computed by two threads of 16. For
// more rows of activations than one, whose kernels read one panel after another, they are so too if threads would have few.
func (p *product) rowsPerPiece() int {
	panels := 2
	if p.m < rowsAtOnce {
		panels = 4
	}
	enough := p.workers
	if p.m > 1 {
		enough *= 4
	}
	for panels > 1 && p.rows < panels*asm.PanelRows*enough && panels*asm.PanelRows*p.terms[0].rowBytes >= 2*bytesPerPiece {
		panels /= 2
	}
	return panels * asm.PanelRows
}

// bytesPerPiece is how many bytes of weights a piece has at least if it is smaller than kernels take at once.
const bytesPerPiece = 64 << 10

// workPerPiece is the fewest multiply-adds worth a hand-over, which costs about a microsecond: what the kernels compute in
// that time for one row of activations. For rowsAtOnce rows they do as much more, since they read the weights once for all of them. Smaller
// products are computed by the caller alone.
const (
	workPerPiece = 1 << 15
	rowsAtOnce   = 8
)

// multiply computes the terms.
func (p *product) multiply(r Runner) error {
	p.preparing, p.workers = false, r.Size()
	if n := r.Size(); len(p.calls) < n {
		p.calls = make([]asm.PanelProduct, n)
	}
	p.own.reserve(r.Size())
	had := p.own.size()
	defer func() { p.held.Add(4 * int64(p.own.size()-had)) }()
	work := p.m * p.rows * p.k
	if p.epilogue != nil {
		p.rows /= len(p.terms)
	}
	p.pieces = max(1, min(p.rows/p.rowsPerPiece(), work/(workPerPiece*min(p.m, rowsAtOnce)), 8*r.Size()))
	return r.Run(p, p.pieces)
}

// Phase says what the present phase is.
func (p *product) Phase() timing.Phase {
	if p.preparing {
		return timing.Phase{Operation: p.name, Part: "activation", Cols: p.k, DType: tensor.F32}
	}
	rows := 0
	for i := range p.terms {
		rows += p.terms[i].rows
	}
	return timing.Phase{Operation: p.name, Rows: rows, Cols: p.k, DType: p.terms[0].dtype}
}

// Do computes one piece of the present phase.
func (p *product) Do(worker, piece int) {
	if p.preparing {
		p.prepare(piece*p.m/p.pieces, (piece+1)*p.m/p.pieces)
		return
	}
	lo, hi := p.cut(piece), p.cut(piece+1)
	if p.epilogue != nil {
		for i := range p.terms {
			p.multiplyRows(worker, &p.terms[i], lo, hi)
		}
		for at := 0; at < p.m*p.rows; at += p.rows {
			p.epilogue(p.kernels, p, at+lo, at+hi)
		}
		return
	}
	for i := range p.terms {
		t := &p.terms[i]
		if from, to := t.whole(lo), t.whole(hi); from < to {
			p.multiplyRows(worker, t, from, to)
		}
		lo, hi = lo-t.rows, hi-t.rows
	}
}

// cut returns the first row of a piece, counted over the rows of all terms. It lies between groups of panels that kernels take together.
//
// With many rows of activations, threads compute more than they wait for the memory, and the last piece decides when all are done. On 16 threads
// of the Xeon, in turn with pieces that are all alike, medians of six: prompts are read 1.09 times as fast, 16 sessions generate 1.06 times as
// many tokens; one session, which has one row, 0.98. On two threads of a Zen 5 prompts are read 1.04 times as fast, four turns.
func (p *product) cut(piece int) int {
	if piece == p.pieces {
		return p.rows
	}
	step, at := p.rowsPerPiece(), piece*p.rows/p.pieces
	if p.m >= rowsAtOnce && p.rows >= 2*step*p.pieces {
		at = shrinking(p.rows, piece, p.pieces)
	}
	return at / step * step
}

// shrinking cuts rows so that pieces become smaller towards the end: the first is 7/4 of the average, the last a quarter. Of 1000 rows, for
// example, 4 pieces begin at 0, 390, 687 and 890.
func shrinking(rows, piece, pieces int) int {
	i, n := int64(piece), int64(pieces)
	return int(int64(rows) * i * (7*n - 3*i) / (4 * n * n))
}

// whole returns the row of the term at which a piece begins or ends, for the row that an even cut gives. In packed weights it is a panel's
// first row, even if the terms before do not fill whole panels; the rows after the last panel belong to the last piece.
func (t *term) whole(row int) int {
	if row <= 0 || row >= t.rows || t.panels == nil {
		return min(max(row, 0), t.rows)
	}
	return row / asm.PanelRows * asm.PanelRows
}

// prepare normalises and quantises rows of the activation.
func (p *product) prepare(lo, hi int) {
	a := &p.activation
	for row := lo; row < hi; row++ {
		x := a.x[row*p.k : (row+1)*p.k]
		if a.norm != nil {
			normed := a.normed[row*p.k : (row+1)*p.k]
			if a.centred {
				copy(normed, x)
				p.kernels.LayerNorm(normed, a.norm, a.bias, a.eps)
			} else {
				p.kernels.RMSNorm(normed, x, a.norm, a.eps)
			}
			x = normed
		}
		for i := range p.partners {
			if a.whole {
				p.partners[i].PrepareWhole(row, x)
				continue
			}
			p.kernels.Prepare(&p.partners[i], row, x)
		}
	}
}

// multiplyRows computes rows [lo, hi) of a term for every row of the activation, and adds their biases. With a sum, which other workers write
// to as well, the products go to the worker's own memory first.
func (p *product) multiplyRows(worker int, t *term, lo, hi int) {
	out, stride := t.out[lo:], t.rows
	if p.sum != nil {
		stride = hi - lo
		out = p.own.of(worker, p.m*stride)
	}
	p.multiplyWeights(worker, t, lo, hi, out, stride)
	for row := range p.m {
		part, at := out[row*stride:][:hi-lo], row*t.rows
		if p.sum != nil {
			sum := p.sum[at+lo : at+hi]
			p.kernels.Add(sum, part)
			part = sum
		}
		if t.bias != nil {
			p.kernels.Add(part, t.bias[lo:hi])
		} else if p.sum == nil {
			return
		}
	}
}

// multiplyWeights computes rows [lo, hi) of a term for every row of the activation, to the rows of out, one every stride elements.
func (p *product) multiplyWeights(worker int, t *term, lo, hi int, out []float32, stride int) {
	w, acts := t.w[lo*t.rowBytes:], &p.partners[t.partner]
	if t.panels != nil && hi-lo >= asm.PanelRows {
		call, panels := &p.calls[worker], (hi-lo)/asm.PanelRows
		*call = asm.PanelProduct{Panels: w, Count: panels, Acts: acts, Out: out, Stride: stride}
		t.panels.Multiply(call)
		if lo += panels * asm.PanelRows; lo == hi {
			return
		}
		w, out = w[panels*asm.PanelRows*t.rowBytes:], out[panels*asm.PanelRows:]
	}
	t.format.DotRows(out, stride, w, t.rowBytes, hi-lo, acts)
}
