package host

import (
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
// last joins their results. With 32 heads, 8 KV heads and 4 workers:
//
//	100 new tokens        7 blocks of 15 tokens or fewer, times 8 heads: 56 pieces
//	1 token, 4096 slots   32 tiles, at most 16 a piece: tiles [0, 16) and [16, 32) of each head, 16 pieces and 8 joints

// attentions lets queries attend to pages.
type attentions struct {
	*machine
	tasks pool[attention, *attention]
}

// Attend lets the rows of several runs attend to their slots, all in one phase.
func (b *attentions) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	d, err := backend.CheckAttend(q, out, runs)
	if err != nil || d.Tokens*d.Heads == 0 {
		return err
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("Attend", q, out); err != nil {
		return err
	}
	a := b.tasks.get()
	defer b.tasks.put(a)
	a.begin(b.machine, "Attend", runs[0].Slots.DType, d, q)
	for i := range runs {
		if err := maps.addAttended("Attend", &runs[i]); err != nil {
			return err
		}
		a.add(&runs[i])
	}
	return a.attend(b.runner, out)
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
// token. The worker that computes the last of them joins the tiles, in the same order.
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

	pieces []piece
	joints []joint

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
}

// len returns how many slots of a head are in use.
func (s *attended) len(head int) int { return s.heads[head].Len }

// tiles returns in how many tiles the slots of a head lie.
func (s *attended) tiles(head int) int { return (s.len(head) + asm.TileKeys - 1) / asm.TileKeys }

// firstSeen returns the first slot of a head that a token of the run sees.
func (s *attended) firstSeen(head, token int) int {
	if s.window == 0 {
		return 0
	}
	return max(s.len(head)-s.tokens+token+1-s.window, 0)
}

// page returns the halves of the page of one tile of a head, by asm.PageSide.
func (s *attended) page(head, tile int) [2][]byte {
	return pageData(&s.heads[head].Pages[tile], s.headBytes)
}

// piece is the attention of tokens [first, last) of a run to tiles [lo, hi) of a head: all that they see, unless there is a joint.
type piece struct {
	run, head   int32
	first, last int32
	lo, hi      int32
	joint       int32 // the tiles' joint; -1: the block is one piece
}

// joint collects the results of the pieces of a block of one token.
type joint struct {
	partials    int   // index of the first of the Partials [tiles, group]
	first, last int   // the tiles, from first on and without last
	pieces      int32 // that have not ended
}

// lane is the scratch of one piece.
type lane struct {
	queries quant.Activation
	tile    asm.AttentionTile
	results []asm.Partial // of one tile
	total   []asm.Partial // of the tiles so far
	scaled  []float32     // a query divided by √headDim, for each row
	outs    []float32     // of results, [rows, headDim]
	weights quant.Activation
	hidden  []int // for tile.Hidden
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
		window: r.Slots.Window, cap: r.Slots.Cap,
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
// blocks of one token into runs of tiles, so that no piece is much longer than the others.
func (a *attention) plan(workers int) {
	blocks := 0 // of the usual size, times heads
	for i := range a.runs {
		blocks += a.blocks(&a.runs[i]) * a.KVHeads
	}
	smaller := (workers + blocks - 1) / blocks // by which factor blocks must be smaller to be enough
	count, cost := 0, 0
	for i := range a.runs {
		s := &a.runs[i]
		n := a.smaller(s, smaller)
		for head := range a.KVHeads {
			count += n
			cost += s.tiles(head) * (n*rowsPerTile + s.tokens*a.group)
		}
	}
	most := max(1, (cost+2*workers-1)/(2*workers)/(rowsPerTile+a.group)) // tiles of a piece
	if count < 8*workers {
		most = min(most, tilesPerPiece)
	}
	if workers == 1 {
		most = a.Slots // nobody to share with
	}
	partials := 0
	for _, long := range [2]bool{true, false} { // the longest pieces come first
		for i := range a.runs {
			if s := &a.runs[i]; long == (s.tokens > 1) {
				n := a.smaller(s, smaller)
				size := (s.tokens + n - 1) / n
				for first := (s.tokens - 1) / size * size; first >= 0; first -= size {
					for head := range a.KVHeads {
						partials = a.cut(i, head, first, min(first+size, s.tokens), most, partials)
					}
				}
			}
		}
	}
	if partials > len(a.partials) || partials*a.HeadDim > len(a.values) {
		need := 2 * max(partials, len(a.partials)) // a conversation grows
		a.held.Add(int64(need*(partialBytes+4*a.HeadDim) - len(a.partials)*partialBytes - 4*len(a.values)))
		a.partials, a.values = make([]asm.Partial, need), make([]float32, need*a.HeadDim)
	}
}

// blocks returns how many blocks of the usual size a run has.
func (a *attention) blocks(s *attended) int {
	size := blockTokens(a.group)
	return (s.tokens + size - 1) / size
}

// smaller returns how many blocks a run has if each of the usual size is cut into a number of smaller ones.
func (a *attention) smaller(s *attended, times int) int { return min(a.blocks(s)*times, s.tokens) }

// cut adds the pieces of a block of tokens [first, last) of a run with one KV head, which have at most `most` tiles each if the block is
// one token's. partials is how many Partials the pieces before need for their joints; it returns how many with these.
func (a *attention) cut(run, head, first, last, most, partials int) int {
	s := &a.runs[run]
	seen := s.len(head) - s.tokens + last // slots that the block's last token sees
	low, high := s.firstSeen(head, first)/asm.TileKeys, (seen+asm.TileKeys-1)/asm.TileKeys
	tiles := high - low
	p := piece{run: int32(run), head: int32(head), first: int32(first), last: int32(last), lo: int32(low), hi: int32(high), joint: -1}
	if last-first > 1 || tiles <= most {
		a.pieces = append(a.pieces, p)
		return partials
	}
	parts := (tiles + most - 1) / most
	p.joint = int32(len(a.joints))
	a.joints = append(a.joints, joint{partials, low, high, int32(parts)})
	for i := range parts {
		p.lo, p.hi = int32(low+i*tiles/parts), int32(low+(i+1)*tiles/parts)
		a.pieces = append(a.pieces, p)
	}
	return partials + tiles*a.group
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
	a.load(l, s, head, first, rows)
	var partials []asm.Partial // of the block's tiles, where these are joined
	var values []float32
	lowest := 0 // the tile that the first of the partials is of
	if p.joint >= 0 {
		j := &a.joints[p.joint]
		partials, values, lowest = a.partials[j.partials:], a.values[j.partials*a.HeadDim:], j.first
	}
	for r := range l.total {
		l.total[r].Sum = 0
	}
	for t := int(p.lo); t < int(p.hi); t++ {
		results := l.results
		l.tile.Out = l.outs
		if partials != nil {
			at := (t - lowest) * rows
			results, l.tile.Out = partials[at:][:rows], values[at*a.HeadDim:][:rows*a.HeadDim]
			for r := range results {
				results[r].Out = l.tile.Out[r*a.HeadDim:][:a.HeadDim]
			}
		}
		page := s.page(head, t)
		l.tile.Next = nil
		if t+1 < int(p.hi) {
			l.tile.Next = s.page(head, t+1)[asm.PageKeys]
		}
		a.tile(l, s, head, t, first, page[asm.PageKeys], page[asm.PageValues], results)
		if partials != nil {
			continue
		}
		a.kernels.Merge(l.total, results)
	}
	switch {
	case partials == nil:
		a.finish(l.total, s, head, first)
	case atomic.AddInt32(&a.joints[p.joint].pieces, -1) == 0:
		total := partials[:rows]
		for t := 1; t < a.joints[p.joint].last-lowest; t++ {
			a.kernels.Merge(total, partials[t*rows:][:rows])
		}
		a.finish(total, s, head, first)
	}
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
	l.reserve(rows, a.HeadDim, a.held)
	had := cap(l.queries.Q)
	l.queries.Reserve(s.format.ActivationForm(), rows, a.HeadDim)
	if grown := cap(l.queries.Q) - had; grown != 0 { // the scales and sums are small next to the elements
		a.held.Add(int64(grown))
	}
	l.queries.X, l.tile.Queries = l.scaled, &l.queries
	l.tile.Format, l.tile.HeadDim, l.tile.Cap = s.format, a.HeadDim, s.cap
	scale := asm.QueryScale(a.HeadDim)
	for r := range rows {
		scaled := l.scaled[r*a.HeadDim : (r+1)*a.HeadDim]
		copy(scaled, a.row(a.q, s, head, first, r))
		a.kernels.Scale(scaled, scale)
		a.kernels.Prepare(&l.queries, r, scaled)
	}
}

// tile computes one tile, of the given keys and values, for the loaded queries. The first query belongs to token first. v is nil if only
// the keys' weights are wanted.
func (a *attention) tile(l *lane, s *attended, head, tile, first int, k, v []byte, results []asm.Partial) {
	seen := s.len(head) - s.tokens + first + 1 - tile*asm.TileKeys // slots of the tile that the first token sees
	for r := range l.tile.Visible {
		l.tile.Visible[r] = min(max(seen+r/a.group, 0), asm.TileKeys)
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
