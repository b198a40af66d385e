package backendtest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// Each device has its own layout of a page. The checks therefore write and read pages by ReadSlots and WriteSlots, and compare values in
// the cache's type. A conversation's pages lie in disorder in two slabs, page p at place p/2 of slab p%2. Pages that a check has no use for
// are poisoned, and must stay so. Two KV heads of 129 slots need four pages; with two more, in the order [4 1 5 0 2 3]:
//
//	head 0   page 2 of slab 0, page 0 of slab 1
//	head 1   page 2 of slab 1, page 0 of slab 0
//	spare    page 1 of slab 0, page 1 of slab 1

// run is the shape of one conversation's part of a step.
type run struct {
	dtype  tensor.DType
	tokens int
	used   []int // slots in use of each KV head, the tokens' included
}

// step is the shape of the work of one layer for some conversations.
type step struct {
	name                string
	heads, kvHeads, dim int
	runs                []run
	also                also
}

// also is what an attention has beyond the softmax: see backend.Attention.
type also struct {
	window   int
	limit    float32
	sinks    bool
	together bool // the rows of a run see each other
	whole    bool // and the window hides no row of the run
}

func (s step) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d and %d heads of %d;", s.name, s.heads, s.kvHeads, s.dim)
	for _, r := range s.runs {
		fmt.Fprintf(&b, " %d of %v %v", r.tokens, r.used, r.dtype)
	}
	return b.String()
}

// rows returns the tokens of all runs.
func (s step) rows() (n int) {
	for _, r := range s.runs {
		n += r.tokens
	}
	return n
}

// of returns the step with all its caches of one type.
func (s step) of(d tensor.DType) step {
	s.runs = slices.Clone(s.runs)
	for i := range s.runs {
		s.runs[i].dtype = d
	}
	return s
}

// lone is a step of one conversation with the same number of slots in each head.
func lone(heads, kvHeads, dim, tokens, used int) step {
	return step{"alone", heads, kvHeads, dim, []run{{tensor.F32, tokens, slices.Repeat([]int{used}, kvHeads)}}, also{}}
}

// steps returns shapes of steps, of F32: single tokens and chunks, the sizes around pages, an odd group of heads, heads of different
// lengths, and several conversations; and then, unless quick, Llama's. Shapes have the same length of heads and as many heads to a KV head
// if nothing speaks against it: a device may compile its kernels for each such pair, and compiling takes longer than all checks.
func steps(quick bool) []step {
	many := step{name: "many", heads: 4, kvHeads: 2, dim: 64}
	for i := range 16 {
		many.runs = append(many.runs, run{tensor.F32, 1, []int{1 + 37*i, 1 + 20*i}})
	}
	small := []step{
		lone(1, 1, 32, 1, 1), lone(4, 2, 64, 1, 127), lone(4, 4, 32, 1, 128), lone(8, 2, 64, 1, 129), lone(3, 1, 96, 1, 300), lone(6, 2, 128, 1, 700),
		lone(2, 2, 32, 5, 5), lone(4, 2, 64, 2, 129), lone(10, 5, 64, 33, 150), lone(6, 2, 80, 20, 260), lone(4, 2, 256, 3, 40),
		{"unequal heads", 6, 3, 64, []run{{tensor.F32, 1, []int{400, 3, 129}}}, also{}},
		{"unequal heads", 4, 2, 64, []run{{tensor.F32, 17, []int{300, 20}}}, also{}},
		{"two", 4, 2, 64, []run{{tensor.F32, 3, []int{130, 130}}, {tensor.F32, 20, []int{20, 50}}}, also{}},
		many,
	}
	return upTo(quick, small,
		lone(32, 8, 64, 1, 4096), lone(24, 8, 128, 1, 1000), lone(4, 1, 64, 1, 20000), lone(32, 8, 64, 100, 100), lone(24, 8, 128, 64, 500), lone(4, 2, 64, 512, 1024))
}

// mixed is a step of caches of all types.
var mixed = step{"mixed", 4, 2, 64, []run{
	{tensor.Q8_0, 1, []int{140, 140}}, {tensor.F16, 9, []int{200, 200}}, {tensor.F32, 1, []int{300, 7}}, {tensor.Q4_0, 4, []int{128, 4}}, {tensor.Q8_0, 40, []int{40, 40}},
}, also{}}

// stepChecks makes checks of all cache types, and of values of all kinds.
func stepChecks(operation string, shapes []step, build func(step, queries, generator) *trial) (checks []Check) {
	add := func(kind string, s step, in queries) {
		checks = append(checks, Check{Operation: operation, Type: kind, Shape: s.String(), Input: in.name, build: func(g generator) *trial { return build(s, in, g) }})
	}
	for _, d := range cacheTypes {
		for _, s := range shapes {
			if s.dim%d.BlockLen() == 0 {
				add(d.String(), s.of(d), anyQueries)
			}
		}
		for _, in := range allQueries {
			add(d.String(), lone(4, 2, 64, 5, 150).of(d), in)
			add(d.String(), lone(4, 2, 64, 1, 150).of(d), in)
		}
	}
	return checks
}

// mixedCheck makes the check of caches of all types in one step.
func mixedCheck(operation string, build func(step, queries, generator) *trial) Check {
	return Check{Operation: operation, Type: "mixed", Shape: mixed.String(), Input: random.name, build: func(g generator) *trial { return build(mixed, anyQueries, g) }}
}

func storeChecks(quick bool) []Check {
	return append(stepChecks("RoPEStore", steps(quick), ropeStore), mixedCheck("RoPEStore", ropeStore))
}

func attendChecks(quick bool) []Check {
	list := stepChecks("Attend", steps(quick), attend)
	for _, what := range []also{{window: 1}, {window: 100}, {limit: 2}, {sinks: true}, {window: 130, limit: 2, sinks: true}, {together: true}, {window: 100, together: true}, {window: 20, together: true, whole: true}} {
		for _, s := range []step{lone(8, 2, 64, 1, 129), lone(4, 2, 64, 33, 150), mixed} {
			list = append(list, s.with(what, "Attend", attend))
		}
	}
	return append(list, mixedCheck("Attend", attend))
}

// with makes the check of an attention that has something beyond the softmax.
func (s step) with(what also, operation string, build func(step, queries, generator) *trial) Check {
	s.also = what
	return Check{Operation: operation, Type: s.name, Shape: fmt.Sprintf("%v, %+v", s, what), Input: random.name, build: func(g generator) *trial { return build(s, anyQueries, g) }}
}

// weighChecks leaves out checks with several conversations: the operation is one's.
func weighChecks(quick bool) []Check {
	list := stepChecks("AccumulateAttention", slices.DeleteFunc(steps(quick), func(s step) bool { return len(s.runs) > 1 }), weigh)
	for _, what := range []also{{limit: 2}, {sinks: true}, {limit: 2, sinks: true}, {together: true}} {
		list = append(list, lone(8, 2, 64, 1, 129).with(what, "AccumulateAttention", weigh), lone(4, 2, 64, 33, 300).with(what, "AccumulateAttention", weigh))
	}
	return list
}

// conversation is a run with the values of its slots, one head after the other, and the indices of its slabs among the operands.
type conversation struct {
	run
	dim        int
	keys, vals []byte    // [Σ used, dim] of the type
	k, v       []float32 // the values of these
	slabs      [2]int    // operands
	pages      [][]int   // of each head: number p is page p/2 of slab p%2
	spare      []int     // pages that are nobody's
	source     int       // the operand with keys, after which comes that with values
	also       also
	sinks      int       // the operand with sinks
	sinkValues []float32 // nil: no sinks
}

// sum returns how many slots are in use in all heads before the given one.
func (r *run) sum(head int) (n int) {
	for _, used := range r.used[:head] {
		n += used
	}
	return n
}

// conversations makes the values of the runs, and appends to the trial slabs and the values as operands. The pages of a run lie in
// disorder in two slabs.
func (s step) conversations(t *trial, in queries, g generator) (list []*conversation) {
	for i, r := range s.runs {
		c := &conversation{run: r, dim: s.dim, also: s.also}
		total := r.sum(len(r.used))
		c.keys, c.k = g.cache(r.dtype, in.k, total, total, s.dim)
		c.vals, c.v = g.cache(r.dtype, in.v, total, total, s.dim)
		need := 0
		for _, used := range r.used {
			need += pagesFor(used)
		}
		each := (need + 3) / 2 // pages of a slab: one more than are needed, or two
		order := g.Perm(2 * each)
		for _, used := range r.used {
			n := pagesFor(used)
			c.pages, order = append(c.pages, order[:n]), order[n:]
		}
		c.spare = order
		for side := range c.slabs {
			c.slabs[side] = len(t.operands)
			t.operands = append(t.operands, operand{
				name: fmt.Sprintf("slab%d.%d", i, side), role: scratch, dtype: r.dtype, dims: []int{each, 2, backend.PageSlots, s.dim},
			})
		}
		c.source = len(t.operands)
		for side, data := range [][]byte{c.keys, c.vals} {
			t.operands = append(t.operands, operand{name: fmt.Sprintf("%s%d", [...]string{"keys", "values"}[side], i), dtype: r.dtype, dims: []int{total, s.dim}, data: data})
		}
		if s.also.sinks {
			c.sinks, c.sinkValues = len(t.operands), g.floats(random, s.heads)
			t.operands = append(t.operands, f32(fmt.Sprintf("sinks%d", i), reading, c.sinkValues, s.heads))
		}
		list = append(list, c)
	}
	return list
}

func pagesFor(slots int) int { return (slots + backend.PageSlots - 1) / backend.PageSlots }

// on returns the conversation's slots as lists of pages of placed operands.
func (c *conversation) on(t []*tensor.Tensor) *backend.Slots {
	s := &backend.Slots{DType: c.dtype, HeadDim: c.dim, Version: 1, Attention: backend.Attention{Window: c.also.window, Cap: c.also.limit}}
	if c.sinkValues != nil {
		s.Sinks = t[c.sinks]
	}
	for head, numbers := range c.pages {
		h := backend.HeadSlots{Len: c.used[head]}
		for _, p := range numbers {
			h.Pages = append(h.Pages, backend.Page{Slab: t[c.slabs[p%2]], Index: p / 2})
		}
		s.Heads = append(s.Heads, h)
	}
	return s
}

// fill writes the values of all slots but the latest ones of each head, as many as are said.
func (c *conversation) fill(b backend.Backend, s *backend.Slots, t []*tensor.Tensor, but int) error {
	for head, used := range c.used {
		if used == but {
			continue
		}
		lo := c.sum(head)
		keys, err := t[c.source].Slice(lo, lo+used-but)
		if err != nil {
			return err
		}
		values, err := t[c.source+1].Slice(lo, lo+used-but)
		if err != nil {
			return err
		}
		if err := b.Run(&backend.WriteSlots{Slots: s, Head: head, First: 0, Keys: keys, Values: values}); err != nil {
			return fmt.Errorf("fill head %d: %w", head, err)
		}
	}
	return nil
}

// read copies the slots in use to keys and values [Σ used, dim].
func (c *conversation) read(b backend.Backend, s *backend.Slots, keys, values *tensor.Tensor) error {
	lo := 0
	for head := range s.Heads {
		hi := lo + s.Heads[head].Len
		if lo == hi {
			continue
		}
		k, err := keys.Slice(lo, hi)
		if err != nil {
			return err
		}
		v, err := values.Slice(lo, hi)
		if err != nil {
			return err
		}
		if err := b.Run(&backend.ReadSlots{Slots: s, Head: head, First: 0, Keys: k, Values: v}); err != nil {
			return fmt.Errorf("read head %d: %w", head, err)
		}
		lo = hi
	}
	return nil
}

// errSpare is the error of an operation that wrote to a page that it was not given.
var errSpare = errors.New("wrote to pages that are not the cache's")

// spared returns an error unless the pages that are nobody's are still poisoned.
func (c *conversation) spared(b backend.Backend, t []*tensor.Tensor) error {
	for side, operand := range c.slabs {
		slab := t[operand]
		data := make([]byte, slab.Size())
		if err := b.ReadBuffer(slab, data); err != nil {
			return err
		}
		page := len(data) / slab.Shape().Dim(0)
		for _, p := range c.spare {
			if p%2 == side && bytes.Count(data[p/2*page:][:page], []byte{poison}) != page {
				return fmt.Errorf("%w: page %d of slab %d, of type %v", errSpare, p/2, side, c.dtype)
			}
		}
	}
	return nil
}

// paged calls f with the runs of a step. All slots are filled before, except the slots that f writes. Afterwards paged checks that the
// spare pages are unchanged.
func paged(b backend.Backend, t []*tensor.Tensor, list []*conversation, write bool, f func(runs []backend.Run) error) error {
	var runs []backend.Run
	for _, c := range list {
		s, but := c.on(t), 0
		if write {
			but = c.tokens
		}
		if err := c.fill(b, s, t, but); err != nil {
			return err
		}
		runs = append(runs, backend.Run{Tokens: c.tokens, Slots: s, Together: c.also.together, Whole: c.also.whole})
	}
	if err := f(runs); err != nil {
		return err
	}
	for _, c := range list {
		if err := c.spared(b, t); err != nil {
			return err
		}
	}
	return nil
}

// attended returns the values of a conversation's attention with the queries of rows [row, row+tokens).
func (s step) attended(c *conversation, q []float32, row int) *attended {
	width := s.heads * s.dim
	a := &attended{
		heads: heads{c.tokens, s.heads, s.kvHeads, s.dim}, dtype: c.dtype, k: c.k, v: c.v, used: c.used,
		also: c.also, sinks: c.sinkValues,
		q: q[row*width : (row+c.tokens)*width],
	}
	for head := range c.used {
		a.first = append(a.first, c.sum(head))
	}
	return a
}

func attend(s step, in queries, g generator) *trial {
	t := &trial{}
	q := g.floats(in.q, s.rows()*s.heads*s.dim)
	dims := []int{s.rows(), s.heads, s.dim}
	t.operands = []operand{f32("q", reading, q, dims...), blank("out", output, dims...)}
	list := s.conversations(t, in, g)
	l := limit{magnitude: func(want []float32) (all []float64) {
		row := 0
		for _, c := range list {
			all = append(all, s.attended(c, q, row).magnitude(want)...)
			row += c.tokens
		}
		return all
	}}
	for _, c := range list {
		l.tolerance = max(l.tolerance, productTolerance(c.dtype))
	}
	t.operands[1] = t.operands[1].within(l)
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, false, func(runs []backend.Run) error { return b.Run(&backend.Attend{Q: t[0], Out: t[1], Runs: runs}) })
	}
	return t
}

func weigh(s step, in queries, g generator) *trial {
	t := &trial{}
	q := g.floats(in.q, s.rows()*s.heads*s.dim)
	width := slices.Max(s.runs[0].used) + 2 // the sums behind the slots must stay as they are
	sums := g.floats(random, s.kvHeads*width)
	t.operands = []operand{f32("q", reading, q, s.rows(), s.heads, s.dim), f32("sums", update, sums, s.kvHeads, width)}
	list := s.conversations(t, in, g)
	t.operands[1] = t.operands[1].within(limit{
		tolerance: productTolerance(s.runs[0].dtype),
		magnitude: func([]float32) []float64 { return s.attended(list[0], q, 0).weighed(sums, width) },
	})
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, false, func(runs []backend.Run) error {
			return b.Run(&backend.AccumulateAttention{Q: t[0], Sums: t[1], Run: runs[0]})
		})
	}
	return t
}

func ropeStore(s step, in queries, g generator) *trial {
	t := &trial{}
	rows := s.rows()
	q, k, v := g.floats(in.q, rows*s.heads*s.dim), g.floats(in.k, rows*s.kvHeads*s.dim), g.floats(in.v, rows*s.kvHeads*s.dim)
	table := g.angles(rows, s.dim)
	t.operands = []operand{
		f32("q", update, q, rows, s.heads, s.dim).within(limit{tolerance: single, magnitude: pairLengths(q, s.dim)}),
		f32("k", scratch, k, rows, s.kvHeads, s.dim), f32("v", reading, v, rows, s.kvHeads, s.dim), f32("table", reading, table, rows, s.dim),
	}
	list := s.conversations(t, in, g)
	turned, lengths := rotated(k, table, s.kvHeads, s.dim), pairLengths(k, s.dim)(nil)
	stored, row := len(t.operands), 0
	for i, c := range list {
		keys, values, sizes := slices.Clone(c.k), slices.Clone(c.v), magnitudes(c.k)
		for head, used := range c.used {
			for j := range c.tokens {
				to, from := (c.sum(head)+used-c.tokens+j)*s.dim, ((row+j)*s.kvHeads+head)*s.dim
				copy(keys[to:to+s.dim], turned[from:])
				copy(values[to:to+s.dim], v[from:])
				copy(sizes[to:to+s.dim], lengths[from:])
			}
		}
		row += c.tokens
		for side, truth := range [][]float32{keys, values} {
			l := limit{truth: truth, tolerance: single}
			switch {
			case c.dtype.Quantized(): // as cast has it
				l.tolerance = half
				l.magnitude = func([]float32) []float64 { return blockMaxima(truth, c.dtype.BlockLen()) }
			case side == 0:
				l.magnitude = func([]float32) []float64 { return sizes }
			}
			o := operand{name: fmt.Sprintf("stored %s%d", [...]string{"keys", "values"}[side], i), role: output, dtype: c.dtype, dims: []int{len(truth) / s.dim, s.dim}}
			t.operands = append(t.operands, o.within(l))
		}
	}
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, true, func(runs []backend.Run) error {
			if err := b.Run(&backend.RoPEStore{Q: t[0], K: t[1], V: t[2], Table: t[3], Runs: runs}); err != nil {
				return err
			}
			for i, c := range list {
				if err := c.read(b, runs[i].Slots, t[stored+2*i], t[stored+2*i+1]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return t
}

// magnitudes returns the absolute values.
func magnitudes(x []float32) []float64 {
	result := make([]float64, len(x))
	for i, v := range x {
		result[i] = math.Abs(float64(v))
	}
	return result
}

// rotated is keys [tokens, heads, dim] rotated by the definition.
func rotated(k, table []float32, heads, dim int) []float32 {
	result := make([]float32, len(k))
	for at := 0; at < len(k); at += dim {
		angles := table[at/(heads*dim)*dim:][:dim]
		for i := range dim / 2 {
			j := i + dim/2
			a, b, cos, sin := float64(k[at+i]), float64(k[at+j]), float64(angles[i]), float64(angles[j])
			result[at+i], result[at+j] = float32(a*cos-b*sin), float32(a*sin+b*cos)
		}
	}
	return result
}

// compactChecks keep some slots of each head.
func compactChecks() (checks []Check) {
	for _, d := range cacheTypes {
		for _, c := range []struct {
			dim        int
			used, kept []int
		}{
			{32, []int{1}, []int{1}}, {64, []int{9, 9}, []int{4, 4}}, {96, []int{100, 100, 100}, []int{37, 0, 100}}, {64, []int{300, 129}, []int{299, 128}},
			{128, []int{300, 300}, []int{1, 200}}, {64, []int{1000, 400}, []int{500, 130}},
		} {
			s := step{"compact", len(c.used), len(c.used), c.dim, []run{{d, 1, c.used}}, also{}}
			checks = append(checks, Check{
				Operation: "Compact", Type: d.String(), Shape: fmt.Sprintf("%v of %v slots of %d", c.kept, c.used, c.dim), Input: random.name,
				build: func(g generator) *trial { return compact(s, c.kept, g) },
			})
		}
	}
	return checks
}

func compact(s step, kept []int, g generator) *trial {
	t := &trial{}
	list := s.conversations(t, anyQueries, g)
	var keep [][]int32
	total := 0
	for head, n := range kept {
		keep = append(keep, g.ascending(s.runs[0].used[head], n))
		total += n
	}
	out := len(t.operands)
	for _, name := range []string{"kept keys", "kept values"} {
		t.operands = append(t.operands, operand{name: name, role: output, dtype: s.runs[0].dtype, dims: []int{total, s.dim}})
	}
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, false, func(runs []backend.Run) error {
			slots := runs[0].Slots
			if err := b.Run(&backend.Compact{Slots: slots, Keep: keep}); err != nil {
				return err
			}
			for head, n := range kept {
				slots.Heads[head].Len = n
			}
			return list[0].read(b, slots, t[out], t[out+1])
		})
	}
	return t
}

// pageChecks move slots to pages and back, whole and in part, as they are and converted, and copy pages.
func pageChecks() (checks []Check) {
	for _, d := range cacheTypes {
		for _, c := range []struct{ dim, lo, n int }{
			{64, 0, 1}, {32, 0, 129}, {96, 100, 129}, {128, 127, 1}, {64, 127, 2}, {64, 200, 28}, {32, 128, 130},
		} {
			s := step{"pages", 2, 2, c.dim, []run{{d, 1, []int{130, 330}}}, also{}}
			add := func(operation string, t func(g generator) *trial) {
				checks = append(checks, Check{
					Operation: operation, Type: d.String(), Shape: fmt.Sprintf("%d slots from %d on, of %d", c.n, c.lo, c.dim), Input: random.name, build: t,
				})
			}
			add("ReadSlots", func(g generator) *trial { return readSlots(s, c.lo, c.n, g) })
			add("WriteSlots", func(g generator) *trial { return writeSlots(s, c.lo, c.n, g) })
			if c.lo == 0 {
				add("CopyPage", func(g generator) *trial { return copyPage(s, g) })
			}
		}
	}
	slices.SortStableFunc(checks, func(a, b Check) int { return strings.Compare(a.Operation, b.Operation) })
	return checks
}

// readSlots reads some slots of the second head, in the cache's type and as F32.
func readSlots(s step, lo, n int, g generator) *trial {
	t := &trial{}
	list := s.conversations(t, anyQueries, g)
	out, d := len(t.operands), s.runs[0].dtype
	l := limit{tolerance: single}
	if d.Quantized() {
		l = limit{tolerance: half, magnitude: rowMaxima(s.dim)}
	}
	t.operands = append(t.operands,
		operand{name: "keys", role: output, dtype: d, dims: []int{n, s.dim}}, operand{name: "values", role: output, dtype: d, dims: []int{n, s.dim}},
		blank("wide keys", output, n, s.dim).within(l), blank("wide values", output, n, s.dim).within(l),
		operand{name: "values alone", role: output, dtype: d, dims: []int{n, s.dim}})
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, false, func(runs []backend.Run) error {
			slots := runs[0].Slots
			return errors.Join(b.Run(&backend.ReadSlots{Slots: slots, Head: 1, First: lo, Keys: t[out], Values: t[out+1]}), b.Run(&backend.ReadSlots{Slots: slots, Head: 1, First: lo, Keys: t[out+2], Values: t[out+3]}), b.Run(&backend.ReadSlots{Slots: slots, Head: 1, First: lo, Values: t[out+4]}))
		})
	}
	return t
}

// writeSlots writes floats to some slots of the second head.
func writeSlots(s step, lo, n int, g generator) *trial {
	t := &trial{}
	k, v := g.floats(random, n*s.dim), g.floats(random, n*s.dim)
	t.operands = []operand{f32("k", reading, k, n, s.dim), f32("v", reading, v, n, s.dim)}
	list := s.conversations(t, anyQueries, g)
	out, c := len(t.operands), list[0]
	for side, x := range [][]float32{k, v} {
		truth := slices.Clone([][]float32{c.k, c.v}[side])
		copy(truth[(c.sum(1)+lo)*s.dim:], x)
		l := limit{truth: truth, tolerance: single}
		if c.dtype.Quantized() {
			l.tolerance = half
			l.magnitude = func([]float32) []float64 { return blockMaxima(truth, c.dtype.BlockLen()) }
		}
		t.operands = append(t.operands, operand{name: [...]string{"keys", "values"}[side], role: output, dtype: c.dtype, dims: []int{len(truth) / s.dim, s.dim}}.within(l))
	}
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, false, func(runs []backend.Run) error {
			if err := b.Run(&backend.WriteSlots{Slots: runs[0].Slots, Head: 1, First: lo, Keys: t[0], Values: t[1]}); err != nil {
				return err
			}
			return c.read(b, runs[0].Slots, t[out], t[out+1])
		})
	}
	return t
}

// copyPage copies the second head's first page over its second and over that of the first head.
func copyPage(s step, g generator) *trial {
	t := &trial{}
	list := s.conversations(t, anyQueries, g)
	out, c := len(t.operands), list[0]
	for _, name := range []string{"keys", "values"} {
		t.operands = append(t.operands, operand{name: name, role: output, dtype: c.dtype, dims: []int{c.sum(2), s.dim}})
	}
	t.do = func(b backend.Backend, t []*tensor.Tensor) error {
		return paged(b, t, list, false, func(runs []backend.Run) error {
			heads := runs[0].Slots.Heads
			if err := errors.Join(b.Run(&backend.CopyPage{From: heads[1].Pages[0], To: heads[1].Pages[1]}), b.Run(&backend.CopyPage{From: heads[1].Pages[0], To: heads[0].Pages[0]})); err != nil {
				return err
			}
			return c.read(b, runs[0].Slots, t[out], t[out+1])
		})
	}
	return t
}
