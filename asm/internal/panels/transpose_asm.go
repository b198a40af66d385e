//go:build (amd64 || arm64) && !purego

package panels

// chunk is how many bytes of each row the assembly transposes at a time.
const chunk = 16

// run is portable, in assembly. Panels are made for processors with AVX2, or Advanced SIMD, alone.
func (t transposition) run(unit, bytes int) {
	if t.blocks <= 0 || bytes <= 0 {
		return
	}
	t.check(bytes)
	whole := bytes / chunk
	if whole > 0 {
		transpose(unit, &t.dst[0], &t.src[0], t.rowBytes, t.blocks, t.srcStep, t.dstStep, whole)
	}
	for at := whole * chunk; at < bytes; at += unit {
		if unit == 1 {
			t.byteColumn(at)
			continue
		}
		column(unit, &t.dst[at*Rows], &t.src[at], t.rowBytes, t.blocks, t.srcStep, t.dstStep)
	}
}

// byteColumn copies byte at of the field: there are few such, and Go is as fast as memory.
func (t transposition) byteColumn(at int) {
	for b := range t.blocks {
		src, dst := t.src[b*t.srcStep+at:], t.dst[b*t.dstStep+at*Rows:][:Rows]
		for r := range dst {
			dst[r] = src[r*t.rowBytes]
		}
	}
}
