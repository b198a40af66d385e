package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/tensor"
)

// rotation is the task of RoPEStore: a piece is some of the rows, so that who rotated a key converts it.
type rotation struct {
	q, k, v, table *tensor.Tensor // table is nil where nothing is rotated
	runs           []backend.Run

	kernels      *asm.Kernels
	rows, pieces int
}

// reset forgets the operation.
func (r *rotation) reset() { *r = rotation{} }

// Phase says what the operation is.
func (r *rotation) Phase() timing.Phase {
	p := timing.Phase{Operation: "RoPEStore", Rows: r.k.Shape().Dim(-2), Cols: r.k.Shape().Dim(-1)}
	if len(r.runs) > 0 {
		p.DType = r.runs[0].Slots.DType
	}
	return p
}

// Do rotates and stores the rows of one piece.
func (r *rotation) Do(_, piece int) {
	lo, hi := piece*r.rows/r.pieces, (piece+1)*r.rows/r.pieces
	if r.table != nil {
		ropeRows(r.kernels, &rowOp{x: r.q, y: r.table}, lo, hi)
		ropeRows(r.kernels, &rowOp{x: r.k, y: r.table}, lo, hi)
	}
	first := 0 // row of the run
	for i := range r.runs {
		run := &r.runs[i]
		for row := max(lo, first); row < min(hi, first+run.Tokens); row++ {
			r.store(run.Slots, row, run.Tokens-(row-first))
		}
		first += run.Tokens
	}
}

// store converts a row's keys and values to the slots that are the given number before the end of each head.
func (r *rotation) store(s *backend.Slots, row, back int) {
	format, bytes, d := s.DType.Format(), s.SlotBytes(), s.HeadDim
	width := len(s.Heads) * d
	k, v := floats(r.k)[row*width:][:width], floats(r.v)[row*width:][:width]
	for i := range s.Heads {
		h := &s.Heads[i]
		slot := h.Len - back
		keys, values := pageData(&h.Pages[slot/backend.PageSlots], bytes)
		at := slot % backend.PageSlots * bytes
		r.kernels.Quantize(format, keys[at:at+bytes], k[i*d:][:d])
		r.kernels.Quantize(format, values[at:at+bytes], v[i*d:][:d])
	}
}

// RoPEStore rotates queries and keys, and stores keys and values, in one pass over the rows.
func (b *Base) RoPEStore(q, k, v, table *tensor.Tensor, runs []backend.Run) error {
	d, err := backend.CheckRoPEStore(q, k, v, table, runs)
	if err != nil {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("RoPEStore", k, v); err != nil {
		return err
	}
	elements := 2 * k.Shape().NumElements()
	if table != nil {
		if err := maps.add("RoPEStore", q, table); err != nil {
			return err
		}
		elements += q.Shape().NumElements()
	}
	for i := range runs {
		if err := maps.addRun("RoPEStore", &runs[i], true); err != nil {
			return err
		}
	}
	task := b.rotations.get()
	defer b.rotations.put(task)
	pieces := max(min(d.Tokens, b.runner.Size(), elements/elementsPerPiece), 1)
	*task = rotation{q, k, v, table, runs, b.kernels, d.Tokens, pieces}
	return b.runner.Run(task, pieces)
}
