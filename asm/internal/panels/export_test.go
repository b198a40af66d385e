package panels

// ScratchBytes is the memory that Quantize works in.
const ScratchBytes = scratchBytes

// PackPortable is Pack without assembly, straight from the definition of a Layout.
func (p *Panels) PackPortable(dst, src []byte, rowBytes, k int) {
	l := p.layout
	planes := l.Cut(dst, k)
	for b := range k / l.Format.BlockLen() {
		for _, f := range l.fields {
			t := transposition{dst: planes[f.plane], src: src[b*l.Format.BlockBytes()+f.at:], rowBytes: rowBytes, blocks: 1}
			t.portable(f.unit, f.bytes)
			planes[f.plane] = planes[f.plane][f.bytes*Rows:]
		}
	}
}
