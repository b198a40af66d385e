package backend

import (
	"fmt"

	"github.com/antigravity-go/antigravity/tensor"
)

// The operations of attention. Those on pages take the runs of several conversations at once, of one HeadDim and one number of KV heads, but
// perhaps of different types. No two runs of an operation have the same Slots, and no run writes to a page that another one has. Package host
// has all operations over memory that the host can map, with pages that are the keys [PageSlots, headDim] and then the values
// [PageSlots, headDim].

// AttentionDims are the dimensions of an attention. Slots is the largest number of slots that a head has.
type AttentionDims struct{ Tokens, Heads, KVHeads, HeadDim, Slots int }

// RoPEStore rotates Q [rows, heads, headDim] and K [rows, kvHeads, headDim] by Table [rows, headDim], as RoPE does, and converts K
// and V, of K's shape, to the last slots in use of the runs. A Table that is nil rotates nothing; Q, which is then not looked at, may be
// nil too. Of Latent slots V is not looked at. What K holds afterwards is undefined. No two of the tensors share memory.
type RoPEStore struct {
	Q, K, V, Table *tensor.Tensor
	Runs           []Run
}

// Dims returns the dimensions. Without a table Heads is KVHeads.
func (o *RoPEStore) Dims() AttentionDims {
	ks := o.K.Shape()
	d := AttentionDims{Tokens: ks.Dim(0), Heads: ks.Dim(1), KVHeads: ks.Dim(1), HeadDim: ks.Dim(2), Slots: slotsOf(o.Runs)}
	if o.Table != nil {
		d.Heads = o.Q.Shape().Dim(1)
	}
	return d
}

// Check checks the operands and the runs: K and V go to their last slots.
func (o *RoPEStore) Check() error {
	if err := needF32("RoPEStore", o.K, o.V); err != nil {
		return err
	}
	ks := o.K.Shape()
	if ks.NDim() != 3 || o.V.Shape() != ks {
		return fmt.Errorf("backend: RoPEStore of k %v, v %v: shapes must be equal, [rows kvHeads headDim]", o.K, o.V)
	}
	rows, kvHeads, headDim := ks.Dim(0), ks.Dim(1), ks.Dim(2)
	heads := kvHeads
	if o.Table != nil {
		if o.Q == nil {
			return fmt.Errorf("backend: RoPEStore by table %v without q: give queries to rotate, or no table", o.Table)
		}
		if err := (&RoPE{o.Q, o.Table}).Check(); err != nil {
			return err
		}
		if err := (&RoPE{o.K, o.Table}).Check(); err != nil {
			return err
		}
		heads = o.Q.Shape().Dim(1)
		if kvHeads < 1 || heads%kvHeads != 0 {
			return fmt.Errorf("backend: RoPEStore of q %v, k %v: shapes must be [rows heads headDim] and [rows kvHeads headDim], heads a multiple of kvHeads", o.Q, o.K)
		}
	} else if err := needWritable("RoPEStore", o.K); err != nil {
		return err
	}
	if err := checkRuns("RoPEStore", o.Runs, rows, heads, headDim, true); err != nil {
		return err
	}
	if len(o.Runs) > 0 && len(o.Runs[0].Slots.Heads) != kvHeads {
		return fmt.Errorf("backend: RoPEStore of k %v to %v: the KV heads must be as many", o.K, o.Runs[0].Slots)
	}
	return nil
}

// Attend lets the rows of each run attend to its slots, heads/kvHeads query heads sharing each KV head: Out = softmax(Q·kᵀ/√headDim)·v, for
// Q and Out [rows, heads, headDim], with what Attention of the run's slots adds to that. Row i of a run of n tokens sees the first Len-n+i+1
// slots of each head; with a Window, the last Window of these. If the run is Together, row i sees the slots of the rows after it as well; if it is
// Whole, the window hides no slot of the run.
type Attend struct {
	Q, Out *tensor.Tensor
	Runs   []Run
}

// Dims returns the dimensions.
func (o *Attend) Dims() AttentionDims { return dimsOf(o.Q, o.Runs) }

// Check checks the operands and the runs.
func (o *Attend) Check() error {
	if err := checkSame("Attend", o.Out, o.Q); err != nil {
		return err
	}
	return checkQueries("Attend", o.Q, o.Runs)
}

// AccumulateAttention adds the attention that the keys of one run get from its queries to Sums [kvHeads, ≥ Len] of type F32:
// Sums[h, j] += Σ softmax(Q·kᵀ/√headDim)[j] over the queries of all rows of Q [rows, heads, headDim] that share KV head h, in
// their order. Rows see the slots that they see in Attend, with the same scores and sinks. Eviction policies choose by it.
type AccumulateAttention struct {
	Q, Sums *tensor.Tensor
	Run     Run
}

// Dims returns the dimensions.
func (o *AccumulateAttention) Dims() AttentionDims {
	one := [1]Run{o.Run}
	return dimsOf(o.Q, one[:])
}

// Check checks the operands and the run.
func (o *AccumulateAttention) Check() error {
	const op = "AccumulateAttention"
	if err := needF32(op, o.Sums); err != nil {
		return err
	}
	if s := o.Run.Slots; s != nil && s.Window > 0 {
		return fmt.Errorf("backend: %s of %v with a window of %d: attention is summed for slots that all tokens see", op, s, s.Window)
	}
	one := [1]Run{o.Run}
	if err := checkQueries(op, o.Q, one[:]); err != nil {
		return err
	}
	if d, sums := o.Dims(), o.Sums.Shape(); sums.NDim() != 2 || sums.Dim(0) != d.KVHeads || sums.Dim(1) < d.Slots {
		return fmt.Errorf("backend: %s of %v to %v: the sums must be [%d, ≥ %d]", op, o.Run.Slots, o.Sums, d.KVHeads, d.Slots)
	}
	return needWritable(op, o.Sums)
}

// AttendTexts lets the rows of each of some texts attend to all rows of the same text, earlier and later ones, heads/kvHeads query
// heads sharing each KV head: Out = softmax(Q·Kᵀ/√headDim)·V, for Q and Out [rows, heads, headDim], K and V [rows, kvHeads, headDim].
// The texts' rows lie one after the other; Texts has how many rows each has. Reach, if it is not 0, limits how far a row sees: to the
// Reach rows before its own and the Reach rows after it.
//
// Seen, if it is not nil, has how many of each text's first rows are seen, 1 or more: the others see these, and no row sees the others. With a Reach every
// row must see one.
//
// Relative, if it is not nil, adds to the scores numbers that depend on how far a row is from another one. Sinks [heads], if it is not nil, has a score
// for each head that joins the softmax and has no value.
type AttendTexts struct {
	Q, K, V, Out *tensor.Tensor
	Texts        []int
	Seen         []int // of each text; nil: all rows
	Reach        int
	Relative     *Relative
	Sinks        *tensor.Tensor
}

// Relative is what attention adds to the score of a row i of a head h with a row j, after the division by √headDim: for the bucket b of their distance
// i−j
//
//	Bias[h, b] + Qᵢ·Keys[h, b]/√headDim + Kⱼ·Queries[h, b]/√headDim
//
// A nil part adds nothing. Bucket has the buckets of the distances from −(len(Bucket)/2) to len(Bucket)/2; farther rows have those of the
// ends. The sums are made from the left. Nothing in it may change while it is in use.
type Relative struct {
	Buckets       int
	Bucket        []int32
	Bias          []float32 // [heads, Buckets]
	Keys, Queries []float32 // [heads, Buckets, headDim]
}

// Of returns the bucket of a distance.
func (r *Relative) Of(distance int) int {
	middle := len(r.Bucket) / 2
	return int(r.Bucket[middle+min(max(distance, -middle), middle)])
}

// check checks that there is a bucket for each distance, and the numbers for each bucket.
func (r *Relative) check(op string, d AttentionDims) error {
	n := d.Heads * r.Buckets
	for _, has := range [...]struct{ got, want int }{{len(r.Bias), n}, {len(r.Keys), n * d.HeadDim}, {len(r.Queries), n * d.HeadDim}} {
		if has.got != 0 && has.got != has.want {
			return fmt.Errorf("backend: %s by %d buckets with %d numbers, which should be %d for %d heads", op, r.Buckets, has.got, has.want, d.Heads)
		}
	}
	if len(r.Bucket)%2 == 0 || d.KVHeads != d.Heads {
		return fmt.Errorf("backend: %s by the buckets of %d distances, with %d heads and %d of keys: distances must be an odd number, and heads as many as those of keys", op,
			len(r.Bucket), d.Heads, d.KVHeads)
	}
	for _, b := range r.Bucket {
		if b < 0 || int(b) >= r.Buckets {
			return fmt.Errorf("backend: %s by the bucket %d of %d", op, b, r.Buckets)
		}
	}
	return nil
}

// SeenOf returns how many rows of a text are seen.
func (o *AttendTexts) SeenOf(text int) int {
	if o.Seen == nil {
		return o.Texts[text]
	}
	return o.Seen[text]
}

// Dims returns the dimensions. Slots is the length of the longest text.
func (o *AttendTexts) Dims() AttentionDims {
	qs, ks := o.Q.Shape(), o.K.Shape()
	d := AttentionDims{Tokens: qs.Dim(0), Heads: qs.Dim(1), KVHeads: ks.Dim(1), HeadDim: qs.Dim(2)}
	for _, n := range o.Texts {
		d.Slots = max(d.Slots, n)
	}
	return d
}

// Check checks the operands, and that the texts have all rows, with one row at least each.
func (o *AttendTexts) Check() error {
	const op = "AttendTexts"
	if err := checkSame(op, o.Out, o.Q); err != nil {
		return err
	}
	if err := needF32(op, o.K, o.V); err != nil {
		return err
	}
	qs, ks := o.Q.Shape(), o.K.Shape()
	if qs.NDim() != 3 || ks.NDim() != 3 || o.V.Shape() != ks || qs.Dim(0) != ks.Dim(0) || qs.Dim(2) != ks.Dim(2) || ks.Dim(1) < 1 || qs.Dim(1)%ks.Dim(1) != 0 {
		return fmt.Errorf("backend: %s of q %v, k %v, v %v: shapes must be [rows heads headDim] and [rows kvHeads headDim], heads a multiple of kvHeads", op, o.Q, o.K, o.V)
	}
	rows := qs.Dim(0)
	left := rows
	for i, n := range o.Texts {
		if n < 1 || n > left {
			return fmt.Errorf("backend: %s of text %d of %d rows, with %d rows left: a text has rows, and the texts as many as there are", op, i, n, left)
		}
		left -= n
	}
	if o.Seen != nil && len(o.Seen) != len(o.Texts) {
		return fmt.Errorf("backend: %s of %d texts, with rows that are seen of %d", op, len(o.Texts), len(o.Seen))
	}
	for i, n := range o.Seen {
		if rows := o.Texts[i]; n < 1 || n > rows || o.Reach > 0 && rows-o.Reach > n {
			return fmt.Errorf("backend: %s of text %d of %d rows with a reach of %d, %d of which are seen: every row must see one", op, i, rows, o.Reach, n)
		}
	}
	if o.Sinks != nil {
		if err := needF32(op, o.Sinks); err != nil {
			return err
		}
		if s := o.Sinks.Shape(); s.NDim() != 1 || s.Dim(0) != qs.Dim(1) {
			return fmt.Errorf("backend: %s of %d heads with sinks %v", op, qs.Dim(1), o.Sinks)
		}
	}
	if o.Relative != nil {
		if err := o.Relative.check(op, o.Dims()); err != nil {
			return err
		}
	}
	switch {
	case left != 0:
		return fmt.Errorf("backend: %s of %d rows, %d of which are no text's", op, rows, left)
	case o.Reach < 0:
		return fmt.Errorf("backend: %s with a reach of %d rows", op, o.Reach)
	}
	return nil
}

// dimsOf returns the dimensions of queries [rows, heads, headDim] and the runs that attend by them.
func dimsOf(q *tensor.Tensor, runs []Run) AttentionDims {
	d := AttentionDims{Tokens: q.Shape().Dim(0), Heads: q.Shape().Dim(1), HeadDim: q.Shape().Dim(2), Slots: slotsOf(runs)}
	if len(runs) > 0 {
		d.KVHeads = len(runs[0].Slots.Heads)
	}
	return d
}

// slotsOf returns the largest number of slots that a head has.
func slotsOf(runs []Run) (most int) {
	for i := range runs {
		most = max(most, runs[i].Slots.Len())
	}
	return most
}

// checkQueries checks queries [rows, heads, headDim] and the runs that attend by them.
func checkQueries(op string, q *tensor.Tensor, runs []Run) error {
	if err := needF32(op, q); err != nil {
		return err
	}
	if q.Shape().NDim() != 3 {
		return fmt.Errorf("backend: %s of q %v: the shape must be [rows heads headDim]", op, q)
	}
	return checkRuns(op, runs, q.Shape().Dim(0), q.Shape().Dim(1), q.Shape().Dim(2), false)
}

// checkRuns checks runs that have rows tokens in all, for heads query heads that are headDim long. Of each run the pages of the slots that
// the operation looks at are checked: those written, or else all in use.
func checkRuns(op string, runs []Run, rows, heads, headDim int, write bool) error {
	all, kvHeads := rows, 0
	for i := range runs {
		r := &runs[i]
		if err := r.Slots.check(op); err != nil {
			return err
		}
		s := r.Slots
		if kvHeads == 0 {
			kvHeads = len(s.Heads)
		}
		switch {
		case r.Tokens < 1 || r.Tokens > rows:
			return fmt.Errorf("backend: %s of %d tokens of run %d, with %d rows left: a run has tokens, and the runs as many as there are rows", op, r.Tokens, i, rows)
		case s.HeadDim != headDim || len(s.Heads) != kvHeads || heads%kvHeads != 0:
			return fmt.Errorf("backend: %s of %d heads of %d elements to %v of run %d: heads must be as long, KV heads as many in each run, and heads "+
				"a multiple of them", op, heads, headDim, s, i)
		case !write && s.Sinks != nil && (s.Sinks.DType() != tensor.F32 || s.Sinks.Shape() != tensor.ShapeOf(heads)):
			return fmt.Errorf("backend: %s with sinks %v in run %d: they must be f32[%d], one for each head", op, s.Sinks, i, heads)
		}
		rows -= r.Tokens
		for head := range s.Heads {
			n, first := s.Heads[head].Len, 0
			if n < r.Tokens {
				return fmt.Errorf("backend: %s of %d tokens to %v of run %d: head %d has %d slots in use, and must have those of the tokens", op, r.Tokens, s, i, head, n)
			}
			if write {
				first = n - r.Tokens
			}
			if err := s.checkPages(op, head, first, n, write); err != nil {
				return fmt.Errorf("%w in run %d", err, i)
			}
		}
	}
	if rows != 0 {
		return fmt.Errorf("backend: %s of %d rows, of which the runs have %d: they must have all", op, all, all-rows)
	}
	return nil
}
