//go:build opencl && (amd64 || arm64)

package opencl

import (
	"encoding/binary"

	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// record is record of chain_record.cl.
type record struct {
	kind, units, k, accumulate   int32
	counts                       [maxTerms]int32
	eps                          float32
	quants, scales               [maxTerms]uint64
	x, gain, out, values, angles uint64
	recordAttention
	ahead struct {
		at          [2 * maxTerms]uint64
		lines, each [2 * maxTerms]int32
	}
	recordRows
}

// recordRows is what a record has of how rows of weights lie and are shared out.
type recordRows struct {
	each, format, pieces, rowScales, kept int32
	rows, width, _                        int32 // rows of activations, and elements of out that each of them has
}

// recordAttention is what a record has of attention, and of a cache.
type recordAttention struct {
	parts, tables  uint64
	slabs          [fewSlabs]uint64
	tableAt, slots [chainTokens]int32 // of each row
	heads, tiles   int32
	scale          float32
	merged         int32
}

// The kinds of records, as chain_record.cl has them.
const (
	chainStore = iota
	chainTiles
	chainMerge
	chainPlain
	chainSwiGLU
	chainRound
)

// asked is the weights of a record, which the one aheadBy before it asks for in the second-level cache: their quants and scales.
type asked struct {
	mems  [maxTerms]*cl.Mem
	at    [2 * maxTerms]uint64
	lines [2 * maxTerms]int32
}

// ahead is the weights of the records of a step, in their order, as the steps before had them, and how many records the present step has.
type ahead struct {
	plan []asked
	step int
}

// begin begins a record.
func (c *chain) begin(kind int32) *record {
	c.next, c.own, c.failure = record{kind: kind, recordRows: recordRows{rows: int32(c.tokens)}}, asked{}, nil
	return &c.next
}

// at returns the address of an operand of the record that is being made.
func (c *chain) at(o operand) uint64 {
	address, err := c.address(o.mem)
	if err != nil {
		c.failure = err
	}
	c.held = append(c.held, o.mem)
	return address + uint64(o.at)
}

// address returns a buffer's address on the device, which a kernel says.
func (c *chain) address(m *cl.Mem) (uint64, error) {
	if m.Address != 0 {
		return m.Address, nil
	}
	was := c.busy
	c.busy = true // nothing depends on the order
	defer func() { c.busy = was }()
	kernel, err := c.kernel(c.meetings.program, "address_of")
	if err != nil {
		return 0, err
	}
	word, err := c.scratchOf(addressScratch, 8)
	if err != nil {
		return 0, err
	}
	if err := c.run("ask for an address", kernel.Mem(m).Mem(word), 1, 1, 1, 1); err != nil {
		return 0, err
	}
	var bytes [8]byte
	if err := c.context.Read(word, 0, bytes[:]); err != nil {
		return 0, c.fail("ask for an address", err)
	}
	m.Address = binary.LittleEndian.Uint64(bytes[:])
	return m.Address, nil
}

// rows makes rows [lo, lo+n) of a part of weights a term of the record.
func (c *chain) rows(term int, w *weights, p *part, lo, n int) {
	quantBytes, scaleBytes := w.k/w.format.blockLen*w.format.quantBytes, w.k/w.format.blockLen*w.format.scaleBytes
	quants := c.at(operand{mem: p.mem, at: (lo - p.row) * quantBytes})
	scales := c.at(operand{mem: p.mem, at: 16*p.scalesAt + (lo-p.row)*scaleBytes})
	c.next.quants[term], c.next.scales[term] = quants, scales
	c.next.pieces, c.next.rowScales = int32(quantBytes/16), int32(scaleBytes/2)
	if w.format.name != c.key.formats[0] {
		c.next.format = 1
	}
	c.own.mems[term] = p.mem
	c.own.at[2*term], c.own.lines[2*term] = quants, int32(groups(n*quantBytes, line))
	c.own.at[2*term+1], c.own.lines[2*term+1] = scales, int32(groups(n*scaleBytes, line))
}

// terms makes the terms of a product that have a format those of the record, and returns how many rows they have.
func (c *chain) terms(t *terms, format string) (rows int) {
	for i := range t.n {
		if t.w[i].format.name != format {
			continue
		}
		c.rows(i, &t.w[i], &t.w[i].parts[0], t.w[i].first, t.counts[i])
		c.next.counts[i] = int32(t.counts[i])
		rows += t.counts[i]
	}
	return rows
}

// pages makes the pages of a launch's runs those of the record's rows. A row sees the slots up to its own.
func (c *chain) pages(l *launch) {
	r, row := &c.next, 0
	r.tables = c.at(operand{mem: l.tables})
	for i := range l.runs.count {
		run := &l.runs.of[i]
		for token := range run.tokens {
			r.tableAt[row], r.slots[row] = run.table, run.slots-run.tokens+token+1
			row++
		}
	}
	for i := range r.slabs {
		r.slabs[i] = c.at(operand{mem: l.mems[i]})
	}
}

// ask lets the record ask for the weights of one of the records after it, as the step before had them.
func (c *chain) ask() {
	a := &c.ahead
	if a.step < len(a.plan) {
		a.plan[a.step] = c.own
	} else {
		a.plan = append(a.plan, c.own)
	}
	a.step++
	later := a.step - 1 + aheadBy
	if later >= len(a.plan) {
		return
	}
	of := &a.plan[later]
	for _, m := range of.mems {
		if m != nil && m.Released() {
			return
		}
	}
	c.next.ahead.at, c.next.ahead.lines = of.at, of.lines
	for i, lines := range of.lines {
		c.next.ahead.each[i] = int32(groups(int(lines), c.meetings.groups))
	}
}
