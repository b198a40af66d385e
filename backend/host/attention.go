package host

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/timing"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// The plan of an attention. A piece is a block of tokens with one KV head, and walks that head's tiles of 128 slots in order. Many tokens
// make enough pieces for all workers. A single token makes few, so its tiles are shared out among several pieces, and the worker that ends
// last joins their results. Few tokens of conversations that begin alike attend to the pages that they share together (prefixes.go).
// With 32 heads, 8 KV heads and 4 workers:
//
//	100 new tokens        7 blocks of 15 tokens or fewer, times 8 heads: 56 pieces
//	1 token, 4096 slots   32 tiles, at most 16 a piece: tiles [0, 16) and [16, 32) of each head, 16 pieces and 8 joints
//	1 token each of 3     for each head a piece of 3 tokens and tiles [0, 9), and 3 pieces of one token with the tiles from 9 on;
//	that share 9 pages    3 joints

// attentions lets queries attend to pages.
type attentions struct {
	*machine
	tasks pool[attention, *attention]
}

// attend lets the rows of several runs attend to their slots, all in one phase.
func (b *attentions) attend(o *backend.Attend) error {
	d, runs := o.Dims(), o.Runs
	if d.Tokens*d.Heads == 0 {
		return nil
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("Attend", o.Q, o.Out); err != nil {
		return err
	}
	a := b.tasks.get()
	defer b.tasks.put(a)
	a.begin(b.machine, "Attend", runs[0].Slots.DType, d, o.Q)
	for i := range runs {
		if err := maps.addAttended("Attend", &runs[i]); err != nil {
			return err
		}
		a.add(&runs[i])
	}
	return a.attend(b.runner, o.Out)
}

// A block is the tokens of a run that are computed together, because they share each tile's keys and values: tokensPerBlock
// of them, or fewer where many query heads share a KV head, so that a block has at most rowsPerBlock rows, or one token's. The
// scratch memory of a block is in proportion to its rows. No result depends on the block.
const (
	tokensPerBlock = 16
	rowsPerBlock   = 512
)

// blockTokens returns the tokens of a block, for a number of query heads that share a KV head.
func blockTokens(group int) int { return max(min(tokensPerBlock, rowsPerBlock/max(group, 1)), 1) }

// weightFloats is what a row's weights take in the form Int8x32: bytes, and for each 32 of them a scale and a sum.
const weightFloats = asm.TileKeys/4 + 2*asm.TileKeys/32

// laneFloats returns the numbers of scratch memory that a lane takes for rows of headDim elements.
func laneFloats(rows, headDim int) int {
	return rows * (3*headDim + asm.TileKeys + weightFloats)
}

// AttentionScratch returns about how many bytes of scratch memory an attention takes on a number of workers, for chunks of
// any length and for single tokens with a number of slots in use: what a model's configuration costs beyond its tensors.
func AttentionScratch(heads, kvHeads, headDim, slots, workers int) int64 {
	group := heads / max(kvHeads, 1)
	lane := laneFloats(blockTokens(group)*group, headDim)
	partials := (slots/asm.TileKeys + 1) * heads * (headDim + partialBytes/4)
	return 4 * (int64(workers)*int64(lane) + 2*int64(partials))
}

// partialBytes is the size of a Partial without its values.
const partialBytes = int(unsafe.Sizeof(asm.Partial{}))

// attention is the attention of some runs as a task. A piece is a block of a run's tokens with one KV head, walking that head's tiles in
// order. If there are too few blocks for the workers, or too many tiles for one worker, several pieces share the tiles of a block of one
// token. The worker that computes the last of them joins the tiles, in the same order. So does the worker that computes the last of a
// token's pieces if the first of them are a prefix's.
type attention struct {
	name  string       // of the operation
	dtype tensor.DType // of the keys and values; if these differ, the first run's
	backend.AttentionDims
	kernels *asm.Kernels
	layout  asm.Pages
	held    *atomic.Int64 // counts the scratch memory below; it is the machine's
	group   int           // query heads that share a KV head
	q, out  []float32
	runs    []attended

	pieces   []piece
	joints   []joint
	prefixes prefixes
	used     int // how many of the partials the pieces need

	lanes    []lane        // scratch: one for each worker
	partials []asm.Partial // of the tiles that are joined
	values   []float32     // their sums of values
}

// attended is the slots that a run attends to.
type attended struct {
	format    quant.Format
	tokens    int // of the run
	row       int // the first of them among all rows
	headBytes int // of a key, or a value, of one head
	heads     []backend.HeadSlots
	window    int // these are Slots' Attention
	cap       float32
	sinks     []float32
	latent    bool // values are keys
	shares    bool // the run is in a prefix
	together  bool // these two are backend.Run's
	whole     bool
}

// len returns how many slots of a head are in use.
func (s *attended) len(head int) int { return s.heads[head].Len }

// tiles returns in how many tiles the slots of a head lie.
func (s *attended) tiles(head int) int { return (s.len(head) + asm.TileKeys - 1) / asm.TileKeys }

// through returns how many slots of a head there are up to a token's own.
func (s *attended) through(head, token int) int { return s.len(head) - s.tokens + token + 1 }

// seen returns after how many slots of a head those end that a token of the run sees.
func (s *attended) seen(head, token int) int {
	if s.together {
		return s.len(head)
	}
	return s.through(head, token)
}

// firstSeen returns the first slot of a head that a token of the run sees.
func (s *attended) firstSeen(head, token int) int {
	if s.window == 0 {
		return 0
	}
	first := s.through(head, token) - s.window
	if s.whole {
		first = min(first, s.len(head)-s.tokens)
	}
	return max(first, 0)
}

// page returns the halves of the page of one tile of a head, by asm.PageSide.
func (s *attended) page(head, tile int) [2][]byte {
	return pageData(&s.heads[head].Pages[tile], s.headBytes)
}

// piece is the attention of some rows to tiles [lo, hi) of a head. The rows are those of tokens [first, last) of a run or, if there is a
// prefix, of the tokens of several runs. The tiles are all that the rows see, unless there are joints.
type piece struct {
	run, head   int32
	first, last int32
	lo, hi      int32
	prefix      int32 // in prefixes.list: the rows are of the tokens of its runs; alone: they are of the run's
	joint       int32 // the first joint that the piece is a part of
	joints      int32 // how many: one for each run; 0: the piece writes the result
	partials    int   // index of the first of the Partials for the joints
	merged      bool  // these are one for each row: of all tiles of the piece, which are a row's first
}

// alone is the prefix of a piece with the rows of one run.
const alone = -1

// joint collects the results of the pieces that have the same rows: those of some tokens of a run, for one KV head. The parts are joined in
// order.
type joint struct {
	run, head     int32
	first, tokens int32
	pieces        int32 // that have not ended
	parts         [2]part
}

// part is some Partials of a joint: n times as many as there are rows, at distances of stride.
type part struct{ first, stride, n int }

// lane is the scratch of one piece.
type lane struct {
	queries quant.Activation
	tile    asm.AttentionTile
	results []asm.Partial // of one tile
	total   []asm.Partial // of the tiles so far
	scaled  []float32     // a query divided by √headDim, for each row
	outs    []float32     // of results, [rows, headDim]
	weights quant.Activation
	hidden  []int  // for tile.Hidden
	latent  []byte // the slots of a tile, and the half of a page that they make as values
	memory  []float32
}

// begin prepares for an attention of mapped queries.
func (a *attention) begin(m *machine, name string, dtype tensor.DType, d backend.AttentionDims, q *tensor.Tensor) {
	a.name, a.dtype = name, dtype
	a.AttentionDims, a.kernels, a.layout, a.held = d, m.kernels, m.pages, &m.held
	a.q, a.group = floats(q), d.Heads/max(d.KVHeads, 1)
}

// add adds a run with mapped pages.
func (a *attention) add(r *backend.Run) {
	row := 0
	if n := len(a.runs); n > 0 {
		row = a.runs[n-1].row + a.runs[n-1].tokens
	}
	s := attended{
		format: r.Slots.DType.Format(), tokens: r.Tokens, row: row, heads: r.Slots.Heads, headBytes: r.Slots.SlotBytes(),
		window: r.Slots.Window, cap: r.Slots.Cap, together: r.Together, whole: r.Whole, latent: r.Slots.Latent,
	}
	if r.Slots.Sinks != nil {
		s.sinks = floats(r.Slots.Sinks)
	}
	a.runs = append(a.runs, s)
}

// reset forgets the operands, and keeps the scratch.
func (a *attention) reset() {
	a.q, a.out = nil, nil
	clear(a.runs)
	a.runs, a.pieces, a.joints = a.runs[:0], a.pieces[:0], a.joints[:0]
	a.prefixes.reset()
	for i := range a.lanes {
		a.lanes[i].tile.Release()
	}
}

// attend computes the attention of the runs to mapped out.
func (a *attention) attend(r Runner, out *tensor.Tensor) error {
	a.out = floats(out)
	a.reserve(r.Size())
	a.plan(r.Size())
	return r.Run(a, len(a.pieces))
}

// reserve makes scratch for n pieces at a time.
func (a *attention) reserve(n int) {
	if n > len(a.lanes) {
		a.lanes = append(a.lanes, make([]lane, n-len(a.lanes))...)
	}
}

// What the pieces of a plan cost: a tile's keys and values must be read, whatever the rows, which costs about as much as to
// compute rowsPerTile rows.
const rowsPerTile = 8

// tilesPerPiece is about how many tiles a piece has at most where pieces are few: short pieces end together.
const tilesPerPiece = 16

// plan cuts the attention into pieces for a number of workers: into blocks, smaller ones where these are fewer than the workers; and
// blocks of one token, and of several runs, into runs of tiles, so that no piece is much longer than the others.
func (a *attention) plan(workers int) {
	blocks := 0 // of the usual size, times heads
	for i := range a.runs {
		blocks += a.blocks(&a.runs[i]) * a.KVHeads
	}
	smaller := (workers + blocks - 1) / blocks // by which factor blocks must be smaller to be enough
	a.prefixes.find(a.runs, a.group)
	count, cost := 0, 0
	for i := range a.runs {
		s := &a.runs[i]
		n := a.smaller(s, smaller)
		for head := range a.KVHeads {
			count += n
			cost += s.tiles(head) * (n*rowsPerTile + s.tokens*a.group)
		}
	}
	for _, p := range a.prefixes.list {
		for _, tiles := range a.prefixes.tiles[p.tiles:][:a.KVHeads] {
			cost -= (len(p.runs) - 1) * int(tiles) * rowsPerTile
		}
	}
	c := cuts{cost: max(1, (cost+2*workers-1)/(2*workers)), tiles: a.Slots}
	switch {
	case workers == 1: // nobody to share with
		c.cost = math.MaxInt
	case count < 8*workers:
		c.tiles = tilesPerPiece
	}
	a.used = 0
	for i := range a.runs { // the longest pieces come first
		s := &a.runs[i]
		if s.tokens == 1 || s.shares {
			continue
		}
		n := a.smaller(s, smaller)
		size := (s.tokens + n - 1) / n
		for first := (s.tokens - 1) / size * size; first >= 0; first -= size {
			for head := range a.KVHeads {
				a.cut(i, head, first, min(first+size, s.tokens), c)
			}
		}
	}
	a.cutPrefixes(c)
	for i := range a.runs {
		if s := &a.runs[i]; s.tokens == 1 && !s.shares {
			for head := range a.KVHeads {
				a.cut(i, head, 0, 1, c)
			}
		}
	}
	if a.used > len(a.partials) || a.used*a.HeadDim > len(a.values) {
		need := 2 * max(a.used, len(a.partials)) // a conversation grows
		a.held.Add(int64(need*(partialBytes+4*a.HeadDim) - len(a.partials)*partialBytes - 4*len(a.values)))
		a.partials, a.values = make([]asm.Partial, need), make([]float32, need*a.HeadDim)
	}
}

// cuts is how long a piece may be: what it costs, and its tiles.
type cuts struct{ cost, tiles int }

// most returns how many tiles a piece with a number of rows may have.
func (c cuts) most(rows int) int { return max(1, min(c.cost/(rowsPerTile+rows), c.tiles)) }

// blocks returns how many blocks of the usual size a run has.
func (a *attention) blocks(s *attended) int {
	size := blockTokens(a.group)
	return (s.tokens + size - 1) / size
}

// smaller returns how many blocks a run has if each of the usual size is cut into a number of smaller ones.
func (a *attention) smaller(s *attended, times int) int { return min(a.blocks(s)*times, s.tokens) }

// cut adds the pieces of a block of tokens [first, last) of a run with one KV head: several only if the block is one token's.
func (a *attention) cut(run, head, first, last int, c cuts) {
	s := &a.runs[run]
	seen := s.seen(head, last-1)
	p := piece{
		run: int32(run), head: int32(head), first: int32(first), last: int32(last), prefix: alone,
		lo: int32(s.firstSeen(head, first) / asm.TileKeys), hi: int32((seen + asm.TileKeys - 1) / asm.TileKeys),
	}
	if last-first > 1 || int(p.hi-p.lo) <= c.most(a.group) {
		a.pieces = append(a.pieces, p)
		return
	}
	p.joint, p.joints = int32(len(a.joints)), 1
	pieces := len(a.pieces)
	all := a.share(p, a.group, c, true)
	a.joints = append(a.joints, joint{run: p.run, head: p.head, first: p.first, tokens: 1, pieces: int32(len(a.pieces) - pieces), parts: [2]part{all}})
}

// share cuts a piece of a number of rows into pieces of some tiles, and returns the Partials that they will write. If the piece begins with
// the first tile that its rows see, the first of these pieces merges its tiles: the joint merges them in the same order.
func (a *attention) share(p piece, rows int, c cuts, begins bool) part {
	all := part{first: a.used, stride: rows}
	low, tiles, most := int(p.lo), int(p.hi-p.lo), c.most(rows)
	parts := (tiles + most - 1) / most
	for i := range parts {
		p.lo, p.hi = int32(low+i*tiles/parts), int32(low+(i+1)*tiles/parts)
		p.partials, p.merged = a.used, begins && i == 0
		n := int(p.hi - p.lo)
		if p.merged {
			n = 1
		}
		all.n += n
		a.used += n * rows
		a.pieces = append(a.pieces, p)
	}
	return all
}

// Phase says what the operation is.
func (a *attention) Phase() timing.Phase {
	return timing.Phase{Operation: a.name, Rows: a.Heads, Cols: a.HeadDim, DType: a.dtype}
}

// Do computes one piece.
func (a *attention) Do(worker, number int) {
	p, l := &a.pieces[number], &a.lanes[worker]
	s := &a.runs[p.run]
	head, first, rows := int(p.head), int(p.first), int(p.last-p.first)*a.group
	if p.prefix == alone {
		a.load(l, s, head, first, rows)
	} else {
		rows = a.loadPrefix(l, &a.prefixes.list[p.prefix], head)
	}
	for r := range l.total {
		l.total[r].Sum = 0
	}
	for t := int(p.lo); t < int(p.hi); t++ {
		results := l.results
		l.tile.Out = l.outs
		if p.joints > 0 && !p.merged {
			results, l.tile.Out = a.partialsAt(p.partials+(t-int(p.lo))*rows, rows)
		}
		page := s.page(head, t)
		l.tile.Next = nil
		if t+1 < int(p.hi) {
			l.tile.Next = s.page(head, t+1)[asm.PageKeys]
		}
		if s.latent {
			page[asm.PageValues] = a.valuesOf(l, s, page[asm.PageKeys])
		}
		a.tile(l, s, head, t, first, page[asm.PageKeys], page[asm.PageValues], results)
		if p.joints == 0 || p.merged {
			a.kernels.Merge(l.total, results)
		}
	}
	if p.joints == 0 {
		a.finish(l.total, s, head, first)
		return
	}
	if p.merged {
		kept, _ := a.partialsAt(p.partials, rows)
		for r, t := range l.total {
			kept[r].Max, kept[r].Sum = t.Max, t.Sum
			copy(kept[r].Out, t.Out)
		}
	}
	for i := range a.joints[p.joint:][:p.joints] {
		if j := &a.joints[int(p.joint)+i]; atomic.AddInt32(&j.pieces, -1) == 0 {
			a.join(j)
		}
	}
}

// valuesOf returns the half of values of a page that has keys alone.
func (a *attention) valuesOf(l *lane, s *attended, keys []byte) []byte {
	if had := cap(l.latent); had < 2*len(keys) {
		l.latent = make([]byte, 2*len(keys))
		a.held.Add(int64(len(l.latent) - had))
	}
	return a.layout.ValuesOf(s.format, a.HeadDim, keys, l.latent[:len(keys)], l.latent[len(keys):2*len(keys)])
}

// partialsAt returns n of the partials from an index on, and the memory that they have for values.
func (a *attention) partialsAt(at, n int) (partials []asm.Partial, values []float32) {
	partials, values = a.partials[at:][:n], a.values[at*a.HeadDim:][:n*a.HeadDim]
	for r := range partials {
		partials[r].Out = values[r*a.HeadDim:][:a.HeadDim]
	}
	return partials, values
}

// join merges the Partials of a joint and writes the result.
func (a *attention) join(j *joint) {
	var total []asm.Partial
	for _, p := range j.parts {
		for i := range p.n {
			next := a.partials[p.first+i*p.stride:][:int(j.tokens)*a.group]
			if total == nil {
				total = next
				continue
			}
			a.kernels.Merge(total, next)
		}
	}
	a.finish(total, &a.runs[j.run], int(j.head), int(j.first))
}

// finish writes the attention of a block's rows, from total, their joined tiles.
func (a *attention) finish(total []asm.Partial, s *attended, head, first int) {
	for r := range total {
		if s.sinks != nil {
			total[r].Sink(a.sink(s, head, r))
		}
		out := a.row(a.out, s, head, first, r)
		copy(out, total[r].Out)
		a.kernels.Divide(out, total[r].Sum)
	}
}

// sink returns the sink of row r of a block.
func (a *attention) sink(s *attended, head, r int) float32 { return s.sinks[head*a.group+r%a.group] }

// row returns row r of a block in q or out: rows are tokens, from the run's first on, by query heads of the group.
func (a *attention) row(x []float32, s *attended, head, first, r int) []float32 {
	at := ((s.row+first+r/a.group)*a.Heads + head*a.group + r%a.group) * a.HeadDim
	return x[at : at+a.HeadDim]
}

// load prepares the queries of a block of rows that begins at token first, for one KV head.
func (a *attention) load(l *lane, s *attended, head, first, rows int) {
	a.prepare(l, s, rows)
	for r := range rows {
		a.loadRow(l, r, a.row(a.q, s, head, first, r))
	}
}

// prepare makes room for the queries of a number of rows that attend to what a run attends to.
func (a *attention) prepare(l *lane, s *attended, rows int) {
	l.reserve(rows, a.HeadDim, a.held)
	had := cap(l.queries.Q)
	l.queries.Reserve(s.format.ActivationForm(), rows, a.HeadDim)
	if grown := cap(l.queries.Q) - had; grown != 0 { // the scales and sums are small next to the elements
		a.held.Add(int64(grown))
	}
	l.queries.X, l.tile.Queries = l.scaled, &l.queries
	l.tile.Format, l.tile.HeadDim, l.tile.Cap = s.format, a.HeadDim, s.cap
}

// loadRow makes a query that of row r.
func (a *attention) loadRow(l *lane, r int, query []float32) {
	scaled := l.scaled[r*a.HeadDim : (r+1)*a.HeadDim]
	copy(scaled, query)
	a.kernels.Scale(scaled, asm.QueryScale(a.HeadDim))
	a.kernels.Prepare(&l.queries, r, scaled)
}

// tile computes one tile, of the given keys and values, for the loaded queries. The first query belongs to token first. v is nil if only
// the keys' weights are wanted.
func (a *attention) tile(l *lane, s *attended, head, tile, first int, k, v []byte, results []asm.Partial) {
	for r := range l.tile.Visible {
		l.tile.Visible[r] = min(max(s.seen(head, first+r/a.group)-tile*asm.TileKeys, 0), asm.TileKeys)
	}
	l.tile.Hidden = nil
	if s.window > 0 {
		a.hide(l, s, head, tile, first)
	}
	l.tile.Keys, l.tile.Values, l.tile.Results = k, v, results
	a.layout.Attend(&l.tile)
}

// hide notes which slots of the tile lie before the window of each row; if that is all slots that a row sees, the row's Visible becomes 0.
func (a *attention) hide(l *lane, s *attended, head, tile, first int) {
	for len(l.hidden) < len(l.tile.Visible) {
		l.hidden = append(l.hidden, 0)
	}
	l.tile.Hidden = l.hidden[:len(l.tile.Visible)]
	for r := range l.tile.Hidden {
		n := max(s.firstSeen(head, first+r/a.group)-tile*asm.TileKeys, 0)
		if n >= l.tile.Visible[r] {
			n, l.tile.Visible[r] = 0, 0
		}
		l.tile.Hidden[r] = n
	}
}

// reserve makes room for rows of headDim elements, and counts it.
func (l *lane) reserve(rows, headDim int, held *atomic.Int64) {
	need := laneFloats(rows, headDim)
	if len(l.memory) >= need && len(l.results) == rows && len(l.results[0].Out) == headDim {
		return
	}
	if len(l.memory) < need { // some of it is the weights'
		held.Add(4 * int64(need-len(l.memory)))
		l.memory = make([]float32, need)
	}
	memory := l.memory
	take := func(n int) []float32 {
		part := memory[:n:n]
		memory = memory[n:]
		return part
	}
	had := cap(l.results)
	for len(l.results) < rows {
		l.tile.Visible = append(l.tile.Visible, 0)
		l.results = append(l.results, asm.Partial{})
		l.total = append(l.total, asm.Partial{})
	}
	held.Add(int64(2 * partialBytes * (cap(l.results) - had)))
	l.tile.Visible = l.tile.Visible[:rows]
	l.results, l.total = l.results[:rows], l.total[:rows]
	l.scaled, l.tile.Scores, l.outs = take(rows*headDim), take(rows*asm.TileKeys), take(rows*headDim)
	l.weights.Reserve(quant.Int8x32, rows, asm.TileKeys)
	l.tile.Weights = &l.weights
	for r := range rows {
		l.results[r].Out, l.total[r].Out = l.outs[r*headDim:][:headDim], take(headDim)
	}
}
