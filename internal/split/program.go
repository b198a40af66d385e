package split

import (
	"slices"

	"github.com/antigravity-go/antigravity/internal/charset"
)

// program is an expression as a machine that is in several places at once, in the order in which backtracking would try them
// (K. Thompson, "Regular Expression Search Algorithm", 1968; R. Pike's sam).
type program struct {
	insts []inst
	sets  []charset.Set // each once
	start int32
}

// instOp is what an instruction does.
type instOp uint8

const (
	instSet   instOp = iota // reads a character of a set, and goes on at out
	instAhead               // goes on at out if the next character is of a set; if negative, if it is not
	instBoth                // goes on at out and, after that, at other
	instMatch
)

type inst struct {
	op         instOp
	negative   bool
	set        int32
	out, other int32
}

// The bounds on a program.
const (
	maxInsts = 1 << 13
	maxSets  = 64
)

// compiler builds a program from its end to its beginning, so that each instruction's successor is known when it is added.
type compiler struct{ program }

// assemble returns the program of an expression. ok is false if the program would have too many instructions or sets.
func assemble(n *node) (p program, ok bool) {
	var c compiler
	c.insts = append(c.insts, inst{op: instMatch})
	c.start, ok = c.node(n, 0)
	return c.program, ok
}

// add appends an instruction and returns its place.
func (c *compiler) add(i inst) (place int32, ok bool) {
	if len(c.insts) == maxInsts {
		return 0, false
	}
	c.insts = append(c.insts, i)
	return int32(len(c.insts) - 1), true
}

// setOf returns the index of a set.
func (c *compiler) setOf(set charset.Set) (index int32, ok bool) {
	if i := slices.IndexFunc(c.sets, func(other charset.Set) bool { return slices.Equal(set, other) }); i >= 0 {
		return int32(i), true
	}
	if len(c.sets) == maxSets {
		return 0, false
	}
	c.sets = append(c.sets, set)
	return int32(len(c.sets) - 1), true
}

// node adds the instructions of n, which continue at instruction out, and returns the first of them.
func (c *compiler) node(n *node, out int32) (start int32, ok bool) {
	switch n.op {
	case opSet, opAhead:
		set, ok := c.setOf(n.set)
		if !ok {
			return 0, false
		}
		i := inst{op: instSet, set: set, out: out}
		if n.op == opAhead {
			i.op, i.negative = instAhead, n.negative
		}
		return c.add(i)
	case opConcat:
		for i := len(n.subs) - 1; i >= 0; i-- {
			if out, ok = c.node(n.subs[i], out); !ok {
				return 0, false
			}
		}
		return out, true
	case opAny:
		last := len(n.subs) - 1
		if start, ok = c.node(n.subs[last], out); !ok {
			return 0, false
		}
		for i := last - 1; i >= 0; i-- {
			first, ok := c.node(n.subs[i], out)
			if !ok {
				return 0, false
			}
			if start, ok = c.add(inst{op: instBoth, out: first, other: start}); !ok {
				return 0, false
			}
		}
		return start, true
	}
	return c.repeat(n, out)
}

// repeat is node for opRepeat.
func (c *compiler) repeat(n *node, out int32) (start int32, ok bool) {
	start, ok = out, true
	if n.most < 0 {
		loop, ok := c.add(inst{op: instBoth})
		if !ok {
			return 0, false
		}
		body, ok := c.node(n.subs[0], loop)
		if !ok {
			return 0, false
		}
		c.insts[loop] = both(body, out, n.lazy)
		start = loop
	}
	for range n.most - n.least { // x{0,3} is (x(x(x)?)?)?: without the rest, it goes on at out
		body, ok := c.node(n.subs[0], start)
		if !ok {
			return 0, false
		}
		if start, ok = c.add(both(body, out, n.lazy)); !ok {
			return 0, false
		}
	}
	for range n.least {
		if start, ok = c.node(n.subs[0], start); !ok {
			return 0, false
		}
	}
	return start, ok
}

// both returns the instruction that tries again first or, if lazy, last.
func both(again, out int32, lazy bool) inst {
	if lazy {
		again, out = out, again
	}
	return inst{op: instBoth, out: again, other: out}
}
