package regular

import (
	"math"
	"math/bits"
)

// Loosen returns e without the upper bounds of its long repetitions: for (a{2,9}&.{0,90}) it returns (a{2,9}&.*). Up to slack bytes may
// follow before any of the dropped bounds matters; slack is LongSlack at least. If e has no such bounds, Loosen returns e and Unlimited.
func (r *Arena) Loosen(e Expr) (loose Expr, slack int) {
	if n := &r.nodes[e]; n.loose != 0 {
		return Expr(n.loose), int(n.slack)
	}
	loose, slack = r.loosen(e)
	r.nodes[e].loose, r.nodes[e].slack = int32(loose), int32(slack)
	return loose, slack
}

func (r *Arena) loosen(e Expr) (loose Expr, slack int) {
	slack = Unlimited
	switch n := r.nodes[e]; n.kind {
	case concat:
		a, s := r.Loosen(Expr(n.a))
		b, t := r.Loosen(Expr(n.b))
		return r.concat(a, b), min(s, t)
	case or, and:
		begin := len(r.scratch)
		for i := range n.b {
			l, s := r.Loosen(r.lists[n.a+i])
			r.scratch, slack = append(r.scratch, l), min(slack, s)
		}
		if slack < Unlimited {
			e = r.join(n.kind, r.scratch[begin:])
		}
		r.scratch = r.scratch[:begin]
		return e, slack
	case repeat:
		l, s := r.Loosen(Expr(n.a))
		if n.c == Unbounded {
			return r.Repeat(l, int(n.b), Unbounded), s
		}
		if own := int(min(int64(n.c)*int64(max(r.least(Expr(n.a)), 1)), maxCount)); own >= LongSlack {
			return r.Repeat(l, int(n.b), Unbounded), min(s, own)
		}
		return r.Repeat(l, int(n.b), int(n.c)), s
	}
	return e, slack
}

// Unlimited is the slack of an expression without long bounds. LongSlack is from which length on a repetition is long.
const (
	Unlimited = math.MaxInt32
	LongSlack = 40
)

// least returns a length that no string of e is shorter than.
func (r *Arena) least(e Expr) (length int) {
	switch n := r.nodes[e]; n.kind {
	case class:
		return 1
	case literal:
		return int(n.b)
	case concat:
		return min(r.least(Expr(n.a))+r.least(Expr(n.b)), maxCount)
	case or:
		length = maxCount
		for _, e := range r.lists[n.a : n.a+n.b] {
			length = min(length, r.least(e))
		}
	case and:
		for _, e := range r.lists[n.a : n.a+n.b] {
			length = max(length, r.least(e))
		}
	case repeat:
		return min(int(n.b)*r.least(Expr(n.a)), maxCount)
	}
	return length
}

// maxStates is up to how many states are looked at to find out how soon a string can be completed.
const maxStates = 100

// Completion returns how many bytes complete a string of e at most, wherever it has come to: the longest of the shortest completions. ok is
// false if too many states are reached from e to find out.
func (r *Arena) Completion(e Expr) (bytes int, ok bool) {
	if n, known := r.completions[e]; known {
		return int(n), n >= 0
	}
	if bytes, ok = r.completion(e); !ok {
		bytes = -1
	}
	if r.err == nil {
		r.completions[e] = int32(bytes)
	}
	return bytes, ok
}

func (r *Arena) completion(e Expr) (bytes int, ok bool) {
	states := []Expr{e}
	index := map[Expr]int{e: 0}
	var before [][]int // of each state, those that lead to it
	var done []int     // those from which every completion was found, the shortest first
	for i := 0; i < len(states); i++ {
		before = append(before, nil)
		s := states[i]
		if r.Nullable(s) {
			done = append(done, i)
		}
		for _, b := range r.representatives(s) {
			next := r.Next(s, b)
			if _, known := index[next]; next == None || known {
				continue
			}
			if len(states) == maxStates || r.err != nil {
				return 0, false
			}
			index[next] = len(states)
			states = append(states, next)
		}
	}
	for i, s := range states {
		for _, b := range r.representatives(s) {
			if next := r.Next(s, b); next != None {
				before[index[next]] = append(before[index[next]], i)
			}
		}
	}
	length := make([]int, len(states))
	found := make([]bool, len(states))
	for _, i := range done {
		found[i] = true
	}
	for at := 0; at < len(done); at++ {
		bytes = length[done[at]]
		for _, i := range before[done[at]] {
			if !found[i] {
				found[i], length[i] = true, bytes+1
				done = append(done, i)
			}
		}
	}
	return bytes, len(done) == len(states)
}

// representatives returns a byte of each part of the bytes that leads from e to the same state.
func (r *Arena) representatives(e Expr) []byte {
	switch n := &r.nodes[e]; n.kind {
	case none, empty:
		return nil
	case class:
		return r.classes[n.a].Bytes(nil)[:1]
	case literal:
		return []byte{r.text[n.a]}
	}
	if r.nodes[e].row == 0 {
		r.addRow(e)
	}
	p := r.parts[r.nodes[e].part-1]
	return append([]byte(nil), p.first[:p.count]...)
}

// Representatives appends to dst a byte of each set of bytes of c that lead from e to the same state for certain.
func (r *Arena) Representatives(dst []byte, e Expr, c Class) []byte {
	one := func(c Class) {
		if c != (Class{}) {
			dst = append(dst, c.Lowest())
		}
	}
	switch n := &r.nodes[e]; n.kind {
	case none, empty:
		one(c)
		return dst
	case class:
		one(c.And(r.classes[n.a]))
		one(c.And(r.classes[n.a].Not()))
		return dst
	case literal:
		first := ClassOf(r.text[n.a])
		one(c.And(first))
		one(c.And(first.Not()))
		return dst
	}
	if r.nodes[e].row == 0 {
		r.addRow(e)
	}
	p := r.parts[r.nodes[e].part-1]
	var seen [256]bool
	for i, w := range c {
		for ; w != 0; w &= w - 1 {
			b := byte(i*64 + bits.TrailingZeros64(w))
			if part := p.of[b]; !seen[part] {
				seen[part] = true
				dst = append(dst, b)
			}
		}
	}
	return dst
}
