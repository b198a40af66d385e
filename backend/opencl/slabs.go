//go:build opencl && (amd64 || arm64)

package opencl

import (
	"weak"

	"github.com/antigravity-go/antigravity/tensor"
)

// maxSlabs is how many slabs kernels take: MAX_SLABS in pages.cl.
const maxSlabs = 16

// firstSlab is how many pages the first slab of a type has, and largePage the bytes of a page that is larger than most.
const (
	firstSlab = 256
	largePage = 256 << 10
)

// SlabPages doubles what there is, so that few slabs make a large cache: kernels take maxSlabs of them. A slab is no larger than a
// buffer may be.
func (b *Backend) SlabPages(pages int) int {
	return max(firstSlab, min(pages, int(b.maxAlloc/largePage)))
}

// pageShape is what slabs have in common.
type pageShape struct {
	cache   tensor.DType
	headDim int
}

// slabs are the slabs of a shape that tables of pages mention, by their numbers. Whoever makes tensors frees them; a number
// whose slab is gone is given to another. The backend's lock guards them.
type slabs [maxSlabs]weak.Pointer[Buffer]

// number returns a slab's number, giving it one if need be; ok is false where all are taken.
func (s *slabs) number(slab *Buffer) (number int, ok bool) {
	free := -1
	for i := range s {
		switch known := s[i].Value(); {
		case known == slab:
			return i, true
		case free < 0 && (known == nil || known.mem.Released()):
			free = i
		}
	}
	if free < 0 {
		return 0, false
	}
	s[free] = weak.Make(slab)
	return free, true
}

// slabsOf returns the slabs of a shape.
func (b *Backend) slabsOf(shape pageShape) *slabs {
	s := b.slabs[shape]
	if s == nil {
		s = new(slabs)
		b.slabs[shape] = s
	}
	return s
}
