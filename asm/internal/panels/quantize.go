package panels

import "github.com/antigravity-go/antigravity/quant"

// quantizer makes panels of blocks from panels of floats: blocks of 32 elements of the panel src, whole lines, become those at quants and
// scales, with the bits of Format.Quantize.
type quantizer struct {
	to, from *Layout
	run      func(quants, scales, src *byte, blocks int)
}

// quantizedAtOnce is how many blocks of a row are quantised before the next: the blocks in between stay in the first-level cache.
const quantizedAtOnce = 8

// ScratchBytes is the memory that Quantize works in.
const ScratchBytes = quantizedAtOnce * 32 * 4 * Rows

// Quantize is Pack for rows of floats in another format, which become blocks as Format.Quantize makes them of what Format.Dequantize reads.
// It reports whether there is assembly for it; without it nothing is written. It makes the scratch memory that it works in if that is nil,
// and leaves it to the next call.
func (p *Panels) Quantize(dst, src []byte, from quant.Format, rowBytes, k int, scratch *[]byte) bool {
	for _, q := range quantizers {
		if q.to != p.layout || q.from.Format != from {
			continue
		}
		if *scratch == nil {
			*scratch = make([]byte, ScratchBytes)
		}
		q.pack(dst, src, rowBytes, k, *scratch)
		return true
	}
	return false
}

// pack is Panels.Quantize.
func (q *quantizer) pack(dst, src []byte, rowBytes, k int, scratch []byte) {
	planes := q.to.Cut(dst, k)
	for blocks := k / 32; blocks > 0; {
		n := min(blocks, quantizedAtOnce)
		q.from.packFloats(scratch, src, rowBytes, n*32)
		quants, scales := planes[0][:n*q.to.PlaneBytes[0]], planes[1][:n*q.to.PlaneBytes[1]]
		q.run(&quants[0], &scales[0], &scratch[0], n)
		planes[0], planes[1] = planes[0][len(quants):], planes[1][len(scales):]
		src, blocks = src[q.from.Format.Bytes(n*32):], blocks-n
	}
}
