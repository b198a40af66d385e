package host

import (
	"sync/atomic"
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/quant"
	"github.com/antigravity-go/antigravity/tensor"
)

// AttentionGen lets one token attend to the cache.
func (b *Base) AttentionGen(q, k, v, out *tensor.Tensor, n int) error {
	return b.attention(q, k, v, out, n)
}

// Attention lets the tokens of a chunk attend to the cache.
func (b Fused) Attention(q, k, v, out *tensor.Tensor, n int) error {
	return b.attention(q, k, v, out, n)
}

func (b *Base) attention(q, k, v, out *tensor.Tensor, n int) error {
	d, err := backend.CheckAttention(q, k, v, out, n)
	if err != nil || d.Tokens*d.Heads == 0 {
		return err
	}
	var maps mapped
	if err := maps.add("Attention", q, k, v, out); err != nil {
		return err
	}
	defer maps.unmap()
	a := b.attentions.get()
	a.held = &b.held
	defer b.attentions.put(a)
	a.begin(b.kernels, d, q, k, n)
	a.out, a.v = floats(out), v.Data()
	if d.Tokens > 1 || a.tiles == 1 {
		a.reserve(b.runner.Size())
		return b.runner.Run(a, a.blocks*d.KVHeads)
	}
	// A single token with a long context: the tiles are shared out, and joined afterwards.
	a.beginSplit(b.runner.Size())
	if err := b.runner.Run(a, a.pieces); err != nil {
		return err
	}
	a.join()
	return nil
}

// A block is the tokens of a chunk that are computed together, because they share each tile's keys and values: tokensPerBlock
// of them, or fewer where many query heads share a KV head, so that a block has at most rowsPerBlock rows, or one token's. The
// scratch memory of a block is in proportion to its rows. No result depends on the block.
const (
	tokensPerBlock = 16
	rowsPerBlock   = 512
)

// blockTokens returns the tokens of a block, for a number of query heads that share a KV head.
func blockTokens(group int) int { return max(min(tokensPerBlock, rowsPerBlock/max(group, 1)), 1) }

// laneFloats returns the numbers of scratch memory that a lane takes for rows of headDim elements.
func laneFloats(rows, headDim int) int {
	return rows*(3*headDim+asm.TileKeys) + (1+asm.PanelKeys)*headDim
}

// AttentionScratch returns about how many bytes of scratch memory an attention takes on a number of workers, for chunks of
// any length and for single tokens with so many slots in use: what a model's configuration costs beyond its tensors.
func AttentionScratch(heads, kvHeads, headDim, slots, workers int) int64 {
	group := heads / max(kvHeads, 1)
	chunk := laneFloats(blockTokens(group)*group, headDim)
	single := kvHeads * laneFloats(group, headDim)
	partials := (slots/asm.TileKeys + 1) * heads * (headDim + partialBytes/4)
	return 4 * (int64(workers)*int64(max(chunk, single)) + 2*int64(partials))
}

// partialBytes is the size of a Partial without its values.
const partialBytes = int(unsafe.Sizeof(asm.Partial{}))

// attention is one attention as a task. A piece is a block of tokens with one KV head, walking the tiles in order; or, when
// split, a run of tiles with all KV heads of each, which are joined later in the same order.
type attention struct {
	backend.AttentionDims
	kernels           *asm.Kernels
	held              *atomic.Int64 // counts the scratch memory below; it is the Base's
	format            quant.Format
	group             int // query heads that share a KV head
	n                 int // slots in use
	tiles             int
	block, blocks     int // tokens of a block; how many there are
	split             bool
	q, out            []float32
	k, v              []byte // v is nil where only the keys' weights are wanted
	stride, headBytes int    // bytes of a slot, and of one head's part of it

	lanes []lane // scratch: one for each worker, or when split for each worker and KV head

	// When split:
	pieces   int
	partials []asm.Partial // [tiles, kvHeads, group]
	values   []float32     // their sums of values
}

// lane is the scratch of one piece.
type lane struct {
	queries quant.Activation
	tile    asm.AttentionTile
	results []asm.Partial // of one tile
	total   []asm.Partial // of the tiles so far
	scaled  []float32     // a query divided by √headDim, for each row
	memory  []float32
}

// begin prepares for an attention of mapped queries to the first n slots of mapped keys.
func (a *attention) begin(kernels *asm.Kernels, d backend.AttentionDims, q, k *tensor.Tensor, n int) {
	a.AttentionDims, a.kernels, a.n, a.format, a.split = d, kernels, n, k.DType().Format(), false
	a.q, a.k, a.stride, a.headBytes = floats(q), k.Data(), d.KVHeads*k.RowBytes(), k.RowBytes()
	a.group = d.Heads / d.KVHeads
	a.tiles = (n + asm.TileKeys - 1) / asm.TileKeys
	a.block = blockTokens(a.group)
	a.blocks = (d.Tokens + a.block - 1) / a.block
}

// reset forgets the operands, and keeps the scratch.
func (a *attention) reset() {
	a.q, a.out, a.k, a.v = nil, nil, nil, nil
	for i := range a.lanes {
		tile := &a.lanes[i].tile
		tile.K, tile.V, tile.Next = nil, nil, nil
	}
}

// reserve makes scratch for n pieces.
func (a *attention) reserve(n int) {
	if n > len(a.lanes) {
		a.lanes = append(a.lanes, make([]lane, n-len(a.lanes))...)
	}
}

// Do computes one piece.
func (a *attention) Do(worker, piece int) {
	if a.split {
		a.run(a.lanes[worker*a.KVHeads:][:a.KVHeads], piece*a.tiles*a.KVHeads/a.pieces, (piece+1)*a.tiles*a.KVHeads/a.pieces)
		return
	}
	head := piece % a.KVHeads
	l := &a.lanes[worker]
	first := piece / a.KVHeads * a.block
	last := min(first+a.block, a.Tokens)
	a.load(l, head, first, last)
	seen := a.n - a.Tokens + last // slots that the block's last token sees
	for t := 0; t*asm.TileKeys < seen; t++ {
		a.tile(l, head, t, first, l.results)
		for r := range l.results {
			if t == 0 {
				l.total[r].Sum = 0
			}
			a.kernels.Merge(&l.total[r], &l.results[r])
		}
	}
	for r := range l.total {
		l.total[r].Finish(a.row(a.out, head, first, r))
	}
}

// row returns row r of a block in q or out: rows are tokens by query heads of the group.
func (a *attention) row(x []float32, head, first, r int) []float32 {
	at := ((first+r/a.group)*a.Heads + head*a.group + r%a.group) * a.HeadDim
	return x[at : at+a.HeadDim]
}

// load prepares the queries of tokens [first, last) for one KV head.
func (a *attention) load(l *lane, head, first, last int) {
	rows := (last - first) * a.group
	l.reserve(rows, a.HeadDim, a.held)
	had := cap(l.queries.Q)
	l.queries.Reserve(a.format.ActivationForm(), rows, a.HeadDim)
	if grown := cap(l.queries.Q) - had; grown != 0 { // the scales and sums are few beside the elements
		a.held.Add(int64(grown))
	}
	l.queries.X, l.tile.Queries, l.tile.Next = l.scaled, &l.queries, nil
	scale := asm.QueryScale(a.HeadDim)
	for r := range rows {
		scaled := l.scaled[r*a.HeadDim : (r+1)*a.HeadDim]
		copy(scaled, a.row(a.q, head, first, r))
		a.kernels.Scale(scaled, scale)
		a.kernels.Prepare(&l.queries, r, scaled)
	}
}

// tilesPerPiece is about how many tiles of a KV head a piece of a split attention has: to ask for memory ahead wants some.
const tilesPerPiece = 16

// beginSplit prepares for sharing out the tiles of a single token.
func (a *attention) beginSplit(workers int) {
	units := a.tiles * a.KVHeads
	a.split, a.pieces = true, min(units, max(workers, units/tilesPerPiece))
	a.reserve(workers * a.KVHeads)
	if need := units * a.group; need > len(a.partials) || need*a.HeadDim > len(a.values) {
		need = 2 * max(need, len(a.partials)) // a conversation grows
		a.held.Add(int64(need*(partialBytes+4*a.HeadDim) - len(a.partials)*partialBytes - 4*len(a.values)))
		a.partials, a.values = make([]asm.Partial, need), make([]float32, need*a.HeadDim)
	}
	for i := range units * a.group {
		a.partials[i].Out = a.values[i*a.HeadDim:][:a.HeadDim]
	}
}

// run computes units [lo, hi) of a split attention: unit u is tile u/kvHeads with KV head u%kvHeads, so that a run reads the
// cache from front to back.
func (a *attention) run(lanes []lane, lo, hi int) {
	for head := range lanes {
		a.load(&lanes[head], head, 0, 1)
	}
	for u := lo; u < hi; u++ {
		head, next := u%a.KVHeads, u+1
		l := &lanes[head]
		if l.tile.Next = nil; next < hi {
			l.tile.Next = a.k[next/a.KVHeads*asm.TileKeys*a.stride+next%a.KVHeads*a.headBytes : a.n*a.stride]
		}
		a.tile(l, head, u/a.KVHeads, 0, a.partials[u*a.group:][:a.group])
	}
}

// tile computes one tile for the loaded queries, of which the first belongs to token first.
func (a *attention) tile(l *lane, head, tile, first int, results []asm.Partial) {
	begin := tile * asm.TileKeys
	for r := range l.tile.Visible {
		seen := a.n - a.Tokens + first + r/a.group + 1
		l.tile.Visible[r] = min(max(seen-begin, 0), asm.TileKeys)
	}
	at := begin*a.stride + head*a.headBytes
	l.tile.Format, l.tile.HeadDim, l.tile.Stride = a.format, a.HeadDim, a.stride
	l.tile.K, l.tile.V = a.k[at:], nil
	if a.v != nil {
		l.tile.V = a.v[at:]
	}
	l.tile.Results = results
	a.kernels.Attend(&l.tile)
}

// join merges the tiles of a split attention.
func (a *attention) join() {
	for head := range a.KVHeads {
		for r := range a.group {
			total := &a.partials[head*a.group+r]
			for t := 1; t < a.tiles; t++ {
				a.kernels.Merge(total, &a.partials[(t*a.KVHeads+head)*a.group+r])
			}
			total.Finish(a.row(a.out, head, 0, r))
		}
	}
}

// reserve makes room for rows of headDim elements, and counts it.
func (l *lane) reserve(rows, headDim int, held *atomic.Int64) {
	need := laneFloats(rows, headDim)
	if len(l.memory) >= need && len(l.results) == rows && len(l.results[0].Out) == headDim {
		return
	}
	if len(l.memory) < need {
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
	l.scaled, l.tile.Scores, l.tile.Value = take(rows*headDim), take(rows*asm.TileKeys), take(headDim)
	l.tile.Panel = take(asm.PanelKeys * headDim)
	for r := range rows {
		l.results[r].Out, l.total[r].Out = take(headDim), take(headDim)
	}
}
