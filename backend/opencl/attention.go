//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/cl"
	"github.com/antigravity-go/antigravity/backend/opencl/internal/compiler"
	"github.com/antigravity-go/antigravity/internal/exact"
	"github.com/antigravity-go/antigravity/tensor"
)

// Queries attend by one of two kernels. Few tokens: attend has a group for each tile of 128 keys, and the tiles' results are merged. Many
// tokens: a group of flash takes some rows of queries through all tiles, and nothing is merged. Programs are compiled for each shape of
// heads and type of cache. With 32 heads of 64 elements, 8 KV heads and an F16 cache, on a device with 48 KiB of local memory:
//
//	1 token, 1000 slots   attend: 8 tiles × 8 groups of 4 heads × 1 token, then their merge
//	512 tokens            flash: 512·4 rows of a KV head are 32 blocks of 64, times 8 KV heads

// attentionShape is what programs of attention are compiled for.
type attentionShape struct {
	cache   tensor.DType
	headDim int
	share   int     // query heads that share a KV head
	limit   float32 // of scores; 0: they are not limited
	window  int     // 0: tokens see all
	sinks   bool    // heads have sinks
}

// attentionPrograms are the programs of a shape.
type attentionPrograms struct {
	attend, flash, weigh pagedProgram
	queries              int // heads that a group of attend and weigh takes; 0: they are too large
	flashRows            int // queries that a group of flash takes; 0: no such kernel for the shape
}

// attention lets queries attend to pages: few tokens of a run by attend, which shares the tiles of keys out among groups, many by flash:
// its groups walk all tiles.
type attention struct {
	*queue
	pages     *pages
	dot       string // the option that names the device's way to multiply bytes
	chain     *chain
	lastGroup string // the option that lets the last group go on with the results of the others; "": not on this device
	programs  map[attentionShape]*attentionPrograms
}

// tileScratch is about how many bytes the tiles of the tokens that are computed together may take.
const tileScratch = 16 << 20

// attentionFor returns the programs of a shape.
func (a *attention) programsFor(s attentionShape) *attentionPrograms {
	if p := a.programs[s]; p != nil {
		return p
	}
	p := &attentionPrograms{queries: s.queries(min(a.device.LocalBytes, leastLocal))}
	options := fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d -DSHARE=%d -DQUERIES=%d -DKV_%v%s%s",
		asm.TileKeys, s.headDim, s.share, p.queries, s.cache, a.dot, a.lastGroup)
	if s.limit != 0 {
		options += fmt.Sprintf(" -DSCORE_LIMIT=%xf -DLIMIT_FACTOR=%xf", s.limit, exact.SoftcapFactor(s.limit))
	}
	if s.window != 0 {
		options += fmt.Sprintf(" -DWINDOW=%d", s.window)
	}
	if s.sinks {
		options += " -DSINKS"
	}
	const files = "common exact dot activations last cache pages sinks tile "
	p.attend, p.weigh = pagedProgramOf(compiler.Of(files+"values attention", options)), pagedProgramOf(compiler.Of(files+"weigh", options))
	switch s.headDim {
	case 32, 64:
		p.flashRows = 32
	case 128:
		p.flashRows = 16
	}
	if p.flashRows > 0 && s.headDim > 32 && !s.cache.Quantized() && a.device.LocalBytes >= flashLocal {
		p.flashRows *= 2
	}
	p.flash = pagedProgramOf(compiler.Of("common exact dot activations cache pages sinks flash", fmt.Sprintf("%s -DROWS=%d", options, p.flashRows)))
	a.programs[s] = p
	return p
}

// leastLocal is the local memory that every device has, flashLocal what flash takes with twice the rows, which then load half as much of it for
// each product.
const (
	leastLocal = 32 << 10
	flashLocal = 48 << 10
)

// largestHead is the longest head with room for four values in local memory.
const largestHead = 1024

// queries returns how many of the query heads that share a KV head a group can take with local bytes of local memory, or 0.
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

// attending is an attention as kernels take it.
type attending struct {
	*attentionPrograms
	shape attentionShape
	backend.AttentionDims
	q, out operand
	sinks  operand // if the shape has sinks
}

// passSinks passes the sinks to a kernel, if the shape has sinks.
func (c *attending) passSinks(k *cl.Kernel) *cl.Kernel {
	if !c.sinks.ok {
		return k
	}
	return floats(k, c.sinks)
}

// attendRuns lets the rows of runs attend to their pages.
func (a *attention) attendRuns(op *backend.Attend) error {
	d, runs := op.Dims(), op.Runs
	if d.Tokens*d.Heads == 0 {
		return nil
	}
	a.mu.Lock()
	c := attending{AttentionDims: d, q: a.operand(op.Q), out: a.operand(op.Out)}
	needed, ok, err := a.attendable(&c, runs)
	if err != nil || !ok {
		a.mu.Unlock()
		if err != nil {
			return err
		}
		return a.opOnHost(op)
	}
	defer a.mu.Unlock()
	for i, cache := range cacheTypes {
		if needed[i] == 0 {
			continue
		}
		c.shape = c.shapeFor(cache, runs[0].Slots)
		c.attentionPrograms = a.programsFor(c.shape)
		long := !a.chain.open && a.flashes(&c, cache, runs, bits.Len32(needed[i]))
		if long {
			err := a.pages.eachLaunch(pageShape{cache, d.HeadDim}, needed[i], runs, c.flashBlocks, func(l *launch) error { return a.flash(&c, l) })
			if err != nil {
				return err
			}
		}
		share := func(r backend.Run) int {
			if long && c.flashBlocks(r) > 0 {
				return 0
			}
			return r.Tokens
		}
		err := a.pages.eachLaunch(pageShape{cache, d.HeadDim}, needed[i], runs, share, func(l *launch) error {
			return batches(l.tokens, c.partBytes(groups(l.longest, asm.TileKeys)), func(token, tokens int) error {
				return a.attend(&c, l, token, tokens)
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// shapeFor returns what the programs for a cache of a type are compiled for.
func (c *attending) shapeFor(cache tensor.DType, s *backend.Slots) attentionShape {
	return attentionShape{cache, c.HeadDim, c.Heads / c.KVHeads, s.Cap, s.Window, s.Sinks != nil}
}

// attendable reports whether kernels take all of the runs, and which slabs the runs need. The host computes runs that have different limits
// of scores, windows or sinks, and those with rows that see each other.
func (a *attention) attendable(c *attending, runs []backend.Run) (n needed, ok bool, err error) {
	if !c.out.ok || !c.out.float4s() {
		return n, false, nil
	}
	first := runs[0].Slots
	for _, r := range runs {
		if s := r.Slots; r.Together || s.Window != first.Window || s.Sinks != first.Sinks || s.Cap != first.Cap || a.kernels(c, s) == nil {
			return n, false, nil
		}
	}
	return a.pages.tablesOf(runs)
}

// kernels returns the programs for queries and slots like s, nil if they cannot be used: they load four elements at once.
func (a *attention) kernels(c *attending, s *backend.Slots) *attentionPrograms {
	if !c.q.ok || !c.q.float4s() || c.HeadDim%4 != 0 {
		return nil
	}
	if s.Sinks != nil {
		if c.sinks = a.operand(s.Sinks); !c.sinks.ok {
			return nil
		}
	}
	if p := a.programsFor(c.shapeFor(s.DType, s)); p.queries > 0 {
		return p
	}
	return nil
}

// flashBlocks returns how many groups of flash take a run: 0 if it has not rows enough for one.
func (c *attending) flashBlocks(r backend.Run) int {
	rows := r.Tokens * c.Heads / c.KVHeads
	if r.Tokens == 1 || c.flashRows == 0 || rows < c.flashRows {
		return 0
	}
	return groups(rows, c.flashRows)
}

// flashes reports whether runs of many tokens, in a number of slabs, are for flash, and its kernel is ready. A group of flash walks all tiles: unless
// there are enough of them for the device, sharing the tiles out is faster.
func (a *attention) flashes(c *attending, cache tensor.DType, runs []backend.Run, slabs int) bool {
	blocks, long := 0, 0
	for _, r := range runs {
		if r.Slots.DType == cache {
			n := c.flashBlocks(r)
			blocks, long = blocks+n, long+min(n, 1)
		}
	}
	if blocks == 0 || 2*blocks*c.KVHeads < a.device.Units {
		return false
	}
	l := &a.pages.launch
	return a.ready(c.flash.sized(min(long, l.most), slabs), "flash") || a.queue.programs.Has(c.flash.general(l), "flash")
}

// batches splits the tokens, in order, so that each part's tiles (bytes a token) fit in tileScratch. It calls f for each part: tokens
// [token, token+tokens).
func batches(all, bytes int, f func(token, tokens int) error) error {
	most := max(1, tileScratch/max(1, bytes))
	for token := 0; token < all; token += most {
		if err := f(token, min(most, all-token)); err != nil {
			return err
		}
	}
	return nil
}

// runTiles passes a launch's pages and runs to a kernel with a work-item for each key of a tile in its groups, and enqueues it.
func (a *attention) runTiles(what string, k *cl.Kernel, l *launch, x, y, z int) error {
	return a.run(what, l.pass(k), asm.TileKeys, x, y, z)
}

// flash enqueues flash.
func (a *attention) flash(c *attending, l *launch) error {
	kernel, err := a.pagedKernel(&c.attentionPrograms.flash, l, "flash")
	if err != nil {
		return err
	}
	return a.runTiles("Attend", c.passSinks(floats(kernel, c.q, c.out).Float(asm.QueryScale(c.HeadDim))), l, l.next, c.KVHeads, 1)
}

// attend enqueues attend for some of the tokens of a launch and, if there are several tiles that it does not merge itself, merge.
func (a *attention) attend(c *attending, l *launch, token, tokens int) error {
	if tokens == l.tokens {
		if ok, err := a.chain.attend(c, l); ok || err != nil {
			return err
		}
	}
	tiles := groups(l.longest, asm.TileKeys)
	merges := tiles > 1 || c.sinks.ok
	parts, left := c.out.mem, c.out.mem // some buffer, which is not used
	if merges {
		var err error
		if parts, err = a.scratchOf(partScratch, c.partBytes(tiles)*tokens); err != nil {
			return err
		}
		if left, err = a.counts(c.Heads / c.queries * tokens); err != nil {
			return err
		}
	}
	from := &c.attentionPrograms.attend
	kernel, err := a.pagedKernel(from, l, "attend")
	if err != nil {
		return err
	}
	c.passSinks(floats(kernel, c.q, c.out).Mem(parts).Mem(left).Int(token).Float(asm.QueryScale(c.HeadDim)))
	err = a.runTiles("Attend", kernel, l, tiles, c.Heads/c.queries, tokens)
	if err != nil || !merges || a.lastGroup != "" {
		return err
	}
	if kernel, err = a.pagedKernel(from, l, "merge"); err != nil {
		return err
	}
	return a.runTiles("Attend", c.passSinks(floats(kernel.Mem(parts).Int(tiles), c.out).Int(token)), l, c.Heads, tokens, 1)
}

// partBytes returns the bytes of a token's parts: of each head and tile, the values and two numbers more, four for alignment.
func (c *attending) partBytes(tiles int) int { return 4 * c.Heads * tiles * (c.HeadDim + 4) }

// accumulate adds the attention that keys get to sums.
func (a *attention) accumulate(op *backend.AccumulateAttention) (err error) {
	d, r := op.Dims(), op.Run
	if d.Tokens*d.Heads == 0 {
		return nil
	}
	a.mu.Lock()
	c := attending{AttentionDims: d, q: a.operand(op.Q), out: a.operand(op.Sums)}
	c.attentionPrograms = a.kernels(&c, r.Slots)
	var l *launch
	ok := c.attentionPrograms != nil && c.out.ok && !r.Together
	if ok {
		l, ok, err = a.pages.launchOf(r.Slots, r.Tokens)
	}
	if err != nil || !ok {
		a.mu.Unlock()
		if err != nil {
			return err
		}
		return a.opOnHost(op)
	}
	defer a.mu.Unlock()
	width := op.Sums.Shape().Dim(-1)
	return batches(d.Tokens, c.weighBytes(groups(l.longest, asm.TileKeys)), func(token, tokens int) error {
		return a.weigh(&c, width, l, token, tokens)
	})
}

// weighBytes returns the bytes of a token's weights, and of each tile's two numbers.
func (c *attending) weighBytes(tiles int) int { return 4 * c.Heads * tiles * (asm.TileKeys + 2) }

// weigh enqueues the kernels of AccumulateAttention for some of the tokens. A row of the sums has width elements.
func (a *attention) weigh(c *attending, width int, l *launch, token, tokens int) error {
	const what = "AccumulateAttention"
	tiles := groups(l.longest-c.Tokens+token+tokens, asm.TileKeys) // that the last token sees
	stats, err := a.scratchOf(statScratch, 8*tokens*c.Heads*tiles)
	if err != nil {
		return err
	}
	weights, err := a.scratchOf(partScratch, 4*tokens*c.Heads*tiles*asm.TileKeys)
	if err != nil {
		return err
	}
	from := &c.attentionPrograms.weigh
	kernel, err := a.pagedKernel(from, l, "weigh_tiles")
	if err != nil {
		return err
	}
	floats(kernel, c.q).Mem(stats).Mem(weights).Int(token).Float(asm.QueryScale(c.HeadDim))
	if err := a.runTiles(what, kernel, l, tiles, c.Heads/c.queries, tokens); err != nil {
		return err
	}
	if kernel, err = a.pagedKernel(from, l, "weigh_shares"); err != nil {
		return err
	}
	if err := a.runTiles(what, c.passSinks(kernel.Mem(stats).Int(tiles).Int(token)), l, c.Heads, tokens, 1); err != nil {
		return err
	}
	if kernel, err = a.pagedKernel(from, l, "weigh_keys"); err != nil {
		return err
	}
	floats(kernel.Mem(stats).Mem(weights).Int(tiles), c.out).Int(width).Int(token).Int(tokens)
	return a.runTiles(what, kernel, l, tiles, c.KVHeads, 1)
}

// lastGroupOption returns the option for devices on which the last group of a kernel may go on with what the others have left, and ""
// for all but NVIDIA's: see last.cl.
func lastGroupOption(d *cl.Device) string {
	if isNVIDIA(d) {
		return " -DLAST_GROUP"
	}
	return ""
}

// isNVIDIA reports whether a device is NVIDIA's, which take 4096 bytes of arguments and more.
func isNVIDIA(d *cl.Device) bool { return strings.Contains(d.Extensions, "cl_nv_") }
