package host

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// textAttentions lets the rows of texts attend to each other.
type textAttentions struct {
	*machine
	tasks pool[texts, *texts]
}

// attendTexts lets the rows of each text attend to all of its rows, all texts in one phase.
func (b *textAttentions) attendTexts(o *backend.AttendTexts) error {
	d := o.Dims()
	if d.Tokens*d.Heads == 0 {
		return nil
	}
	var maps mapped
	defer maps.unmap()
	if err := maps.add("AttendTexts", o.Q, o.K, o.V, o.Out); err != nil {
		return err
	}
	var sinks []float32
	if o.Sinks != nil {
		if err := maps.add("AttendTexts", o.Sinks); err != nil {
			return err
		}
		sinks = floats(o.Sinks)
	}
	t := b.tasks.get()
	defer b.tasks.put(t)
	t.begin(b.machine, "AttendTexts", tensor.F32, d, o.Q)
	t.out, t.k, t.v, t.reach = floats(o.Out), floats(o.K), floats(o.V), o.Reach
	t.relative = o.Relative
	t.plan(o, sinks, b.runner.Size())
	t.reserve(b.runner.Size())
	return b.runner.Run(t, len(t.pieces))
}

// texts is the attention of some texts as a task. A piece is some neighbouring rows of a text with one KV head. It walks the tiles of the
// text in order, as attention does those of a cache, but packs each tile's keys and values by itself: a page in the cache of the processor
// is the only one that a piece needs, and a short text has no other.
//
// Example: a text of 300 rows has the tiles 0–127, 128–255 and 256–299. With a reach of 64 its rows 192 to 255 see the tiles 1 and 2.
type texts struct {
	attention
	k, v  []float32 // [rows, kvHeads, headDim]
	reach int       // 0: unlimited
	keys  []int     // how many rows of each text are seen
	packs workerMemory[byte]

	relative *backend.Relative // nil: scores depend on no distance
	scratch  []relativeScratch // one for each worker
}

// reset forgets the operands, and keeps the scratch.
func (t *texts) reset() {
	t.attention.reset()
	t.k, t.v, t.relative, t.keys = nil, nil, nil, t.keys[:0]
}

// The rows of a piece: more than attention's, since each piece packs the tiles for itself, and fewer if there are few pieces for the
// workers.
const (
	mostTextRows  = 128
	leastTextRows = 16
)

// plan cuts the texts into pieces.
func (t *texts) plan(o *backend.AttendTexts, sinks []float32, workers int) {
	size := max(mostTextRows/t.group, 1)
	for ; size > leastTextRows; size /= 2 {
		n := 0
		for _, rows := range o.Texts {
			n += (rows + size - 1) / size * t.KVHeads
		}
		if n >= 2*workers {
			break
		}
	}
	row := 0
	for i, rows := range o.Texts {
		t.keys = append(t.keys, o.SeenOf(i))
		t.runs = append(t.runs, attended{format: tensor.F32.Format(), tokens: rows, row: row, sinks: sinks})
		row += rows
		for head := range t.KVHeads {
			for first := 0; first < rows; first += size {
				t.pieces = append(t.pieces, piece{run: int32(i), head: int32(head), first: int32(first), last: int32(min(first+size, rows)), prefix: alone})
			}
		}
	}
}

// reserve makes scratch for n pieces at a time: for each a page, and rows on their way to it.
func (t *texts) reserve(n int) {
	t.attention.reserve(n)
	t.packs.reserve(n)
	if len(t.scratch) < n && t.relative != nil {
		t.scratch = append(t.scratch, make([]relativeScratch, n-len(t.scratch))...)
	}
}

// seen returns the first and the last slot that a token of a text sees, the last one excluded.
func (t *texts) seen(text int32, token int) (first, last int) {
	if t.reach == 0 {
		return 0, t.keys[text]
	}
	return max(token-t.reach, 0), min(token+t.reach+1, t.keys[text])
}

// Do computes one piece.
func (t *texts) Do(worker, number int) {
	p, l := &t.pieces[number], &t.lanes[worker]
	s := &t.runs[p.run]
	head, first, rows := int(p.head), int(p.first), int(p.last-p.first)*t.group
	t.load(l, s, head, first, rows)
	for r := range l.total {
		l.total[r].Sum = 0
	}
	l.tile.Next, l.tile.Out, l.tile.Results = nil, l.outs, l.results
	if len(l.hidden) < rows {
		l.hidden = make([]int, rows)
	}
	low, _ := t.seen(p.run, first)
	_, high := t.seen(p.run, int(p.last)-1)
	for tile := low / asm.TileKeys; tile*asm.TileKeys < high; tile++ {
		l.tile.Keys, l.tile.Values = t.pack(worker, s, head, tile)
		t.show(l, p.run, tile, first)
		if t.relative != nil {
			l.tile.Bias = t.bias(worker, l, s, head, tile, first)
		}
		t.layout.Attend(&l.tile)
		t.kernels.Merge(l.total, l.results)
	}
	l.tile.Bias = nil
	t.finish(l.total, s, head, first)
}

// show notes which slots of a tile each row sees; for a row that sees no slot of the tile, Visible is 0.
func (t *texts) show(l *lane, text int32, tile, first int) {
	l.tile.Hidden = nil
	if t.reach > 0 {
		l.tile.Hidden = l.hidden[:len(l.tile.Visible)]
	}
	for r := range l.tile.Visible {
		from, to := t.seen(text, first+r/t.group)
		from, to = max(from-tile*asm.TileKeys, 0), min(max(to-tile*asm.TileKeys, 0), asm.TileKeys)
		if from >= to {
			from, to = 0, 0
		}
		l.tile.Visible[r] = to
		if l.tile.Hidden != nil {
			l.tile.Hidden[r] = from
		}
	}
}

// pack returns the keys and the values of a tile of a text, as the kernels want them, in the worker's memory.
func (t *texts) pack(worker int, s *attended, head, tile int) (keys, values []byte) {
	width := 4 * t.HeadDim
	half := asm.TileKeys * width
	memory := t.packs.of(worker, 3*half)
	rows, first := memory[2*half:3*half], tile*asm.TileKeys
	n := min(s.tokens-first, asm.TileKeys)
	for side, x := range [2][]float32{t.k, t.v} {
		for i := range n {
			at := ((s.row+first+i)*t.KVHeads + head) * t.HeadDim
			copy(rows[i*width:][:width], bytesOf(x[at:][:t.HeadDim]))
		}
		t.layout.Store(asm.PageSide(side), s.format, t.HeadDim, memory[side*half:][:half], 0, rows[:n*width])
	}
	return memory[int(asm.PageKeys)*half:][:half], memory[int(asm.PageValues)*half:][:half]
}

// bytesOf returns the bytes of floats.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
