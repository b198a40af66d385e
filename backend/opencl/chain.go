//go:build opencl && (amd64 || arm64)

package opencl

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
)

// chain collects the operations of a layer for few rows as records, and enqueues many of them as one launch: chain_record.cl describes the
// kernel. It takes an operation if it can; whatever else is enqueued comes after the records that wait, since the queue's settle enqueues
// these first. The records of a step of a model with 16 layers:
//
//	RoPEStore     with the NormMatMul of three weights that waits for it: a record, and the chain is open
//	Attend        a record
//	MatMulAdd     a record, which makes its x of the attention's parts
//	NormSwiGLU    a record
//	MatMulAdd     a record. Launches have 5, 10, 20 and 40 records, so that the device begins while the host still collects
//	…
//	NormMatMul    of the head, with weights of another format: enqueues the last records, and the chain is closed
//
// The kernel finds buffers by their addresses, and the driver knows nothing of that. So the chain keeps the buffers of records reachable until these
// are enqueued, and from then on whoever gives a buffer up waits for the device first (cl.Context's Unseen).
type chain struct {
	*queue
	meetings *meetings // nil: there are no chains on this device
	options  string    // the device's ways to multiply bytes and to order memory

	open     bool     // the operation before was a record
	tokens   int      // rows of activations of the open chain
	key      chainKey // what the records' program is compiled for
	programs map[chainKey]program

	next    record // the one that is being made, the weights that it has, and what failed
	own     asked
	failure error

	attention record  // the latest one of attention
	attended  operand // its result's place
	unmerged  bool    // it is not there yet

	records  []record   // that wait
	launchAt int        // the number of records that are enqueued together next
	held     []*cl.Mem  // the buffers of records that wait
	memory   [3]*cl.Mem // on the device: see recordMemory
	ahead    [2]ahead   // of steps of one row, and of several
	launches int        // how many there were
	busy     bool       // records are being enqueued: settle has nothing to do
}

// chainKey is what programs of chains are compiled for.
type chainKey struct {
	format  string
	pages   pageShape
	share   int // query heads that share a KV head
	queries int // heads that a team takes
	k       int // the longest rows of weights; 0 for several rows of activations, which are not in local memory
	several bool
}

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
	each, rows, width, _ int32 // rows of activations, and elements of out that each of them has
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
	k    int // the longest rows of weights so far
}

// The chain's memory: the records of a launch, the parts of attention, and several rows of activations that were rounded.
const (
	recordMemory = iota
	partMemory
	roundedMemory
)

// chainTokens is the most rows of activations that a chain takes: MOST_TOKENS in chain_rows.cl.
const chainTokens = 8

// mostChained bounds the multiply-adds of queries, keys and values of several rows: in larger layers launches are a smaller part of the time, and
// matrix instructions are faster. With 8 rows of Llama 3.2 1B, 50 million, an H100 gains 1.1 to 1.3; more has not been measured.
const mostChained = 1 << 26

const (
	aheadBy      = 2   // records
	line         = 128 // bytes of the second-level cache
	firstLaunch  = 5   // records
	mostRecords  = 40  // of a launch
	mergedByEach = 8   // tiles that each group of the next product merges for itself; if there are more, each group merges a share
)

func newChain(q *queue) *chain {
	return &chain{queue: q, programs: map[chainKey]program{}, launchAt: firstLaunch}
}

// chunk returns how many blocks a group multiplies at once, for rows of k elements of a format: as many as local memory has room for; 0: it
// has too little.
func (f *format) chunk(k int, local int64) int {
	const aligned = 4 * 32 // what pieces of the memory may be larger by
	term, factor := 8, 0
	if f.blockLen == 256 {
		factor = 8
	} else if f.scaleBytes%4 == 0 { // a block has a minimum, too
		term = 16
	}
	for chunk := 2048; chunk >= 512; chunk /= 2 {
		rows := chainRows(chunk)
		bytes := k + k/4 + k/f.blockLen*4 + 2*(chunk+rows)*term + 2*(chunk/8+rows)*factor + aligned
		if int64(bytes) <= local {
			return chunk
		}
	}
	return 0
}

// chainRows returns how many rows of weights a group computes at once: each has at least eight blocks of a chunk.
func chainRows(chunk int) int { return min(128, chunk/8) }

// local returns the local memory of a group for what chunk counts, and for the teams of attention: what remains of a device's besides three
// records and the sums of rows.
func (c *chain) local() int64 {
	return min(c.device.LocalBytes, flashLocal) - 3*int64(unsafe.Sizeof(record{})) - 1024
}

// teams returns how many tiles of attention a group computes at once.
func (k *chainKey) teams(local int64) int {
	quads := k.pages.headDim / 4
	bytes := asm.TileKeys*(8+1)*16 + k.queries*(quads*16+asm.TileKeys*4+asm.Lanes*4) + 64
	return min(2, int(local)/bytes)
}

// takes reports whether records can have weights of a format with rows of k elements.
func (c *chain) takes(f *format, k int) bool {
	return c.meetings.meet() && f.split != "" && f.chunk(max(k, c.key.k), c.local()) > 0
}

// chains reports whether chains take the products, as those of queries, keys and values, for several rows of activations, which may have any
// length, and with them the layer that they begin.
func (p *normProduct) chains(c *chain) bool {
	f := &p.w[0].format
	return c.meetings.meet() && p.m <= chainTokens && p.m*p.terms.rows()*p.k <= mostChained && f.split != "" && f.chunkOfSeveral(c.local()) > 0
}

// chunkOfSeveral is chunk for several rows of activations: local memory has sums of each of them in place of activations.
func (f *format) chunkOfSeveral(local int64) int {
	return f.chunk(0, local-4*chainTokens*int64(chainRows(2048)))
}

// program returns the program of the records.
func (c *chain) program() program {
	p, ok := c.programs[c.key]
	if !ok {
		var f format
		for _, f = range formats {
			if f.name == c.key.format {
				break
			}
		}
		teams, chunk := c.key.teams(c.local()), f.chunk(c.key.k, c.local())
		if c.key.several {
			chunk = f.chunkOfSeveral(c.local())
		}
		p.files = "common exact norm formats dot activations blocks block_terms cache pages store meet chain_record chain_share tiles_begin tile values chain_tiles tiles_end chain"
		p.options = fmt.Sprintf("-DGROUP=%d -DCHAIN_GROUP=%[1]d -DTEAMS_OF_TILES=%d -DCHUNK=%d -DMOST_ROWS=%d -DMOST_K=%d -DFORMAT=%s -DFORMAT_%[6]s -DHEAD_DIM=%d -DSHARE=%d -DQUERIES=%d -DKV_%v -DWRITES -DRUNS=1 -DSLABS=%d%s",
			teams*asm.TileKeys, teams, chunk, chainRows(chunk), c.key.k, f.name, c.key.pages.headDim, c.key.share, c.key.queries, c.key.pages.cache, fewSlabs, c.options)
		if c.key.several {
			p.files += " chain_rows"
			p.options += " -DSEVERAL"
		}
		c.programs[c.key] = p
	}
	return p
}

// begin begins a record.
func (c *chain) begin(kind int32) *record {
	c.next, c.own, c.failure = record{kind: kind, rows: int32(c.tokens)}, asked{}, nil
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
	c.own.mems[term] = p.mem
	c.own.at[2*term], c.own.lines[2*term] = quants, int32(groups(n*quantBytes, line))
	c.own.at[2*term+1], c.own.lines[2*term+1] = scales, int32(groups(n*scaleBytes, line))
}

// terms makes all terms of a product those of the record.
func (c *chain) terms(t *terms) {
	for i := range t.n {
		c.rows(i, &t.w[i], &t.w[i].parts[0], t.w[i].first, t.counts[i])
		c.next.counts[i] = int32(t.counts[i])
	}
}

// pages makes the pages of a launch's runs those of the record's rows: each row sees the slots up to its own.
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

// fits reports whether a chain is open that can have a product of m rows of activations with weights of a format and rows of k elements.
func (c *chain) fits(f *format, k, m int) bool {
	return c.open && m == c.tokens && f.name == c.key.format && (c.key.several && c.meetings.meet() || c.takes(f, k))
}

// turn makes key the records' key, after those that wait for another one have been enqueued.
func (c *chain) turn(key chainKey) error {
	if c.key == key {
		return nil
	}
	err := c.launch()
	c.key = key
	return err
}

// reach makes the key one for rows of k elements.
func (c *chain) reach(k int) error {
	if c.key.several {
		return nil
	}
	key := c.key
	key.k = max(key.k, k)
	c.ahead[0].k = key.k
	return c.turn(key)
}

// round adds the record that rounds several rows of k activations for the next product, and returns their place. It is made by a
// function that fills x in, and how x is normed.
func (c *chain) round(k, block int, fill func(r *record)) (operand, error) {
	if err := c.room(roundedMemory, chainTokens*(k+k/4+k/block*4)); err != nil {
		return operand{}, err
	}
	to := operand{mem: c.memory[roundedMemory]}
	r := c.begin(chainRound)
	fill(r)
	pieces, eights := max(1, c.meetings.groups/c.tokens), block/8 // of a step, in which pieces end
	r.k, r.out = int32(k), c.at(to)
	r.each = int32(groups(groups(k/8, pieces), eights) * eights)
	r.units = int32(groups(k/8, int(r.each)))
	return to, c.add()
}

// ofNormed begins a record of products of normed rows: of one, which it norms itself, or of several after the record that rounds them.
func (c *chain) ofNormed(kind int32, p *normProduct) (*record, error) {
	x := p.x
	if c.key.several {
		var err error
		x, err = c.round(p.k, p.w[0].format.blockLen, func(r *record) { r.x, r.gain, r.eps = c.at(p.x), c.at(p.gain), p.eps })
		if err != nil {
			return nil, err
		}
	}
	r := c.begin(kind)
	r.k, r.x = int32(p.k), c.at(x)
	if !c.key.several {
		r.gain, r.eps = c.at(p.gain), p.eps
	}
	c.terms(&p.terms)
	return r, nil
}

// store adds the products of normed queries, keys and values with their RoPEStore, which may open a chain; ok is false if no record can have
// them.
func (c *chain) store(p *normProduct, shape pageShape, angles operand, l *launch) (ok bool, err error) {
	f := &p.w[0].format
	several := p.m > 1
	if l.tokens != p.m || l.slabs > fewSlabs || shape.headDim%4 != 0 || !several && !c.takes(f, p.k) || several && !p.chains(c) {
		return false, nil
	}
	share := p.counts[0] / p.counts[1]
	key := chainKey{f.name, shape, share, attentionShape{cache: shape.cache, headDim: shape.headDim, share: share}.queries(leastLocal), p.k, several}
	if key.queries == 0 || key.teams(c.local()) == 0 {
		return false, nil
	}
	if several {
		key.k = 0
	} else if c.key.format == key.format {
		key.k = max(key.k, c.ahead[0].k)
	}
	if c.tokens != p.m { // the chain before has ended
		if err := c.settle(); err != nil {
			return false, err
		}
	}
	if err := c.turn(key); err != nil {
		return false, err
	}
	if err := c.merge(); err != nil {
		return false, err
	}
	c.tokens = p.m
	r, err := c.ofNormed(chainStore, p)
	if err != nil {
		return false, err
	}
	r.units = int32(p.terms.rows() / 2)
	r.out, r.values, r.angles = c.at(p.out[0]), c.at(p.out[2]), c.at(angles)
	c.pages(l)
	return true, c.add()
}

// attend adds the attention of all rows of a step.
func (c *chain) attend(a *attending, l *launch) (ok bool, err error) {
	s := a.shape
	if !c.open || l.tokens != c.tokens || a.Tokens != c.tokens || l.slabs > fewSlabs || s.limit != 0 || s.window != 0 || s.sinks ||
		c.key.pages != (pageShape{s.cache, s.headDim}) || c.key.share != s.share {
		return false, nil
	}
	if err := c.merge(); err != nil {
		return false, err
	}
	tiles := groups(l.longest, asm.TileKeys)
	if err := c.room(partMemory, c.tokens*a.partBytes(tiles)); err != nil {
		return false, err
	}
	r := c.begin(chainTiles)
	r.heads, r.tiles, r.scale = int32(a.Heads), int32(tiles), asm.QueryScale(a.HeadDim)
	r.x, r.out, r.parts = c.at(a.q), c.at(a.out), c.at(operand{mem: c.memory[partMemory]})
	c.pages(l)
	c.attention, c.attended = *r, a.out
	if err := c.add(); err != nil {
		return false, err
	}
	c.unmerged = true
	if tiles > mergedByEach && !c.key.several { // several rows are merged and rounded at once
		return true, c.merge()
	}
	return true, nil
}

// room makes a memory of the chain one of at least some bytes.
func (c *chain) room(which, bytes int) (err error) {
	m := &c.memory[which]
	if *m != nil && (*m).Size() >= bytes {
		return nil
	}
	if err := c.launch(); err != nil {
		return err
	}
	if *m != nil {
		(*m).Release()
	}
	*m, err = c.alloc(2*bytes, false) // conversations grow
	return err
}

// merge adds a record that merges the parts of the attention before it, if nobody has.
func (c *chain) merge() error {
	if !c.unmerged {
		return nil
	}
	c.unmerged = false
	r := c.begin(chainMerge)
	*r = c.attention
	r.kind, r.x = chainMerge, r.out
	return c.add()
}

// multiply adds a product.
func (c *chain) multiply(p *product) (ok bool, err error) {
	if !c.fits(&p.w.format, p.w.k, p.m) {
		return false, nil
	}
	if err := c.reach(p.w.k); err != nil {
		return false, err
	}
	merged := c.unmerged && c.attended == p.x
	if !merged {
		if err := c.merge(); err != nil {
			return false, err
		}
	}
	x := p.x
	merge := func(r *record) {
		if merged {
			r.recordAttention, r.merged = c.attention.recordAttention, 1
			c.unmerged = false
		}
	}
	if c.key.several {
		x, err = c.round(p.w.k, p.w.format.blockLen, func(r *record) {
			r.x = c.at(p.x)
			merge(r)
		})
		if err != nil {
			return false, err
		}
	}
	r := c.begin(chainPlain)
	r.units, r.k, r.width, r.accumulate = int32(p.hi-p.lo), int32(p.w.k), int32(p.width), int32(flag(p.add))
	c.rows(0, &p.w, p.part, p.lo, p.hi-p.lo)
	r.x, r.out = c.at(x), c.at(p.out)
	if !c.key.several {
		merge(r)
	}
	return true, c.add()
}

// swiGLU adds the two products of a feed-forward network with what joins them.
func (c *chain) swiGLU(p *normProduct) (ok bool, err error) {
	if !c.fits(&p.w[0].format, p.k, p.m) {
		return false, nil
	}
	if err := c.reach(p.k); err != nil {
		return false, err
	}
	if err := c.merge(); err != nil {
		return false, err
	}
	r, err := c.ofNormed(chainSwiGLU, p)
	if err != nil {
		return false, err
	}
	r.units, r.width, r.out = int32(p.counts[0]), int32(p.counts[0]), c.at(p.out[0])
	return true, c.add()
}

// add adds the record that has been made, and enqueues those that wait if there are enough of them.
func (c *chain) add() error {
	if c.failure != nil {
		return c.failure
	}
	if c.next.kind != chainRound {
		c.next.each = int32(groups(int(c.next.units), c.meetings.groups))
	}
	c.ask()
	c.records = append(c.records, c.next)
	c.open = true
	c.commands++ // as if it were enqueued now
	if len(c.records) < c.launchAt {
		return nil
	}
	c.launchAt = min(2*c.launchAt, mostRecords)
	return c.launch()
}

// ask lets the record ask for the weights of one of the records after it, as the step before had them.
func (c *chain) ask() {
	a := &c.ahead[flag(c.key.several)]
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

// settle enqueues the records that wait, and closes the chain. The caller holds the lock.
func (c *chain) settle() error {
	if !c.open || c.busy {
		return nil
	}
	err := c.merge()
	if launchErr := c.launch(); err == nil {
		err = launchErr
	}
	c.open, c.ahead[0].step, c.ahead[1].step, c.launchAt = false, 0, 0, firstLaunch
	return err
}

// launch enqueues the records that wait.
func (c *chain) launch() (err error) {
	if len(c.records) == 0 {
		return nil
	}
	c.busy = true
	defer func() {
		clear(c.held)
		c.records, c.held, c.busy = c.records[:0], c.held[:0], false
	}()
	list := &c.memory[recordMemory]
	if *list == nil {
		if *list, err = c.alloc((mostRecords+1)*int(unsafe.Sizeof(record{})), false); err != nil {
			return err
		}
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&c.records[0])), len(c.records)*int(unsafe.Sizeof(record{})))
	if err := c.send("send records", *list, 0, bytes); err != nil {
		return err
	}
	name := "chain"
	if c.key.several {
		name = "chain_rows"
	}
	kernel, err := c.kernel(c.program(), name)
	if err != nil {
		return err
	}
	c.context.Unseen.Store(true)
	c.launches++
	kernel.Mem(*list).Int(len(c.records))
	group := c.key.teams(c.local()) * asm.TileKeys
	return c.run("a chain of operations", c.meetings.pass(kernel, len(c.records)-1), group, c.meetings.groups, 1, 1)
}

// release gives the memory up.
func (c *chain) release() {
	for _, m := range c.memory {
		if m != nil {
			m.Release()
		}
	}
	c.memory, c.records, c.held, c.open, c.unmerged = [3]*cl.Mem{}, nil, nil, false, false
}
