//go:build opencl && (amd64 || arm64)

package opencl

import (
	"fmt"
	"math"

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
	attend, flash, weigh program
	flashRows            int // queries that a group of the flash kernel takes; 0: there is none for the shape
}

const (
	attendGroup = 64  // work-items of a group of attend, which has as many keys in a tile
	flashGroup  = 128 // work-items of a group of flash
)

// attentionFor returns the programs of a shape.
func (b *Backend) attentionFor(s attentionShape) *attentionPrograms {
	if p := b.programs.attention[s]; p != nil {
		return p
	}
	options := fmt.Sprintf("-DHEAD_DIM=%d -DSHARE=%d -DKV_%v", s.headDim, s.share, s.cache)
	p := &attentionPrograms{
		attend: program{"common formats cache attention", fmt.Sprintf("-DGROUP=%d %s", attendGroup, options)},
		weigh:  program{"common formats cache weigh", fmt.Sprintf("-DGROUP=%d %s", attendGroup, options)},
	}
	switch s.headDim {
	case 32, 64:
		p.flashRows = 32
	case 128:
		p.flashRows = 16
	}
	p.flash = program{"common formats cache flash", fmt.Sprintf("-DGROUP=%d -DROWS=%d %s", flashGroup, p.flashRows, options)}
	b.programs.attention[s] = p
	return p
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
	query, keys, values, to := b.operand(q), b.operand(k), b.operand(v), b.operand(out)
	if !aligned(d, query, keys, values, to) {
		return b.onHost(func() error { return backend.Host{Base: b.Base}.Attention(q, k, v, out, n) })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.attentionFor(attentionShape{k.DType(), d.HeadDim, d.Heads / d.KVHeads})
	scale := float32(1 / math.Sqrt(float64(d.HeadDim)))
	if d.Tokens > 1 && p.flashRows > 0 {
		kernel, err := b.kernel(p.flash, "flash")
		if err != nil {
			return err
		}
		kernel.Mem(query.mem).Int(query.elements(4)).Mem(keys.mem).Long(keys.at).Mem(values.mem).Long(values.at)
		kernel.Mem(to.mem).Int(to.elements(4)).Int(d.Tokens).Int(n).Float(scale)
		blocks := groups(d.Tokens*(d.Heads/d.KVHeads), p.flashRows)
		return b.enqueued("Attention", kernel.Run([3]int{blocks, d.KVHeads, 1}, [3]int{flashGroup, 1, 1}))
	}
	return b.attend(p, d, query, keys, values, to, n, scale)
}

// aligned tells whether kernels can load four elements of the operands at once.
func aligned(d backend.AttentionDims, operands ...operand) bool {
	for _, o := range operands {
		if !o.ok || !o.float4s() {
			return false
		}
	}
	return d.HeadDim%4 == 0
}

// attend enqueues attend and, where the slots are split, merge.
func (b *Backend) attend(p *attentionPrograms, d backend.AttentionDims, q, k, v, out operand, n int, scale float32) error {
	splits, per := b.splits(d, n)
	parts := out.mem // some buffer, which is not used
	if splits > 1 {
		var err error
		if parts, err = b.scratchOf(partScratch, 4*d.Tokens*d.Heads*splits*(d.HeadDim+2)); err != nil {
			return err
		}
	}
	kernel, err := b.kernel(p.attend, "attend")
	if err != nil {
		return err
	}
	kernel.Mem(q.mem).Int(q.elements(4)).Mem(k.mem).Long(k.at).Mem(v.mem).Long(v.at).Mem(out.mem).Int(out.elements(4))
	kernel.Mem(parts).Int(n).Int(per).Float(scale)
	err = b.enqueued("Attention", kernel.Run([3]int{splits, d.KVHeads, d.Tokens}, [3]int{attendGroup, 1, 1}))
	if err != nil || splits == 1 {
		return err
	}
	if kernel, err = b.kernel(p.attend, "merge"); err != nil {
		return err
	}
	kernel.Mem(parts).Int(splits).Mem(out.mem).Int(out.elements(4))
	return b.enqueued("Attention", kernel.Run([3]int{d.Tokens * d.Heads, 1, 1}, [3]int{attendGroup, 1, 1}))
}

// splits returns among how many groups the slots of a head are split, and how many slots each has: enough groups that the
// device is busy, of whole tiles.
func (b *Backend) splits(d backend.AttentionDims, n int) (splits, per int) {
	tiles := groups(n, attendGroup)
	wanted := max(1, b.device.Units*8/(d.KVHeads*d.Tokens))
	per = groups(tiles, min(tiles, wanted)) * attendGroup
	return groups(n, per), per
}

// Weigh adds the attention that keys get to sums.
func (b *Backend) Weigh(q, k, sums *tensor.Tensor, n int) error {
	d, err := backend.CheckWeigh(q, k, sums, n)
	if err != nil {
		return err
	}
	query, keys, to := b.operand(q), b.operand(k), b.operand(sums)
	if !aligned(d, query, keys) || !to.ok {
		return b.onHost(func() error { return b.Base.Weigh(q, k, sums, n) })
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.attentionFor(attentionShape{k.DType(), d.HeadDim, d.Heads / d.KVHeads})
	scale := float32(1 / math.Sqrt(float64(d.HeadDim)))
	stats, err := b.scratchOf(partScratch, 8*d.Tokens*d.Heads)
	if err != nil {
		return err
	}
	kernel, err := b.kernel(p.weigh, "weigh_rows")
	if err != nil {
		return err
	}
	kernel.Mem(query.mem).Int(query.elements(4)).Mem(keys.mem).Long(keys.at).Mem(stats).Int(d.KVHeads).Int(d.Tokens).Int(n).Float(scale)
	if err := b.enqueued("Weigh", kernel.Run([3]int{d.Tokens * d.Heads, 1, 1}, [3]int{attendGroup, 1, 1})); err != nil {
		return err
	}
	if kernel, err = b.kernel(p.weigh, "weigh_keys"); err != nil {
		return err
	}
	kernel.Mem(query.mem).Int(query.elements(4)).Mem(keys.mem).Long(keys.at).Mem(stats).Mem(to.mem).Int(to.elements(4))
	kernel.Int(sums.Shape().Dim(-1)).Int(d.Tokens).Int(n).Float(scale)
	return b.enqueued("Weigh", kernel.Run([3]int{groups(n, attendGroup), d.KVHeads, 1}, [3]int{attendGroup, 1, 1}))
}
