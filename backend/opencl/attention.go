//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"slices"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/tensor"
)

// attentionShape is what programs of attention are compiled for.
type attentionShape struct {
	cache   tensor.DType
	headDim int
	share   int // query heads that share a KV head
}

// attentionPrograms are the programs of a shape.
type attentionPrograms struct {
	one                  program // attend for keys and values that are not in pages
	attend, flash, weigh pagedProgram
	queries              int // heads that a group of attend and weigh takes; 0: they are too large
	flashRows            int // queries that a group of flash takes; 0: there is none for the shape
}

// tileScratch is about how many bytes the tiles of the tokens that are computed together may take.
const tileScratch = 16 << 20

// attentionFor returns the programs of a shape.
func (b *Backend) attentionFor(s attentionShape) *attentionPrograms {
	if p := b.programs.attention[s]; p != nil {
		return p
	}
	p := &attentionPrograms{queries: s.queries(min(b.device.LocalBytes, leastLocal))}
	options := fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d -DSHARE=%d -DQUERIES=%d -DKV_%v%s%s",
		asm.TileKeys, s.headDim, s.share, p.queries, s.cache, b.tuning.dot, b.lastGroup)
	const files = "common exact dot activations last cache pages tile "
	p.attend, p.weigh = pagedProgramOf(program{files + "values attention", options}), pagedProgramOf(program{files + "weigh", options})
	p.one = program{files + "values attention", options + " -DCONTIGUOUS -DRUNS=1"}
	switch s.headDim {
	case 32, 64:
		p.flashRows = 32
	case 128:
		p.flashRows = 16
	}
	p.flash = pagedProgramOf(program{"common exact dot activations cache pages flash", fmt.Sprintf("%s -DROWS=%d", options, p.flashRows)})
	b.programs.attention[s] = p
	return p
}

// leastLocal is the local memory that every device has.
const leastLocal = 32 << 10

// largestHead is the longest head of whose values local memory has room for four.
const largestHead = 1024

// queries returns how many of the query heads that share a KV head a group can take with so much local memory, 0 for none.
func (s attentionShape) queries(local int64) int {
	const (
		keys     = asm.TileKeys * (8 + 1) * 16 // pieces of a tile's keys, in tile.cl
		rounding = 4 * asm.TileKeys
	)
	each := 4 * (asm.TileKeys + asm.Lanes + 1) // a query's weights, lanes and sum
	if s.cache.Quantized() {
		each += s.headDim + s.headDim/8                                   // its integers and their steps
		each += min(s.headDim/32, 4) * (asm.TileKeys + 4*asm.TileKeys/32) // its weights as integers and their steps, in values.cl
	} else {
		each += 4 * s.headDim
	}
	for n := min(s.share, 8); n > 0 && s.headDim > 0 && s.headDim <= largestHead; n-- {
		if s.share%n == 0 && int64(keys+rounding+n*each) <= local {
			return n
		}
	}
	return 0
}

// AttentionGen lets one token attend to the cache.
func (b *Backend) AttentionGen(q, k, v, out *tensor.Tensor, n int) error {
	d, err := backend.CheckAttention(q, k, v, out, n)
	if err != nil {
		return err
	}
	b.mu.Lock()
	query, keys, values, to := b.operand(q), b.operand(k), b.operand(v), b.operand(out)
	p := b.attentionKernels(d, k.DType(), query, keys, values, to)
	if p == nil {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.AttentionGen(q, k, v, out, n) })
	}
	defer b.mu.Unlock()
	l := &b.launch
	l.mems, l.keys, l.values = nil, keys, values
	l.begin()
	l.add(0, 0, 1, n, 1)
	return b.attend(p.one, p, d, query, to, l, 0, 1)
}

// Attend lets the rows of runs attend to their pages.
func (b *Backend) Attend(q, out *tensor.Tensor, runs []backend.Run) error {
	d, err := backend.CheckAttend(q, out, runs)
	if err != nil || d.Tokens*d.Heads == 0 {
		return err
	}
	b.mu.Lock()
	query, to := b.operand(q), b.operand(out)
	needed, ok, err := b.attendable(d, runs, query, to)
	ok = ok && !slices.ContainsFunc(runs, func(r backend.Run) bool { return r.Slots.Window > 0 }) // the host computes windows
	if err != nil || !ok {
		b.mu.Unlock()
		if err != nil {
			return err
		}
		return b.onHost(func() error { return b.Base.Attend(q, out, runs) })
	}
	defer b.mu.Unlock()
	for i, cache := range cacheTypes {
		if needed[i] == 0 {
			continue
		}
		p := b.attentionFor(attentionShape{cache, d.HeadDim, d.Heads / d.KVHeads})
		long := b.flashes(p, d, cache, runs)
		if long {
			err := b.eachLaunch(cache, needed[i], runs, func(r backend.Run) int { return p.flashBlocks(d, r) }, func(l *launch) error {
				return b.flash(p, d, query, to, l)
			})
			if err != nil {
				return err
			}
		}
		share := func(r backend.Run) int {
			if long && p.flashBlocks(d, r) > 0 {
				return 0
			}
			return r.Tokens
		}
		err := b.eachLaunch(cache, needed[i], runs, share, func(l *launch) error {
			return batches(l.tokens, partBytes(d, groups(l.longest, asm.TileKeys)), func(token, tokens int) error {
				return b.attend(p.attend.of(l), p, d, query, to, l, token, tokens)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// attendable tells whether kernels take all of the runs, and which slabs those of each type need: see tablesOf.
func (b *Backend) attendable(d backend.AttentionDims, runs []backend.Run, operands ...operand) (needed [len(cacheTypes)]uint32, ok bool, err error) {
	for i := range runs {
		if b.attentionKernels(d, runs[i].Slots.DType, operands...) == nil {
			return needed, false, nil
		}
	}
	return b.tablesOf(runs)
}

// flashBlocks returns how many groups of flash take a run: 0 where it has not rows enough for one.
func (p *attentionPrograms) flashBlocks(d backend.AttentionDims, r backend.Run) int {
	rows := r.Tokens * d.Heads / d.KVHeads
	if r.Tokens == 1 || p.flashRows == 0 || rows < p.flashRows {
		return 0
	}
	return groups(rows, p.flashRows)
}

// flashes tells whether runs of many tokens are for flash. A group of flash walks all tiles: unless there are enough of them for
// the device, sharing the tiles out is faster.
func (b *Backend) flashes(p *attentionPrograms, d backend.AttentionDims, cache tensor.DType, runs []backend.Run) bool {
	blocks := 0
	for _, r := range runs {
		if r.Slots.DType == cache {
			blocks += p.flashBlocks(d, r)
		}
	}
	return blocks > 0 && 2*blocks*d.KVHeads >= b.device.Units
}

// attentionKernels returns the programs for an attention, nil where they cannot be used: they load four elements at once.
func (b *Backend) attentionKernels(d backend.AttentionDims, cache tensor.DType, operands ...operand) *attentionPrograms {
	for _, o := range operands {
		if !o.ok || !o.float4s() {
			return nil
		}
	}
	if d.HeadDim%4 != 0 {
		return nil
	}
	if p := b.attentionFor(attentionShape{cache, d.HeadDim, d.Heads / d.KVHeads}); p.queries > 0 {
		return p
	}
	return nil
}

// batches calls f with tokens [token, token+tokens) of some at a time, in order: as many as have room for their tiles, of
// which each has so many bytes.
func batches(all, bytes int, f func(token, tokens int) error) error {
	most := max(1, tileScratch/max(1, bytes))
	for token := 0; token < all; token += most {
		if err := f(token, min(most, all-token)); err != nil {
			return err
		}
	}
	return nil
}

// flash enqueues flash.
func (b *Backend) flash(p *attentionPrograms, d backend.AttentionDims, q, out operand, l *launch) error {
	kernel, err := b.kernel(p.flash.of(l), "flash")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(out.mem).Int(out.elements(4)).Float(asm.QueryScale(d.HeadDim))
	return b.enqueued("Attend", b.pass(kernel, l).Run([3]int{l.next, d.KVHeads, 1}, [3]int{asm.TileKeys, 1, 1}))
}

// attend enqueues attend for some of the tokens of a launch and, where there are several tiles that it does not merge itself, merge.
func (b *Backend) attend(from program, p *attentionPrograms, d backend.AttentionDims, q, out operand, l *launch, token, tokens int) error {
	tiles := groups(l.longest, asm.TileKeys)
	parts, left := out.mem, out.mem // some buffer, which is not used
	if tiles > 1 {
		var err error
		if parts, err = b.scratchOf(partScratch, partBytes(d, tiles)*tokens); err != nil {
			return err
		}
		if left, err = b.counts(d.Heads / p.queries * tokens); err != nil {
			return err
		}
	}
	kernel, err := b.kernel(from, "attend")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(out.mem).Int(out.elements(4)).Mem(parts).Mem(left).Int(token).Float(asm.QueryScale(d.HeadDim))
	err = b.enqueued("Attend", b.pass(kernel, l).Run([3]int{tiles, d.Heads / p.queries, tokens}, [3]int{asm.TileKeys, 1, 1}))
	if err != nil || tiles == 1 || b.lastGroup != "" {
		return err
	}
	if kernel, err = b.kernel(from, "merge"); err != nil {
		return err
	}
	kernel.Mem(parts).Int(tiles).Mem(out.mem).Int(out.elements(4)).Int(token)
	return b.enqueued("Attend", b.pass(kernel, l).Run([3]int{d.Heads, tokens, 1}, [3]int{asm.TileKeys, 1, 1}))
}

// partBytes returns the bytes of a token's parts: of each head and tile, the values and two numbers more, four for alignment.
func partBytes(d backend.AttentionDims, tiles int) int { return 4 * d.Heads * tiles * (d.HeadDim + 4) }

// AccumulateAttention adds the attention that keys get to sums.
func (b *Backend) AccumulateAttention(q, sums *tensor.Tensor, r backend.Run) error {
	d, err := backend.CheckAccumulateAttention(q, sums, r)
	if err != nil || d.Tokens*d.Heads == 0 {
		return err
	}
	b.mu.Lock()
	query, to := b.operand(q), b.operand(sums)
	l, ok, err := b.oneRun(d, r, query)
	if err != nil || !ok || !to.ok {
		b.mu.Unlock()
		if err != nil {
			return err
		}
		return b.onHost(func() error { return b.Base.AccumulateAttention(q, sums, r) })
	}
	defer b.mu.Unlock()
	p := b.attentionFor(attentionShape{r.Slots.DType, d.HeadDim, d.Heads / d.KVHeads})
	width := sums.Shape().Dim(-1)
	return batches(d.Tokens, weighBytes(d, groups(l.longest, asm.TileKeys)), func(token, tokens int) error {
		return b.weigh(p, d, query, to, width, l, token, tokens)
	})
}

// oneRun returns a launch of one run, for attention's kernels; ok is false where they do not take it.
func (b *Backend) oneRun(d backend.AttentionDims, r backend.Run, q operand) (l *launch, ok bool, err error) {
	if b.attentionKernels(d, r.Slots.DType, q) == nil {
		return nil, false, nil
	}
	return b.launchOf(r.Slots, r.Tokens)
}

// weighBytes returns the bytes of a token's weights, and of each tile's two numbers.
func weighBytes(d backend.AttentionDims, tiles int) int {
	return 4 * d.Heads * tiles * (asm.TileKeys + 2)
}

// weigh enqueues the kernels of AccumulateAttention for some of the tokens.
func (b *Backend) weigh(p *attentionPrograms, d backend.AttentionDims, q, sums operand, width int, l *launch, token, tokens int) error {
	tiles := groups(l.longest-d.Tokens+token+tokens, asm.TileKeys) // that the last token sees
	stats, err := b.scratchOf(statScratch, 8*tokens*d.Heads*tiles)
	if err != nil {
		return err
	}
	weights, err := b.scratchOf(partScratch, 4*tokens*d.Heads*tiles*asm.TileKeys)
	if err != nil {
		return err
	}
	kernel, err := b.kernel(p.weigh.of(l), "weigh_tiles")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(stats).Mem(weights).Int(token).Float(asm.QueryScale(d.HeadDim))
	err = b.enqueued("AccumulateAttention", b.pass(kernel, l).Run([3]int{tiles, d.Heads / p.queries, tokens}, [3]int{asm.TileKeys, 1, 1}))
	if err != nil {
		return err
	}
	if kernel, err = b.kernel(p.weigh.of(l), "weigh_shares"); err != nil {
		return err
	}
	kernel.Mem(stats).Int(tiles).Int(token)
	err = b.enqueued("AccumulateAttention", b.pass(kernel, l).Run([3]int{d.Heads, tokens, 1}, [3]int{asm.TileKeys, 1, 1}))
	if err != nil {
		return err
	}
	if kernel, err = b.kernel(p.weigh.of(l), "weigh_keys"); err != nil {
		return err
	}
	kernel.Mem(stats).Mem(weights).Int(tiles).Mem(sums.mem).Int(sums.elements(4)).Int(width).Int(token).Int(tokens)
	return b.enqueued("AccumulateAttention", b.pass(kernel, l).Run([3]int{tiles, d.KVHeads, 1}, [3]int{asm.TileKeys, 1, 1}))
}
