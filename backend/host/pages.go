package host

import (
	"unsafe"

	"github.com/antigravity-go/antigravity/asm"
	"github.com/antigravity-go/antigravity/backend"
	"github.com/antigravity-go/antigravity/internal/mmap"
	"github.com/antigravity-go/antigravity/tensor"
)

// A page is a tile of the kernels: otherwise this does not compile.
var _ [backend.PageSlots]struct{} = [asm.TileKeys]struct{}{}

// slabPages is the number of pages of a slab. Memory counts against the process only once it is touched, so that a slab may be larger than
// the pages in use. With 64 pages of 16-bit floats and heads of 64 it has 2 MB.
const slabPages = 64

// paging gives out slabs, and moves the contents of their pages.
type paging struct{ *machine }

// SlabPages returns the same number for every slab: the host's memory comes as easily in small parts as in large ones.
func (b paging) SlabPages(int) int { return slabPages }

// pageData returns the halves of a mapped page, by asm.PageSide; its slots have slotBytes each. That of values is empty if the page has keys alone.
func pageData(p *backend.Page, slotBytes int) (halves [2][]byte) {
	half := backend.PageSlots * slotBytes
	all := p.Slab.Shape().Dim(1) * half
	page := p.Slab.Data()[all*p.Index:][:all]
	halves[asm.PageKeys], halves[asm.PageValues] = page[:half], page[half:]
	return halves
}

// copyPage copies a page.
func (b paging) copyPage(from, to backend.Page) (err error) {
	defer mmap.Catch(&err)()
	var m mapped
	defer m.unmap()
	if err := m.add("CopyPage", from.Slab, to.Slab); err != nil {
		return err
	}
	bytes := from.Slab.RowBytes()
	source, target := pageData(&from, bytes), pageData(&to, bytes)
	for side := range source {
		copy(target[side], source[side])
	}
	return nil
}

// moveSlots copies slots of a head, from first on, to the rows of keys and values, or the other way if it writes.
func (b paging) moveSlots(op string, o *backend.ReadSlots, write bool) (err error) {
	defer mmap.Catch(&err)()
	s, head, first, n := o.Slots, o.Head, o.First, o.Rows()
	if n == 0 {
		return nil
	}
	var m mapped
	defer m.unmap()
	if err := m.addPages(op, s, head, first, first+n); err != nil {
		return err
	}
	for side, t := range [2]*tensor.Tensor{o.Keys, o.Values} {
		if t == nil || write && s.Latent && side == int(asm.PageValues) {
			continue
		}
		if s.Latent {
			side = int(asm.PageKeys)
		}
		if err := m.add(op, t); err != nil {
			return err
		}
		count := 0
		for row := 0; row < n; row += count {
			slot := (first + row) % backend.PageSlots
			count = min(n-row, backend.PageSlots-slot)
			halves := pageData(&s.Heads[head].Pages[(first+row)/backend.PageSlots], s.SlotBytes())
			part := t.Data()[row*t.RowBytes():][:count*t.RowBytes()]
			b.convert(s, asm.PageSide(side), halves[side], slot, part, t.DType(), write)
		}
	}
	return nil
}

// convert copies slots of half a page, from the first one on, to rows of a type, or the other way if it writes.
func (b paging) convert(s *backend.Slots, side asm.PageSide, half []byte, first int, rows []byte, d tensor.DType, write bool) {
	format := s.DType.Format()
	if d == s.DType {
		if write {
			b.pages.Store(side, format, s.HeadDim, half, first, rows)
		} else {
			b.pages.Load(side, format, s.HeadDim, rows, half, first)
		}
		return
	}
	values := unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(rows))), len(rows)/4)
	slots := make([]byte, format.Bytes(len(values)))
	if write {
		b.kernels.Quantize(format, slots, values)
		b.pages.Store(side, format, s.HeadDim, half, first, slots)
	} else {
		b.pages.Load(side, format, s.HeadDim, slots, half, first)
		b.kernels.Dequantize(format, values, slots)
	}
}
