package attention

import (
	"fmt"
	"math"

	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// A device shows only the outputs of its operations. look finds the inner steps from them. The weight of slot 5 is the output of Attend
// with values that are 0 but for a 1 in slot 5. With 64 elements in a head, one call shows the weights of 64 slots. The scores follow from
// the weights as their logarithms. For example, for 129 slots and heads of 64 elements:
//
//	cache of F32   call 1: slots 0 to 63, slot j in element j
//	               call 2: slots 64 to 127, slot j in element j-64
//	               call 3: slot 128, in element 0
//	cache of Q8_0  a head has 2 blocks of 32 elements, so a call shows 2 slots of each group of 32
//	               call 1: slots 0 and 1 of each group, slot 33 in element 32+1
//	               call 2: slots 2 and 3 of each group, slot 34 in element 1
//	               … 16 calls

// vector is a row of what a step gives: values that stand at one place, such as one query's output of one head.
type vector struct {
	at []int     // the place, one number for each of the step's coordinates but the last, which counts the values
	x  []float32 // the values
}

// stored is what RoPEStore gives.
type stored struct {
	q            []float32  // [rows, heads, dim]: rotated
	keys, values [][][]byte // of each conversation and KV head: all slots in use, in the cache's type
}

// look observes the steps of one attention on one device. What a step begins with is the reference's result of the step before, so that one
// wrong step does not make those after it look wrong; only the last step, whole, begins with what the device itself has made.
type look struct {
	*device
	*problem
	from *stored // the reference's; this look's own if this look is the reference
	own  *stored // what RoPEStore gave here; nil before it was called
}

// store rotates and stores, once.
func (l *look) store() error {
	if l.own != nil {
		return nil
	}
	runs, q, err := l.rotate()
	if err != nil {
		return err
	}
	own := &stored{}
	if own.q, err = l.read(q); err != nil {
		return err
	}
	for _, r := range runs {
		var keys, values [][]byte
		for h := range r.Slots.Heads {
			k, v, err := l.content(l.problem, r.Slots, h)
			if err != nil {
				return err
			}
			keys, values = append(keys, k), append(values, v)
		}
		own.keys, own.values = append(own.keys, keys), append(own.values, values)
	}
	l.own = own
	if l.from == nil {
		l.from = own
	}
	return nil
}

// rotate calls RoPEStore for the problem's operands, and returns the runs and the rotated queries.
func (l *look) rotate() ([]backend.Run, *tensor.Tensor, error) {
	rows := l.rows()
	var t [4]*tensor.Tensor
	for i, o := range []struct {
		x    []float32
		dims []int
	}{
		{l.q, []int{rows, l.heads, l.dim}}, {l.k, []int{rows, l.kvHeads, l.dim}}, {l.v, []int{rows, l.kvHeads, l.dim}}, {l.table, []int{rows, l.dim}},
	} {
		var err error
		if t[i], err = l.floats(o.x, o.dims...); err != nil {
			return nil, nil, err
		}
	}
	var runs []backend.Run
	for i := range l.runs {
		c := &l.runs[i]
		s, err := l.slots(l.problem, c, c.keys, c.values)
		if err != nil {
			return nil, nil, err
		}
		runs = append(runs, backend.Run{Tokens: c.tokens, Slots: s})
	}
	return runs, t[0], l.Run(&backend.RoPEStore{Q: t[0], K: t[1], V: t[2], Table: t[3], Runs: runs})
}

// queries are the rotated queries.
func (l *look) queries() ([]vector, error) {
	if err := l.store(); err != nil {
		return nil, err
	}
	return l.perHead(l.own.q), nil
}

// perHead cuts [rows, heads, dim] into vectors.
func (l *look) perHead(x []float32) (list []vector) {
	for i := range l.rows() * l.heads {
		list = append(list, vector{[]int{i / l.heads, i % l.heads}, x[i*l.dim : (i+1)*l.dim]})
	}
	return list
}

// cached returns what slots hold, of keys or of values.
func (l *look) cached(side func(*stored) [][][]byte) ([]vector, error) {
	if err := l.store(); err != nil {
		return nil, err
	}
	var list []vector
	for run, heads := range side(l.own) {
		for h, data := range heads {
			x, err := decode(l.dtype, data)
			if err != nil {
				return nil, err
			}
			for slot := range len(x) / l.dim {
				list = append(list, vector{[]int{run, h, slot}, x[slot*l.dim : (slot+1)*l.dim]})
			}
		}
	}
	return list, nil
}

func keysOf(s *stored) [][][]byte   { return s.keys }
func valuesOf(s *stored) [][][]byte { return s.values }

// cache makes slots with the reference's keys, and with its values or, if probe is not nil, those that probe returns for a slot of a head.
func (l *look) cache(probe func(slot int) []byte) ([]backend.Run, error) {
	var runs []backend.Run
	for i := range l.runs {
		c := &l.runs[i]
		values := l.from.values[i]
		if probe != nil {
			values = nil
			for _, used := range c.used {
				var rows []byte
				for slot := range used {
					rows = append(rows, probe(slot)...)
				}
				values = append(values, rows)
			}
		}
		ungapped := *l.problem
		ungapped.gap = 0 // the slots given up are gone
		s, err := l.slots(&ungapped, c, l.from.keys[i], values)
		if err != nil {
			return nil, err
		}
		runs = append(runs, backend.Run{Tokens: c.tokens, Slots: s})
	}
	return runs, nil
}

// attend calls Attend with the reference's queries.
func (l *look) attend(runs []backend.Run) ([]float32, error) {
	q, err := l.floats(l.from.q, l.rows(), l.heads, l.dim)
	if err != nil {
		return nil, err
	}
	out, err := l.blank(tensor.F32, l.rows(), l.heads, l.dim)
	if err != nil {
		return nil, err
	}
	if err := l.Run(&backend.Attend{Q: q, Out: out, Runs: runs}); err != nil {
		return nil, err
	}
	return l.read(out)
}

// unit returns a number, for values that let weights through, that the cache's type holds exactly next to zeros.
func (l *look) unit() (float32, error) {
	for _, u := range []float32{1, 127} {
		x := make([]float32, l.dim)
		x[l.dim-1] = u
		data, err := encode(l.dtype, x)
		if err != nil {
			return 0, err
		}
		back, err := decode(l.dtype, data)
		if err != nil {
			return 0, err
		}
		if back[l.dim-1] == u && back[0] == 0 {
			return u, nil
		}
	}
	return 0, fmt.Errorf("a cache of type %v holds neither 1 nor 127 exactly: the weights cannot be observed", l.dtype)
}

// shown are the slots that one call of Attend shows the weights of: all slots from first to end, or, of each groupedSlots from there on,
// `count` slots from one on.
type shown struct{ first, end, from, count int }

// groupedSlots is how many neighbouring slots' weights a quantised cache's values are multiplied by with one scale.
const groupedSlots = 32

// element returns the element of the output that is the weight of a slot, -1 if it is not shown.
func (s shown) element(slot int) int {
	switch at := slot%groupedSlots - s.from; {
	case slot < s.first || slot >= s.end:
		return -1
	case s.count == 0:
		return slot - s.first
	case at < 0 || at >= s.count:
		return -1
	default: // a block of the head for each slot of a group, an element of it for each group
		return at*groupedSlots + (slot-s.first)/groupedSlots
	}
}

// shows lists the values to show so that the weights of n slots are seen.
func (l *look) shows(n int) (list []shown) {
	if !l.dtype.Quantized() {
		for first := 0; first < n; first += l.dim {
			list = append(list, shown{first: first, end: first + l.dim})
		}
		return list
	}
	const most = groupedSlots * groupedSlots // a block has an element for each group of most slots
	blocks := l.dim / l.dtype.BlockLen()
	for first := 0; first < n; first += most {
		for from := 0; from < groupedSlots; from += blocks {
			list = append(list, shown{first, first + most, from, blocks})
		}
	}
	return list
}

// weights observes softmax(q·kᵀ/√dim). No operation returns it: Attend is called with values that are 1 in one place and 0 in all others,
// so that each element of its output is the weight of one slot. One call shows as many slots as a head has elements.
//
// Values of a quantised cache are multiplied by rounded weights: for each block of the head, weights are rounded to 1/127 of the largest of
// their neighbours (asm/internal/attention has the definition). weights shows the softmax before that rounding: in each block only one slot
// of a group has a value, so its weight is the largest and is not rounded. The rounding shows in the output of the later steps.
func (l *look) weights() ([]vector, error) {
	unit, err := l.unit()
	if err != nil {
		return nil, err
	}
	var list []vector
	most := 0
	if err := l.each(func(row, run, _ int) error {
		most = max(most, l.runs[run].longest())
		for h := range l.heads {
			list = append(list, vector{[]int{row, h}, make([]float32, l.runs[run].used[h/l.group()])})
		}
		return nil
	}); err != nil {
		return nil, err
	}
	codes := make([][]byte, l.dim+1) // of a value that has the unit at an element, and of one that has it nowhere
	for i := range codes {
		x := make([]float32, l.dim)
		if i < l.dim {
			x[i] = unit
		}
		if codes[i], err = encode(l.dtype, x); err != nil {
			return nil, err
		}
	}
	for _, part := range l.shows(most) {
		runs, err := l.cache(func(slot int) []byte {
			if e := part.element(slot); e >= 0 {
				return codes[e]
			}
			return codes[l.dim]
		})
		if err != nil {
			return nil, err
		}
		out, err := l.attend(runs)
		if err != nil {
			return nil, err
		}
		for i, v := range list {
			for j := range v.x {
				if e := part.element(j); e >= 0 {
					v.x[j] = out[i*l.dim+e] / unit
				}
			}
		}
	}
	return list, nil
}

// sums observes the attention that each slot gets from all queries: AccumulateAttention, conversation by conversation.
func (l *look) sums() ([]vector, error) {
	runs, err := l.cache(nil)
	if err != nil {
		return nil, err
	}
	var list []vector
	row := 0
	for i, r := range runs {
		width := l.runs[i].longest()
		q, err := l.floats(l.from.q[row*l.heads*l.dim:][:r.Tokens*l.heads*l.dim], r.Tokens, l.heads, l.dim)
		if err != nil {
			return nil, err
		}
		sums, err := l.floats(make([]float32, l.kvHeads*width), l.kvHeads, width)
		if err != nil {
			return nil, err
		}
		if err := l.Run(&backend.AccumulateAttention{Q: q, Sums: sums, Run: r}); err != nil {
			return nil, err
		}
		x, err := l.read(sums)
		if err != nil {
			return nil, err
		}
		for h, used := range l.runs[i].used {
			list = append(list, vector{[]int{i, h}, x[h*width:][:used]})
		}
		row += r.Tokens
	}
	return list, nil
}

// output observes Attend.
func (l *look) output() ([]vector, error) {
	runs, err := l.cache(nil)
	if err != nil {
		return nil, err
	}
	out, err := l.attend(runs)
	if err != nil {
		return nil, err
	}
	return l.perHead(out), nil
}

// cuts returns the numbers of slots after which the sums so far are looked at: the ends of pages, and the last slot.
func cuts(used int) (list []int) {
	for n := backend.PageSlots; n < used; n += backend.PageSlots {
		list = append(list, n)
	}
	return append(list, used)
}

// pages observes what Attend has summed up so far at the end of each page, for the latest query of each conversation: it is
// given no more slots than these.
func (l *look) pages() ([]vector, error) {
	runs, err := l.cache(nil)
	if err != nil {
		return nil, err
	}
	var list []vector
	row := -1
	for i, r := range runs {
		row += r.Tokens
		q, err := l.floats(l.from.q[row*l.heads*l.dim:][:l.heads*l.dim], 1, l.heads, l.dim)
		if err != nil {
			return nil, err
		}
		for _, n := range cuts(l.runs[i].longest()) {
			for h, used := range l.runs[i].used {
				r.Slots.Heads[h].Len = min(n, used)
			}
			out, err := l.blank(tensor.F32, 1, l.heads, l.dim)
			if err != nil {
				return nil, err
			}
			if err := l.Run(&backend.Attend{Q: q, Out: out, Runs: []backend.Run{{Tokens: 1, Slots: r.Slots}}}); err != nil {
				return nil, err
			}
			x, err := l.read(out)
			if err != nil {
				return nil, err
			}
			for h := range l.heads {
				list = append(list, vector{[]int{i, n, h}, x[h*l.dim:][:l.dim]})
			}
		}
	}
	return list, nil
}

// whole observes Attend behind RoPEStore, as a model calls them: nothing is read or written in between.
func (l *look) whole() ([]vector, error) {
	runs, q, err := l.rotate()
	if err != nil {
		return nil, err
	}
	out, err := l.blank(tensor.F32, l.rows(), l.heads, l.dim)
	if err != nil {
		return nil, err
	}
	if err := l.Run(&backend.Attend{Q: q, Out: out, Runs: runs}); err != nil {
		return nil, err
	}
	x, err := l.read(out)
	if err != nil {
		return nil, err
	}
	return l.perHead(x), nil
}

// scores returns the scores that weights imply: ln(weight) less the largest one's, which is score less the largest score. A weight near 0
// shows only that its score is low: below lowest, it stands as -Inf.
func (l *look) scores() ([]vector, error) {
	list, err := l.weights()
	for _, v := range list {
		largest := float32(0)
		for _, w := range v.x {
			largest = max(largest, w)
		}
		for j, w := range v.x {
			score := math.Log(float64(w) / float64(largest))
			if score < lowest {
				score = math.Inf(-1)
			}
			v.x[j] = float32(score)
		}
	}
	return list, err
}
