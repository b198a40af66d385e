package main

import (
	"github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand" //nolint:staticcheck // the field's own notation for operands
	"github.com/mmcloughlin/avo/reg"
)

// stateSums is recurrent.Sums: how many sums a column's sum is made of.
const stateSums = 4

// recurrent generates the kernels that pass tokens through columns of a state, as many columns as a register has lanes. All sums of these
// columns stay in registers.
//
// A row of the state is read and written once a token: while token t changes it, the new row is multiplied by the query of token t, and
// by the key of token t+1, which gives what the state knows of that token. Only the first token's takes a loop of its own.
func recurrent(c *build.Context) {
	for _, u := range units(c) {
		u.recur()
	}
}

func (u *unit) recur() {
	u.function("recur", "func(state, q, k, v, out, decay, beta *float32, keyDim, keyStride, valueStride, rows, delta int)",
		"Pass for the first columns of a block, as many as a register has lanes. keyDim is in elements and a multiple of 4, the strides are in bytes;",
		"keyDim and rows are above 0, delta is 0 or 1.")
	state, q, k, v, out := u.integer("state"), u.integer("q"), u.integer("k"), u.integer("v"), u.integer("out")
	decays, betas, bytes, rows := u.integer("decay"), u.integer("beta"), u.integer("keyDim"), u.integer("rows")
	u.SHLQ(Imm(2), bytes)
	p := &statePass{unit: u, bytes: bytes, state: state, row: u.GP64(), at: u.GP64(), rate: u.vector(), change: u.vector()}
	var known, results [stateSums]reg.VecVirtual
	for i := range known {
		known[i], results[i] = u.zero(), u.vector()
	}

	u.CMPQ(u.parameter("delta"), Imm(0))
	u.JE(LabelRef("token"))
	p.loop("first", func(r int) {
		p.add(k, r, p.load(r), known[r])
	})

	u.Label("token")
	u.VBROADCASTSS(Mem{Base: decays}, p.rate)
	u.VMOVUPS(Mem{Base: v}, p.change)
	u.CMPQ(u.parameter("delta"), Imm(0))
	u.JE(LabelRef("change"))
	u.VFNMADD231PS(u.total(known), p.rate, p.change)
	u.Label("change")
	beta := u.vector()
	u.VBROADCASTSS(Mem{Base: betas}, beta)
	u.VMULPS(beta, p.change, p.change)
	for _, sum := range results {
		u.VXORPS(sum, sum, sum)
	}
	next := u.GP64()
	u.MOVQ(k, next)
	u.ADDQ(u.parameter("keyStride"), next)
	u.CMPQ(rows, Imm(1))
	u.JE(LabelRef("last"))
	u.CMPQ(u.parameter("delta"), Imm(0))
	u.JE(LabelRef("last"))
	for _, sum := range known {
		u.VXORPS(sum, sum, sum)
	}
	p.loop("changes", func(r int) {
		s := p.update(k, r)
		p.add(q, r, s, results[r])
		p.add(next, r, s, known[r])
	})
	u.JMP(LabelRef("result"))
	u.Label("last")
	p.loop("lastChanges", func(r int) { p.add(q, r, p.update(k, r), results[r]) })
	u.Label("result")
	u.VMOVUPS(u.total(results), Mem{Base: out})

	u.MOVQ(next, k)
	u.ADDQ(u.parameter("keyStride"), q)
	u.ADDQ(u.parameter("valueStride"), v)
	u.ADDQ(u.parameter("valueStride"), out)
	u.ADDQ(Imm(4), decays)
	u.ADDQ(Imm(4), betas)
	u.DECQ(rows)
	u.JNZ(LabelRef("token"))
	u.end()
}

// parameter returns the memory of a parameter.
func (u *unit) parameter(name string) Mem {
	p, err := u.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return p.Addr
}

// total adds sums, as recurrent.Sums says, in the first register.
func (u *unit) total(sums [stateSums]reg.VecVirtual) reg.VecVirtual {
	u.VADDPS(sums[2], sums[0], sums[0])
	u.VADDPS(sums[3], sums[1], sums[1])
	u.VADDPS(sums[1], sums[0], sums[0])
	return sums[0]
}

// statePass is what the loops over the rows of a state have in common.
type statePass struct {
	*unit
	bytes        reg.GPVirtual // of a key
	state        reg.GPVirtual
	row, at      reg.GPVirtual // the state of a loop: the row of the state, and the place of its elements in keys, in bytes
	rate, change reg.VecVirtual
}

// loop repeats body for each row r of stateSums rows, for all rows of the state.
func (p *statePass) loop(name string, body func(r int)) {
	p.MOVQ(p.state, p.row)
	p.XORQ(p.at, p.at)
	p.Label(name)
	for r := range stateSums {
		body(r)
	}
	p.ADDQ(U32(4*lanes*stateSums), p.row)
	p.ADDQ(Imm(4*stateSums), p.at)
	p.CMPQ(p.at, p.bytes)
	p.JLT(LabelRef(name))
}

// load returns row r of the state.
func (p *statePass) load(r int) reg.VecVirtual {
	s := p.vector()
	p.VMOVUPS(Mem{Base: p.row, Disp: 4 * lanes * r}, s)
	return s
}

// add adds row s times an element of a key or query to a sum.
func (p *statePass) add(key reg.GPVirtual, r int, s, sum reg.VecVirtual) {
	element := Mem{Base: key, Index: p.at, Scale: 1, Disp: 4 * r}
	if p.width == 16 {
		p.VFMADD231PS_BCST(element, s, sum)
		return
	}
	x := p.vector()
	p.VBROADCASTSS(element, x)
	p.VFMADD231PS(x, s, sum)
}

// update changes row r of the state and returns it.
func (p *statePass) update(key reg.GPVirtual, r int) reg.VecVirtual {
	s := p.vector()
	p.VMULPS(Mem{Base: p.row, Disp: 4 * lanes * r}, p.rate, s)
	p.add(key, r, p.change, s)
	p.VMOVUPS(s, Mem{Base: p.row, Disp: 4 * lanes * r})
	return s
}
