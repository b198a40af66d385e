package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// rotation is the task of RoPEStore. A part is some of a run's tokens with one KV head and its queries, so that who rotated a key stores
// it; parts end where slots do not share bytes of a page. A piece is some of the parts.
type rotation struct {
	q, k, v, table *tensor.Tensor // table is nil if nothing is rotated
	runs           []backend.Run

	kernels *asm.Kernels
	layout  asm.Pages
	pieces  int

	parts  []rotated
	stored workerMemory[byte] // the slots of a part on their way to the page
}

// rotated is a part: tokens [lo, hi) of a run, with one KV head. row is the run's first row.
type rotated struct{ run, row, head, lo, hi int32 }

// reset forgets the operation, and keeps the memory.
func (r *rotation) reset() { *r = rotation{parts: r.parts[:0], stored: r.stored} }

// Phase says what the operation is.
func (r *rotation) Phase() timing.Phase {
	p := timing.Phase{Operation: "RoPEStore", Rows: r.k.Shape().Dim(-2), Cols: r.k.Shape().Dim(-1)}
	if len(r.runs) > 0 {
		p.DType = r.runs[0].Slots.DType
	}
	return p
}

// plan cuts the operation into parts.
func (r *rotation) plan() {
	row := 0
	for i := range r.runs {
		run := &r.runs[i]
		for head := range run.Slots.Heads {
			first := run.Slots.Heads[head].Len - run.Tokens // slot of the run's first token
			for lo := 0; lo < run.Tokens; {
				hi := min(lo+asm.SharedSlots-(first+lo)%asm.SharedSlots, run.Tokens)
				r.parts = append(r.parts, rotated{int32(i), int32(row), int32(head), int32(lo), int32(hi)})
				lo = hi
			}
		}
		row += run.Tokens
	}
}

// Do rotates and stores the parts of one piece.
func (r *rotation) Do(worker, piece int) {
	for _, p := range r.parts[piece*len(r.parts)/r.pieces : (piece+1)*len(r.parts)/r.pieces] {
		if r.table != nil {
			r.rotate(r.k, p, 1)
			r.rotate(r.q, p, r.q.Shape().Dim(1)/r.k.Shape().Dim(1))
		}
		r.store(worker, p)
	}
}

// rotate rotates the vectors of a part, which has some of x for each KV head.
func (r *rotation) rotate(x *tensor.Tensor, p rotated, each int) {
	heads, d := x.Shape().Dim(1), x.Shape().Dim(2)
	for row := int(p.row + p.lo); row < int(p.row+p.hi); row++ {
		rotateVectors(r.kernels, floats(x)[(row*heads+int(p.head)*each)*d:][:each*d], floats(r.table)[row*d:][:d])
	}
}

// store converts the keys and values of a part and stores them in their slots, which are of one page.
func (r *rotation) store(worker int, p rotated) {
	s, tokens := r.runs[p.run].Slots, r.runs[p.run].Tokens
	format, bytes, d, h := s.DType.Format(), s.SlotBytes(), s.HeadDim, &s.Heads[p.head]
	rows := r.stored.of(worker, asm.SharedSlots*bytes)[:int(p.hi-p.lo)*bytes]
	slot := h.Len - tokens + int(p.lo)
	halves := pageData(&h.Pages[slot/backend.PageSlots], bytes)
	for side, x := range [2][]float32{floats(r.k), floats(r.v)} {
		if s.Latent && side == int(asm.PageValues) {
			break
		}
		for i := range int(p.hi - p.lo) {
			at := ((int(p.row+p.lo)+i)*len(s.Heads) + int(p.head)) * d
			r.kernels.Quantize(format, rows[i*bytes:][:bytes], x[at:][:d])
		}
		r.layout.Store(asm.PageSide(side), format, d, halves[side], slot%backend.PageSlots, rows)
	}
}

// rotatedPerPiece is the fewest elements worth handing to another thread: one takes some three nanoseconds.
const rotatedPerPiece = 1 << 11

// rotations rotates queries and keys, and stores keys and values.
type rotations struct {
	*machine
	tasks pool[rotation, *rotation]
}

// ropeStore rotates queries and keys, and stores keys and values, in one pass over the rows.
func (b *rotations) ropeStore(o *backend.RoPEStore) error {
	runs := o.Runs
	var maps mapped
	defer maps.unmap()
	if err := maps.add("RoPEStore", o.K, o.V); err != nil {
		return err
	}
	elements := 2 * o.K.Shape().NumElements()
	if o.Table != nil {
		if err := maps.add("RoPEStore", o.Q, o.Table); err != nil {
			return err
		}
		elements += o.Q.Shape().NumElements()
	}
	for i := range runs {
		if err := maps.addRun("RoPEStore", &runs[i], true); err != nil {
			return err
		}
	}
	t := b.tasks.get()
	defer b.tasks.put(t)
	t.q, t.k, t.v, t.table, t.runs, t.kernels, t.layout = o.Q, o.K, o.V, o.Table, runs, b.kernels, b.pages
	t.plan()
	t.stored.reserve(b.runner.Size())
	t.pieces = max(min(len(t.parts), 4*b.runner.Size(), elements/rotatedPerPiece), 1)
	return b.runner.Run(t, t.pieces)
}
