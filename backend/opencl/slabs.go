//go:build opencl && (amd64 || arm64)

package opencl

import (
	"weak"

	"github.com/antigravity-go/antigravity/tensor"
)

// maxSlabs is how many slabs kernels take: MAX_SLABS in pages.cl.
const maxSlabs = 16

// pageShape is what slabs have in common.
type pageShape struct {
	cache   tensor.DType
	headDim int
}

// slabs are the slabs of a shape that tables of pages mention, by their numbers. The makers of their tensors free them; the number of a
// slab that is gone is given to another. The queue's lock guards them.
type slabs [maxSlabs]weak.Pointer[deviceBuffer]

// number returns a slab's number, giving it one if need be; ok is false if all are taken.
func (s *slabs) number(slab *deviceBuffer) (number int, ok bool) {
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

// registry is the slabs of all shapes.
type registry map[pageShape]*slabs

// of returns the slabs of a shape.
func (r registry) of(shape pageShape) *slabs {
	s := r[shape]
	if s == nil {
		s = new(slabs)
		r[shape] = s
	}
	return s
}
