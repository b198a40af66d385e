package host

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// Pack copies weights [N, K], or those of experts [experts, N, K], into panels, in a device's memory, as elements of type d, several panels
// at a time. Row i of the result is row order(i) of w; a nil order changes nothing. The last rows of a matrix, if they do not fill a panel,
// follow the panels as rows. Of a mapped file, pages that were packed are no longer needed (SharedBuffer.Forget). Weights stay in rows if the kernels have no panels for d, or if the rows of an expert do not fill panels: the
// result is w itself if neither type nor order changes. Pack checks the context every few megabytes.
func (b Fused) Pack(ctx context.Context, device tensor.Device, w *tensor.Tensor, d tensor.DType, order func(row int) int) (*tensor.Tensor, error) {
	same := order == nil && d == w.DType()
	if same && (w.Shape().NDim() < 2 || panelsOf(w) != nil || w.Size() == 0) {
		return w, nil
	}
	if err := needConvertible(w, d); err != nil {
		return nil, err
	}
	if panelsOf(w) != nil {
		return nil, fmt.Errorf("host: pack %v as %v: %w", w, d, errPacked)
	}
	rows, k := w.Shape().Rows(), w.Shape().Dim(-1)
	t := packTask{kernels: b.kernels, from: w.DType().Format(), to: d.Format(), src: w.Data(), order: order, rows: rows, k: k}
	if n := w.Shape().Dim(-2); n%asm.PanelRows == 0 || w.Shape().NDim() == 2 && n > asm.PanelRows { // so that panels are of one expert
		t.panels = b.kernels.PanelsFor(t.to)
	}
	if same && t.panels == nil {
		return w, nil
	}
	t.scratch = make([]packScratch, b.runner.Size())
	alloc := device.Memory().Alloc
	if g, ok := device.Memory().(*tensor.Galloc); ok {
		alloc = g.AllocWeights // a decoded token reads all of them: every address translation counts
	}
	buffer, err := alloc(rows*t.to.Bytes(k), d)
	if err != nil {
		return nil, err
	}
	t.dst = buffer.Bytes()
	mapped, _ := w.Buffer().(*tensor.SharedBuffer)
	panels, step := (rows+asm.PanelRows-1)/asm.PanelRows, max(packAtOnce/(asm.PanelRows*t.from.Bytes(k)), 1)
	for ; t.first < panels; t.first += step {
		err := ctx.Err()
		if err == nil {
			err = b.runner.Run(&t, min(step, panels-t.first))
		}
		if err == nil {
			err = t.check()
		}
		if err != nil {
			buffer.Free()
			return nil, fmt.Errorf("host: pack %v as %v: %w", w, d, err)
		}
		if mapped != nil && order == nil {
			lo, hi := t.first*asm.PanelRows, min((t.first+step)*asm.PanelRows, rows)
			mapped.Forget(w.Offset()+lo*t.from.Bytes(k), (hi-lo)*t.from.Bytes(k))
		}
	}
	if t.panels == nil {
		return tensor.Wrap(device, buffer, w.Shape())
	}
	return tensor.Wrap(device, &panelBuffer{buffer, t.panels}, w.Shape())
}

// needConvertible returns an error unless weights are one or more matrices with rows that can become whole blocks of d.
func needConvertible(w *tensor.Tensor, d tensor.DType) error {
	if n := w.Shape().NDim(); n != 2 && n != 3 {
		return fmt.Errorf("backend: PrepareAs of %v: weights have two dimensions, or three for experts", w)
	}
	if f, g := w.DType().Format(), d.Format(); !f.Valid() || !g.Valid() {
		return fmt.Errorf("backend: PrepareAs of %v: no conversion to %v", w, d)
	}
	if k := w.Shape().Dim(-1); k%d.BlockLen() != 0 {
		return fmt.Errorf("backend: PrepareAs of %v: its rows of %d are no whole blocks of %d, as %v has them", w, k, d.BlockLen(), d)
	}
	return nil
}

// packAtOnce is how many bytes are packed between two looks at the context: some milliseconds, on a slow machine tens.
const packAtOnce = 8 << 20

// packTask packs a panel a piece. Rows that have to be converted, or that do not follow each other, are packed from memory that stays
// in the processor's caches.
type packTask struct {
	kernels  *asm.Kernels
	panels   *asm.Panels // nil: the rows stay rows
	from, to quant.Format
	dst, src []byte
	order    func(row int) int // nil: as they are
	rows, k  int
	first    int           // the first piece's panel
	scratch  []packScratch // of each worker, made when it is needed
	damaged  atomic.Int64  // 1 + the index of a row with a number that is not finite in the type to; 0: no such row
}

// rounds reports whether numbers may become infinite in the type to, so that it is worth looking.
func (t *packTask) rounds() bool { return t.from != t.to && t.to != quant.F32 && t.to != quant.BF16 }

// note keeps that a row of the result is not finite, unless an earlier one is known.
func (t *packTask) note(row int) {
	if t.order != nil {
		row = t.order(row)
	}
	for {
		known := t.damaged.Load()
		if known != 0 && known <= int64(row)+1 || t.damaged.CompareAndSwap(known, int64(row)+1) {
			return
		}
	}
}

// check returns an error if a row was noted.
func (t *packTask) check() error {
	if row := t.damaged.Load(); row > 0 {
		return t.to.NotFinite(int(row) - 1)
	}
	return nil
}

// packScratch is what one worker converts in.
type packScratch struct {
	floats []float32 // of a row
	rows   []byte    // of a panel
	panel  []byte    // of Panels.Quantize
}

// Phase says what the task is.
func (t *packTask) Phase() timing.Phase { return timing.Phase{Operation: "Prepare", Cols: t.k} }

// Do packs one panel, or copies the rows that are left.
func (t *packTask) Do(worker, piece int) {
	from, to := t.from.Bytes(t.k), t.to.Bytes(t.k)
	lo := (t.first + piece) * asm.PanelRows
	hi := min(lo+asm.PanelRows, t.rows)
	dst := t.dst[lo*to : hi*to]
	if t.panels == nil || hi-lo < asm.PanelRows {
		t.convert(dst, lo, hi, &t.scratch[worker])
		return
	}
	s := &t.scratch[worker]
	if t.order == nil {
		src := t.src[lo*from : hi*from]
		if t.from == t.to {
			t.panels.Pack(dst, src, to, t.k)
			return
		}
		if t.panels.Quantize(dst, src, t.from, from, t.k, &s.panel) {
			if row := t.panels.FirstNotFinite(dst, t.k); row >= 0 {
				t.note(lo + row)
			}
			return
		}
	}
	if s.rows == nil {
		s.rows = make([]byte, asm.PanelRows*to)
	}
	t.convert(s.rows, lo, hi, s)
	t.panels.Pack(dst, s.rows, to, t.k)
}

// convert writes rows [lo, hi) of the result to dst.
func (t *packTask) convert(dst []byte, lo, hi int, s *packScratch) {
	from, to := t.from.Bytes(t.k), t.to.Bytes(t.k)
	if s.floats == nil && t.from != t.to {
		s.floats = make([]float32, t.k)
	}
	for row := lo; row < hi; row, dst = row+1, dst[to:] {
		at := row
		if t.order != nil {
			at = t.order(row)
		}
		convertRow(t.kernels, t.to, t.from, dst[:to], t.src[at*from:(at+1)*from], s.floats)
		if t.rounds() && t.to.FirstNotFinite(dst[:to]) >= 0 {
			t.note(row)
		}
	}
}
