package backend

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/tensor"
)

// The checks of operations on pages. Pages of 128 slots are looked at only as far as an operation touches them: those that it writes must
// be writable, and pages behind the slots in use need not exist. For a run of 1 token and heads with 130 slots in use:
//
//	RoPEStore   writes slot 129: page 1 must be there and writable
//	Attend      reads slots 0 to 129: pages 0 and 1 must be there
//	Compact     to slots [0 1 5]: the first two stay; slot 5 moves to slot 2, so that page 0 must be writable

// String describes a cache as the errors of this file do.
func (s *Slots) String() string {
	if s == nil {
		return "no slots"
	}
	return fmt.Sprintf("%v slots [≤ %d %d %d]", s.DType, s.Len(), len(s.Heads), s.HeadDim)
}

// check returns an error unless the type, the size of a head and the number of heads make sense.
func (s *Slots) check(op string) error {
	switch {
	case s == nil:
		return fmt.Errorf("backend: %s of a run without slots", op)
	case !CacheType(s.DType):
		return fmt.Errorf("backend: %s of %v: a cache is f32, f16, q8_0 or q4_0", op, s)
	case s.Window < 0:
		return fmt.Errorf("backend: %s of %v with a window of %d", op, s, s.Window)
	case !(s.Cap >= 0) || math.IsInf(float64(s.Cap), 1):
		return fmt.Errorf("backend: %s of %v with scores limited to %v: the limit must be positive, or 0 for none", op, s, s.Cap)
	case len(s.Heads) < 1 || s.HeadDim < 1 || s.HeadDim%s.DType.BlockLen() != 0:
		return fmt.Errorf("backend: %s of %v: it must have heads, of whole blocks of %v", op, s, s.DType)
	}
	return nil
}

// checkPages returns an error unless slots [lo, hi) of a head have pages of the right type and shape, writable if the operation writes to
// them.
func (s *Slots) checkPages(op string, head, lo, hi int, write bool) error {
	h := &s.Heads[head]
	if lo < 0 || lo > hi || hi > len(h.Pages)*PageSlots {
		return fmt.Errorf("backend: %s of slots %d to %d of head %d of %v: it has %d pages of %d slots", op, lo, hi, head, s, len(h.Pages), PageSlots)
	}
	if lo == hi {
		return nil
	}
	var known *tensor.Tensor // the latest slab that was looked at; neighbours often share it
	pages := 0               // of that slab
	for i := lo / PageSlots; i <= (hi-1)/PageSlots; i++ {
		p := &h.Pages[i]
		if p.Slab != known {
			if err := s.checkSlab(op, p.Slab, write); err != nil {
				return fmt.Errorf("%w (page %d of head %d)", err, i, head)
			}
			known, pages = p.Slab, p.Slab.Shape().Dim(0)
		}
		if known == nil || p.Index < 0 || p.Index >= pages {
			return fmt.Errorf("backend: %s of %v: page %d of head %d is page %d of a slab of %d", op, s, i, head, p.Index, pages)
		}
	}
	return nil
}

// checkSlab returns an error unless a slab has pages for s.
func (s *Slots) checkSlab(op string, slab *tensor.Tensor, write bool) error {
	if slab == nil {
		return fmt.Errorf("backend: %s of %v: a page has no slab", op, s)
	}
	shape := slab.Shape()
	if shape.NDim() != 4 || shape.Dim(1) != 2 || shape.Dim(2) != PageSlots || shape.Dim(3) != s.HeadDim || slab.DType() != s.DType {
		return fmt.Errorf("backend: %s of %v: a slab is %v: it must be %v[pages 2 %d %d]", op, s, slab, s.DType, PageSlots, s.HeadDim)
	}
	if write {
		return needWritable(op, slab)
	}
	return nil
}

// checkRuns checks runs that have rows tokens in all, for heads query heads that are headDim long. Of each run the pages of the slots that
// the operation looks at are checked: those written, or else all in use.
func checkRuns(op string, runs []Run, rows, heads, headDim int, write bool) (d AttentionDims, err error) {
	d = AttentionDims{Tokens: rows, Heads: heads, HeadDim: headDim}
	for i := range runs {
		r := &runs[i]
		if err := r.Slots.check(op); err != nil {
			return d, err
		}
		s := r.Slots
		if d.KVHeads == 0 {
			d.KVHeads = len(s.Heads)
		}
		switch {
		case r.Tokens < 1 || r.Tokens > rows:
			return d, fmt.Errorf("backend: %s of %d tokens of run %d, with %d rows left: a run has tokens, and the runs as many as there are rows", op, r.Tokens, i, rows)
		case s.HeadDim != headDim || len(s.Heads) != d.KVHeads || heads%d.KVHeads != 0:
			return d, fmt.Errorf("backend: %s of %d heads of %d elements to %v of run %d: heads must be as long, KV heads as many in each run, and heads "+
				"a multiple of them", op, heads, headDim, s, i)
		case !write && s.Sinks != nil && (s.Sinks.DType() != tensor.F32 || s.Sinks.Shape() != tensor.ShapeOf(heads)):
			return d, fmt.Errorf("backend: %s with sinks %v in run %d: they must be f32[%d], one for each head", op, s.Sinks, i, heads)
		}
		rows -= r.Tokens
		for head := range s.Heads {
			n, first := s.Heads[head].Len, 0
			if n < r.Tokens {
				return d, fmt.Errorf("backend: %s of %d tokens to %v of run %d: head %d has %d slots in use, and must have those of the tokens", op, r.Tokens, s, i, head, n)
			}
			if write {
				first = n - r.Tokens
			}
			if err := s.checkPages(op, head, first, n, write); err != nil {
				return d, fmt.Errorf("%w in run %d", err, i)
			}
			d.Slots = max(d.Slots, n)
		}
	}
	if rows != 0 {
		return d, fmt.Errorf("backend: %s of %d rows, of which the runs have %d: they must have all", op, d.Tokens, d.Tokens-rows)
	}
	return d, nil
}

// CheckRoPEStore checks k and v [rows, kvHeads, headDim], and with a table also table [rows, headDim] and q [rows, heads, headDim], all
// F32, and the runs: k and v go to their last slots. Without a table the dimensions' Heads is KVHeads.
func CheckRoPEStore(q, k, v, table *tensor.Tensor, runs []Run) (d AttentionDims, err error) {
	if err := needF32("RoPEStore", k, v); err != nil {
		return d, err
	}
	ks := k.Shape()
	if ks.NDim() != 3 || v.Shape() != ks {
		return d, fmt.Errorf("backend: RoPEStore of k %v, v %v: shapes must be equal, [rows kvHeads headDim]", k, v)
	}
	rows, kvHeads, headDim := ks.Dim(0), ks.Dim(1), ks.Dim(2)
	heads := kvHeads
	if table != nil {
		if q == nil {
			return d, fmt.Errorf("backend: RoPEStore by table %v without q: give queries to rotate, or no table", table)
		}
		if _, heads, _, err = CheckRoPE(q, table); err != nil {
			return d, err
		}
		if _, _, _, err = CheckRoPE(k, table); err != nil {
			return d, err
		}
		if qs := q.Shape(); qs.Dim(2) != headDim || kvHeads < 1 || heads%kvHeads != 0 {
			return d, fmt.Errorf("backend: RoPEStore of q %v, k %v: shapes must be [rows heads headDim] and [rows kvHeads headDim], heads a multiple of kvHeads", q, k)
		}
	} else if err := needWritable("RoPEStore", k); err != nil {
		return d, err
	}
	if d, err = checkRuns("RoPEStore", runs, rows, heads, headDim, true); err != nil {
		return d, err
	}
	if len(runs) > 0 && d.KVHeads != kvHeads {
		return d, fmt.Errorf("backend: RoPEStore of k %v to %v: the KV heads must be as many", k, runs[0].Slots)
	}
	d.KVHeads = kvHeads
	return d, nil
}

// CheckAttend checks q and out [rows, heads, headDim], both F32, and the runs that the rows belong to.
func CheckAttend(q, out *tensor.Tensor, runs []Run) (d AttentionDims, err error) {
	if err := CheckSame("Attend", out, q); err != nil {
		return d, err
	}
	return checkQueries("Attend", q, runs)
}

// checkQueries checks queries [rows, heads, headDim] and the runs that attend by them.
func checkQueries(op string, q *tensor.Tensor, runs []Run) (d AttentionDims, err error) {
	if err := needF32(op, q); err != nil {
		return d, err
	}
	if q.Shape().NDim() != 3 {
		return d, fmt.Errorf("backend: %s of q %v: the shape must be [rows heads headDim]", op, q)
	}
	return checkRuns(op, runs, q.Shape().Dim(0), q.Shape().Dim(1), q.Shape().Dim(2), false)
}

// CheckAccumulateAttention checks q [rows, heads, headDim], the run that the rows belong to, and sums [kvHeads, ≥ Len] of type F32.
func CheckAccumulateAttention(q, sums *tensor.Tensor, run Run) (d AttentionDims, err error) {
	const op = "AccumulateAttention"
	if err := needF32(op, sums); err != nil {
		return d, err
	}
	if run.Slots != nil && run.Slots.Window > 0 {
		return d, fmt.Errorf("backend: %s of %v with a window of %d: attention is summed for slots that all tokens see", op, run.Slots, run.Slots.Window)
	}
	one := [1]Run{run}
	if d, err = checkQueries(op, q, one[:]); err != nil {
		return d, err
	}
	if sums.Shape().NDim() != 2 || sums.Shape().Dim(0) != d.KVHeads || sums.Shape().Dim(1) < d.Slots {
		return d, fmt.Errorf("backend: %s of %v to %v: the sums must be [%d, ≥ %d]", op, run.Slots, sums, d.KVHeads, d.Slots)
	}
	return d, needWritable(op, sums)
}

// CheckCompact checks a list of slots to keep for each head, strictly ascending slots in use. The pages of all slots up to the last
// one that is kept must be there, and can be written as far as slots change.
func CheckCompact(s *Slots, keep [][]int32) error {
	const op = "Compact"
	if err := s.check(op); err != nil {
		return err
	}
	if len(keep) != len(s.Heads) {
		return fmt.Errorf("backend: %s of %v with lists for %d heads: there must be one for each", op, s, len(keep))
	}
	for head, list := range keep {
		n, same := s.Heads[head].Len, 0
		for i, slot := range list {
			if slot < 0 || int(slot) >= n || i > 0 && slot <= list[i-1] {
				return fmt.Errorf("backend: %s of %v: head %d, which has %d slots, keeps slot %d as its %d.: slots must be in range and ascending",
					op, s, head, n, slot, i)
			}
			if int(slot) == i {
				same = i + 1
			}
		}
		if same == len(list) {
			continue
		}
		if err := s.checkPages(op, head, same, len(list), true); err != nil {
			return err
		}
		if err := s.checkPages(op, head, same, int(list[len(list)-1])+1, false); err != nil {
			return err
		}
	}
	return nil
}

// CheckCopyPage checks that both pages exist, have one type and shape, and that the second can be written.
func CheckCopyPage(from, to Page) error {
	const op = "CopyPage"
	if from.Slab == nil || to.Slab == nil {
		return fmt.Errorf("backend: %s of a page without a slab", op)
	}
	a, b := from.Slab.Shape(), to.Slab.Shape()
	if a.NDim() != 4 || b.NDim() != 4 || a.Dim(1) != 2 || a.Dim(2) != PageSlots || from.Slab.DType() != to.Slab.DType() ||
		b.Dim(1) != 2 || b.Dim(2) != PageSlots || a.Dim(3) != b.Dim(3) {
		return fmt.Errorf("backend: %s from a slab %v to %v: they must be of one type, [pages 2 %d headDim]", op, from.Slab, to.Slab, PageSlots)
	}
	if from.Index < 0 || from.Index >= a.Dim(0) || to.Index < 0 || to.Index >= b.Dim(0) {
		return fmt.Errorf("backend: %s of page %d of %v to page %d of %v: there are no such pages", op, from.Index, from.Slab, to.Index, to.Slab)
	}
	return needWritable(op, to.Slab)
}

// CheckSlots checks ReadSlots, or with write WriteSlots: a head, its slots from first on, and keys and values [n, headDim], F32 or of the
// cache's type; either may be nil. It returns n.
func CheckSlots(s *Slots, head, first int, keys, values *tensor.Tensor, write bool) (n int, err error) {
	op := "ReadSlots"
	if write {
		op = "WriteSlots"
	}
	if err := s.check(op); err != nil {
		return 0, err
	}
	if head < 0 || head >= len(s.Heads) {
		return 0, fmt.Errorf("backend: %s of head %d of %v", op, head, s)
	}
	n = -1
	for _, t := range [2]*tensor.Tensor{keys, values} {
		if t == nil {
			continue
		}
		rows := t.Shape().Dim(0)
		if t.Shape().NDim() != 2 || t.Shape().Dim(1) != s.HeadDim || n >= 0 && rows != n || t.DType() != tensor.F32 && t.DType() != s.DType {
			return 0, fmt.Errorf("backend: %s of %v with keys %v and values %v: shapes must be equal, [n %d], of type f32 or %v", op, s, keys, values, s.HeadDim, s.DType)
		}
		if n = rows; !write {
			if err := needWritable(op, t); err != nil {
				return 0, err
			}
		}
	}
	if n < 0 {
		return 0, nil // neither keys nor values are asked for
	}
	if first < 0 || first > len(s.Heads[head].Pages)*PageSlots {
		return 0, fmt.Errorf("backend: %s of slots from %d on of head %d of %v", op, first, head, s)
	}
	return n, s.checkPages(op, head, first, first+n, write)
}
