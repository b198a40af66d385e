package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// The float kernels of attention to one tile. product makes scores out of queries and keys, and sums out of weights and values: rows of x
// times w, with sums in registers. weights turns scores into exponentials and their sum, and merge joins the results of two tiles. For
// example:
//
//	product   x = [2 3], w[0] = [1 10 …], w[1] = [4 5 …]         out = [2·1+3·4 2·10+3·5 …] = [14 35 …]
//	weights   scores [7 7 9 …], 2 of them visible                Max 7, exponentials [1 1], Sum 2
//	merge     Max 7, Sum 2, Out [6] with Max 7, Sum 1, Out [3]   Max 7, Sum 3, Out [9]

// Of asm: TileKeys, the distance of two rows of scores, and the offsets of a Partial's fields and its size.
const (
	tileKeys     = 128
	partialSum   = 4
	partialOut   = 8
	partialBytes = 32
)

// source is how elements lie in memory, and how a register of them is read as float32.
type source struct {
	name  string
	bytes int // of an element
	load  func(u *unit, m Mem, v reg.VecVirtual)
}

var sources = []source{
	{"F32", 4, func(u *unit, m Mem, v reg.VecVirtual) { u.VMOVUPS(m, v) }},
	{"F16", 2, func(u *unit, m Mem, v reg.VecVirtual) { u.VCVTPH2PS(m, v) }},
	{"BF16", 2, func(u *unit, m Mem, v reg.VecVirtual) {
		u.VPMOVZXWD(m, v)
		u.VPSLLD(Imm(16), v, v)
	}},
}

// attention generates the parts of attention to one tile.
func attention(c *build.Context) {
	for _, u := range units(c) {
		for _, s := range sources {
			u.product(s)
		}
		u.weights()
		u.merge()
	}
}

// block is what one loop of products has sums of: some rows of x by some groups of lanes elements of w.
type block struct{ rows, groups int }

// blocks returns the blocks of a unit, those of most rows first. As many sums as fit in the registers hide how long an addition takes, and
// share the reads of w, which must be converted; few rows share the reads of x among more groups instead. Tiles of weights, one group for
// each call, took 1.1 to 1.6 times as long with heads of 64 elements, and so did values that were widened to memory for 32 slots at a time.
func (u *unit) blocks() []block {
	if u.width == 16 {
		return []block{{12, 2}, {8, 2}, {4, 4}, {3, 4}, {2, 4}, {1, 4}}
	}
	return []block{{6, 1}, {4, 1}, {3, 1}, {2, 2}, {1, 4}}
}

// mostRowsAhead is the most rows that are computed faster than memory brings what they read, so that what comes next is worth asking for: a
// page lies anywhere, and its beginnings would be waited for. On Sapphire Rapids four rows of binary16 read 83 to 90 % of what a plain loop
// reads, and 68 to 70 % when they ask only for lines in the same page.
const mostRowsAhead = 4

// product generates the product of both scores and values: rows of x times w, with the columns of w in lanes.
func (u *unit) product(s source) {
	var counts []int
	for _, b := range u.blocks() {
		counts = append(counts, b.rows)
	}
	u.function("product"+s.name,
		"func(w *byte, group, step, groups, steps int, x *float32, xStride int, out *float32, outStride, rows, add int, ahead *byte)",
		"out[r][16g+i] = fma(x[r][steps-1], w[steps-1][g][i], … fma(x[r][0], w[0][g][i], begin)) for r < rows, g < groups, i < 16,",
		"where begin is 0 if add is 0, and else out[r][16g+i]. In bytes, steps of w are step apart, its groups group, and the rows of x and",
		fmt.Sprintf("out xStride and outStride. rows is one of %v. If it is at most %d, the bytes from ahead on, as many as are read of w,", counts, mostRowsAhead),
		"are brought near.")
	rows := u.integer("rows")
	for _, b := range u.blocks() {
		next := fmt.Sprintf("below%d", b.rows)
		if b.rows > 1 {
			u.CMPQ(rows, U32(b.rows))
			u.JLT(LabelRef(next))
		}
		u.productRows(s, b)
		u.end()
		if b.rows > 1 {
			u.Label(next)
		}
	}
}

// productRows computes all groups for a number of rows: as many at a time as the block has, and the others one by one.
func (u *unit) productRows(s source, b block) {
	w, out, left := u.integer("w"), u.integer("out"), u.integer("groups")
	var ahead reg.GPVirtual
	if b.rows <= mostRowsAhead {
		ahead = u.integer("ahead")
	}
	for {
		name := fmt.Sprintf("%dx%d", b.rows, b.groups)
		u.Label("groups" + name)
		u.CMPQ(left, U32(b.groups))
		u.JLT(LabelRef("fewer" + name))
		u.productBlock(s, b, name, w, out, ahead)
		part := u.GP64()
		u.Load(u.Param("group"), part)
		if b.groups > 1 {
			u.IMUL3Q(U32(b.groups), part, part)
		}
		u.ADDQ(part, w)
		u.ADDQ(U32(4*lanes*b.groups), out)
		u.SUBQ(U32(b.groups), left)
		u.JMP(LabelRef("groups" + name))
		u.Label("fewer" + name)
		if b.groups == 1 {
			return
		}
		b.groups = 1
	}
}

// productBlock computes a block.
func (u *unit) productBlock(s source, b block, name string, w, out, ahead reg.GPVirtual) {
	halves := lanes / u.width
	sums := make([][]reg.VecVirtual, b.rows)
	for r := range sums {
		for range b.groups * halves {
			sums[r] = append(sums[r], u.zero())
		}
	}
	forOut := func(do func(m Mem, v reg.VecVirtual)) {
		at, stride := u.GP64(), u.integer("outStride")
		u.MOVQ(out, at)
		for r := range sums {
			for v := range sums[r] {
				do(Mem{Base: at, Disp: 4 * u.width * v}, sums[r][v])
			}
			if r+1 < b.rows {
				u.ADDQ(stride, at)
			}
		}
	}
	add := u.integer("add")
	u.TESTQ(add, add)
	u.JEQ(LabelRef("begin" + name))
	forOut(func(m Mem, v reg.VecVirtual) { u.VMOVUPS(m, v) })
	u.Label("begin" + name)

	steps := u.integer("steps")
	u.TESTQ(steps, steps)
	u.JEQ(LabelRef("end" + name))
	at, step, group := u.GP64(), u.integer("step"), u.integer("group")
	u.MOVQ(w, at)
	group3 := group
	if b.groups > 3 {
		group3 = u.GP64()
		u.LEAQ(Mem{Base: group, Index: group, Scale: 2}, group3)
	}
	weight := func(v int) Mem {
		m := Mem{Base: at, Disp: v % halves * u.width * s.bytes}
		switch g := v / halves; g {
		case 1, 2:
			m.Index, m.Scale = group, uint8(g)
		case 3:
			m.Index, m.Scale = group3, 1
		}
		return m
	}
	xs := []reg.GPVirtual{u.integer("x")} // each leads to three rows
	stride := u.integer("xStride")
	for len(xs)*3 < b.rows {
		x := u.GP64()
		u.LEAQ(Mem{Base: xs[len(xs)-1], Index: stride, Scale: 2}, x)
		u.ADDQ(stride, x)
		xs = append(xs, x)
	}

	u.Label("step" + name)
	values := make([]reg.VecVirtual, b.groups*halves)
	read := func(v int) {
		values[v] = u.vector()
		s.load(u, weight(v), values[v])
	}
	if b.rows > 1 {
		for v := range values {
			read(v)
		}
	}
	for r := range sums {
		x, m := u.vector(), Mem{Base: xs[r/3]}
		if r%3 > 0 {
			m.Index, m.Scale = stride, uint8(r%3)
		}
		u.VBROADCASTSS(m, x)
		for v := range values {
			if b.rows == 1 {
				read(v) // one at a time: there need not be registers for all
			}
			u.VFMADD231PS(values[v], x, sums[r][v])
		}
	}
	if ahead != nil {
		bytes := lanes * s.bytes * b.groups
		for line := 0; line < bytes; line += 64 {
			u.PREFETCHT0(Mem{Base: ahead, Disp: line})
		}
		u.ADDQ(U32(bytes), ahead)
	}
	u.ADDQ(step, at)
	for _, x := range xs {
		u.ADDQ(Imm(4), x)
	}
	u.DECQ(steps)
	u.JNZ(LabelRef("step" + name))
	u.Label("end" + name)
	forOut(func(m Mem, v reg.VecVirtual) { u.VMOVUPS(v, m) })
}

// weights generates what lies between scores and values.
func (u *unit) weights() {
	u.function("weights", "func(scores *float32, visible *int, results *float32, rows int)",
		fmt.Sprintf("for each r < rows, n = visible[r], row r of scores, of %d, and results, the Maxs of Partials: the maximum of the first n", tileKeys),
		"scores, as the portable Maximum, and of these scores the exponentials and their sum, as the portable Exponentials; both are 0 if n is 0.")
	scores, visible, results, rows := u.integer("scores"), u.integer("visible"), u.integer("results"), u.integer("rows")
	n, p := u.GP64(), u.GP64()
	begin := func() {
		u.MOVQ(Mem{Base: visible}, n)
		u.MOVQ(scores, p)
	}
	u.Label("row")
	begin()
	zero := u.GP64()
	u.XORQ(zero, zero)
	u.MOVQ(zero, Mem{Base: results})
	u.TESTQ(n, n)
	u.JEQ(LabelRef("next"))
	top := u.maximumOf("Maximum", n, p)
	u.VMOVSS(top, Mem{Base: results})
	all := u.vector()
	u.VBROADCASTSS(top, all)
	begin()
	u.VMOVSS(u.exponentialsOf("Exponentials", n, p, all), Mem{Base: results, Disp: partialSum})
	u.Label("next")
	u.ADDQ(U32(4*tileKeys), scores)
	u.ADDQ(Imm(8), visible)
	u.ADDQ(Imm(partialBytes), results)
	u.DECQ(rows)
	u.JNZ(LabelRef("row"))
	u.end()
}

// merge generates the portable Merge of several rows.
func (u *unit) merge() {
	u.function("merge", "func(dst, src *float32, n, rows int)",
		"the portable Merge of each of rows Partials, of n elements, at whose Maxs dst and src are. Which zero a maximum of two zeros is, is open.")
	dst, src, rows := u.integer("dst"), u.integer("src"), u.integer("rows")
	zero := u.zero()
	n, to, from := u.GP64(), u.GP64(), u.GP64()
	u.Label("row")
	u.Load(u.Param("n"), n)
	u.MOVQ(Mem{Base: dst, Disp: partialOut}, to)
	u.MOVQ(Mem{Base: src, Disp: partialOut}, from)
	jumpIfEmpty := func(p reg.GPVirtual, label string) {
		u.VUCOMISS(Mem{Base: p, Disp: partialSum}, zero.AsX())
		u.JPS(LabelRef("number" + label)) // NaN: the comparison says that it is equal
		u.JEQ(LabelRef(label))
		u.Label("number" + label)
	}
	jumpIfEmpty(src, "next")
	jumpIfEmpty(dst, "copy")

	a, b, m := u.vector(), u.vector(), u.vector()
	u.VBROADCASTSS(Mem{Base: dst}, a)
	u.VBROADCASTSS(Mem{Base: src}, b)
	u.VMAXPS(a, b, m)
	u.VUCOMISS(a.AsX(), b.AsX())
	u.JPC(LabelRef("numbers"))
	u.VADDPS(a, b, m) // NaN, where either is
	u.Label("numbers")
	u.VMOVSS(m.AsX(), Mem{Base: dst})
	for _, x := range []reg.VecVirtual{a, b} {
		u.VSUBPS(m, x, x)
		u.exp(x)
	}
	sum := u.XMM()
	u.VMULSS(Mem{Base: dst, Disp: partialSum}, a.AsX(), sum)
	u.VFMADD231SS(Mem{Base: src, Disp: partialSum}, b.AsX(), sum)
	u.VMOVSS(sum, Mem{Base: dst, Disp: partialSum})
	u.stripsOf("Merged", n, []reg.GPVirtual{to, from}, func(t access) {
		x, y := t.load(from), t.load(to)
		for i := range x {
			u.VMULPS(a, y[i], y[i])
			u.VFMADD231PS(b, x[i], y[i])
		}
		t.store(y, to)
	})

	u.Label("next")
	u.ADDQ(Imm(partialBytes), dst)
	u.ADDQ(Imm(partialBytes), src)
	u.DECQ(rows)
	u.JNZ(LabelRef("row"))
	u.end()

	u.Label("copy")
	both := u.GP64()
	u.MOVQ(Mem{Base: src}, both)
	u.MOVQ(both, Mem{Base: dst})
	u.stripsOf("Copied", n, []reg.GPVirtual{to, from}, func(t access) { t.store(t.load(from), to) })
	u.JMP(LabelRef("next"))
}
