//go:build opencl && (amd64 || arm64)

package opencl

import (
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
//	NormMatMul    of the head: enqueues the last records, and the chain is closed
//
// The kernel finds buffers by their addresses, and the driver knows nothing of that. So the chain keeps the buffers of records reachable until these
// are enqueued, and from then on whoever gives a buffer up waits for the device first (cl.Context's Unseen).
type chain struct {
	*queue
	meetings *meetings // nil: there are no chains on this device
	open     bool      // the operation before was a record
	tokens   int       // rows of activations of the open chain
	key      chainKey  // what the records' program is compiled for

	*chainPrograms
	making
	merging

	records  []record   // that wait
	launchAt int        // the number of records that are enqueued together next
	held     []*cl.Mem  // the buffers of records that wait
	memory   [3]*cl.Mem // on the device: see recordMemory
	ahead    ahead      // of steps of one row
	launches int        // how many there were
	busy     bool       // records are being enqueued: settle has nothing to do
}

// making is the record that is being made, the weights that it has, and what failed.
type making struct {
	next    record
	own     asked
	failure error
}

// merging is the latest record of attention, and the place of its result, which is not there yet if it is unmerged.
type merging struct {
	attention record
	attended  operand
	unmerged  bool
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
	return &chain{queue: q, chainPrograms: &chainPrograms{queue: q, local: chainLocal(q), made: map[chainKey]program{}}, launchAt: firstLaunch}
}

// takes reports whether records can have the products of normed rows, and with them the layer that they begin. Rows of weights may have any length if
// there are several rows of activations.
func (c *chain) takes(p *normProduct) bool {
	if c.meetings == nil || c.meetings.lost || p.m > chainTokens || p.m > 1 && p.m*p.terms.rows()*p.k > mostChained {
		return false
	}
	for i := range p.n {
		if !c.holds(&p.w[i].format, p.k, p.m) {
			return false
		}
	}
	return true
}

// fits makes the key one for a product of m rows of activations with weights of a format and rows of k elements, too; false if no chain is open
// that can have it.
func (c *chain) fits(f *format, k, m int) (bool, error) {
	if m == c.learning && c.holds(f, k, m) {
		c.learn(f, k)
		return false, nil
	}
	key, ok := c.key.with(f, k)
	if !ok || !c.open || m != c.tokens || !c.holds(f, k, m) || key != c.key && !c.compiled(key) {
		return false, nil
	}
	return true, c.turn(key)
}

// round adds the record that rounds several rows of k activations for the next product, and returns the operand that has them then. It is made by
// a function that fills x in, and how x is normed.
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

// normed returns the normed and rounded x of a product for several rows, and x for one, which the product's record norms.
func (c *chain) normed(p *normProduct) (operand, error) {
	if !c.key.several {
		return p.x, nil
	}
	return c.round(p.k, p.w[0].format.blockLen, func(r *record) {
		r.x, r.gain, r.eps = c.at(p.x), c.at(p.gain), p.eps
	})
}

// store adds the products of normed queries, keys and values with their RoPEStore, which may open a chain; ok is false if no record can have
// them.
func (c *chain) store(p *normProduct, shape pageShape, angles operand, l *launch) (ok bool, err error) {
	if l.tokens != p.m || l.slabs > fewSlabs || shape.headDim%4 != 0 || !c.takes(p) {
		return false, nil
	}
	several := p.m > 1
	key := c.latest[flag(several)]
	key.several = several
	for i := range p.n {
		f := &p.w[i].format
		if key, ok = key.with(f, p.k); !ok && i == 0 {
			key, ok = chainKey{several: several}.with(f, p.k)
		}
		if !ok {
			return false, nil
		}
	}
	share := p.counts[0] / p.counts[1]
	key.pages, key.share, key.queries = shape, share, attentionShape{cache: shape.cache, headDim: shape.headDim, share: share}.queries(leastLocal)
	if key.queries == 0 || key.teams(c.local) == 0 {
		return false, nil
	}
	if !c.compiled(key) { // simple kernels will do: those that fuse more are not worth compiling
		c.learning = p.m
		return false, nil
	}
	c.learning = 0
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
	x, err := c.normed(p)
	if err != nil {
		return false, err
	}
	for i, format := range p.terms.formats() {
		if format == "" {
			break
		}
		r := c.begin(chainStore)
		r.units, r.k, r.kept = int32(c.terms(&p.terms, format)/2), int32(p.k), int32(flag(i > 0))
		c.norms(p, x)
		r.out, r.values, r.angles = c.at(p.out[0]), c.at(p.out[2]), c.at(angles)
		c.pages(l)
		if err := c.add(); err != nil {
			return false, err
		}
	}
	return true, nil
}

// norms makes x that of the record, which norms it itself for one row of activations.
func (c *chain) norms(p *normProduct, x operand) {
	c.next.x = c.at(x)
	if !c.key.several {
		c.next.gain, c.next.eps = c.at(p.gain), p.eps
	}
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
	if ok, err := c.fits(&p.w.format, p.w.k, p.m); !ok || err != nil {
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
	if ok, err := c.fits(&p.w[0].format, p.k, p.m); !ok || err != nil {
		return false, err
	}
	if err := c.merge(); err != nil {
		return false, err
	}
	x, err := c.normed(p)
	if err != nil {
		return false, err
	}
	r := c.begin(chainSwiGLU)
	r.units, r.k, r.width = int32(p.counts[0]), int32(p.k), int32(p.counts[0])
	c.terms(&p.terms, p.w[0].format.name)
	c.norms(p, x)
	r.out = c.at(p.out[0])
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
	if !c.key.several {
		c.ask()
	}
	c.records = append(c.records, c.next)
	c.open = true
	c.commands++ // as if it were enqueued now
	if len(c.records) < c.launchAt {
		return nil
	}
	c.launchAt = min(2*c.launchAt, mostRecords)
	return c.launch()
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
	c.open, c.ahead.step, c.launchAt = false, 0, firstLaunch
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
	kernel, err := c.kernel(c.program(c.key), c.key.kernel())
	if err != nil {
		return err
	}
	c.context.Unseen.Store(true)
	c.launches++
	kernel.Mem(*list).Int(len(c.records))
	group := c.key.teams(c.local) * asm.TileKeys
	met := 0
	for i := range c.records[1:] {
		met += 1 - int(c.records[1+i].kept)
	}
	return c.run("a chain of operations", c.meetings.pass(kernel, met), group, c.meetings.groups, 1, 1)
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
