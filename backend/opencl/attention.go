//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/backend/host"
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
	attend, flash, weigh program
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
	options := fmt.Sprintf("-DGROUP=%d -DHEAD_DIM=%d -DSHARE=%d -DQUERIES=%d -DKV_%v%s",
		asm.TileKeys, s.headDim, s.share, p.queries, s.cache, b.tuning.dot)
	const files = "common exact dot activations cache tile "
	p.attend, p.weigh = program{files + "attention", options}, program{files + "weigh", options}
	switch s.headDim {
	case 32, 64:
		p.flashRows = 32
	case 128:
		p.flashRows = 16
	}
	p.flash = program{"common exact dot activations cache flash", fmt.Sprintf("%s -DROWS=%d", options, p.flashRows)}
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
		each     = 4 * (asm.TileKeys + asm.Lanes + 1) // a query's weights, lanes and sum
	)
	for n := min(s.share, 8); n > 0 && s.headDim > 0 && s.headDim <= largestHead; n-- {
		if s.share%n == 0 && int64(keys+rounding+n*(each+4*s.headDim)) <= local {
			return n
		}
	}
	return 0
}

// AttentionGen lets one token attend to the cache.
func (b *Backend) AttentionGen(q, k, v, out *tensor.Tensor, n int) error {
	return b.Attention(q, k, v, out, n)
}

// Attention lets the tokens of a chunk attend to the cache.
func (b *Backend) Attention(q, k, v, out *tensor.Tensor, n int) error {
	d, err := backend.CheckAttention(q, k, v, out, n)
	if err != nil {
		return err
	}
	b.mu.Lock()
	query, keys, values, to := b.operand(q), b.operand(k), b.operand(v), b.operand(out)
	p := b.attentionKernels(d, k.DType(), query, keys, values, to)
	if p == nil {
		b.mu.Unlock()
		return b.onHost(func() error { return host.Fused{Base: b.Base}.Attention(q, k, v, out, n) })
	}
	defer b.mu.Unlock()
	// A group of flash walks all tiles: unless there are enough of them for the device, sharing the tiles out is faster.
	if d.Tokens > 1 && p.flashRows > 0 {
		if blocks := groups(d.Tokens*d.Heads/d.KVHeads, p.flashRows); 2*blocks*d.KVHeads >= b.device.Units {
			return b.flash(p, d, query, keys, values, to, n, blocks)
		}
	}
	return batches(d.Tokens, partBytes(d, groups(n, asm.TileKeys)), func(token, tokens int) error {
		return b.attend(p, d, query, keys, values, to, n, token, tokens)
	})
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

// batches calls f with tokens [token, token+tokens) of a chunk at a time, in order: as many as have room for their tiles, of
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

// flash enqueues flash, with so many blocks of queries for each KV head.
func (b *Backend) flash(p *attentionPrograms, d backend.AttentionDims, q, k, v, out operand, n, blocks int) error {
	kernel, err := b.kernel(p.flash, "flash")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(k.mem).Long(k.at).Mem(v.mem).Long(v.at).Mem(out.mem).Int(out.elements(4))
	kernel.Int(d.Tokens).Int(n).Float(asm.QueryScale(d.HeadDim))
	return b.enqueued("Attention", kernel.Run([3]int{blocks, d.KVHeads, 1}, [3]int{asm.TileKeys, 1, 1}))
}

// attend enqueues attend for some of the tokens and, where there are several tiles, merge.
func (b *Backend) attend(p *attentionPrograms, d backend.AttentionDims, q, k, v, out operand, n, token, tokens int) error {
	tiles := groups(n-d.Tokens+token+tokens, asm.TileKeys) // that the last token sees
	parts := out.mem                                       // some buffer, which is not used
	if tiles > 1 {
		var err error
		if parts, err = b.scratchOf(partScratch, partBytes(d, tiles)*tokens); err != nil {
			return err
		}
	}
	kernel, err := b.kernel(p.attend, "attend")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(k.mem).Long(k.at).Mem(v.mem).Long(v.at).Mem(out.mem).Int(out.elements(4))
	kernel.Mem(parts).Int(token).Int(d.Tokens).Int(n).Float(asm.QueryScale(d.HeadDim))
	err = b.enqueued("Attention", kernel.Run([3]int{tiles, d.Heads / p.queries, tokens}, [3]int{asm.TileKeys, 1, 1}))
	if err != nil || tiles == 1 {
		return err
	}
	if kernel, err = b.kernel(p.attend, "merge"); err != nil {
		return err
	}
	kernel.Mem(parts).Int(tiles).Mem(out.mem).Int(out.elements(4)).Int(token).Int(d.Tokens).Int(n)
	return b.enqueued("Attention", kernel.Run([3]int{d.Heads, tokens, 1}, [3]int{asm.TileKeys, 1, 1}))
}

// partBytes returns the bytes of a token's parts: of each head and tile, the values and two numbers more, four for alignment.
func partBytes(d backend.AttentionDims, tiles int) int { return 4 * d.Heads * tiles * (d.HeadDim + 4) }

// AccumulateAttention adds the attention that keys get to sums.
func (b *Backend) AccumulateAttention(q, k, sums *tensor.Tensor, n int) error {
	d, err := backend.CheckAccumulateAttention(q, k, sums, n)
	if err != nil {
		return err
	}
	b.mu.Lock()
	query, keys, to := b.operand(q), b.operand(k), b.operand(sums)
	p := b.attentionKernels(d, k.DType(), query, keys)
	if p == nil || !to.ok {
		b.mu.Unlock()
		return b.onHost(func() error { return b.Base.AccumulateAttention(q, k, sums, n) })
	}
	defer b.mu.Unlock()
	width := sums.Shape().Dim(-1)
	return batches(d.Tokens, weighBytes(d, groups(n, asm.TileKeys)), func(token, tokens int) error {
		return b.weigh(p, d, query, keys, to, width, n, token, tokens)
	})
}

// weighBytes returns the bytes of a token's weights, and of each tile's two numbers.
func weighBytes(d backend.AttentionDims, tiles int) int {
	return 4 * d.Heads * tiles * (asm.TileKeys + 2)
}

// weigh enqueues the kernels of AccumulateAttention for some of the tokens.
func (b *Backend) weigh(p *attentionPrograms, d backend.AttentionDims, q, k, sums operand, width, n, token, tokens int) error {
	tiles := groups(n-d.Tokens+token+tokens, asm.TileKeys) // that the last token sees
	stats, err := b.scratchOf(statScratch, 8*tokens*d.Heads*tiles)
	if err != nil {
		return err
	}
	weights, err := b.scratchOf(partScratch, 4*tokens*d.Heads*tiles*asm.TileKeys)
	if err != nil {
		return err
	}
	kernel, err := b.kernel(p.weigh, "weigh_tiles")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(k.mem).Long(k.at).Mem(stats).Mem(weights)
	kernel.Int(token).Int(d.Tokens).Int(n).Float(asm.QueryScale(d.HeadDim))
	err = b.enqueued("AccumulateAttention", kernel.Run([3]int{tiles, d.Heads / p.queries, tokens}, [3]int{asm.TileKeys, 1, 1}))
	if err != nil {
		return err
	}
	if kernel, err = b.kernel(p.weigh, "weigh_shares"); err != nil {
		return err
	}
	kernel.Mem(stats).Int(tiles).Int(token).Int(d.Tokens).Int(n)
	if err := b.enqueued("AccumulateAttention", kernel.Run([3]int{d.Heads, tokens, 1}, [3]int{asm.TileKeys, 1, 1})); err != nil {
		return err
	}
	if kernel, err = b.kernel(p.weigh, "weigh_keys"); err != nil {
		return err
	}
	kernel.Mem(stats).Mem(weights).Int(tiles).Mem(sums.mem).Int(sums.elements(4)).Int(width)
	kernel.Int(token).Int(tokens).Int(d.Tokens).Int(n)
	seen := n - d.Tokens + token + tokens
	return b.enqueued("AccumulateAttention", kernel.Run([3]int{groups(seen, asm.TileKeys), d.KVHeads, 1}, [3]int{asm.TileKeys, 1, 1}))
}
