package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// recurrences passes rows through states.
type recurrences struct {
	*machine
	tasks pool[recurrence, *recurrence]
}

// recur passes the rows of each stretch through its state.
func (b *recurrences) recur(o *backend.Recur) error {
	d := o.Dims()
	if d.Rows == 0 {
		return nil
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("Recur", o.Q, o.K, o.V, o.G, o.Beta, o.Out); err != nil {
		return err
	}
	if err := maps.addStates("Recur", o.Of); err != nil {
		return err
	}
	r := b.tasks.get()
	defer b.tasks.put(r)
	r.kernels, r.RecurDims, r.delta = b.kernels, d, o.Delta
	r.q, r.k, r.v, r.g, r.beta, r.out = floats(o.Q), floats(o.K), floats(o.V), floats(o.G), floats(o.Beta), floats(o.Out)
	r.stretches = appendStretches(r.stretches[:0], o.Of)
	r.plan(b.runner.Size())
	return b.runner.Run(r, len(r.stretches)*r.Heads*r.parts)
}

// recurrence is a Recur as a task. A piece is a stretch's rows with some blocks of columns of one head's state. The rows pass, passRows at a
// time, through one block after the other. The block stays in the nearest memory meanwhile.
type recurrence struct {
	backend.RecurDims
	kernels          *asm.Kernels
	q, k, v, g, beta []float32
	out              []float32
	delta            bool
	stretches        []stretch
	parts            int // of a head's blocks, each a piece
	workers          []recurrer
}

// passRows is how many rows pass through a block in one call of the kernel.
const passRows = 64

// recurrer is what a worker needs for itself.
type recurrer struct {
	pass        asm.StatePass
	decay, beta [passRows]float32
	columns     [passRows * asm.StateColumns]float32 // of v, then of out, for blocks with columns past dv
}

// reset forgets the operands, and keeps the scratch.
func (r *recurrence) reset() {
	clear(r.stretches)
	for i := range r.workers {
		r.workers[i].pass = asm.StatePass{}
	}
	*r = recurrence{stretches: r.stretches[:0], workers: r.workers}
}

// Phase says what the operation is.
func (r *recurrence) Phase() timing.Phase {
	return timing.Phase{Operation: "Recur", Rows: r.KeyDim, Cols: r.Heads * r.ValueDim, DType: tensor.F32}
}

// plan cuts the heads into pieces: as few as give each worker two, or, for longer stretches, a piece for each block.
func (r *recurrence) plan(workers int) {
	for len(r.workers) < workers {
		r.workers = append(r.workers, recurrer{})
	}
	r.parts = 1
	for i := range r.stretches {
		if r.stretches[i].rows >= passRows {
			r.parts = r.Blocks()
		}
	}
	for r.parts < r.Blocks() && len(r.stretches)*r.Heads*r.parts < 2*workers {
		r.parts = min(2*r.parts, r.Blocks())
	}
}

// Do computes one piece.
func (r *recurrence) Do(worker, piece int) {
	part, piece := piece%r.parts, piece/r.parts
	r.passHead(&r.workers[worker], &r.stretches[piece/r.Heads], piece%r.Heads, part*r.Blocks()/r.parts, (part+1)*r.Blocks()/r.parts)
}

// passHead passes the rows of a stretch through blocks [lo, hi) of a head.
func (r *recurrence) passHead(l *recurrer, s *stretch, head, lo, hi int) {
	for first := 0; first < s.rows; first += passRows {
		row, n := s.first+first, min(passRows, s.rows-first)
		for t := range n {
			l.decay[t], l.beta[t] = r.g[(row+t)*r.Heads+head], r.beta[(row+t)*r.Heads+head]
		}
		r.kernels.Exp(l.decay[:n])
		for block := lo; block < hi; block++ {
			r.pass(l, s, head, block, row, n)
		}
	}
}

// pass computes n rows with one block, once their decays are known.
func (r *recurrence) pass(l *recurrer, s *stretch, head, block, row, n int) {
	keyHead := head / (r.Heads / r.KeyHeads)
	size, column := r.KeyDim*asm.StateColumns, block*asm.StateColumns
	keys, values := (row*r.KeyHeads+keyHead)*r.KeyDim, (row*r.Heads+head)*r.ValueDim+column
	p := &l.pass
	p.State, p.KeyDim, p.Delta = s.state[(head*r.Blocks()+block)*size:][:size], r.KeyDim, r.delta
	p.Decay, p.Beta = l.decay[:n], l.beta[:n]
	p.Q, p.K, p.KeyStride = r.q[keys:], r.k[keys:], r.KeyHeads*r.KeyDim
	p.V, p.Out, p.ValueStride = r.v[values:], r.out[values:], r.Heads*r.ValueDim
	if there := r.ValueDim - column; there < asm.StateColumns {
		r.passSome(l, p, there)
		return
	}
	r.kernels.Recur(p)
}

// passSome computes a pass with a block that has only its first n columns.
func (r *recurrence) passSome(l *recurrer, p *asm.StatePass, n int) {
	v, out, stride := p.V, p.Out, p.ValueStride
	clear(l.columns[:])
	for t := range p.Decay {
		copy(l.columns[t*asm.StateColumns:][:n], v[t*stride:])
	}
	p.V, p.Out, p.ValueStride = l.columns[:], l.columns[:], asm.StateColumns
	r.kernels.Recur(p)
	for t := range p.Decay {
		copy(out[t*stride:][:n], l.columns[t*asm.StateColumns:])
	}
}
