package host

import (
	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
)

// weighings adds up the attention that keys get.
type weighings struct {
	*machine
	tasks pool[weighing, *weighing]
}

// accumulateAttention adds the attention that keys get. A sum takes its addends in the order of tokens and heads, however the tokens are
// cut into chunks.
func (b *weighings) accumulateAttention(o *backend.AccumulateAttention) error {
	d, run := o.Dims(), &o.Run
	var maps mapped
	defer maps.unmap()
	if err := maps.add("AccumulateAttention", o.Q, o.Sums); err != nil {
		return err
	}
	if err := maps.addAttended("AccumulateAttention", run); err != nil {
		return err
	}
	w := b.tasks.get()
	defer b.tasks.put(w)
	w.begin(b.machine, "AccumulateAttention", run.Slots.DType, d, o.Q)
	w.add(run)
	w.sums, w.width = floats(o.Sums), o.Sums.Shape().Dim(1)
	w.reserve(b.runner.Size())
	for len(w.kept) < len(w.lanes) {
		w.kept = append(w.kept, keptTiles{})
	}
	return b.runner.Run(w, d.KVHeads)
}

// weighing is an attention of one run that stops at the weights, as a task. A piece is a KV head.
type weighing struct {
	attention
	sums  []float32 // [kvHeads, width]
	width int
	kept  []keptTiles // one for each worker
}

// reset forgets the operands, and keeps the scratch.
func (w *weighing) reset() {
	w.attention.reset()
	w.sums = nil
}

// keptTiles holds a block's weights of all tiles until their common sum is known.
type keptTiles struct {
	scores   []float32     // [tiles, rows, TileKeys]
	partials []asm.Partial // [tiles, rows], without values
	shares   []float32     // [tiles]
}

// Do computes one KV head.
func (w *weighing) Do(worker, head int) {
	block := blockTokens(w.group)
	for first := 0; first < w.Tokens; first += block {
		w.weigh(&w.lanes[worker], &w.kept[worker], head, first, min(first+block, w.Tokens))
	}
}

// weigh adds the weights of tokens [first, last).
func (w *weighing) weigh(l *lane, kept *keptTiles, head, first, last int) {
	s, rows := &w.runs[0], (last-first)*w.group
	w.load(l, s, head, first, rows)
	tiles := (s.seen(head, last-1) + asm.TileKeys - 1) / asm.TileKeys
	if need := tiles * rows; need > len(kept.partials) {
		w.held.Add(int64((need - len(kept.partials)) * (partialBytes + 4*asm.TileKeys)))
		kept.partials, kept.scores = make([]asm.Partial, need), make([]float32, need*asm.TileKeys)
	}
	if tiles >= len(kept.shares) {
		kept.shares = make([]float32, tiles+1) // one for a sink
	}
	for t := range tiles {
		l.tile.Scores = kept.scores[t*rows*asm.TileKeys:][:rows*asm.TileKeys]
		w.tile(l, s, head, t, first, s.page(head, t)[asm.PageKeys], nil, l.results)
		for r, p := range l.results {
			kept.partials[t*rows+r] = asm.Partial{Max: p.Max, Sum: p.Sum}
		}
	}
	for r := range rows {
		seen := s.seen(head, first+r/w.group)
		shares := kept.shares[:(seen+asm.TileKeys-1)/asm.TileKeys]
		for t := range shares {
			shares[t] = kept.partials[t*rows+r].Max
		}
		var total float32 // of the weights, each tile's by its share
		if s.sinks == nil {
			w.kernels.Softmax(shares)
		} else { // like a tile with weights that add up to 1
			shares = append(shares, w.sink(s, head, r))
			w.kernels.Softmax(shares)
			shares, total = shares[:len(shares)-1], shares[len(shares)-1]
		}
		for t, share := range shares {
			total += float32(share * kept.partials[t*rows+r].Sum)
		}
		for t, share := range shares {
			begin := t * asm.TileKeys
			n := min(seen-begin, asm.TileKeys)
			sums := w.sums[head*w.width+begin:][:n]
			w.kernels.Axpy(sums, share/total, kept.scores[(t*rows+r)*asm.TileKeys:][:n])
		}
	}
}
